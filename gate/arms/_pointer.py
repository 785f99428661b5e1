"""JSON pointers (RFC 6901): where in an answer something stands."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator


def pointed(value: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) names in `value`; LookupError where there is nothing."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if not (key.isascii() and key.isdigit()) or int(key) >= len(value):
                raise LookupError(key)
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise LookupError(key)
    return value


def _pointer(text: str) -> str:
    if text and not text.startswith("/"):
        raise ValueError("is no JSON pointer, which begins with '/'")
    return text


Pointer = Annotated[str, AfterValidator(_pointer)]

"""Canonical JSON on disk: sorted keys, one case per line, so that a refresh reviews as a diff."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gate.errors import InputError, Problem
from gate.store.text import unparsed

# Under these keys every child stands on a line of its own.
ROWS = frozenset({"cases", "pages", "rows", "questions"})


def dumps(value: Any, *, sort: bool = True) -> str:
    """`value` as indented JSON that ends with a newline; children of `ROWS` keys take one line each."""
    return "".join(_lines(value, "", sort, rows=False)) + "\n"


def loads(text: str, shown: str, todo: str) -> Any:
    """The JSON value in `text`. A key that stands twice in one object (a merge of two refreshes) is a fault."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as fault:
        reason = unparsed(fault)
        if not text.strip():
            reason = "the file is empty"
        elif any(line.startswith("<<<<<<< ") for line in text.splitlines()):
            reason = "it holds the marks of a merge conflict"
        raise InputError(Problem(shown, f"not JSON ({reason})", todo)) from fault


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(items)
    if len(value) < len(items):
        seen: set[str] = set()
        twice = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def _flat(value: Any, sort: bool) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=sort, allow_nan=False)


def _lines(value: Any, indent: str, sort: bool, rows: bool) -> Iterator[str]:
    if isinstance(value, dict) and value:
        items = sorted(value.items()) if sort else list(value.items())
        named = [(f"{json.dumps(key, ensure_ascii=False)}: ", child, key in ROWS) for key, child in items]
        yield from _block("{", named, "}", indent, sort, rows)
    elif isinstance(value, list) and value and (rows or any(isinstance(child, dict) for child in value)):
        yield from _block("[", [("", child, False) for child in value], "]", indent, sort, rows)
    else:
        yield _flat(value, sort)


def _block(
    opening: str, items: list[tuple[str, Any, bool]], closing: str, indent: str, sort: bool, rows: bool
) -> Iterator[str]:
    """One JSON object or array. Rows carry their comma in front: appending one then changes no other line."""
    yield opening + "\n"
    for position, (name, child, has_rows) in enumerate(items):
        last = position == len(items) - 1
        if rows:
            yield f"{indent}{',' if position else ' '}{name}{_flat(child, sort)}\n"
        else:
            yield f"{indent} {name}"
            yield from _lines(child, indent + " ", sort, rows=has_rows)
            yield "\n" if last else ",\n"
    yield indent + closing


def write_text(path: Path, text: str, shown: str) -> None:
    """Write `text` whole or not at all: to a temporary file beside `path`, then renamed over it."""
    import tempfile

    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # a pipe or a device is written to, never replaced
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as fault:
        raise InputError(
            Problem(
                shown, f"cannot be written ({fault.strerror or fault})", "Choose a place you can write to."
            )
        ) from fault

"""GitHub's published OpenAPI description, and exchanges held against it.

The description is the npm package `@octokit/openapi`, a development dependency of this folder:
`npm ci --prefix tests/local_github`. Only the paths that an exchange used are taken from its 13 MB.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match
from local_github.transport import Exchange

DESCRIPTION = Path(__file__).parent / "node_modules/@octokit/openapi/generated/api.github.com.json"
# Answers that any endpoint may give, whether or not its description names them.
ANYWHERE = {400, 401, 403, 404, 410, 429, 500, 502, 503}
NO_BODY = {204, 302, 304}
PREFIX = "#/components/schemas/"
ERROR = {"$ref": f"{PREFIX}basic-error"}


def _is_moment(value: object) -> bool:
    return (
        not isinstance(value, str)
        or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", value) is not None
    )


def _is_address(value: object) -> bool:
    return not isinstance(value, str) or bool(urllib.parse.urlsplit(value).scheme and " " not in value)


formats = FormatChecker(formats=())
formats.checks("date-time")(_is_moment)
formats.checks("uri")(_is_address)


def available() -> bool:
    return DESCRIPTION.exists()


@lru_cache(maxsize=1)
def _description() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    return data


def paths() -> set[tuple[str, str]]:
    """Every (method, path) that GitHub describes."""
    return {
        (method.upper(), path)
        for path, operations in _description()["paths"].items()
        for method in operations
        if method in ("get", "post", "put", "patch", "delete")
    }


def problems(exchanges: Iterable[Exchange]) -> list[str]:
    """What in these exchanges GitHub's description does not allow; answers of planned faults are left out."""
    found: dict[str, None] = {}
    for one in exchanges:
        answered_by_fault = one.fault is not None and one.fault.status is not None
        if one.template in (None, "/graphql") or one.status is None or answered_by_fault:
            continue
        for problem in _problems(one):
            found[f"{one.method} {one.template} -> {one.status}: {problem}"] = None
    return list(found)


def _problems(one: Exchange) -> Iterator[str]:
    operation = _description()["paths"].get(one.template, {}).get(one.method.lower())
    if operation is None:
        yield "no such operation"
        return
    assert one.status is not None
    if one.status < 300:
        yield from _query(one, operation)
        yield from _body(one, operation)
    documented = _deref(operation["responses"].get(str(one.status)))
    if documented is None and one.status not in ANYWHERE:
        yield "the status is not described"
        return
    if one.status in NO_BODY:
        if one.answer is not None:
            yield "a body where none belongs"
        return
    content = (documented or {}).get("content", {})
    schema = next((kind["schema"] for name, kind in content.items() if "json" in name), ERROR)
    answer = one.answer
    if one.status == 422 and isinstance(answer, dict):
        # Real refusals carry their status as text; of this the description knows only in `basic-error`.
        answer = {key: value for key, value in answer.items() if key != "status"}
    fault = _against(schema, answer, strict=True)
    if fault:
        yield f"answer{fault}"


def _query(one: Exchange, operation: dict[str, Any]) -> Iterator[str]:
    known = {p["name"]: p for p in map(_deref, operation.get("parameters", ())) if p and p["in"] == "query"}
    for name, value in one.query.items():
        if name not in known:
            yield f"query parameter {name!r} is not described"
            continue
        schema = known[name]["schema"]
        kind = schema.get("type")
        typed: Any = int(value) if kind == "integer" and value.isdigit() else value
        typed = {"true": True, "false": False}.get(value, value) if kind == "boolean" else typed
        fault = _against(schema, typed, strict=False)
        if fault:
            yield f"query parameter {name!r}{fault}"


def _body(one: Exchange, operation: dict[str, Any]) -> Iterator[str]:
    described = _deref(operation.get("requestBody"))
    if described is None:
        if one.body is not None:
            yield "a request body where none is described"
        return
    if one.body is None and not described.get("required"):
        return
    schema = described["content"]["application/json"]["schema"]
    fault = _against(schema, one.body, strict="properties" in schema)
    if fault:
        yield f"request{fault}"


def _deref(part: Any) -> Any:
    while isinstance(part, dict) and "$ref" in part:
        target: Any = _description()
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


def _against(schema: dict[str, Any], value: Any, *, strict: bool) -> str | None:
    error = best_match(_validator(json.dumps(schema, sort_keys=True), strict).iter_errors(value))
    return None if error is None else f"{error.json_path.removeprefix('$')}: {error.message[:300]}"


@cache
def _validator(schema: str, strict: bool) -> Draft202012Validator:
    root = _converted(json.loads(schema), strict)
    root["components"] = {"schemas": _reachable(root, strict)}
    return Draft202012Validator(root, format_checker=formats)


def _reachable(root: Any, strict: bool) -> dict[str, Any]:
    """The named schemas that a schema needs, and that those need."""
    schemas, found, todo = _description()["components"]["schemas"], {}, _names(root)
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = _converted(schemas[name], strict)
            todo |= _names(found[name])
    return found


def _names(part: Any) -> set[str]:
    return set(re.findall(rf'"{re.escape(PREFIX)}([^"]+)"', json.dumps(part)))


def _converted(part: Any, strict: bool) -> Any:
    """OpenAPI 3.0 to JSON Schema: `nullable` becomes a type; where strict, an object has no other properties."""
    if isinstance(part, list):
        return [_converted(one, strict) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return {"$ref": part["$ref"]}
    dropped = (
        "nullable",
        "discriminator",
        "example",
        "examples",
        "default",
        "description",
        "title",
        "xml",
        "deprecated",
    )
    kept = {
        key: {name: _converted(one, strict) for name, one in value.items()}
        if key == "properties"
        else _converted(value, strict)
        for key, value in part.items()
        if key not in dropped and not key.startswith("x-")
    }
    if "oneOf" in kept:
        kept["anyOf"] = kept.pop("oneOf")  # GitHub's alternatives overlap: an error fits several of them
    if "allOf" in part:
        kept["allOf"] = [_converted(one, False) for one in part["allOf"]]
    if (
        strict
        and "properties" in kept
        and not {"additionalProperties", "allOf", "anyOf", "oneOf"} & set(kept)
    ):
        kept["additionalProperties"] = False
    if part.get("nullable"):
        return {"anyOf": [kept, {"type": "null"}]}
    return kept

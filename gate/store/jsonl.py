"""JSONL: one object per line. Every line that is not one is a problem with its line number; the others are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gate.errors import Problem, did_you_mean, nearest
from gate.model.fingerprint import nfc
from gate.store.text import DOC_ID_LIMIT, Closest, bad_id, is_blank, read_text, told, unparsed

LINE_LIMIT = 1_000_000  # bytes
SHOWN_PROBLEMS = 100  # of one file; the rest are counted


@dataclass(frozen=True, slots=True)
class Row:
    """One object and the line it stands on (the first line is 1)."""

    line: int
    value: dict[str, Any]


class _RefusedError(ValueError):
    """JSON that Python reads and we do not."""


def read_rows(path: Path, shown: str, problems: list[Problem], limit: int = LINE_LIMIT) -> Iterator[Row]:
    """The rows of a file, see `rows`. A file that cannot be read is an InputError."""
    return rows(read_text(path, shown), shown, problems, limit)


def rows(text: str, shown: str, problems: list[Problem], limit: int = LINE_LIMIT) -> Iterator[Row]:
    """The objects of `text`, line by line; blank lines are skipped. What is wrong is added to `problems` on the way.

    `limit` is the length of a line in bytes. After `SHOWN_PROBLEMS` the rest are only counted.
    """
    lines = text.split("\n")
    last = len(lines) if lines[-1] else 0  # only a last line without a line break can be cut off by accident
    broken = 0
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        value = _parse(line.removeprefix("\ufeff"), f"{shown}:{number}", limit, last=number == last)
        if isinstance(value, dict):
            yield Row(number, value)
            continue
        if broken == 0 and (whole := _whole(text, shown)) is not None:
            problems.append(whole)
            return
        broken += 1
        if broken <= SHOWN_PROBLEMS:
            problems.append(value)
    if broken > SHOWN_PROBLEMS:
        problems.append(Problem(shown, f"{broken - SHOWN_PROBLEMS} more lines are not read either"))


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(items)
    if len(value) != len(items):
        seen: set[str] = set()
        twice = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _RefusedError(f"has the key {told(twice)} twice in one object")
    return value


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"has {name}, which is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def _parse(line: str, where: str, limit: int, *, last: bool) -> dict[str, Any] | Problem:
    size = len(line) if line.isascii() else len(line.encode("utf-8", "surrogatepass"))
    if size > limit:
        return Problem(where, f"the line has {size:,} bytes, over {limit:,}", "Write one object per line.")
    try:
        value = _DECODER.decode(line)
        if "\\u" in line and (reason := _unwritable(value)):
            return Problem(where, reason, "Take it out, or write the character itself as UTF-8.")
    except (ValueError, RecursionError) as fault:
        return Problem(where, _reason(fault), _hint(line, fault, last=last))
    if isinstance(value, dict):
        return value
    return Problem(where, f"is not an object ({told(value)})", "Write one object {...} per line.")


def _reason(fault: Exception) -> str:
    if isinstance(fault, _RefusedError):
        return str(fault)
    if isinstance(fault, RecursionError):
        return "is nested too deeply"
    at = (
        f"{fault.msg} at column {fault.colno}" if isinstance(fault, json.JSONDecodeError) else unparsed(fault)
    )
    return f"is not JSON ({at})"


def _hint(line: str, fault: Exception, *, last: bool) -> str:
    if not isinstance(fault, json.JSONDecodeError):
        return ""
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return "It is the mark of a merge conflict; resolve it."
    if fault.msg == "Extra data" and line[fault.pos :].lstrip().startswith(("{", ",")):
        return "Write one object per line."
    if fault.pos >= len(line.rstrip()) or fault.msg.startswith("Unterminated string"):
        return (
            "The file ends in the middle of it; was it cut off?"
            if last
            else "The line ends in the middle of it."
        )
    if "enclosed in double quotes" in fault.msg and line[fault.pos :].startswith("'"):
        return "JSON has double quotes only."
    return ""


def _whole(text: str, shown: str) -> Problem | None:
    """One problem instead of one per line, where the whole file is a JSON document over several lines."""
    if text.lstrip("\ufeff \t\n")[:1] not in {"[", "{"}:
        return None
    try:
        value = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) and "\n" not in text.strip():
        return None
    kind = "an array" if isinstance(value, list) else "one object over several lines"
    return Problem(
        shown, f"is {kind}, not JSONL", "Write one object per line, without brackets and commas around."
    )


def _unwritable(value: Any) -> str | None:
    if isinstance(value, str):
        if "\0" in value:
            return f"has a NUL character in {told(value)}"
        if any("\ud800" <= char <= "\udfff" for char in value):
            return f"has half a surrogate pair in {told(value)}"
        return None
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((reason for part in parts if (reason := _unwritable(part))), None)


class Form:
    """One row under check. Each reader returns the value, or adds what is wrong with it to `problems` and returns None.

    `name` begins every message: `case 'local-003'`, or `a case` when there is no id to name it by.
    """

    def __init__(self, where: str, value: Mapping[str, Any], noun: str, problems: list[Problem]) -> None:
        self.where = where
        self.value = value
        self.problems = problems
        self.failed = False
        self.noun = noun
        self.name = f"a {noun}"
        self._misspelt: set[str] = set()

    def add(self, what: str, todo: str = "") -> None:
        self.failed = True
        self.problems.append(Problem(self.where, f"{self.name}{what}", todo))

    def id(self, key: str = "id", limit: int | None = None) -> str | None:
        """The row's id, NFC. Read it first: it names the row in every later message."""
        if key not in self.value:
            self.add(" has no id", f'Give it a unique "{key}".')
            return None
        reason = bad_id(self.value[key]) if limit is None else bad_id(self.value[key], limit)
        if reason:
            self.add(f" has an id that {reason}", "Give it a short id of visible characters.")
            return None
        found = nfc(self.value[key])
        self.name = f"{self.noun} '{found}'"
        return found

    def keys(self, known: Collection[str], needed: Collection[str], elsewhere: str = "") -> None:
        """No other keys than `known`. A needed key that is only misspelt is reported once, as misspelt."""
        for key in self.value:
            if key in known:
                continue
            absent = [one for one in known if one not in self.value]
            near = nearest(key, absent) or nearest(key.casefold(), absent)
            if near is not None and near in needed:
                self._misspelt.add(near)
            todo = f"Did you mean '{near}'?" if near else elsewhere or did_you_mean(key, known)
            self.add(f": unknown key {told(key)}", todo)

    def text(self, key: str, *, needed: bool = True) -> str | None:
        """A string with something in it, NFC, otherwise as written."""
        if key not in self.value:
            if needed and key not in self._misspelt:
                self.add(f" has no {key}", f'Add "{key}".')
            return None
        found = self.value[key]
        if not isinstance(found, str):
            self.add(f": '{key}' is not a string ({told(found)})")
        elif is_blank(found):
            self.add(f" has a blank {key}", "Write it, or remove the row.")
        else:
            return nfc(found)
        return None

    def word(self, key: str, *, needed: bool = True) -> str | None:
        """A string that groups rows, such as a kind: like an id, without spaces around."""
        if key not in self.value:
            if needed and key not in self._misspelt:
                self.add(f" has no {key}", f'Add "{key}".')
            return None
        reason = bad_id(self.value[key])
        if reason:
            self.add(f": '{key}' {reason}")
            return None
        return nfc(self.value[key])

    def page_ids(self, key: str, verb: str, *, needed: bool = False) -> tuple[str, ...] | None:
        """A list of page ids, NFC, each once. Whether there are such pages is for `no_such_page` to say."""
        if key not in self.value:
            if needed and key not in self._misspelt:
                self.add(f" has no {key}", f'Add "{key}" with at least one page.')
            return None if needed else ()
        found = self.value[key]
        if not isinstance(found, list):
            self.add(f": '{key}' is not a list ({told(found)})", 'Write it as ["page-id"].')
            return None
        ids: dict[str, None] = {}
        whole = True
        for one in found:
            reason = bad_id(one, DOC_ID_LIMIT)
            if reason:
                self.add(f": a page in '{key}' {reason}")
                whole = False
            elif nfc(one) in ids:
                self.add(f" {verb} '{nfc(one)}' twice")
                whole = False
            else:
                ids[nfc(one)] = None
        return tuple(ids) if whole else None

    def no_such_page(self, verb: str, page: str, closest: Closest) -> None:
        self.add(f" {verb} '{page}', no such page", closest(page))

    def fields(self, key: str = "fields") -> dict[str, str]:
        """An object of strings."""
        found = self.value.get(key, {})
        if not isinstance(found, dict):
            self.add(f": '{key}' is not an object ({told(found)})", 'Write it as {"name": "value"}.')
            return {}
        for name, value in found.items():
            if not isinstance(value, str):
                self.add(f": '{name}' in '{key}' is not a string ({told(value)})")
        return {nfc(name): nfc(value) for name, value in found.items() if isinstance(value, str)}

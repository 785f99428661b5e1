"""Queries to be judged: read from a file, and held against what is there already. The comparing part is pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gate.errors import InputError, Problem, raise_all
from gate.model.fingerprint import nfc
from gate.model.pool import Near
from gate.store.text import read_text

_WORDS = re.compile(r"\w+")
# Queries that share so many of their words ask nearly the same.
_ALIKE, _CONTAINED, _FEWEST = 0.6, 0.85, 3
_LEAK_WORDS = 5
_LONGEST = 2000


class Query(NamedTuple):
    """One query and where it comes from."""

    text: str
    source: str


def read_queries(path: Path, shown: str, *, with_body: bool = False) -> list[Query]:
    """The queries of a text file (one a line) or of JSONL (`query`, or the `title` of an issue, with its `body` if asked).

    Every line that is none is a problem with its number. The same query twice counts once.
    """
    text = read_text(path, shown)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    found: dict[str, Query] = {}
    problems: list[Problem] = []
    for number, line in lines:
        where = f"{shown}:{number}"
        try:
            query, source = (
                _read(line, where, with_body) if path.suffix in (".jsonl", ".json") else (line, where)
            )
        except InputError as fault:
            problems += fault.problems
            continue
        query = " ".join(nfc(query).split())
        if not query or len(query) > _LONGEST:
            problems.append(
                Problem(
                    where, f"has no query of 1 to {_LONGEST} characters", "Write one, or remove the line."
                )
            )
        else:
            found.setdefault(query, Query(query, source))
    raise_all(problems)
    if not found:
        raise InputError(Problem(shown, "holds no query", "Write one a line."))
    return list(found.values())


def _read(line: str, where: str, with_body: bool) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except ValueError:
        raise InputError(Problem(where, "is no JSON", "Write one object a line.")) from None
    if not isinstance(row, dict):
        raise InputError(Problem(where, "is no object", 'Write {"query": "..."}.'))
    return from_issue(row, where, with_body)


def from_issue(row: Mapping[str, Any], where: str, with_body: bool) -> tuple[str, str]:
    """(query, source) of a row with `query`, or with the `title` (and `body`) of an issue."""
    text = row.get("query", row.get("title"))
    if not isinstance(text, str):
        raise InputError(Problem(where, "has neither 'query' nor 'title'", 'Write {"query": "..."}.'))
    body = row.get("body")
    if with_body and "query" not in row and isinstance(body, str):
        text = f"{text} {body}"
    number = row.get("id", row.get("number"))
    return text, f"{where} #{number}" if isinstance(number, int | str) and str(number) else where


def words(text: str) -> tuple[str, ...]:
    """The words of a text, lower-cased, in order."""
    return tuple(_WORDS.findall(text.lower()))


def near(query: str, others: Iterable[tuple[str, str]]) -> list[Near]:
    """Those of `others` (id, query) that ask nearly the same: most words shared, or one holds the other."""
    mine = set(words(query))
    found = []
    for name, text in others:
        theirs = set(words(text))
        both = len(mine & theirs)
        small = min(len(mine), len(theirs))
        alike = both / len(mine | theirs) >= _ALIKE if mine | theirs else False
        held = small >= _FEWEST and both / small >= _CONTAINED
        if alike or held:
            found.append(Near(id=name, query=text))
    return found


class Leaks:
    """Pages by their running text, to find those that hold a query word for word."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._pages = {name: f" {' '.join(words(text))} " for name, text in pages.items()}

    def of(self, query: str) -> tuple[str, ...]:
        """The pages that hold the whole query; a short one stands somewhere by chance and is no leak."""
        sought = words(query)
        if len(sought) < _LEAK_WORDS:
            return ()
        text = f" {' '.join(sought)} "
        return tuple(sorted(name for name, page in self._pages.items() if text in page))

"""Rankings that were made elsewhere: a TREC run, or JSONL with one object per query. All that is wrong is told at once.

TREC: `query Q0 id rank score tag`. As for every tool that reads such files, the score decides the order and the rank
column does not; equal scores stay in file order. JSONL: `{"id": "rq-005", "hits": [...]}`, or `"query"` (the text)
in place of the id, or both; the hits are in order, each an id, an `[id, score]` pair, or an object with `chunk_id`,
`doc_id` or both (or `id`), and if it likes `score` and `text`. An empty list is an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gate.errors import Problem, raise_all
from gate.model.fingerprint import nfc
from gate.store.jsonl import SHOWN_PROBLEMS, Form, rows
from gate.store.text import DOC_ID_LIMIT, bad_id, read_text, told

LINE_LIMIT = 50_000_000  # bytes of one JSONL line: a pool with its texts
_COLUMNS = 6
_NAMES = ("doc_id", "id", "chunk_id")


class Found(NamedTuple):
    """One hit as it stands in the file. `names`: what may name its page, the likeliest first; `chunk`: its own id."""

    names: tuple[str, ...]
    chunk: str
    score: float | None
    text: str = ""


class Answer(NamedTuple):
    """The hits of one query, best first. `query`: its text, "" where the file does not say."""

    hits: tuple[Found, ...]
    query: str = ""


class Recorded(NamedTuple):
    """Answers by the id of what asked (as written in the file), and by query text (NFC)."""

    by_id: Mapping[str, Answer]
    by_query: Mapping[str, Answer]


def read(path: Path, shown: str) -> Recorded:
    """Read a file of either kind: JSONL where the first line is an object, else TREC.

    Raises:
        InputError: with every problem of the file.
    """
    text = read_text(path, shown)
    problems: list[Problem] = []
    found = _jsonl(text, shown, problems) if text.lstrip()[:1] in ("{", "[") else _trec(text, shown, problems)
    if not (found.by_id or found.by_query) and not problems:
        problems.append(Problem(shown, "has no answers", "Write a TREC run or JSONL into it."))
    if len(problems) > SHOWN_PROBLEMS:
        more = Problem(shown, f"{len(problems) - SHOWN_PROBLEMS} more lines are wrong")
        problems = [*problems[:SHOWN_PROBLEMS], more]
    raise_all(problems)
    return found


def _trec(text: str, shown: str, problems: list[Problem]) -> Recorded:
    hits: dict[str, list[Found]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns:
            continue
        where = f"{shown}:{number}"
        if len(columns) != _COLUMNS:
            todo = "A line of a TREC run reads: query Q0 id rank score tag."
            problems.append(Problem(where, f"has {len(columns)} columns, not {_COLUMNS}", todo))
            continue
        query, _, name, _, written, _ = columns
        score = _number(written)
        if score is None:
            problems.append(Problem(where, f"the score is not a finite number ({told(written)})"))
        elif reason := bad_id(name, DOC_ID_LIMIT):
            problems.append(Problem(where, f"the id of the hit {reason}"))
        else:
            hits.setdefault(nfc(query), []).append(Found((nfc(name),), nfc(name), score))
    ordered = {query: Answer(tuple(sorted(found, key=_score))) for query, found in hits.items()}
    return Recorded(ordered, {})


def _score(hit: Found) -> float:
    return -(hit.score or 0.0)


def _number(written: object) -> float | None:
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    try:
        score = float(written)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def _jsonl(text: str, shown: str, problems: list[Problem]) -> Recorded:
    by_id: dict[str, Answer] = {}
    by_query: dict[str, Answer] = {}
    places: dict[tuple[str, str], str] = {}
    for row in rows(text, shown, problems, LINE_LIMIT):
        form = Form(f"{shown}:{row.line}", row.value, "record", problems)
        if "hits" not in row.value and "version" in row.value:
            continue
        form.keys(("id", "query", "hits"), ("hits",))
        name = form.id() if "id" in row.value or "query" not in row.value else None
        query = form.text("query", needed=False) or ""
        for kind, value in (("id", name), ("query", query)):
            if value and (first := places.setdefault((kind, value), form.where)) != form.where:
                form.add(f" has the {kind} of {first}", "Keep one of them.")
        hits = tuple(_hits(form))
        if form.failed:
            continue
        answer = Answer(hits, query)
        if name:
            by_id[name] = answer
        if query:
            by_query[query] = answer
    return Recorded(by_id, by_query)


def _hits(form: Form) -> Iterator[Found]:
    listed = form.value.get("hits")
    if not isinstance(listed, list):
        form.add(f": 'hits' is not a list ({told(listed)})", 'Write "hits": [] where nothing was found.')
        return
    found = []
    for rank, value in enumerate(listed, 1):
        one = _hit(value)
        if isinstance(one, str):
            form.add(f": hit {rank} {one}")
            return
        found.append(one)
    if len({hit.score is None for hit in found}) > 1:
        form.add(": some of its hits have a score and some have none", "Give all of them one, or none.")
        return
    yield from found


def _hit(value: Any) -> Found | str:
    """One hit of a list, or what is wrong with it as the end of a sentence."""
    if isinstance(value, str):
        value = {"id": value}
    elif isinstance(value, list) and len(value) == 2:
        value = {"id": value[0], "score": value[1]}
    if not isinstance(value, dict):
        return f"is neither an id, an [id, score] pair nor an object ({told(value)})"
    names = [value[key] for key in _NAMES if value.get(key) is not None]
    if not names:
        return f"has no chunk_id, doc_id or id ({told(value)})"
    for name in names:
        if reason := bad_id(name, DOC_ID_LIMIT):
            return f"has an id that {reason}"
    score = value.get("score")
    if score is not None and (isinstance(score, str) or _number(score) is None):
        return f"has a score that is not a finite number ({told(score)})"
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        return f"has a text that is not a string ({told(text)})"
    chunk = value.get("chunk_id") or value.get("id") or value["doc_id"]
    return Found(tuple(map(nfc, names)), nfc(chunk), None if score is None else float(score), text or "")

"""BEIR's `corpus.jsonl`, or a folder that holds one: `_id`, `text` and an optional `title`; one page per line.

A page may be empty. Values in `metadata`, and further keys, become the page's fields where they are strings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gate.corpus.readers import _rows
from gate.errors import Problem, raise_all
from gate.model.fingerprint import nfc
from gate.model.page import Corpus, Page
from gate.store.jsonl import read_rows

KEYS = ("_id", "text", "title")


def accepts(path: Path) -> bool:
    return _rows.is_jsonl(path) and "chunk_id" not in _rows.first_row(_rows.file_of(path))


def read(path: Path, shown: str) -> Corpus:
    """The pages in file order."""
    file, shown = _rows.file_of(path), _rows.shown_of(path, shown)
    problems: list[Problem] = []
    pages: dict[str, Page] = {}
    lines: dict[str, int] = {}
    for row in read_rows(file, shown, problems, _rows.LINE_LIMIT):
        check = _rows.Check(f"{shown}:{row.line}", row.value, KEYS, problems)
        doc_id, text, title = check.page_id("_id"), check.text("text"), check.text("title", needed=False)
        if doc_id is None or text is None or title is None:
            continue
        if doc_id in pages:
            problems.append(
                Problem(
                    check.where,
                    f"page '{doc_id}' is already in line {lines[doc_id]}",
                    "Give each page its own _id.",
                )
            )
            continue
        lines[doc_id] = row.line
        pages[doc_id] = Page(doc_id, title.strip(), text, _fields(row.value), path=check.where)
    if not pages and not problems:
        problems.append(Problem(shown, "has no pages", "Write one object per line with _id, title and text."))
    raise_all(problems)
    return Corpus(tuple(pages.values()), chunker="page")


def _fields(value: dict[str, Any]) -> dict[str, str]:
    if len(value) <= len(KEYS) and value.keys() <= set(KEYS):
        return {}
    metadata = value.get("metadata")
    flat = {**value, **(metadata if isinstance(metadata, dict) else {})}
    return {nfc(key): nfc(found) for key, found in flat.items() if key not in KEYS and isinstance(found, str)}

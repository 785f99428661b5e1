"""Pages that were chunked elsewhere: JSONL with `chunk_id`, `doc_id`, `text` and an optional `title`.

The chunks of a page keep their order in the file; pages stand in the order of their first chunk.
"""

from __future__ import annotations

from pathlib import Path

from gate.corpus.indexed import indexed
from gate.corpus.readers import _rows
from gate.errors import Problem, raise_all
from gate.model.page import Chunk, Corpus, Page
from gate.store.jsonl import read_rows
from gate.store.text import is_blank

KEYS = ("chunk_id", "doc_id", "text", "title")


def accepts(path: Path) -> bool:
    return _rows.is_jsonl(path) and "chunk_id" in _rows.first_row(_rows.file_of(path))


def read(path: Path, shown: str) -> Corpus:
    """The pages with their given chunks. A chunk is indexed as its title (where it has one), a line break, its text."""
    file, shown = _rows.file_of(path), _rows.shown_of(path, shown)
    problems: list[Problem] = []
    lines: dict[str, int] = {}
    chunks: dict[str, list[Chunk]] = {}
    texts: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in read_rows(file, shown, problems, _rows.LINE_LIMIT):
        check = _rows.Check(f"{shown}:{row.line}", row.value, KEYS, problems)
        chunk_id, doc_id = check.page_id("chunk_id"), check.page_id("doc_id")
        text, title = check.text("text"), check.text("title", needed=False)
        if chunk_id is None or doc_id is None or text is None or title is None:
            continue
        if chunk_id in lines:
            what = f"chunk '{chunk_id}' is already in line {lines[chunk_id]}"
            problems.append(Problem(check.where, what, "Give each chunk its own chunk_id."))
            continue
        lines[chunk_id] = row.line
        if is_blank(text):
            problems.append(
                Problem(check.where, f"chunk '{chunk_id}' has no text", "Leave empty chunks out.")
            )
        title = title.strip()
        chunks.setdefault(doc_id, []).append(Chunk(chunk_id, doc_id, indexed(title, text)))
        texts.setdefault(doc_id, []).append(text)
        places.setdefault(doc_id, check.where)
        if title:
            titles.setdefault(doc_id, title)
    if not chunks and not problems:
        problems.append(
            Problem(shown, "has no chunks", "Write one object per line with chunk_id, doc_id and text.")
        )
    raise_all(problems)
    return Corpus(
        tuple(
            Page(doc_id, titles.get(doc_id, ""), "\n".join(texts[doc_id]), {}, tuple(found), places[doc_id])
            for doc_id, found in chunks.items()
        ),
        chunker="given",
    )

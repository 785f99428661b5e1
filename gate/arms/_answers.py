"""What a retriever outside the gate returned -> our hits: which page a hit means, its text, its score.

A hit counts for the page that it names: by its id, by a chunk's id (`page#3`), or by the path of the page's file. One that
names no page of the corpus is kept, counts as not relevant, and is counted in `unknown`.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.arms._process import quiet
from gate.model.fingerprint import nfc
from gate.model.page import Chunk
from gate.model.ranking import Hit, Materials
from gate.store.text import DOC_ID_LIMIT, bad_id

_MAX_UNKNOWN = 1000


class AnswerError(RuntimeError):
    """What came back is no list of hits."""


class Pages:
    """The pages that a hit may name, and under which names."""

    def __init__(self, materials: Materials, root: Path) -> None:
        self._root = root
        self._chunks: dict[str, Chunk] = {chunk.chunk_id: chunk for chunk in materials.chunks(None)}
        self._pages = {chunk.doc_id for chunk in self._chunks.values()}
        corpus = getattr(materials, "corpus", None)
        self._paths = {
            self._whole(page.path): page.doc_id
            for page in (corpus.pages if corpus is not None else ())
            if page.path
        }
        self.unknown: Counter[str] = Counter()

    def find(self, names: Sequence[str]) -> tuple[str, bool]:
        """(the page that the first name of a known one means, True), or (the first name, False)."""
        for name in map(nfc, names):
            page = self._page(name) or self._page(name.rpartition("#")[0])
            if page is not None:
                return page, True
        return nfc(names[0]), False

    def _page(self, name: str) -> str | None:
        if name in self._pages:
            return name
        if name in self._chunks:
            return self._chunks[name].doc_id
        return self._paths.get(self._whole(name)) if name and "\0" not in name else None

    def _whole(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._root, path))  # noqa: PTH118 - of names, not of files

    def text(self, chunk_id: str) -> str:
        """The text of a chunk that the corpus has under this id, else nothing."""
        chunk = self._chunks.get(chunk_id)
        return chunk.text if chunk is not None else ""

    def hits(self, found: Sequence[Mapping[str, Any]]) -> list[Hit]:
        """Ours, from checked answers (`is_answer`). Where any lacks a score, the order is all there is."""
        scores = [hit["score"] for hit in found]
        if any(score is None for score in scores):
            scores = [float(len(found) - rank) for rank in range(len(found))]
        return [
            self._hit(hit, score, rank)
            for rank, (hit, score) in enumerate(zip(found, scores, strict=True), 1)
        ]

    def _hit(self, hit: Mapping[str, Any], score: float, rank: int) -> Hit:
        doc_id, known = self.find(hit["ids"])
        chunk_id = doc_id if hit["chunk"] is None else nfc(hit["chunk"])
        for name, value in (("page", doc_id), ("chunk", chunk_id)):
            if reason := bad_id(value, DOC_ID_LIMIT):
                raise AnswerError(f"hit {rank}: the id of its {name} {quiet(reason)}")
        if not known and (doc_id in self.unknown or len(self.unknown) < _MAX_UNKNOWN):
            self.unknown[doc_id] += 1
        text = hit["text"].encode("utf-8", "replace").decode() or self.text(chunk_id)
        return Hit(chunk_id, doc_id, text, score)


def is_answer(hits: object) -> bool:
    """Whether this is a list of hits as the bridge writes them."""
    return isinstance(hits, list) and all(map(_is_hit, hits))


def _is_hit(hit: object) -> bool:
    if not isinstance(hit, dict):
        return False
    ids, chunk, text, score = (hit.get(key) for key in ("ids", "chunk", "text", "score"))
    return (
        isinstance(ids, list)
        and len(ids) > 0
        and all(isinstance(name, str) for name in ids)
        and (chunk is None or isinstance(chunk, str))
        and isinstance(text, str)
        and (score is None or (isinstance(score, float) and abs(score) < float("inf")))
    )


def from_json(items: object, pool: int) -> list[dict[str, Any]]:
    """Hits as another program wrote them: ids, `[id, score]` pairs, or objects with an id, a text, a score.

    An object names its page in `doc_id`, `page` or `id`, its chunk in `chunk_id`. AnswerError says which hit is none.
    """
    if not isinstance(items, list):
        raise AnswerError(f"its hits are {_named(items)}, not a list")
    return [_from_json(item, position) for position, item in enumerate(items[:pool], 1)]


def _from_json(item: object, position: int) -> dict[str, Any]:
    score: object = None
    chunk = None
    text: object = ""
    if isinstance(item, list):
        if len(item) != 2:
            raise AnswerError(f"hit {position} is a list of {len(item)}, not an [id, score] pair")
        item, score = item
    if isinstance(item, dict):
        chunk = _id(item.get("chunk_id"))
        names = [_id(item.get(key)) for key in ("doc_id", "page", "chunk_id", "id")]
        score = item.get("score") if score is None else score
        text = item.get("text") or ""
    else:
        names = [_id(item)]
    ids = list(dict.fromkeys(name for name in names if name))
    if not ids:
        raise AnswerError(f"hit {position} has no id ({_named(item)})")
    if not isinstance(text, str):
        raise AnswerError(f"hit {position} ({ids[0]!r}) has a text that is {_named(text)}")
    return {"ids": ids, "chunk": chunk or ids[0], "text": text, "score": as_score(score, ids[0], position)}


def as_score(score: object, name: str, position: int) -> float | None:
    """A finite number, None where there is none; AnswerError for anything else."""
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise AnswerError(f"hit {position} ({name!r}) has a score that is no number ({_named(score)})")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise AnswerError(f"hit {position} ({name!r}) has the score {number}")
    return number


def _id(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def _named(value: object) -> str:
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")

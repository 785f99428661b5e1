"""The keyword formula once more, as plain loops over plain lists, and what the tests of this folder build with it.

Nothing here comes from `gate.arms`: it is DESIGN section 5 read again. The operations go in this order:

    score = 0.0
    for each distinct query term, in order of first appearance, that the chunk holds:
        idf   = log(1 + (N - df + 0.5) / (df + 0.5))
        part  = (tf * (k1 + 1)) / (tf + k1 * ((1 - b) + (b * dl) / avgdl))
        score = score + idf * part
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gate.model.page import Chunk

COLLECTIONS = ("anthropic-docs", "cranfield", "vaswani-npl")


def shared_data() -> Path:
    """GATE_SHARED_DATA, or shared/data beside the repository; skips the test where there is none."""
    repo = Path(__file__).resolve().parents[3]
    folder = Path(os.environ.get("GATE_SHARED_DATA", repo.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no judged collections in {folder} (set GATE_SHARED_DATA)")
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def chunks_of(texts: Sequence[str]) -> list[Chunk]:
    return [Chunk(f"page{number}#0", f"page{number}", text) for number, text in enumerate(texts)]


class Corpus:
    """Materials with the same chunks for every chunker; remembers which one was asked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._chunks = chunks_of(texts)
        self.asked: list[Any] = []

    def chunks(self, chunker: str | Mapping[str, Any] | None) -> Sequence[Chunk]:
        self.asked.append(chunker)
        return self._chunks

    def arm(self, name: str) -> Any:
        raise AssertionError(name)


def words(text: str) -> list[str]:
    return re.findall("[a-z0-9_]+(?:[-.][a-z0-9_]+)*", text.lower())


class Reference:
    """Scores every chunk for every query; ranks by (score descending, corpus order)."""

    def __init__(
        self,
        texts: Sequence[str],
        k1: float = 1.5,
        b: float = 0.75,
        tokenize: Callable[[str], list[str]] = words,
    ) -> None:
        self.k1, self.b, self.tokenize = k1, b, tokenize
        self.lengths: list[int] = []
        self.counts: list[dict[str, int]] = []
        self.df: dict[str, int] = {}
        for text in texts:
            tokens = tokenize(text)
            self.lengths.append(len(tokens))
            tf: dict[str, int] = {}
            for token in tokens:
                tf[token] = tf.get(token, 0) + 1
            self.counts.append(tf)
            for token in tf:
                self.df[token] = self.df.get(token, 0) + 1
        self.avgdl = sum(self.lengths) / len(self.lengths)

    def score(self, terms: Sequence[str], position: int) -> float:
        n, avgdl = len(self.lengths), self.avgdl
        score = 0.0
        for term in terms:
            tf = self.counts[position].get(term, 0)
            if tf:
                idf = math.log(1 + (n - self.df[term] + 0.5) / (self.df[term] + 0.5))
                norm = self.k1 * (1 - self.b + self.b * self.lengths[position] / avgdl)
                score = score + idf * (tf * (self.k1 + 1) / (tf + norm))
        return score

    def search(self, query: str, pool: int) -> list[tuple[int, float]]:
        terms: list[str] = []
        for token in self.tokenize(query):
            if token not in terms:
                terms.append(token)
        scored = [(position, self.score(terms, position)) for position in range(len(self.lengths))]
        scored = [(position, score) for position, score in scored if score > 0]
        scored.sort(key=lambda pair: (-pair[1], pair[0]))
        return scored[:pool]

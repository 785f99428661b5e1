"""The keyword arm: BM25 over chunks.

`variant = "formula"` is the formula of DESIGN section 5, exact to the last bit (`gate.arms._postings` says in which
order the operations go). `okapi`, `l` and `plus` run the scorers of the rank-bm25 library on the same tokens, for
teams that run those; they see every query token, repeated ones twice.

A hit is a chunk that holds a query term. Under the formula these are the chunks with a score above 0. The library
also scores others (`plus` lifts every chunk by the term's idf) and gives chunks that match 0 or less (`okapi` in small
corpora, where its floor of idf is negative), so there the sign of a score says nothing about a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from gate.arms._tokens import TOKENIZERS, Tokenizer
from gate.model.page import Chunk
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings

if TYPE_CHECKING:
    from gate.arms._postings import Postings


class Settings(ArmSettings):
    """`k1`: how much a repeated term still adds. `b`: how much the length of a chunk counts."""

    chunker: str | dict[str, Any] | None = None
    k1: Annotated[float, Field(ge=0.0, le=1000.0)] = 1.5
    b: Annotated[float, Field(ge=0.0, le=1.0)] = 0.75
    tokenizer: Literal["ascii", "unicode"] = "ascii"
    variant: Literal["formula", "okapi", "l", "plus"] = "formula"


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one query term adds to the score of one chunk. `tf`: its count there; `df`: the chunks that hold it."""

    term: str
    tf: int
    df: int
    idf: float
    contribution: float


class KeywordArm(Protocol):
    """An arm that also says how it read a query, and what made a score."""

    def search(self, query: str, pool: int) -> Sequence[Hit]: ...

    def explain(self, query: str, chunk_id: str) -> tuple[TermScore, ...]:
        """One entry per query term, in the order in which the score adds them up; KeyError for an unknown chunk.

        Added one by one from 0.0, the contributions are exactly the score (the built-in `sum` is not that: from
        Python 3.12 it compensates).
        """
        ...

    def tokens(self, query: str) -> tuple[str, ...]:
        """The tokens of `query`; none means that nothing can be found."""
        ...


def embedded(*_: object) -> bool:
    """It runs in this process and repeats bit for bit: the base's tree can be measured again with it."""
    return True


def build(materials: Materials, settings: Settings) -> KeywordArm:
    """Index the corpus as `settings` says."""
    chunks = materials.chunks(settings.chunker)
    tokenize = TOKENIZERS[settings.tokenizer]
    if settings.variant == "formula":
        from gate.arms._postings import Postings

        index = Postings((chunk.text for chunk in chunks), tokenize, k1=settings.k1, b=settings.b)
        return FormulaArm(chunks, tokenize, index)
    return LibraryArm(chunks, tokenize, settings)


class _Chunks:
    """What both arms share: the chunks they index, and how they read text."""

    def __init__(self, chunks: Sequence[Chunk], tokenize: Tokenizer) -> None:
        self._chunks = chunks
        self._tokenize = tokenize

    def tokens(self, query: str) -> tuple[str, ...]:
        return tuple(self._tokenize(query))

    def _hit(self, position: int, score: float) -> Hit:
        chunk = self._chunks[position]
        return Hit(chunk.chunk_id, chunk.doc_id, chunk.text, score)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {chunk.chunk_id: position for position, chunk in enumerate(self._chunks)}


class FormulaArm(_Chunks):
    """The formula. Repeated query terms count once."""

    def __init__(self, chunks: Sequence[Chunk], tokenize: Tokenizer, index: Postings) -> None:
        super().__init__(chunks, tokenize)
        self._index = index

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        return [self._hit(*scored) for scored in self._index.best(self._tokenize(query), pool)]

    def explain(self, query: str, chunk_id: str) -> tuple[TermScore, ...]:
        position = self._positions[chunk_id]
        counted = self._tokenize(self._chunks[position].text)
        return tuple(
            TermScore(
                term,
                counted.count(term),
                self._index.df(term),
                self._index.idf(self._index.df(term)),
                self._index.contribution(term, position),
            )
            for term in dict.fromkeys(self._tokenize(query))
        )


_SCORERS = {"okapi": "BM25Okapi", "l": "BM25L", "plus": "BM25Plus"}


class LibraryArm(_Chunks):
    """A scorer of rank-bm25 with its own further constants (epsilon, delta)."""

    def __init__(self, chunks: Sequence[Chunk], tokenize: Tokenizer, settings: Settings) -> None:
        import rank_bm25

        super().__init__(chunks, tokenize)
        corpus = [tokenize(chunk.text) for chunk in chunks]
        scorer = getattr(rank_bm25, _SCORERS[settings.variant])
        # The library divides by the number of chunks and of terms: without a token there is nothing to score.
        self._scorer: Any = scorer(corpus, k1=settings.k1, b=settings.b) if any(corpus) else None

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        tokens = self._tokenize(query)
        if self._scorer is None:
            return []
        scores: list[float] = self._scorer.get_scores(tokens).tolist()
        terms, hits = set(tokens), list[Hit]()
        for position in sorted(range(len(scores)), key=lambda position: -scores[position]):
            if len(hits) == pool:
                break
            if not terms.isdisjoint(self._scorer.doc_freqs[position]):
                hits.append(self._hit(position, scores[position]))
        return hits

    def explain(self, query: str, chunk_id: str) -> tuple[TermScore, ...]:
        """As `KeywordArm.explain`, with one entry per query token: a repeated one is scored again."""
        position = self._positions[chunk_id]
        if self._scorer is None:
            return ()
        counts: list[dict[str, int]] = self._scorer.doc_freqs
        return tuple(
            TermScore(
                term,
                counts[position].get(term, 0),
                sum(term in counted for counted in counts),
                self._scorer.idf.get(term, 0.0),
                float(self._scorer.get_scores([term])[position]),
            )
            for term in self._tokenize(query)
        )

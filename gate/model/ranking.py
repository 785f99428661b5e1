"""What a retriever returns, and the page ranking made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gate.model.page import Chunk


@dataclass(frozen=True, slots=True)
class Hit:
    """One returned chunk. `ranks` holds the rank in each leg where an arm fuses others (leg -> 1-based rank)."""

    chunk_id: str
    doc_id: str
    text: str
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The page ranking of one query.

    `pages`: doc_ids, best first, each once. `at`: for each page the 1-based position of its best chunk among the
    hits, so that the context (a number of chunks) can be applied later. `hits` is how many chunks came back.
    """

    pages: tuple[str, ...]
    at: tuple[int, ...]
    hits: int

    def within(self, chunks: int) -> tuple[str, ...]:
        """The pages that have a chunk among the first `chunks` hits."""
        return tuple(page for page, position in zip(self.pages, self.at, strict=True) if position <= chunks)


class Arm(Protocol):
    """A retriever under test. Called with a query and how many hits to return; best hit first.

    Whatever it raises makes that case *not measured*; an empty answer is an answer. An arm may have more:
    `prepare(queries, pool)` is told every query of a run before the first is asked, so that it can ask a service
    in batches; what goes wrong there is raised later, by `search`, for the queries it concerns. `close()` ends what it
    started. `tokens(query)` is what it reads in a query, `explain(query, chunk_id)` what made the score of one chunk: its terms, or
    one number. `unknown` counts pages that it named and the corpus does not have. `spent` is a gate.model.cost.Spent.
    `warnings` are what its user should hear although it measured. `tolerance` is the difference of two scores that means nothing (0.0).
    """

    def search(self, query: str, pool: int) -> Sequence[Hit]: ...


class Materials(Protocol):
    """What an arm is built from: the corpus as chunks, and the other arms it fuses. Both are made once and shared."""

    def chunks(self, chunker: str | Mapping[str, Any] | None) -> Sequence[Chunk]:
        """The corpus cut by `chunker` (a name, a table with `type` and options, or None: the corpus's own way)."""
        ...

    def arm(self, name: str) -> Arm:
        """Another arm of the suite, built. A cycle or an unknown name is an InputError."""
        ...

    def cut_of(self, name: str) -> str | None:
        """How the chunks behind an arm's chunk ids are cut: equal for two arms whose ids mean the same chunks.

        None where it cannot be known, as for the user's own code.
        """
        ...

    @property
    def case_ids(self) -> Mapping[str, tuple[str, ...]]:
        """Query text -> the ids of the cases and questions that ask it. Complete once the first query is asked."""
        ...

    def secret(self, name: str, url: str) -> str | None:
        """The environment variable `name`, to be sent to `url`; None where it is unset.

        SecretRefusedError where the base does not send it there (gate.model.grants).
        """
        ...


class SecretRefusedError(RuntimeError):
    """A secret was asked for an origin to which the base does not send it."""


def rank_pages(hits: Sequence[Hit], pool: int | None = None) -> Ranking:
    """Deduplicate the first `pool` hits to pages, each at its best position; the order is never changed."""
    cut = hits if pool is None else hits[:pool]
    first: dict[str, int] = {}
    for position, hit in enumerate(cut, 1):
        first.setdefault(hit.doc_id, position)
    return Ranking(tuple(first), tuple(first.values()), len(cut))

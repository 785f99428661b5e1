"""What a model answered to a QA question from the chunks it was given, as values."""

from __future__ import annotations

from pydantic import Field

from gate.model.frozen import Frozen


class Citation(Frozen):
    """One source that the answer names. `page` is None where it names nothing that it was given.

    `quote` is what the model says stands there; `found`: exact, folded (up to white space and case), absent, or none where
    it quoted nothing.
    """

    chunk: str
    page: str | None
    quote: str = ""
    found: str = "none"


class Answer(Frozen):
    """`answered` False is a refusal."""

    answered: bool
    text: str
    citations: tuple[Citation, ...] = ()

    @property
    def cited(self) -> tuple[str, ...]:
        """The cited pages, each once."""
        return tuple(dict.fromkeys(one.page for one in self.citations if one.page is not None))

    @property
    def unsupported(self) -> tuple[str, ...]:
        """What is wrong with its citations: sources that it was not given, quotes that do not stand there."""
        return tuple(
            f"cites {one.chunk}, which was not in the context"
            if one.page is None
            else f"quotes {one.chunk} with words that do not stand there"
            for one in self.citations
            if one.page is None or one.found == "absent"
        )


class Trace(Frozen):
    """Every stage of one question: the pool and the context (chunk ids), the answer, and what it took.

    `seconds`, `tokens_in`, `tokens_out` and `cost_usd` are 0 for an answer from the cache.
    """

    question: str
    pool: tuple[str, ...]
    context: tuple[str, ...]
    answer: Answer | None = None
    seconds: float = Field(default=0.0, ge=0.0)
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    cached: bool = False
    repaired: bool = False

"""The rerank arm: another arm's hits in the order of a scorer that reads query and text together.

The scorer is the user's own function (`scorer = "package.module:score"`, in their interpreter), or an HTTP endpoint in the shape
that the common servers share: POST {model, query, documents, top_n}, answered by {results: [{index, relevance_score}]}, or a
bare list of {index, score}. The first `depth` hits are scored; the rest stay behind them in their order. Equal scores keep
the order of the arm.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gate.arms._bridge import Bridge, Runtime, Target
from gate.arms._http import Client, Service, ServiceError
from gate.arms._process import quiet
from gate.harness import told
from gate.model.cost import Spent
from gate.model.ranking import Arm, Hit, Materials
from gate.model.settings import ArmSettings, Name, Text


class Endpoint(Service):
    """`documents`: what the list of texts is called in the request; TEI's servers say `texts`."""

    model: Text | None = None
    documents: Literal["documents", "texts"] = "documents"


class Settings(ArmSettings, Runtime):
    """`of`: the arm whose hits are reranked. One of `scorer` and `endpoint`."""

    of: Name
    depth: Annotated[int, Field(ge=1, le=10_000)] = 20
    scorer: Target | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    endpoint: Endpoint | None = None

    @model_validator(mode="after")
    def _one_scorer(self) -> Settings:
        if (self.scorer is None) == (self.endpoint is None):
            raise ValueError("needs one of scorer and endpoint")
        return self


class ScoreError(RuntimeError):
    """The scorer did not give one finite number for each text."""


def legs(settings: Settings) -> tuple[str, ...]:
    """The arm it asks."""
    return (settings.of,)


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, address) of what it sends."""
    return (
        *settings.credentials(),
        *(settings.endpoint.credentials() if settings.endpoint is not None else ()),
    )


def lacking(settings: Settings, root: Path | None) -> Iterable[str]:
    """What is not on this machine."""
    return settings.endpoint.lacking() if settings.endpoint is not None else settings.lacking(root)


def build(materials: Materials, settings: Settings) -> RerankArm:
    """Nothing is asked before the first query."""
    first = materials.arm(settings.of)
    if settings.endpoint is not None:
        client = Client(settings.endpoint, materials.secret)
        return RerankArm(first, settings, HttpScorer(settings.endpoint, client))
    root: Path = getattr(materials, "root", None) or Path.cwd()
    assert settings.scorer is not None
    bridge = Bridge("score", settings.scorer, settings.options, settings, root, materials.secret)
    return RerankArm(first, settings, UserScorer(bridge))


class RerankArm:
    """See the module."""

    def __init__(self, first: Arm, settings: Settings, scorer: UserScorer | HttpScorer) -> None:
        self._first = first
        self._settings = settings
        self._scorer = scorer

    @property
    def spent(self) -> Spent:
        """What the scorer used."""
        return self._scorer.spent

    @property
    def unknown(self) -> Any:
        """As the arm below."""
        return getattr(self._first, "unknown", ())

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        """Let the arm below ask in batches, and the scorer score several queries at a time where it can."""
        prepare: Callable[[Sequence[str], int], None] | None = getattr(self._first, "prepare", None)
        if prepare is not None:
            prepare(queries, pool)
        if isinstance(self._scorer, HttpScorer):
            texts: dict[str, list[str]] = {}
            for query in queries:
                with suppress(Exception):  # `search` meets the same fault, and tells it
                    texts[query] = self._texts(self._head(self._hits(query, pool)))
            self._scorer.prepare({query: some for query, some in texts.items() if some})

    def _hits(self, query: str, pool: int) -> list[Hit]:
        try:
            return list(self._first.search(query, pool))[:pool]
        except Exception as fault:
            raise ScoreError(f"arm '{self._settings.of}': {told(fault)}") from fault

    def _head(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits[: self._settings.depth]

    def _texts(self, head: Sequence[Hit]) -> list[str]:
        """What is scored. A hit without text would be scored as nothing, and the ranking be one of nothings."""
        for position, hit in enumerate(head, 1):
            if not hit.text.strip():
                raise ScoreError(
                    f"hit {position} of the arm '{self._settings.of}' ({quiet(hit.chunk_id, 200)!r}) has no text to score. "
                    "Let it return texts, or chunk ids of the corpus"
                )
        return [hit.text for hit in head]

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        """The arm's own faults are told with its name; ScoreError where the scorer's answer is no ranking."""
        hits = self._hits(query, pool)
        head, rest = self._head(hits), hits[self._settings.depth :]
        if not head:
            return []
        scores = self._scorer.score(query, self._texts(head))
        if len(scores) != len(head) or not all(map(math.isfinite, scores)):
            raise ScoreError(f"the scorer did not give one finite number for each of {len(head)} texts")
        order = sorted(range(len(head)), key=lambda position: -scores[position])
        ranked = [
            replace(head[position], score=scores[position], ranks={self._settings.of: position + 1})
            for position in order
        ]
        # The rest keep their order, and must not look better than what was scored.
        floor = ranked[-1].score
        behind = [
            replace(hit, score=floor - at, ranks={self._settings.of: len(head) + at})
            for at, hit in enumerate(rest, 1)
        ]
        return ranked + behind

    def close(self) -> None:
        """End the scorer; the arm below belongs to the run."""
        self._scorer.close()


class UserScorer:
    """The user's function behind the bridge."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._pairs = 0

    @property
    def spent(self) -> Spent:
        return Spent(texts=self._pairs)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        answer = self._bridge.ask({"query": query, "texts": list(texts)}, _form)
        self._pairs += len(texts)
        return [float(score) for score in answer["scores"]]

    def close(self) -> None:
        self._bridge.close()


def _form(answer: Mapping[str, Any]) -> str:
    scores = answer.get("scores")
    good = isinstance(scores, list) and all(isinstance(score, int | float) for score in scores)
    return "" if good else "its answer is no list of numbers"


class HttpScorer:
    """A rerank endpoint."""

    def __init__(self, endpoint: Endpoint, client: Client) -> None:
        self._endpoint = endpoint
        self._client = client
        self._pairs = 0
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, tuple[str, ...]], list[float] | Exception] = {}

    @property
    def spent(self) -> Spent:
        return Spent(requests=self._client.requests, texts=self._pairs, cost_usd=None if self._pairs else 0.0)

    def prepare(self, texts: Mapping[str, Sequence[str]]) -> None:
        """Ask for all of them, a few at a time; what fails is kept for `score` to raise."""
        asked = {query: some for query, some in texts.items() if (query, tuple(some)) not in self._answers}
        self._client.side_by_side(lambda query: self._keep(query, tuple(asked[query])), asked)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        key = (query, tuple(texts))
        if key not in self._answers:
            self._keep(*key)
        answer = self._answers[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _keep(self, query: str, texts: tuple[str, ...]) -> None:
        try:
            self._answers[query, texts] = self._ask(query, texts)
        except Exception as fault:
            self._answers[query, texts] = fault

    def _ask(self, query: str, texts: Sequence[str]) -> list[float]:
        endpoint = self._endpoint
        body: dict[str, Any] = {"query": query, endpoint.documents: list(texts)}
        if endpoint.documents == "documents":
            body["top_n"] = len(texts)
        if endpoint.model is not None:
            body["model"] = endpoint.model
        answer = self._client.ask("POST", endpoint.url, body)
        with self._lock:
            self._pairs += len(texts)
        rows = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        scores: dict[int, float] = {}
        for row in rows if isinstance(rows, list) else ():
            index = row.get("index") if isinstance(row, dict) else None
            score = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
            if isinstance(index, int) and isinstance(score, int | float) and not isinstance(score, bool):
                scores[index] = float(score)
        if sorted(scores) != list(range(len(texts))):
            raise ServiceError(
                f"the endpoint scored {len(scores)} of {len(texts)} texts, or others than those sent"
            )
        return [scores[position] for position in range(len(texts))]

    def close(self) -> None:
        self._client.close()

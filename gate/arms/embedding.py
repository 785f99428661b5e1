"""The vector arm: chunks and queries as vectors of one embedder, compared by cosine, exactly (gate.arms._dense).

Nothing is embedded before the first query: what an embedder lacks (a key, a package, a service) is then the reason
why each query is *not measured*. Told all queries of a run at once, the arm embeds them in batches and searches in
tiles; each query's answer is kept, so that a hybrid over this arm asks for nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gate.model.cost import Spent
from gate.model.embedding import EmbeddingError, Identity
from gate.model.page import Chunk
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gate.arms._dense import Index
    from gate.errors import Problem

TOLERANCE = (
    1e-6  # of a cosine: what the rounding of two unit vectors to float32 can move it by, and some room
)


class Settings(ArmSettings):
    """`embedder`: a name in gate/embedders, `package.module:function`, or a table with `type` and its options."""

    embedder: str | dict[str, Any] = "local"
    chunker: str | dict[str, Any] | None = None


class CachedVectors(Protocol):
    """The embedder as the arm sees it (gate.embedders._resolve)."""

    @property
    def identity(self) -> Identity: ...

    @property
    def spent(self) -> Spent: ...

    @property
    def warnings(self) -> Sequence[str]: ...

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def queries(self, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32] | str]: ...

    def close(self) -> None: ...


def problems(settings: Settings, where: str, root: Path | None) -> Iterable[Problem]:
    """What is wrong with the settings beyond their types, found without embedding anything."""
    from gate.embedders._resolve import check
    from gate.errors import InputError

    try:
        check(settings.embedder, where, root)
    except InputError as fault:
        return fault.problems
    return ()


def embedded(settings: Settings, where: str, root: Path | None) -> bool:
    """With a model in this process it costs nothing to measure the base's tree again; with a service it might."""
    from gate.embedders._resolve import is_local

    return is_local(settings.embedder, where, root)


def lacking(settings: Settings, root: Path | None) -> Iterable[str]:
    """What its embedder needs and this machine does not have, such as the package with the model."""
    from gate.embedders._resolve import lacking as of_embedder

    return of_embedder(settings.embedder, "the arm", root)


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(environment variable, address) of every secret that its embedder sends."""
    from gate.embedders._resolve import credentials as sent

    return sent(settings.embedder, "the arm", None)


def build(materials: Materials, settings: Settings) -> EmbeddingArm:
    """The arm over the corpus cut as `settings` say. Only the embedder's settings are looked at yet."""
    from gate.embedders._resolve import resolve

    where = getattr(materials, "place", "the arm")
    return EmbeddingArm(materials.chunks(settings.chunker), resolve(settings.embedder, materials, where))


class EmbeddingArm:
    """Cosine over chunk vectors. A chunk or query without any content (a vector of zeros) is not found, or finds nothing."""

    tolerance = TOLERANCE

    def __init__(self, chunks: Sequence[Chunk], embedder: CachedVectors) -> None:
        self._chunks = chunks
        self._embedder = embedder
        self._index: Index | None = None
        self._fault: Exception | None = None
        self._answers: dict[tuple[str, int], Sequence[Hit] | str] = {}

    @property
    def spent(self) -> Spent:
        """What the embedder used of a service so far."""
        return self._embedder.spent

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong with the cache of vectors."""
        return self._embedder.warnings

    @property
    def identity(self) -> Identity:
        """Which model it is, and in which revision."""
        return self._embedder.identity

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        """Answer all `queries`. What has no vector gets its reason, which `search` raises; so does a missing index."""
        asked = [query for query in dict.fromkeys(queries) if (query, pool) not in self._answers]
        worded = [query for query in asked if query.strip()]
        self._answers.update({(query, pool): () for query in asked if not query.strip()})
        if not worded or self._fault is not None:
            return
        try:
            self._answer(worded, pool)
        except Exception as fault:  # a service, or the user's own embedder, may raise anything
            self._fault = fault

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        """The `pool` nearest chunks. EmbeddingError where the query, or any chunk, has no vector."""
        if (query, pool) not in self._answers:
            self.prepare([query], pool)
        answer = self._answers.get((query, pool))
        if isinstance(answer, str):
            raise EmbeddingError(answer)
        if answer is None:
            assert self._fault is not None
            raise self._fault
        return answer

    def explain(self, query: str, chunk_id: str) -> float:
        """The cosine of `query` and one chunk; KeyError for an unknown chunk."""
        row = self._positions[chunk_id]
        vector = self._embedder.queries([query])[query]
        if isinstance(vector, str):
            raise EmbeddingError(vector)
        return self._built().score(vector, row)

    def close(self) -> None:
        """Let the embedder end what it started."""
        self._index = None
        self._embedder.close()

    def _answer(self, queries: Sequence[str], pool: int) -> None:
        import numpy as np

        index = self._built() if self._chunks else None
        if index is None or index.silent:
            self._answers.update({(query, pool): () for query in queries})
            return
        vectors = self._embedder.queries(queries)
        found = [query for query in queries if not isinstance(vectors[query], str)]
        self._answers.update(
            {(query, pool): why for query in queries if isinstance(why := vectors[query], str)}
        )
        if not found:
            return
        rows = np.stack([np.asarray(vectors[query], dtype=np.float32) for query in found])
        for query, best in zip(found, index.best(rows, pool), strict=True):
            self._answers[query, pool] = tuple(self._hit(one.row, one.score) for one in best)

    def _built(self) -> Index:
        if self._index is None:
            from gate.arms._dense import Index

            self._index = Index(self._embedder.passages([chunk.text for chunk in self._chunks]))
        return self._index

    def _hit(self, row: int, score: float) -> Hit:
        chunk = self._chunks[row]
        return Hit(chunk.chunk_id, chunk.doc_id, chunk.text, score)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {chunk.chunk_id: row for row, chunk in enumerate(self._chunks)}

"""An embedder behind the cache: what is asked twice is computed once, and what was paid for is kept.

Vectors are checked here, whoever made them: one row per text, finite, as long as all others of this embedder, kept ones
included; what is not is no vector and is not kept. Texts without any
content get a vector of zeros and are never sent anywhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gate.model.cost import Spent
from gate.model.embedding import Batch, Embedder, EmbeddingError, Identity, Mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gate.embedders._cache import Cache

    Vector = NDArray[np.float32]

# Above this many bytes a matrix lies in a file that the system maps into memory.
MAPPED = 64 * 1024 * 1024


class CachedEmbedder:
    """See the module. `cache` None keeps nothing; `skip_queries` neither reads nor keeps the vectors of queries."""

    def __init__(self, embedder: Embedder, cache: Cache | None, *, skip_queries: bool = False) -> None:
        self._embedder = embedder
        self._cache = cache
        self._skip_queries = skip_queries
        self._texts = 0
        self._cached = 0
        self._length: int | None = None

    @property
    def identity(self) -> Identity:
        """Which model it is."""
        return self._embedder.identity

    @property
    def spent(self) -> Spent:
        """What the embedder used, and how many texts the cache had."""
        told: Spent = getattr(self._embedder, "spent", Spent())
        return told.model_copy(update={"texts": self._texts, "cached": self._cached})

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong with the cache."""
        return self._cache.warnings if self._cache is not None else ()

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row (n x d float32) for each text, in order; rows of zeros for texts without content.

        EmbeddingError where any text got no vector; what the others cost is kept in the cache all the same.
        """
        import numpy as np

        rows: dict[str, list[int]] = {}
        for position, text in enumerate(texts):
            if text.strip():
                rows.setdefault(text, []).append(position)
        matrix: NDArray[np.float32] | None = None
        faults: dict[str, str] = {}
        for text, vector in self._vectors(list(rows), "passage"):
            if isinstance(vector, str):
                faults[text] = vector
                continue
            if matrix is None:
                matrix = _matrix(len(texts), len(vector))
            matrix[rows[text]] = vector
        if faults:
            first = next(iter(faults.values()))
            raise EmbeddingError(f"{len(faults)} of {len(rows)} texts have no vector: {first}")
        if matrix is None:
            return np.zeros((len(texts), 1), dtype=np.float32)
        matrix.flags.writeable = False
        return matrix

    def queries(self, texts: Sequence[str]) -> dict[str, Vector | str]:
        """For each text its unit vector, or the reason why there is none."""
        import numpy as np

        worded = [text for text in dict.fromkeys(texts) if text.strip()]
        found = dict(self._vectors(worded, "query"))
        return {
            text: found.get(text, np.zeros(self._length or 1, dtype=np.float32))
            for text in dict.fromkeys(texts)
        }

    def close(self) -> None:
        """Let go of the cache, and end what the embedder started."""
        if self._cache is not None:
            self._cache.close()
        close = getattr(self._embedder, "close", None)
        if close is not None:
            close()

    def _vectors(self, texts: Sequence[str], mode: Mode) -> Iterator[tuple[str, Vector | str]]:
        """Each of the (different) texts once, with its vector or why there is none."""
        cache = None if mode == "query" and self._skip_queries else self._cache
        missing = dict.fromkeys(texts)
        keys = {text: self.identity.key(text, mode) for text in texts}
        if cache is not None:
            by_key = {key: text for text, key in keys.items()}
            for key, vector in cache.get(by_key):
                text = by_key[key]
                if not self._fits(len(vector)):
                    continue  # it is asked for again, and then believed or not
                del missing[text]
                self._cached += 1
                yield text, vector
        asked = list(missing)
        for batch in self._embedder.embed(asked, mode) if asked else ():
            positions, vectors, fault = _checked(batch, len(asked))
            length = vectors.shape[1] if vectors is not None else None
            if length is not None and not self._fits(length):
                vectors, fault = None, self._misfit(length)
            if vectors is None:
                for position in positions:
                    if missing.pop(asked[position], "") is None:
                        yield asked[position], fault
                continue
            kept = {asked[position]: vectors[row] for row, position in enumerate(positions)}
            if cache is not None:
                cache.put({keys[text]: vector for text, vector in kept.items()})
            self._texts += len(kept)
            for text, vector in kept.items():
                missing.pop(text, None)
                yield text, vector
        for text in missing:
            yield text, "the embedder gave no answer for this text"

    def _fits(self, length: int) -> bool:
        """Whether a vector is as long as every other; the first one says how long that is."""
        if self._length is None:
            self._length = length
        return self._length == length

    def _misfit(self, length: int) -> str:
        todo = "If the model behind that name was changed, give it a new 'revision' or empty the cache ('gate cache prune --all')"
        return f"a vector has {length} dimensions where others have {self._length}. {todo}"


def _checked(batch: Batch, asked: int) -> Batch:
    """The batch, or one with a fault where its vectors cannot be believed."""
    import numpy as np

    positions = [position for position in batch.positions if 0 <= position < asked]
    if batch.vectors is None:
        return Batch(positions, None, batch.fault or "the embedder gave no reason")
    vectors = np.asarray(batch.vectors)
    if vectors.ndim != 2 or len(vectors) != len(batch.positions) or len(positions) != len(batch.positions):
        return Batch(positions, None, f"{len(vectors)} vectors came for {len(batch.positions)} texts")
    if not np.isfinite(vectors).all():
        return Batch(positions, None, "a vector has a value that is no finite number")
    return Batch(positions, vectors.astype(np.float32, copy=False))


def _matrix(rows: int, columns: int) -> NDArray[np.float32]:
    import numpy as np

    if 4 * rows * columns <= MAPPED:
        return np.zeros((rows, columns), dtype=np.float32)
    # The map keeps the file alive, and the file has no name that could be left behind.
    with tempfile.TemporaryFile(prefix="gate-vectors-") as file:
        file.truncate(4 * rows * columns)
        mapped = np.memmap(file, dtype=np.float32, mode="r+", shape=(rows, columns))
    matrix: NDArray[np.float32] = np.asarray(mapped, dtype=np.float32)
    return matrix


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows of length 1, computed in float64 and rounded once; a row of zeros stays one."""
    import numpy as np

    # Added up one after the other, so that no machine's way of splitting a sum shows.
    lengths = np.sqrt(np.cumsum(vectors * vectors, axis=1)[:, -1:])
    rows: NDArray[np.float64] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return rows.astype(np.float32)

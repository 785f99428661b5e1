"""What an embedder is: texts in, vectors out, in batches of which each is answered or fails with a reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    """n x d, one row per text, each of length 1 (or 0 where the text says nothing to the model)."""

# Some models read a question otherwise than a passage; a vector of one mode never stands for the other.
Mode = Literal["query", "passage"]


class Identity(NamedTuple):
    """All that a vector depends on beside its text and mode. Two embedders with the same one are interchangeable.

    `kind`: the protocol or library. `model`: its name. `dimensions`: as asked for, None for the model's own.
    `endpoint`: where it is served; empty for a model in this process. `revision`: a digest of weights or prompts.
    """

    kind: str
    model: str
    dimensions: int | None = None
    endpoint: str = ""
    revision: str = ""

    def key(self, text: str, mode: Mode) -> str:
        """The content address of one vector: 64 hex digits. The exact text counts, not its Unicode normal form."""
        return hashlib.sha256(json.dumps([*self, mode, text]).encode("ascii")).hexdigest()


class Batch(NamedTuple):
    """One answer: `positions` among the texts that were handed in, and their `vectors` or the `fault`."""

    positions: Sequence[int]
    vectors: Vectors | None
    fault: str = ""


class Embedder(Protocol):
    """Texts to vectors. `embed` yields batches as they come; together they cover every text exactly once.

    A text that gets no vector is in a batch with a fault: nothing raises for what an endpoint does. Vectors are
    finite and of unit length. An embedder may also have `spent` (gate.model.cost.Spent) and `close()`.
    """

    @property
    def identity(self) -> Identity: ...

    def embed(self, texts: Sequence[str], mode: Mode) -> Iterator[Batch]: ...


class EmbeddingError(RuntimeError):
    """Texts without a vector: why, and how many. The arm, or the query, is then not measured."""

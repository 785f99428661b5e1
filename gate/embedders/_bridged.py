"""Embedders that run in the user's own interpreter: their code, or a model of a package that they have."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from gate.arms._bridge import Bridge, Runtime
from gate.embedders._cached import unit
from gate.embedders._host import Host
from gate.model.embedding import Batch, Identity, Mode


class Bridged(Runtime):
    """What these embedders have in common.

    `revision`: your name for the weights and all that makes a vector. Only with one are vectors kept from run to run:
    nobody else can tell whether the code or the model is still the same. `batch_texts`: how many go at once;
    `timeout_seconds` is for one batch.
    """

    timeout_seconds: Annotated[float, Field(ge=0.1, le=86400.0)] = 300.0
    batch_texts: Annotated[int, Field(ge=1, le=10_000)] = 64
    revision: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""


THEIR_MODELS = Path(__file__).with_name("_their_models.py")


def embedder(
    settings: Bridged,
    host: Host,
    target: str,
    options: Mapping[str, Any],
    name: str,
    where: Path | None = None,
) -> BridgedEmbedder:
    """The embedder of `target`, called `name` in its identity. `where`: as `Bridge`."""
    bridge = Bridge("embed", target, options, settings, host.root or Path.cwd(), host.secret, where)
    prefixes = [settings.query_prefix, settings.passage_prefix]
    revision = repr([settings.revision, *prefixes, sorted(options.items(), key=str)])
    return BridgedEmbedder(bridge, Identity("python", name, None, "", revision), settings)


class BridgedEmbedder:
    """See the module. `cacheable`: whether the settings say which revision it is."""

    def __init__(self, bridge: Bridge, identity: Identity, settings: Bridged) -> None:
        self._bridge = bridge
        self._settings = settings
        self.identity = identity
        self.cacheable = bool(settings.revision)

    def embed(self, texts: Sequence[str], mode: Mode) -> Iterator[Batch]:
        """As gate.model.embedding.Embedder: a batch that the code fails is a fault, and the next one is asked."""
        import numpy as np

        settings = self._settings
        prefix = settings.query_prefix if mode == "query" else settings.passage_prefix
        for start in range(0, len(texts), settings.batch_texts):
            part = texts[start : start + settings.batch_texts]
            positions = range(start, start + len(part))
            try:
                sent = [(prefix + text).encode("utf-8", "replace").decode() for text in part]
                answer = self._bridge.ask({"texts": sent, "mode": mode}, _form)
                rows = [_floats(row) for row in answer["vectors"]]
                if len(rows) != len(part) or len({len(row) for row in rows}) != 1:
                    raise ValueError("vectors of different lengths")
                vectors = unit(np.stack(rows))
            except (RuntimeError, TimeoutError, ValueError) as fault:
                yield Batch(positions, None, f"{type(fault).__name__}: {fault}")
            else:
                yield Batch(positions, vectors)

    def close(self) -> None:
        """End the process."""
        self._bridge.close()


def _form(answer: Mapping[str, Any]) -> str:
    rows = answer.get("vectors")
    good = isinstance(rows, list) and all(isinstance(row, str) for row in rows)
    return "" if good else "its answer is no list of vectors"


def _floats(row: str) -> Any:
    import numpy as np

    try:
        raw = base64.b64decode(row, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a vector is no base64") from None
    found = np.frombuffer(raw, dtype="<f4").astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a vector has a value that is no finite number")
    return found

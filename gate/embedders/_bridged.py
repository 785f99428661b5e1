"""An embedder of the user's in a process of its own: batches out, checked vectors back, and when its vectors may be kept.

What code computes cannot be known from outside. Its vectors are kept between runs only where the user gives a `revision`
to tell them by, or where the model lies in a folder, whose files then count. Whatever else shows from outside counts too
(`_their_facts.py`: the module's source, the versions of the installed packages), so that an edit or an upgrade is
measured and not answered from the cache.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from gate.arms._bridge import Bridge, Runtime, Seconds, UserCodeError, find_interpreter
from gate.arms._process import Process, ProcessError, environment, quiet
from gate.embedders._cached import unit
from gate.embedders._host import Host
from gate.model.embedding import Batch, EmbeddingError, Identity, Mode
from gate.model.frozen import EMPTY
from gate.model.settings import Text

if TYPE_CHECKING:
    from gate.model.embedding import Vectors

_FACTS = Path(__file__).with_name("_their_facts.py")
_MODELS = Path(__file__).with_name("_their_models.py")
# A path of a model, and not its name on a hub.
_PATH = (".", "/", "~")


class Bridged(Runtime):
    """What these embedders have in common.

    `revision`: a word that is changed whenever the vectors of the same text change. `batch_texts`: how many go at once;
    `timeout_seconds` is for one batch. A prefix of None leaves it to the model how queries and passages are marked.
    """

    timeout_seconds: Seconds = 120.0
    startup_seconds: Seconds = 300.0
    batch_texts: Annotated[int, Field(ge=1, le=1024)] = 64
    revision: str = ""
    query_prefix: str | None = None
    passage_prefix: str | None = None


class BridgedModel(Bridged):
    """A model of a package of the user's. `options`: what else the package's class is made with."""

    model: Text
    options: dict[str, Any] = Field(default_factory=dict)


def named(kind: str, loader: str, settings: BridgedModel, host: Host) -> BridgedEmbedder:
    """The embedder `kind`; `loader` is its class in _their_models.py. Nothing is started before the first text."""
    root = host.root or Path.cwd()
    folder = model_folder(settings.model, root)
    options = {
        "model": str(folder or settings.model),
        "revision": settings.revision,
        "query_prefix": settings.query_prefix,
        "passage_prefix": settings.passage_prefix,
        "batch_size": settings.batch_texts,
        "options": settings.options,
    }
    bridge = Bridge("embed", loader, options, settings, root, host.secret, _MODELS)
    return BridgedEmbedder(kind, settings.model, bridge, settings, root, settings.options, folder=folder)


def own(target: str, options: Mapping[str, Any], settings: Bridged, host: Host) -> BridgedEmbedder:
    """The embedder `target` of the user's, made with `options` where it is a class. Nothing is started yet."""
    root = host.root or Path.cwd()
    bridge = Bridge("embed", target, options, settings, root, host.secret)
    prefixes = {"query": settings.query_prefix or "", "passage": settings.passage_prefix or ""}
    module = target.partition(":")[0]
    return BridgedEmbedder("python", target, bridge, settings, root, options, prefixes, module=module)


def model_folder(model: str, root: Path) -> Path | None:
    """Where the model lies, should its name be a path; None for a name on a hub."""
    path = root / os.path.expanduser(model)  # noqa: PTH111 - Path raises where there is no home
    return path if path.is_dir() or model.startswith(_PATH) else None


class BridgedEmbedder:
    """See the module. `prefixes`: what goes in front of a text here. `module`: the user's. `folder`: where a model lies."""

    def __init__(
        self,
        kind: str,
        name: str,
        bridge: Bridge,
        settings: Bridged,
        root: Path,
        options: Mapping[str, Any],
        prefixes: Mapping[str, str] = EMPTY,
        *,
        module: str = "",
        folder: Path | None = None,
    ) -> None:
        self._kind = kind
        self._name = name
        self._bridge = bridge
        self._settings = settings
        self._root = root
        self._options = options
        self._prefixes = prefixes
        self._module = module
        self._folder = folder
        self._started = False
        self._fault = ""

    @property
    def cacheable(self) -> bool:
        """Whether its vectors may be taken from another run."""
        return bool(self._settings.revision) or self._folder is not None

    @cached_property
    def identity(self) -> Identity:
        """EmbeddingError where the user's interpreter cannot be asked. Without `cacheable` it means this run only."""
        if not self.cacheable:
            return Identity(self._kind, self._name)
        settings = self._settings
        said = [settings.revision, settings.query_prefix, settings.passage_prefix, self._options]
        told = json.dumps([*said, self._facts()], sort_keys=True, default=str)
        return Identity(
            self._kind, self._name, None, "", hashlib.sha256(told.encode("ascii")).hexdigest()[:16]
        )

    def embed(self, texts: Sequence[str], mode: Mode) -> Iterator[Batch]:
        """As gate.model.embedding.Embedder. A process that cannot be started is the fault of every text left."""
        size = self._settings.batch_texts
        prefix = self._prefixes.get(mode, "")
        for start in range(0, len(texts), size):
            if not self._ready():
                yield Batch(range(start, len(texts)), None, self._fault)
                return
            part = [
                (prefix + text).encode("utf-8", "replace").decode() for text in texts[start : start + size]
            ]
            positions = range(start, start + len(part))
            try:
                answer = self._bridge.ask({"texts": part, "mode": mode}, _form(len(part)))
            except (UserCodeError, ProcessError, TimeoutError) as fault:
                yield Batch(positions, None, str(fault))
                continue
            yield Batch(positions, _vectors(answer))

    def close(self) -> None:
        """End the process."""
        self._bridge.close()

    def _ready(self) -> bool:
        if not self._started and not self._fault:
            try:
                self._bridge.start()
            except (UserCodeError, ProcessError, TimeoutError) as fault:
                self._fault = str(fault)
            else:
                self._started = True
        return self._started

    def _facts(self) -> str:
        """64 hex digits from _their_facts.py, which runs in the user's interpreter."""
        settings = self._settings
        order = {"module": self._module, "folder": str(self._folder or "")}
        deadline = time.monotonic() + settings.startup_seconds
        try:
            interpreter = find_interpreter(settings.python, os.environ, self._root)
            process = Process((interpreter, str(_FACTS)), environment(os.environ), self._root)
            try:
                process.send(order, deadline)
                answer = process.receive(deadline)
                found = answer.get("facts")
                if not isinstance(found, str):
                    said = quiet(str(answer.get("error", "it gave no answer")), 300)
                    raise ProcessError(f"what the model consists of cannot be read: {said}")
                return found
            finally:
                process.kill()
        except (ProcessError, TimeoutError) as fault:
            raise EmbeddingError(str(fault) or "the user's interpreter does not answer") from fault


def _form(asked: int) -> Any:
    def wrong(answer: Mapping[str, Any]) -> str:
        vectors = answer.get("vectors")
        if not isinstance(vectors, list) or len(vectors) != asked or not all(map(_is_vector, vectors)):
            return f"its answer is not {asked} vectors"
        lengths = {len(vector) for vector in vectors}
        return "" if len(lengths) == 1 else f"vectors of one batch have {len(lengths)} different lengths"

    return wrong


def _is_vector(vector: object) -> bool:
    if not isinstance(vector, str):
        return False
    try:
        raw = base64.b64decode(vector, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(raw) > 0 and len(raw) % 4 == 0


def _vectors(answer: Mapping[str, Any]) -> Vectors:
    import numpy as np

    raw = b"".join(map(base64.b64decode, answer["vectors"]))
    return unit(np.frombuffer(raw, dtype="<f4").reshape(len(answer["vectors"]), -1).astype(np.float64))

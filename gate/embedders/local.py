"""A small model that lies in an installed package: static vectors of wordllama, no key, no network.

A text's vector is the mean of its tokens' vectors, made a unit. Only two files of the wordllama package are read, its
table of 32,000 x 256 half floats and its tokenizer; none of its code runs (importing it would load another framework, and
its own loader asks a hub). The sums go in token order in float64, so a vector is the same bit for bit on every machine.

The model knows words, not sentences: it costs nothing and finds paraphrases of single words, and it often pulls a hybrid
below keyword search alone. docs/embedders.md has numbers; `embedder = "minilm"` is the better one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gate.embedders._cached import unit
from gate.embedders._host import Host
from gate.model.embedding import Batch, EmbeddingError, Identity, Mode
from gate.model.frozen import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOCAL = True
PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"
_AT_ONCE = 256


class Settings(Frozen):
    """Nothing to choose: one model, one length."""

    type: Literal["local"]


class ModelAbsentError(EmbeddingError):
    """The package with the model is not installed, or is another one."""


def absent(package: str, extra: str) -> ModelAbsentError:
    """That `package` is not there, and what to do about it where the gate runs now."""
    todo = f"From a checkout of retrieval-gate: pip install '.[{extra}]'"
    if os.environ.get("GITHUB_ACTIONS") == "true":
        todo = f"Give the Action's input extras: {extra}"
    return ModelAbsentError(f"the package {package} is not installed. {todo}")


def uninstalled(packages: Sequence[str], extra: str) -> Iterator[str]:
    """For each package that is not there what `absent` says. Nothing is imported."""
    return (str(absent(name, extra)) for name in packages if importlib.util.find_spec(name) is None)


def lacking(settings: Settings, root: Path | None) -> Iterator[str]:  # noqa: ARG001 - every embedder is asked alike
    """The packages that it reads and does not find."""
    return uninstalled((PACKAGE, "tokenizers"), "local")


def build(settings: Settings, host: Host) -> LocalEmbedder:  # noqa: ARG001 - every embedder is built alike
    """Nothing is read before the first text."""
    return LocalEmbedder()


def package_folder(name: str, extra: str) -> Path:
    """The folder of an installed package, which is not imported. ModelAbsentError says how to install it."""
    found = importlib.util.find_spec(name)
    places = list(found.submodule_search_locations or ()) if found is not None else []
    if not places:
        raise absent(name, extra)
    return Path(places[0])


class LocalEmbedder:
    """See the module."""

    @cached_property
    def identity(self) -> Identity:
        """With a digest of both files, since it is they that make a vector."""
        folder = package_folder(PACKAGE, "local")
        found = hashlib.sha256()
        try:
            for part in (_WEIGHTS, _TOKENIZER):
                found.update((folder / part).read_bytes().rstrip(b"\n"))
        except OSError as fault:
            raise ModelAbsentError(f"{folder} has no model in it ({fault.strerror})") from fault
        return Identity("wordllama", "l2_supercat_256", None, "", found.hexdigest()[:16])

    def embed(self, texts: Sequence[str], mode: Mode) -> Iterator[Batch]:  # noqa: ARG002 - one way for both
        """As gate.model.embedding.Embedder; never a fault once the model is there."""
        import numpy as np

        table, tokenizer = self._table, self._tokenizer
        for start in range(0, len(texts), _AT_ONCE):
            part = [text.encode("utf-8", "replace").decode() for text in texts[start : start + _AT_ONCE]]
            means = np.zeros((len(part), table.shape[1]))
            for row, tokens in enumerate(tokenizer.encode_batch(part, add_special_tokens=False)):
                if tokens.ids:
                    ids = np.minimum(tokens.ids, len(table) - 1)
                    means[row] = table[ids].astype(np.float64).sum(axis=0) / len(ids)
            yield Batch(range(start, start + len(part)), unit(means))

    @cached_property
    def _table(self) -> NDArray[np.float16]:
        """32,000 x 256, mapped from the file."""
        import numpy as np

        path = package_folder(PACKAGE, "local") / _WEIGHTS
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            about = json.loads(file.read(length))[_TENSOR]
        if about["dtype"] != "F16":
            raise ModelAbsentError(
                f"{path.name} holds {about['dtype']}, not F16: another version of {PACKAGE}"
            )
        first, _ = about["data_offsets"]
        shape = tuple(about["shape"])
        table: NDArray[np.float16] = np.memmap(
            path, dtype="<f2", mode="r", offset=8 + length + first, shape=shape
        )
        return table

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as fault:
            raise absent("tokenizers", "local") from fault
        tokenizer = Tokenizer.from_file(str(package_folder(PACKAGE, "local") / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

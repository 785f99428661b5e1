"""Embedders in the user's own interpreter: their function, and models of packages that they have."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gate.embedders import model2vec, python
from gate.embedders._bridged import BridgedEmbedder
from gate.embedders._host import Host

CODE = """
import os
def embed(texts, mode):
    if any("raise" in text for text in texts): raise ValueError("told")
    if any("exit" in text for text in texts): os._exit(4)
    if any("nan" in text for text in texts): return [[float("nan")] for _ in texts]
    if any("fewer" in text for text in texts): return [[1.0]]
    return [[len(text), 2.0 if mode == "query" else 1.0] for text in texts]
def plain(texts):
    return ([float(len(text)), 0] for text in texts)
class Model:
    def __init__(self, scale): self.scale = scale
    async def embed(self, texts): return [[self.scale, 1] for _ in texts]
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    running: list[BridgedEmbedder] = []

    def make(target: str = "mine:embed", **options: Any) -> BridgedEmbedder:
        settings = python.Settings.model_validate(
            {"type": "python", "target": target, **options}, strict=False
        )
        running.append(python.build(settings, Host(lambda name, url: None, tmp_path)))
        return running[-1]

    yield make
    for one in running:
        one.close()


def rows(embedder: BridgedEmbedder, texts: list[str], mode: Any = "passage") -> list[Any]:
    """A vector or a fault for each text."""
    found: list[Any] = [None] * len(texts)
    for batch in embedder.embed(texts, mode):
        for row, position in enumerate(batch.positions):
            found[position] = batch.fault if batch.vectors is None else batch.vectors[row].tolist()
    return found


def test_a_function_gets_texts_and_mode(made: Any) -> None:
    half = 0.5**0.5
    assert rows(made(), ["a", "bb"], "query") == [
        pytest.approx([1 / 5**0.5, 2 / 5**0.5]),
        pytest.approx([half, half]),
    ]
    assert rows(made(passage_prefix="p"), ["aa"]) == [pytest.approx([3 / 10**0.5, 1 / 10**0.5])]
    assert rows(made("mine:plain"), ["abc"]) == [[1.0, 0.0]]
    assert rows(made("mine:Model", options={"scale": 0}), ["x"]) == [[0.0, 1.0]]


def test_a_batch_that_fails_fails_alone(made: Any) -> None:
    found = rows(made(batch_texts=1), ["one", "raise", "fewer x", "nan", "exit", "two"])
    assert found[0] == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert found[1].startswith("UserCodeError: ValueError: told (mine.py:")
    assert "exit code 4" in found[4]
    assert found[5] == pytest.approx(found[0]), "the process was started again"
    assert "no finite number" in found[3]
    several = rows(made(), ["fewer", "texts"])
    assert "1 vectors for 2 texts" in several[0]


def test_without_a_revision_nothing_is_kept(made: Any) -> None:
    assert made().cacheable is False
    kept = made(revision="3")
    assert kept.cacheable
    assert kept.identity != made(revision="4").identity
    assert kept.identity != made(revision="3", query_prefix="q").identity


def test_what_is_not_there_is_told(made: Any) -> None:
    (fault,) = rows(made("nowhere:embed"), ["x"])
    assert "cannot load 'nowhere:embed'" in fault
    assert "No module named 'nowhere'" in fault


def test_a_model_of_model2vec(tmp_path: Path) -> None:
    if importlib.util.find_spec("model2vec") is None:
        embedder = model2vec.build(
            model2vec.Settings(type="model2vec", model="none", python=sys.executable),
            Host(lambda n, u: None, tmp_path),
        )
        (fault,) = rows(embedder, ["x"])
        embedder.close()
        assert "No module named 'model2vec'" in fault, "what is missing is said"
        pytest.skip("model2vec is not installed; only its absence was tried")
    from model2vec import StaticModel  # type: ignore[import-not-found, unused-ignore]
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "red": 1, "blue": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    StaticModel(np.asarray([[0.0, 0.1], [1.0, 0.0], [0.0, 1.0]]), tokenizer).save_pretrained(
        tmp_path / "model"
    )
    settings = model2vec.Settings(type="model2vec", model=str(tmp_path / "model"), python=sys.executable)
    embedder = model2vec.build(settings, Host(lambda n, u: None, tmp_path))
    assert rows(embedder, ["red", "blue"]) == [pytest.approx([1, 0]), pytest.approx([0, 1])]
    embedder.close()

"""Embedders in the user's own interpreter: their function, and models of packages that they have."""

from __future__ import annotations

import ast
import importlib.util
import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gate.arms import _bridge_python
from gate.embedders import _bridged, _resolve, fastembed, model2vec, python, sentence_transformers
from gate.embedders._bridged import BridgedEmbedder
from gate.embedders._host import Host
from gate.errors import InputError
from gate.model.embedding import EmbeddingError

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
def named(texts, batch_size=32, *, mode):
    assert batch_size == 32
    return [[1.0, float(mode == "query")] for _ in texts]
def longer(texts, /, size=8):
    return [[1.0] * size for _ in texts]
def two(texts, other): pass
def uneven(texts): return [[1.0] * (at + 1) for at, _ in enumerate(texts)]
def words(texts): return [["a"] for _ in texts]
def nothing(texts): return None
def empty(texts): return [[] for _ in texts]
def zeros(texts): return [[0.0, 0.0] for _ in texts]
def huge(texts): return [[1e300, 1.0] for _ in texts]
def hang(texts):
    import time
    time.sleep(60)
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


def test_the_mode_goes_by_name_and_nothing_else_is_filled(made: Any) -> None:
    half = 0.5**0.5
    assert rows(made("mine:named"), ["x"], "query") == [pytest.approx([half, half])]
    assert rows(made("mine:named"), ["x"], "passage") == [[1.0, 0.0]]
    assert rows(made("mine:longer"), ["x"]) == [pytest.approx([8**-0.5] * 8)]
    (fault,) = rows(made("mine:two"), ["x"])
    assert "cannot be called with (texts)" in fault


def test_a_batch_that_fails_fails_alone(made: Any) -> None:
    found = rows(made(batch_texts=1), ["one", "raise", "fewer x", "nan", "exit", "two"])
    assert found[0] == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert found[1].startswith("ValueError: told (mine.py:")
    assert "no finite number" in found[3]
    assert "exit code 4" in found[4]
    assert found[5] == pytest.approx(found[0]), "the process was started again"
    several = rows(made(), ["fewer", "texts"])
    assert "1 vectors for 2 texts" in several[0]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("uneven", "different lengths"),
        ("words", "no number"),
        ("nothing", "NoneType, not a list of vectors"),
        ("empty", "is empty"),
        ("huge", "no finite number"),
    ],
)
def test_what_is_no_vector_is_refused(made: Any, target: str, said: str) -> None:
    found = rows(made(f"mine:{target}"), ["one", "two"])
    assert found[0] == found[1]
    assert said in found[0]


def test_a_vector_of_zeros_stays_one(made: Any) -> None:
    assert rows(made("mine:zeros"), ["x"]) == [[0.0, 0.0]]


def test_a_function_that_hangs_is_ended_and_the_rest_is_not_waited_for(made: Any) -> None:
    embedder = made("mine:hang", timeout_seconds=0.3, batch_texts=1)
    found = rows(embedder, ["text"] * 7)
    assert found[0].startswith("no answer within 0.3 s")
    assert found[6].startswith("not asked: started again 3 times")


def test_a_process_that_cannot_start_is_tried_once(made: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "with open('tries', 'a') as file: file.write('x')\nraise SystemExit(1)\n", encoding="utf-8"
    )
    embedder = made("broken:embed", batch_texts=1)
    faults = set(rows(embedder, ["one", "two", "three"])) | set(rows(embedder, ["four"], "query"))
    assert len(faults) == 1
    assert "cannot load 'broken:embed': SystemExit: 1 (broken.py:2" in faults.pop()
    assert (tmp_path / "tries").read_text() == "x"


def test_what_is_not_there_is_told(made: Any) -> None:
    (fault,) = rows(made("nowhere:embed"), ["x"])
    assert "cannot load 'nowhere:embed'" in fault
    assert "No module named 'nowhere'" in fault
    (fault,) = rows(made(python="no/such/python"), ["x"])
    assert "no such interpreter" in fault
    with pytest.raises(EmbeddingError, match="no such interpreter"):
        _ = made(python="no/such/python", revision="1").identity


# --- What is kept between runs ------------------------------------------------------------------------------------


def test_without_a_revision_nothing_is_kept(made: Any) -> None:
    assert made().cacheable is False
    assert made().identity == ("python", "mine:embed", None, "", "")
    kept = made(revision="3")
    assert kept.cacheable
    assert kept.identity == made(revision="3", batch_texts=5, timeout_seconds=3.0).identity
    others = [
        made(revision="4"),
        made(revision="3", query_prefix="q"),
        made(revision="3", passage_prefix="q"),
        made(revision="3", options={"scale": 2}),
        made("mine:plain", revision="3"),
    ]
    assert len({kept.identity, *(other.identity for other in others)}) == 6


def test_an_edit_of_the_code_is_measured_though_the_revision_stayed(made: Any, tmp_path: Path) -> None:
    first = made(revision="1").identity
    assert made(revision="1").identity == first
    (tmp_path / "other.py").write_text("", encoding="utf-8")
    assert made(revision="1").identity == first, "a file that is no part of it"
    (tmp_path / "mine.py").write_text(CODE + "# edited\n", encoding="utf-8")
    assert made(revision="1").identity != first


def test_of_a_package_every_module_counts_and_none_is_run(made: Any, tmp_path: Path) -> None:
    folder = tmp_path / "search" / "parts"
    folder.mkdir(parents=True)
    (tmp_path / "search" / "__init__.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    (folder / "cut.py").write_text("SIZE = 1\n", encoding="utf-8")
    (folder / "gone.py").symlink_to(tmp_path / "nowhere")
    first = made("search.vectors:embed", revision="1").identity
    (folder / "notes.txt").write_text("no code", encoding="utf-8")
    assert made("search.vectors:embed", revision="1").identity == first
    (folder / "cut.py").write_text("SIZE = 2\n", encoding="utf-8")
    assert made("search.vectors:embed", revision="1").identity != first


def test_an_upgrade_is_measured_though_the_revision_stayed(made: Any, tmp_path: Path) -> None:
    venv.create(tmp_path / "theirs", symlinks=True)
    python_there = "theirs/bin/python"
    first = made(revision="1", python=python_there).identity
    assert made(revision="1", python=python_there).identity == first
    (packages,) = (tmp_path / "theirs").glob("lib/python*/site-packages")
    (packages / "torch-3.0.dist-info").mkdir()
    second = made(revision="1", python=python_there).identity
    (packages / "torch-3.0.dist-info").rename(packages / "torch-3.1.dist-info")
    assert len({first, second, made(revision="1", python=python_there).identity}) == 3


class Materials:
    def __init__(self, root: Path) -> None:
        self.root = root

    def secret(self, name: str, url: str) -> None:
        return None


COUNTED = """
def embed(texts):
    with open("asked", "a") as file: file.writelines(text + "\\n" for text in texts)
    return [[float(len(text)), 1.0] for text in texts]
"""


@pytest.mark.parametrize(("revision", "asked"), [("", ["one", "two"] * 2), ("7", ["one", "two"])])
def test_the_cache_answers_only_for_a_revision(
    revision: str, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GATE_NO_CACHE", raising=False)
    (tmp_path / "mine.py").write_text(COUNTED, encoding="utf-8")
    found = []
    for _ in range(2):
        embedder: Any = {"type": "python", "target": "mine:embed", "revision": revision}
        cached = _resolve.resolve(embedder, Materials(tmp_path), "it")  # type: ignore[arg-type]
        found.append(cached.passages(["one", "two"]).tolist())
        cached.close()
    assert found[0] == found[1]
    assert (tmp_path / "asked").read_text().split() == asked
    assert (tmp_path / "cache" / "vectors.sqlite3").exists() == bool(revision)


# --- Settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("embedder", "said"),
    [
        ("mine.py", "no such embedder"),
        ("mine:", "package.module:function"),
        ({"type": "python"}, "target"),
        ({"type": "python", "target": "mine:embed", "batch_texts": 0}, "batch_texts"),
        ({"type": "python", "target": "mine:embed", "env": ["GITHUB_TOKEN"]}, "never passed on"),
        ({"type": "sentence-transformers"}, "model"),
        ({"type": "sentence_transformers", "model": "x"}, "sentence-transformers"),
        ({"type": "model2vec", "model": "x", "revison": "1"}, "revision"),
    ],
)
def test_wrong_settings_are_input_errors(embedder: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        _resolve.check(embedder, "gate.toml [suite.x.arms.y]", None)
    assert said in str(caught.value)


def test_what_the_code_is_handed_is_told_to_the_base() -> None:
    for raw in (
        {"type": "python", "target": "mine:embed"},
        {"type": "sentence-transformers", "model": "x"},
        {"type": "fastembed", "model": "x"},
        {"type": "model2vec", "model": "x"},
    ):
        told = _resolve.credentials({**raw, "env": ["HF_HOME"]}, "it", None)
        assert list(told) == [("HF_HOME", "")]


# --- Models of packages that the user has -------------------------------------------------------------------------


def test_the_files_that_run_there_are_python_3_8_and_need_nothing() -> None:
    for name in ("_their_models.py", "_their_facts.py"):
        tree = ast.parse(Path(_bridged.__file__).with_name(name).read_text(), feature_version=(3, 8))
        found = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {alias.name for node in found if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in found if isinstance(node, ast.ImportFrom)}
        assert {one.split(".")[0] for one in names} - {"__future__"} <= sys.stdlib_module_names
    oldest = sorted(Path.home().glob(".pyenv/versions/3.8.*/bin/python"))
    interpreter = str(oldest[-1]) if oldest else shutil.which("python3.8")
    if interpreter is None:
        pytest.skip("no Python 3.8 here: only its grammar was tried")
    done = subprocess.run(
        [interpreter, "-W", "error", str(Path(_bridged.__file__).with_name("_their_facts.py"))],
        input=json.dumps({"module": "json", "folder": ""}) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(json.loads(done.stdout)["facts"]) == 64


# What the three packages look like to their user, as far as it is used.
STANDING_IN = {
    "sentence_transformers": """
import numpy
class SentenceTransformer:
    def __init__(self, model, **options): self.said = [model, options]
    def encode(self, texts, **more): return self._rows("plain", texts, more)
    def encode_query(self, texts, **more): return self._rows("query", texts, more)
    def encode_document(self, texts, **more): return self._rows("passage", texts, more)
    def _rows(self, how, texts, more):
        with open("seen", "a") as file: print(repr([how, texts, more, self.said]), file=file)
        return numpy.asarray([[3.0, 4.0] for _ in texts], dtype="float32")
""",
    "fastembed": """
import numpy
class TextEmbedding:
    def __init__(self, model_name, **options): self.said = [model_name, options]
    def embed(self, texts, batch_size): return self._rows("plain", texts)
    def query_embed(self, texts): return self._rows("query", texts)
    def passage_embed(self, texts, batch_size): return self._rows("passage", texts)
    def _rows(self, how, texts):
        with open("seen", "a") as file: print(repr([how, texts, {}, self.said]), file=file)
        for _ in texts: yield numpy.asarray([3.0, 4.0])
""",
}
FILES: dict[str, Any] = {"sentence_transformers": sentence_transformers, "fastembed": fastembed}


@pytest.mark.parametrize("module", STANDING_IN)
def test_prefixes_and_the_models_own_way(module: str, tmp_path: Path) -> None:
    """Against modules of the packages' shape: the packages themselves weigh gigabytes."""
    venv.create(tmp_path / "theirs", symlinks=True)
    (packages,) = (tmp_path / "theirs").glob("lib/python*/site-packages")
    (packages / f"{module}.py").write_text(STANDING_IN[module], encoding="utf-8")
    (packages / "numpy").symlink_to(Path(np.__file__).parent)
    (packages / "numpy.libs").symlink_to(Path(np.__file__).parents[1] / "numpy.libs")

    def seen(mode: Any, **settings: Any) -> Any:
        (tmp_path / "seen").unlink(missing_ok=True)
        raw = {"type": module.replace("_", "-"), "model": "some/model", "python": "theirs/bin/python"}
        typed = FILES[module].Settings.model_validate({**raw, **settings})
        embedder = FILES[module].build(typed, Host(lambda n, u: None, tmp_path))
        assert rows(embedder, ["x"], mode) == [pytest.approx([0.6, 0.8])]
        embedder.close()
        return ast.literal_eval((tmp_path / "seen").read_text())

    assert seen("query")[:2] == ["query", ["x"]]
    assert seen("passage")[:2] == ["passage", ["x"]]
    how, texts, more, _ = seen("query", query_prefix="query: ")
    assert (how, more.get("prompt", "") + texts[0]) == ("plain", "query: x")
    assert seen("passage", query_prefix="query: ")[:2] == ["passage", ["x"]]
    how, texts, more, _ = seen("passage", passage_prefix="")
    assert (how, texts, more.get("prompt", "")) == ("plain", ["x"], "")
    assert ("prompt" in more) == (module == "sentence_transformers"), "in the place of a prompt by default"
    assert seen("query", options={"device": "cpu"})[3] == ["some/model", {"device": "cpu"}]
    commit = "0123456789abcdef" * 2 + "01234567"
    pinned = {"revision": commit} if module == "sentence_transformers" else {}
    assert seen("query", revision=commit)[3] == ["some/model", pinned]
    assert seen("query", revision="mine")[3] == ["some/model", {}]
    # The bridge's own file is in front of nobody's import path: gate/embedders has a module of this name too.
    assert module not in sys.modules
    assert _bridge_python.PROTOCOL == 1


@pytest.mark.parametrize("file", [sentence_transformers, fastembed, model2vec])
def test_a_package_that_is_missing_is_named_with_the_remedy(file: Any, tmp_path: Path) -> None:
    venv.create(tmp_path / "theirs", symlinks=True)
    kind = file.__name__.rpartition(".")[2].replace("_", "-")
    settings = file.Settings(type=kind, model="some/model", python="theirs/bin/python")
    embedder = file.build(settings, Host(lambda n, u: None, tmp_path))
    (fault,) = rows(embedder, ["x"])
    embedder.close()
    assert f"the package {kind} is not installed for " in fault
    assert f"pip install {kind}" in fault
    assert "theirs/bin/python" in fault
    assert "_their_models" not in fault


def test_a_model_in_a_folder_is_kept_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(b"1")

    def made(model: str) -> BridgedEmbedder:
        settings = model2vec.Settings(type="model2vec", model=model, python=sys.executable)
        return model2vec.build(settings, Host(lambda n, u: None, tmp_path))

    assert not made("some/model").cacheable
    assert made("model").cacheable
    first = made("model").identity
    assert made("model").identity == first
    (tmp_path / "model" / "weights").write_bytes(b"2")
    assert made("model").identity != first


def test_a_model_of_model2vec(tmp_path: Path) -> None:
    if importlib.util.find_spec("model2vec") is None:
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

"""Every file of a plug-in folder keeps its folder's contract, and a new file or an outside name is picked up."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel
from small_project import Project

from gate import registry
from gate.commands._measure import Workshop, legs
from gate.compare import Context, compare_arm
from gate.corpus.read import cut
from gate.embedders._host import Host
from gate.model.comparison import ArmComparison
from gate.model.embedding import Identity
from gate.model.measurement import ArmMeasurement, Label, Row
from gate.model.page import Chunk, Corpus, Page
from gate.model.ranking import Arm
from gate.model.settings import ArmSettings, PolicySettings
from gate.model.verdict import Finding

CORPUS = Corpus(
    pages=(
        Page("one", "One", "Intro of one.\n\n## Red\n\nA red apple.\n\n## Green\n\nA green apple."),
        Page("two", "Two", "A blue plum, nothing else."),
        Page("empty", "", ""),
    )
)


def module(folder: str, name: str) -> Any:
    return registry.load(folder, name, "test")


@pytest.mark.parametrize("name", registry.names("chunkers"))
def test_chunkers_cut_every_page_into_named_chunks(name: str) -> None:
    assert issubclass(module("chunkers", name).Settings, BaseModel)
    if name == "given":
        given = tuple(
            Page(p.doc_id, p.title, p.text, chunks=(Chunk(f"{p.doc_id}#0", p.doc_id, "x"),))
            for p in CORPUS.pages
        )
        chunks = cut(Corpus(given, "given"), name, "test")
    else:
        chunks = cut(CORPUS, name, "test")
    assert {chunk.doc_id for chunk in chunks} == {"one", "two", "empty"}
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    assert all(chunk.chunk_id.rpartition("#")[0] == chunk.doc_id for chunk in chunks)


@pytest.mark.parametrize("name", registry.names("readers"))
def test_readers_have_read_and_accepts(name: str, tmp_path: Path) -> None:
    reader = module("readers", name)
    assert reader.accepts(tmp_path / "nowhere") is False
    assert callable(reader.read)


ARM_OPTIONS: dict[str, dict[str, Any]] = {
    "command": {"command": (sys.executable, "command.py")},
    "embedding": {"embedder": "mine:embed"},
    "python": {"target": "mine:search"},
    "recorded": {"file": "recorded.jsonl"},
    "rerank": {"of": "keyword", "scorer": "mine:score"},
    "rrf": {"of": ("keyword", "pages")},
}
# What else the suite of an arm has: the arms it asks.
BESIDE: dict[str, dict[str, dict[str, Any]]] = {
    "rerank": {"keyword": {"type": "bm25"}},
    "rrf": {"keyword": {"type": "bm25"}, "pages": {"type": "bm25", "k1": 0.5}},
}
COMMAND = """
import json, sys
from mine import search
print(json.dumps({"protocol": 1}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "hits": search(asked["query"], asked["pool"])}), flush=True)
"""
RECORDED = """\
{"query": "red apple", "hits": [["one#1", 2], ["one#2", 1]]}
{"query": "apple", "hits": ["one#1", "one#2"]}
{"id": "blank", "hits": []}
"""
SEARCH = """
CHUNKS = ["Red. A red apple.", "Green. A green apple."]
def search(query, pool):
    words = query.split()
    counts = [(f"one#{at + 1}", sum(word in text for word in words)) for at, text in enumerate(CHUNKS)]
    return sorted((hit for hit in counts if hit[1]), key=lambda hit: -hit[1])

def score(query, texts):
    return [sum(word in text for word in query.split()) for text in texts]

WORDS = ["red", "green", "apple", "blue", "plum"]
def embed(texts, mode="passage"):
    return [[1e-3 + text.lower().count(word) for word in WORDS] for text in texts]
"""


class Search(BaseHTTPRequestHandler):
    """A search service over the same two chunks."""

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["q"].split()
        found = {
            f"one#{at}": sum(word in text for word in query) for at, text in ((1, "red apple"), (2, "apple"))
        }
        body = json.dumps([{"id": name, "score": count} for name, count in found.items() if count]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Search) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/search"
        finally:
            server.shutdown()
            thread.join(10)


@pytest.mark.parametrize("name", registry.names("arms"))
def test_arms_build_search_and_return_hits_of_the_corpus(name: str, tmp_path: Path, service: str) -> None:
    (tmp_path / "command.py").write_text(COMMAND, encoding="utf-8")
    (tmp_path / "mine.py").write_text(SEARCH, encoding="utf-8")
    arm_file = module("arms", name)
    assert issubclass(arm_file.Settings, ArmSettings)
    (tmp_path / "recorded.jsonl").write_text(RECORDED, encoding="utf-8")
    options = ARM_OPTIONS | {
        "http": {"url": service, "body": {"q": "{query}"}, "hits": "", "score": "/score"}
    }
    settings = arm_file.Settings(type=name, **options.get(name, {}))
    others = {leg: module("arms", raw["type"]).Settings(**raw) for leg, raw in BESIDE.get(name, {}).items()}
    workshop = Workshop(CORPUS, {"it": settings}, "test", tmp_path, others=others, case_ids={"": ("blank",)})
    assert set(legs(arm_file, settings)) == set(others), "an arm names every arm that it asks"
    with closing(workshop):
        check_arm(workshop.arm("it"))


def check_arm(arm: Arm) -> None:
    hits = arm.search("red apple", 2)
    assert [hit.doc_id for hit in hits] == ["one", "one"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert list(hits) == list(arm.search("red apple", 2)), "the same query twice is the same answer"
    assert len(arm.search("apple", 1)) == 1
    assert list(arm.search("", 5)) == []


EMBEDDER_OPTIONS: dict[str, dict[str, Any]] = {
    "openai": {"model": "text-embedding-3-small"},
    "python": {"target": "mine:embed"},
    **{name: {"model": "absent"} for name in ("fastembed", "model2vec", "sentence-transformers")},
}


@pytest.mark.parametrize("name", registry.names("embedders"))
def test_embedders_answer_every_text_with_a_unit_vector_or_a_reason(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key, a network or an optional package: then each text has a fault, and nothing raises."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "mine.py").write_text(SEARCH, encoding="utf-8")
    file = module("embedders", name)
    assert issubclass(file.Settings, BaseModel)
    embedder = file.build(
        file.Settings(type=name, **EMBEDDER_OPTIONS.get(name, {})), Host(lambda *_: None, tmp_path)
    )
    texts = ["A red apple.", "A green apple.", "A red apple."]
    try:
        for mode in ("passage", "query"):
            batches = list(embedder.embed(texts, mode))
            assert sorted(at for batch in batches for at in batch.positions) == [0, 1, 2]
            for batch in batches:
                if batch.vectors is None:
                    assert batch.fault.strip()
                    continue
                assert batch.vectors.dtype == np.float32
                assert batch.vectors.shape[0] == len(batch.positions)
                assert np.linalg.norm(batch.vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
        assert isinstance(embedder.identity, Identity)
        assert embedder.identity.kind
    finally:
        getattr(embedder, "close", lambda: None)()


def comparison(before: float, after: float) -> ArmComparison:
    labels = {"c": Label(kind="semantic", query="q", relevant={"p": 1}, sha256="x")}
    rows = [
        ArmMeasurement(settings={}, rows={"c": Row(ranked=("p",), at=(1,), recall=score)})
        for score in (after, before)
    ]
    return compare_arm("it", rows[0], rows[1], labels, Context())


OPTIONS: dict[str, dict[str, Any]] = {"max-drop": {"max_drop": 0.1}, "floor": {"floor": 0.9}}


@pytest.mark.parametrize("name", registry.names("policies"))
def test_policies_find_a_fall_and_are_silent_without_one(name: str) -> None:
    policy = module("policies", name)
    assert issubclass(policy.Settings, PolicySettings)
    settings = policy.Settings(rule=name, **OPTIONS.get(name, {}))
    found = policy.judge("it", comparison(1.0, 0.5), settings)
    assert [(type(f), f.level, f.arm, f.kind) for f in found] == [(Finding, "regression", "it", "semantic")]
    assert policy.judge("it", comparison(1.0, 1.0), settings) == []
    other = policy.Settings(rule=name, kinds=("exact_term",), **OPTIONS.get(name, {}))
    assert policy.judge("it", comparison(1.0, 0.5), other) == [], "kinds that are not named do not decide"


@pytest.mark.parametrize(("folder", "package"), registry._PACKAGES.items())
def test_a_new_file_is_picked_up(
    folder: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brand_new.py").write_text("VALUE = 1\n", encoding="utf-8")
    (tmp_path / "_part.py").write_text("", encoding="utf-8")
    loaded = importlib.import_module(package)
    monkeypatch.setattr(loaded, "__path__", [*loaded.__path__, str(tmp_path)])
    registry.names.cache_clear()
    try:
        assert "brand-new" in registry.names(folder)
        assert "part" not in registry.names(folder)
        assert "-part" not in registry.names(folder)
        assert module(folder, "brand-new").VALUE == 1
    finally:
        registry.names.cache_clear()


def test_outside_names_work_wherever_a_name_does(project: Project) -> None:
    project.write(
        "mine.py",
        textwrap.dedent(
            """
            from gate.corpus.readers import markdown as reader
            from gate.corpus.chunkers import page as chunker
            from gate.policies import any_loss as policy
            from gate.arms import bm25 as arm
            """
        ),
    )
    project.edit(
        "gate.toml",
        'type = "bm25"',
        'type = "mine:arm"\nchunker = "mine:chunker"\n\n[suite.docs.policy]\nrule = "mine:policy"',
    )
    project.edit("gate.toml", "k = 2", 'reader = "mine:reader"\nk = 2')
    code, suite = project.report("--no-baseline")
    assert code == 0
    assert suite["arms"]["keyword"]["settings"]["type"] == "mine:arm"
    assert suite["arms"]["keyword"]["n"] == 6

"""The rerank arm: the user's scorer behind the bridge, and a real rerank endpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from search_site import Request, Site, search_site

from gate.arms import rerank
from gate.errors import InputError
from gate.harness import ask
from gate.model.page import Chunk
from gate.model.ranking import Arm, Hit
from gate.store import config

HITS = [Hit(f"p{at}#0", f"p{at}", f"text {at}", 10.0 - at) for at in range(6)]
CODE = """
import math
def score(query, texts):
    if query == "raise": raise ValueError("no model")
    if query == "nan": return [math.nan for _ in texts]
    if query == "fewer": return [1.0]
    if query == "same": return [0.0 for _ in texts]
    return [float(text.split()[1]) for text in texts]
def pairs(pairs):
    return [len(query) - float(text.split()[1]) for query, text in pairs]
"""


class First:
    """The arm below. It is told its queries."""

    def __init__(self) -> None:
        self.told: list[Sequence[str]] = []

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        self.told.append(queries)

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        if query == "broken":
            raise RuntimeError("index is gone")
        if query == "blank":
            return [HITS[0], replace(HITS[1], text=" \n")]
        return HITS[:pool] if query != "none" else []


class Materials:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.first = First()

    def chunks(self, chunker: object) -> Sequence[Chunk]:
        raise AssertionError(chunker)

    def arm(self, name: str) -> Arm:
        assert name == "keyword"
        return self.first

    def secret(self, name: str, url: str) -> str | None:
        return None


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    materials = Materials(tmp_path)
    built: list[rerank.RerankArm] = []

    def make(**options: Any) -> rerank.RerankArm:
        raw = {"type": "rerank", "of": "keyword", **options}
        built.append(rerank.build(materials, config.typed(rerank.Settings, raw, "gate.toml")))
        return built[-1]

    make.first = materials.first  # type: ignore[attr-defined]
    yield make
    for arm in built:
        arm.close()


def pages(arm: rerank.RerankArm, query: str, pool: int = 20) -> list[str]:
    return [hit.doc_id for hit in arm.search(query, pool)]


def test_a_scorer_orders_the_first_and_leaves_the_rest(made: Any) -> None:
    arm = made(scorer="mine:score", depth=4)
    found = arm.search("x", 20)
    assert [hit.doc_id for hit in found] == ["p3", "p2", "p1", "p0", "p4", "p5"]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert [hit.ranks["keyword"] for hit in found] == [4, 3, 2, 1, 5, 6]
    assert pages(arm, "same") == ["p0", "p1", "p2", "p3", "p4", "p5"], "equal scores keep the arm's order"
    assert pages(made(scorer="mine:pairs"), "x") == ["p0", "p1", "p2", "p3", "p4", "p5"]
    assert pages(arm, "none") == []
    assert len(arm.search("x", 3)) == 3
    arm.prepare(["a", "b"], 20)
    assert made.first.told == [["a", "b"]]
    assert arm.spent.texts == 11


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("raise", "ValueError: no model (mine.py:4)"),
        ("nan", "has the score nan"),
        ("fewer", "score returned 1 numbers for 6 texts"),
        ("broken", "arm 'keyword': RuntimeError: index is gone"),
        ("blank", "hit 2 of the arm 'keyword' ('p1#0') has no text to score"),
    ],
)
def test_what_is_no_ranking_is_said(made: Any, query: str, said: str) -> None:
    reason = ask(made(scorer="mine:score"), query, 20)
    assert isinstance(reason, str)
    assert said in reason


@pytest.fixture
def site() -> Iterator[Site]:
    with search_site() as running:
        yield running


def scored(request: Request, wrap: str) -> Any:
    texts = request.body.get("documents") or request.body["texts"]
    name = "score" if wrap == "" else "relevance_score"
    rows = [{"index": at, name: float(text.split()[1])} for at, text in enumerate(texts)][::-1]
    return (200, {}, rows if wrap == "" else {wrap: rows})


@pytest.mark.parametrize(
    ("wrap", "documents"), [("results", "documents"), ("data", "documents"), ("", "texts")]
)
def test_the_shapes_of_the_common_servers(made: Any, site: Site, wrap: str, documents: str) -> None:
    site.answer = lambda request: scored(request, wrap)
    arm = made(endpoint={"url": f"{site.url}/rerank", "model": "m", "documents": documents})
    assert pages(arm, "x") == ["p5", "p4", "p3", "p2", "p1", "p0"]
    body = site.requests[0].body
    assert body["query"] == "x"
    assert body["model"] == "m"
    assert (body.get("top_n") == 6) == (documents == "documents")
    assert arm.spent.requests == 1
    assert arm.spent.cost_usd is None, "nobody said what it costs"


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"index": 0, "score": 1.0}],
        [{"index": at + 1, "score": 1.0} for at in range(6)],
        [{"index": at, "score": "1"} for at in range(6)],
        "x",
    ],
)
def test_an_endpoint_that_scores_others_is_not_believed(made: Any, site: Site, rows: Any) -> None:
    site.answer = lambda request: (200, {}, {"results": rows})
    arm = made(endpoint={"url": f"{site.url}/rerank"})
    reason = ask(arm, "x", 20)
    assert isinstance(reason, str)
    assert "of 6 texts" in reason


def test_an_endpoint_that_answers_no_number(made: Any, site: Site) -> None:
    site.answer = lambda request: (
        200, {}, {"results": [{"index": at, "relevance_score": math.nan} for at in range(6)]}
    )  # fmt: skip
    reason = ask(made(endpoint={"url": f"{site.url}/rerank"}), "x", 20)
    assert reason == "the scorer did not give one finite number for each of 6 texts"


def test_several_queries_are_scored_at_a_time_and_once(made: Any, site: Site) -> None:
    def slowly(request: Request) -> Any:
        time.sleep(0.1)
        return (500, {}, {}) if request.body["query"] == "q3" else scored(request, "results")

    site.answer = slowly
    arm = made(endpoint={"url": f"{site.url}/rerank", "concurrency": 3, "retries": 0})
    arm.prepare([*(f"q{at}" for at in range(6)), "broken", "none", "blank"], 20)
    assert site.most_at_once == 3
    assert pages(arm, "q1") == ["p5", "p4", "p3", "p2", "p1", "p0"]
    assert "answered 500" in str(ask(arm, "q3", 20))
    assert "index is gone" in str(ask(arm, "broken", 20))
    assert pages(arm, "none") == []
    assert arm.spent.requests == len(site.requests) == 6
    assert arm.spent.texts == 5 * 6, "what the endpoint refused was not scored"


def test_wrong_settings_are_input_errors() -> None:
    for raw in ({}, {"scorer": "a:b", "endpoint": {"url": "http://x"}}):
        with pytest.raises(InputError, match="one of scorer and endpoint"):
            config.typed(rerank.Settings, {"type": "rerank", "of": "keyword", **raw}, "gate.toml")

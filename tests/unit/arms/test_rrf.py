"""Reciprocal rank fusion against an independent computation, and what its settings refuse."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from small_project import Project

from gate import registry
from gate.arms import rrf
from gate.commands._measure import Workshop
from gate.errors import InputError
from gate.model.page import Corpus, Page
from gate.model.ranking import Arm, Hit

RED = Corpus((Page("a", "", "red\n\n## One\n\nred plum"), Page("b", "", "red red"), Page("c", "", "blue")))


@dataclass
class Listed:
    """An arm over a fixed list; it writes down what it is asked."""

    hits: Sequence[Hit]
    asked: list[tuple[str, int]] = field(default_factory=list)
    told: list[Sequence[str]] = field(default_factory=list)

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        self.told.append(list(queries))

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        self.asked.append((query, pool))
        return self.hits[:pool]


def listed(*chunks: str) -> Listed:
    return Listed([Hit(c, c.partition("#")[0], f"text of {c}", 9.0 - rank) for rank, c in enumerate(chunks)])


def fused(*chosen: Arm, by_chunk: bool = True, **options: Any) -> rrf.FusedArm:
    named = {f"leg{at}": leg for at, leg in enumerate(chosen)}
    return rrf.FusedArm(named, rrf.Settings(type="rrf", of=tuple(named), **options), by_chunk=by_chunk)


chunk_ids = st.builds("{}#{}".format, st.sampled_from("abcdef"), st.integers(0, 3))
lists = st.lists(st.lists(chunk_ids, max_size=12), min_size=2, max_size=4)


@given(lists, st.integers(1, 14), st.sampled_from((0.0, 1.0, 60.0)), st.booleans(), st.data())
def test_fusion_is_what_its_formula_says(
    legs: list[list[str]], pool: int, k0: float, by_chunk: bool, data: st.DataObject
) -> None:
    """The formula in exact fractions: the order differs at most where two exact sums are the same."""
    weights = data.draw(st.lists(st.sampled_from((0.5, 1.0, 3.0)), min_size=len(legs), max_size=len(legs)))
    exact: dict[str, Fraction] = defaultdict(Fraction)
    ranks: dict[str, dict[str, int]] = defaultdict(dict)
    for at, (leg, weight) in enumerate(zip(legs, weights, strict=True)):
        for rank, chunk in enumerate(leg[:pool], 1):
            unit = chunk if by_chunk else chunk[0]
            if f"leg{at}" not in ranks[unit]:
                ranks[unit][f"leg{at}"] = rank
                exact[unit] += Fraction(weight) / (Fraction(k0) + rank)
    arm = fused(*(listed(*leg) for leg in legs), by_chunk=by_chunk, weights=tuple(weights), k0=k0)
    found = arm.search("q", pool)
    units = [hit.chunk_id if by_chunk else hit.doc_id for hit in found]
    assert len(units) == len(set(units)) == min(pool, len(exact))
    assert {unit: hit.ranks for unit, hit in zip(units, found, strict=True)} == {u: ranks[u] for u in units}
    for hit, unit in zip(found, units, strict=True):
        assert hit.score == pytest.approx(float(exact[unit]), rel=1e-12)
    best = sorted(exact.values(), reverse=True)[: len(units)]
    assert [float(exact[unit]) for unit in units] == pytest.approx([float(one) for one in best], rel=1e-12)


def test_a_hand_computed_example() -> None:
    found = fused(listed("a#0", "b#0", "c#0"), listed("c#0", "d#0")).search("q", 10)
    assert [(hit.chunk_id, hit.score) for hit in found] == [
        ("c#0", 1 / 63 + 1 / 61),
        ("a#0", 1 / 61),
        ("b#0", 1 / 62),
        ("d#0", 1 / 62),
    ]
    assert [dict(hit.ranks) for hit in found] == [
        {"leg0": 3, "leg1": 1},
        {"leg0": 1},
        {"leg0": 2},
        {"leg1": 2},
    ]


def test_weights_and_k0_change_the_order() -> None:
    legs = (listed("a#0", "b#0"), listed("b#0", "a#0", "c#0"))
    assert [hit.chunk_id for hit in fused(*legs).search("q", 2)] == ["a#0", "b#0"], "a tie: first appearance"
    assert [hit.chunk_id for hit in fused(*legs, weights=(1.0, 1.1)).search("q", 2)] == ["b#0", "a#0"]
    wide = (listed("a#0", "x#0", "y#0", "b#0"), listed("z#0", "v#0", "w#0", "b#0"))
    assert fused(*wide).search("q", 5)[0].chunk_id == "b#0"
    assert fused(*wide, k0=0.0).search("q", 5)[0].chunk_id == "a#0"


def test_a_chunk_that_comes_twice_in_a_leg_counts_once_at_its_best_rank() -> None:
    found = fused(listed("a#0", "a#0", "b#0"), listed("b#0")).search("q", 10)
    assert [(hit.chunk_id, dict(hit.ranks)) for hit in found] == [
        ("b#0", {"leg0": 3, "leg1": 1}),
        ("a#0", {"leg0": 1}),
    ]


def test_pages_take_the_chunk_of_the_leg_that_ranks_them_best() -> None:
    found = fused(listed("x#0", "a#1", "b#7"), listed("b#2", "a#5", "b#0"), by_chunk=False).search("q", 10)
    assert [(hit.doc_id, hit.chunk_id, hit.text) for hit in found] == [
        ("b", "b#2", "text of b#2"),
        ("a", "a#1", "text of a#1"),
        ("x", "x#0", "text of x#0"),
    ]


def test_only_the_pool_of_each_leg_counts() -> None:
    legs = (listed("a#0", "b#0", "c#0"), listed("d#0", "e#0", "c#0"))
    assert "c#0" not in [hit.chunk_id for hit in fused(*legs).search("q", 2)]
    assert fused(*legs).search("q", 3)[0].chunk_id == "c#0"
    greedy = Listed([Hit(f"{at}#0", str(at), "", 0.0) for at in range(50)])
    greedy.search = lambda query, pool: greedy.hits  # type: ignore[method-assign]
    assert max(hit.ranks["leg0"] for hit in fused(greedy, greedy).search("q", 3)) == 3


class Failing:
    def search(self, query: str, pool: int) -> Sequence[Hit]:
        raise TimeoutError("no answer\nwithin 3 s")


def test_a_leg_that_fails_fails_the_query_by_name() -> None:
    with pytest.raises(rrf.LegError, match=r"^leg 'leg1': TimeoutError: no answer within 3 s$"):
        fused(listed("a#0"), Failing()).search("q", 5)
    junk = Listed("abc")  # type: ignore[arg-type]
    with pytest.raises(rrf.LegError, match="leg 'leg0': TypeError: search returned str"):
        fused(junk, listed("a#0")).search("q", 5)
    nan = Listed([Hit("a#0", "a", "", float("nan"))])
    with pytest.raises(rrf.LegError, match="leg 'leg1': ValueError"):
        fused(listed("a#0"), nan).search("q", 5)


def arm(kind: str, **options: Any) -> Any:
    return registry.load("arms", kind, "test").Settings(type=kind, **options)


def hybrid_of(**arms: Any) -> Arm:
    return Workshop(RED, {"hybrid": arm("rrf", of=tuple(arms)), **arms}, "test").arm("hybrid")


def chunks_of(built: Arm) -> list[str]:
    return [hit.chunk_id for hit in built.search("red", 20)]


def test_equal_chunkers_fuse_chunks_however_they_are_written_and_others_fuse_pages() -> None:
    plain = arm("bm25")
    assert len(chunks_of(hybrid_of(a=plain, b=arm("bm25", k1=0.5, chunker="heading")))) == 3
    window = {"type": "window", "words": 200}
    assert len(chunks_of(hybrid_of(a=arm("bm25", chunker="window"), b=arm("bm25", chunker=window)))) == 2
    assert len(chunks_of(hybrid_of(a=plain, b=arm("bm25", chunker="page")))) == 2, "pages a and b"
    two_words = {"type": "window", "words": 2, "overlap": 0}
    one = {"type": "window", "words": 1, "overlap": 0}
    found = chunks_of(hybrid_of(a=arm("bm25", chunker=two_words), b=arm("bm25", chunker=one)))
    assert len({chunk.partition("#")[0] for chunk in found}) == len(found) == 2


def nested(inner: dict[str, Any], **outer: Any) -> list[str]:
    arms = {
        "a": arm("bm25"),
        "b": arm("bm25", k1=0.5),
        "ab": arm("rrf", of=("a", "b"), **inner),
        "top": arm("rrf", of=("ab", "a"), **outer),
    }
    return chunks_of(Workshop(RED, arms, "test").arm("top"))


def test_a_hybrid_of_a_hybrid_knows_what_its_legs_fused() -> None:
    assert len(nested({})) == 3
    assert len(nested({"unit": "page"})) == 2
    assert len(nested({}, unit="page")) == 2


OWN = """
def one(query, pool):
    return [("x/7", 2.0), ("x/3", 1.0)]
"""


def test_ids_of_your_own_code_fuse_as_pages_unless_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    arms = {
        "one": arm("python", target="mine:one"),
        "keyword": arm("bm25"),
        "free": arm("rrf", of=("one", "keyword")),
        "told": arm("rrf", of=("one", "keyword"), unit="chunk"),
    }
    with closing(Workshop(RED, arms, "test", tmp_path)) as workshop:
        assert len({hit.doc_id for hit in workshop.arm("free").search("red", 20)}) == 4
        assert len(workshop.arm("free").search("red", 20)) == 4
        assert len(workshop.arm("told").search("red", 20)) == 5


def test_chunks_of_different_chunkers_are_never_fused() -> None:
    arms = {"a": arm("bm25"), "b": arm("bm25", chunker="page"), "h": arm("rrf", of=("a", "b"), unit="chunk")}
    with pytest.raises(InputError, match="'a' and 'b' cut the corpus differently"):
        Workshop(RED, arms, "test").arm("h")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": ("a",)}, "at least 2"),
        ({"of": ("a", "a")}, "names an arm twice"),
        ({"of": ("a", "b"), "weights": (1.0,)}, "1 numbers for 2 arms"),
        ({"of": ("a", "b"), "weights": (1.0, 0.0)}, "greater than 0"),
        ({"of": ("a", "b"), "weights": (1.0, float("nan"))}, "finite"),
        ({"of": ("a", "b"), "k0": -1.0}, "greater than or equal to 0"),
        ({"of": ("a", "b"), "unit": "words"}, "'chunk' or 'page'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        rrf.Settings(type="rrf", **options)


HYBRID = '\n[suite.docs.arms.{name}]\ntype = "rrf"\nof = {of}\n'


def add(project: Project, **hybrids: list[str]) -> None:
    for name, of in hybrids.items():
        project.write("gate.toml", project.read("gate.toml") + HYBRID.format(name=name, of=of))


@pytest.mark.parametrize("verb", ["check", "run"])
def test_wrong_legs_are_input_errors_all_at_once(project: Project, verb: str) -> None:
    add(project, typo=["keyword", "keywrod"], own=["keyword", "own"], one=["keyword", "two"])
    add(project, two=["keyword", "one"])
    done = project.gate(verb)
    assert done.code == 2
    assert "gate.toml [suite.docs.arms.typo]: no such arm ('keywrod'). Did you mean 'keyword'?" in done.err
    assert "gate.toml [suite.docs.arms.own]: asks itself ('own'). Name other arms." in done.err
    assert done.err.count("arms need each other") == 1
    assert "(one -> two -> one). Break the circle." in done.err


def test_wrong_weights_are_an_input_error(project: Project) -> None:
    add(project, hybrid=["keyword", "keyword2"])
    project.write("gate.toml", project.read("gate.toml") + "weights = [1.0]\n")
    done = project.gate("check")
    assert done.code == 2
    assert "'weights' has 1 numbers for 2 arms in 'of'" in done.err


COUNTING = """
import pathlib
LOG = pathlib.Path(__file__).with_name("asked.log")
def search(query, pool):
    with LOG.open("a") as log:
        log.write(query + "\\n")
    return ["errors", "config"]
"""


def test_a_leg_that_is_an_arm_of_the_suite_is_asked_each_query_once(empty_project: Project) -> None:
    empty_project.write("mine.py", COUNTING)
    arm = '\n[suite.docs.arms.own]\ntype = "python"\ntarget = "mine:search"\n'
    empty_project.write("gate.toml", empty_project.read("gate.toml") + arm)
    add(empty_project, hybrid=["own", "keyword"], second=["hybrid", "own"])
    code, suite = empty_project.report("--no-baseline")
    assert code == 0
    asked = empty_project.read("asked.log").splitlines()
    assert len(asked) == len(set(asked)) == 6 + 2, "six cases and two answerable questions"
    assert suite["arms"]["second"]["n"] == 6


def test_an_arm_can_be_measured_without_its_legs_being_measured(empty_project: Project) -> None:
    add(empty_project, hybrid=["keyword", "other"])
    other = '\n[suite.docs.arms.other]\ntype = "bm25"\nk1 = 0.2\n'
    empty_project.write("gate.toml", empty_project.read("gate.toml") + other)
    code, suite = empty_project.report("--no-baseline", "--arm", "hybrid")
    assert (code, list(suite["arms"])) == (0, ["hybrid"])
    assert suite["arms"]["hybrid"]["n"] == 6


def test_a_leg_that_cannot_be_built_leaves_the_hybrid_not_measured(empty_project: Project) -> None:
    empty_project.write("mine.py", "raise RuntimeError('no index here')\n")
    own = '\n[suite.docs.arms.own]\ntype = "python"\ntarget = "mine:search"\n'
    empty_project.write("gate.toml", empty_project.read("gate.toml") + own)
    add(empty_project, hybrid=["keyword", "own"])
    code, suite = empty_project.report("--no-baseline")
    assert code == 3
    reasons = set(suite["arms"]["hybrid"]["failed"].values())
    assert len(reasons) == 1
    assert "leg 'own'" in (reason := reasons.pop())
    assert "no index here" in reason

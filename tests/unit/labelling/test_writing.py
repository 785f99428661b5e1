"""Judgements of two or three people become labels: the third decides what the first two differ on, and nothing else."""

from __future__ import annotations

import pytest

from gate.labelling.judgements import Judged
from gate.labelling.writing import merged, write
from gate.model.case import Case
from gate.model.pool import Pool, PoolQuery

QUERY = PoolQuery(id="q-001", query="How do I stop it?", source="asked", candidates=("a", "b", "c"))
POOL = Pool(name="x", suite="docs", depth=3, systems=("keyword",), pages={}, queries=(QUERY,))


def one(
    first: Judged, second: Judged, third: Judged | None = None
) -> tuple[Judged | None, list[tuple[str, str]]]:
    judges = [{"q-001": first}, {"q-001": second}]
    final, open_ones = merged([*judges, {"q-001": third}] if third is not None else judges, POOL)
    return final.get("q-001"), open_ones


def test_the_third_decides_only_what_the_two_differ_on() -> None:
    first = Judged({"a": 2, "b": 0, "c": 1}, "semantic")
    second = Judged({"a": 2, "b": 1, "c": 1}, "semantic")
    final, _ = one(first, second, Judged({"a": 0, "b": 2, "c": 0}, "multi_hop"))
    assert final is not None
    assert (final.grades, final.kind) == ({"a": 2, "b": 2, "c": 1}, "semantic")


def test_no_page_answers_is_said_of_the_pages_that_the_third_was_shown() -> None:
    first = Judged({"a": 2, "b": 0, "c": 1}, "semantic")
    second = Judged({"a": 2, "b": 1, "c": 1}, "semantic")
    final, _ = one(first, second, Judged(none=True))
    assert final is not None
    assert (final.grades, final.none) == ({"a": 2, "b": 0, "c": 1}, False), (
        "what both found is not thrown away"
    )


def test_one_of_two_says_that_no_page_answers() -> None:
    first, second = Judged({"a": 2, "b": 0, "c": 0}, "semantic"), Judged(none=True)
    final, open_ones = one(first, second)
    assert final is None
    assert "nobody decided" in open_ones[0][1]
    final, open_ones = one(first, second, Judged({"a": 1, "b": 0, "c": 0}, "semantic"))
    assert final is not None
    assert (final.grades, open_ones) == ({"a": 1, "b": 0, "c": 0}, [])
    final, open_ones = one(first, second, Judged(none=True))
    assert open_ones == []
    assert write(POOL, {"q-001": final} if final else {}, [], "n", []).left_out == [
        ("q-001", "no page answers it")
    ]


@pytest.mark.parametrize("asked", ["How do I stop it?", "  how do I  STOP it? "])
def test_what_is_a_case_already_is_written_once(asked: str) -> None:
    judged = {"q-001": Judged({"a": 2, "b": 0, "c": 0}, "semantic")}
    case = Case(id="local-007", query=asked, grades={"b": 1}, kind="semantic")
    assert write(POOL, judged, [case], "n", []).left_out == [
        ("q-001", "the case 'local-007' asks it already")
    ]
    twice = POOL.model_copy(update={"queries": (QUERY, QUERY.model_copy(update={"id": "q-002"}))})
    written = write(twice, {**judged, "q-002": judged["q-001"]}, [], "n", [])
    assert [row["id"] for row in written.rows] == ["n-001"]
    assert written.left_out == [("q-002", "the case 'n-001' asks it already")]

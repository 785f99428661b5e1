"""The tie audit: which cases have a top k that a tie decides."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gate import registry
from gate.harness import decided_by_a_tie, evaluate
from gate.model.case import Case
from gate.model.measurement import Meaning
from gate.model.ranking import Hit, rank_pages

METRICS = {name: registry.load("metrics", name, "test") for name in registry.names("metrics")}


def hits(*scored: tuple[str, float]) -> list[Hit]:
    return [Hit(f"{page}#{at}", page, "", score) for at, (page, score) in enumerate(scored)]


@pytest.mark.parametrize(
    ("scored", "k", "tolerance", "tied"),
    [
        ([("a", 3.0), ("b", 2.0), ("c", 2.0)], 2, 0.0, True),
        ([("a", 3.0), ("b", 2.0), ("c", 2.0)], 1, 0.0, False),
        ([("a", 2.0), ("b", 2.0), ("c", 1.0)], 2, 0.0, False),
        ([("a", 2.0), ("b", 2.0)], 2, 0.0, False),
        ([("a", 2.0), ("a", 1.0), ("b", 1.0)], 1, 0.0, False),
        ([("a", 2.0), ("a", 2.0), ("b", 2.0), ("b", 1.0)], 1, 0.0, True),
        ([("a", 0.5), ("b", 0.5 - 1e-7)], 1, 0.0, False),
        ([("a", 0.5), ("b", 0.5 - 1e-7)], 1, 1e-6, True),
        ([("a", 0.1), ("b", 0.1 + 1e-7)], 1, 1e-6, True),
        ([("a", 0.5), ("b", 0.5 - 3e-6)], 1, 1e-6, False),
        ([], 1, 0.0, False),
    ],
)
def test_the_best_hits_of_the_pages_around_the_cut_decide(
    scored: list[tuple[str, float]], k: int, tolerance: float, *, tied: bool
) -> None:
    found = hits(*scored)
    assert decided_by_a_tie(found, rank_pages(found), k, tolerance) is tied


class Scripted:
    def __init__(self, answers: dict[str, list[Hit]], tolerance: float) -> None:
        self._answers = answers
        self.tolerance = tolerance

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        return self._answers[query]


def test_cases_are_listed_and_hits_beyond_the_pool_do_not_tie() -> None:
    answers = {
        "clear": hits(("a", 2.0), ("b", 1.0)),
        "equal": hits(("a", 2.0), ("b", 2.0)),
        "near": hits(("a", 2.0), ("b", 1.9)),
        "outside": hits(("a", 2.0), ("a", 2.0), ("a", 2.0), ("b", 2.0)),
    }
    cases = [Case(id=f"id-{query}", query=query, grades={"a": 1}, kind="x") for query in [*answers, "fails"]]
    meaning = Meaning(k=1, pool=3, context=1)
    rows = evaluate(Scripted(answers, 0.0), cases, meaning, METRICS)
    assert (rows.tied, list(rows.failed)) == (("id-equal",), ["id-fails"])
    assert evaluate(Scripted(answers, 0.2), cases, meaning, METRICS).tied == ("id-equal", "id-near")

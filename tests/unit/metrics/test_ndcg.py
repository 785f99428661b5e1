import math

import pytest

from gate.metrics.ndcg import score

RANKED = ["d3", "d1", "d7", "d2", "d9"]


def test_worked_example() -> None:
    by_hand = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert score(RANKED, {"d1": 1, "d2": 1}, 5) == pytest.approx(by_hand, abs=1e-15)
    assert round(by_hand, 3) == 0.651


def test_gain_is_linear_in_the_grade() -> None:
    by_hand = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert score(["one", "three"], {"one": 1, "three": 3}, 2) == pytest.approx(by_hand, abs=1e-15)


def test_the_ideal_is_cut_at_k() -> None:
    assert score(["d1"], {"d1": 2, "d2": 2, "d3": 1}, 1) == 1.0


def test_rounding_of_huge_grades_does_not_lift_the_score_above_1() -> None:
    # Without the bound this order comes out one bit above its own ideal.
    top = 2**52
    assert score(["b", "e", "d", "a", "c"], {"a": top - 2, "b": top, "c": top, "d": top, "e": top}, 5) == 1.0

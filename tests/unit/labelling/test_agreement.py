"""Kappa against scikit-learn's, its interval against a resampling, and which queries are ambiguous."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.labelling.agreement import ambiguous, differences, kappa, kinds_differ, shared
from gate.labelling.judgements import Judged

PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=80)


@given(PAIRS, st.sampled_from(["none", "linear", "quadratic"]))
def test_it_is_scikit_learns(pairs: list[tuple[int, int]], weights: Any) -> None:
    from sklearn.metrics import cohen_kappa_score

    found = kappa(pairs, weights)
    first, second = zip(*pairs, strict=True)
    if len({*first, *second}) < 2:
        assert found.value is None
        return
    wanted = cohen_kappa_score(first, second, weights=None if weights == "none" else weights)
    if found.value is None:
        assert math.isnan(wanted)
    else:
        assert found.value == pytest.approx(wanted, abs=1e-9)
        assert found.low is not None
        assert found.high is not None
        assert -1 <= found.low <= found.value + 1e-12
        assert found.value - 1e-12 <= found.high <= 1


def test_the_interval_is_about_what_resampling_gives() -> None:
    chance = random.Random(1)
    pairs = [
        (grade, grade if chance.random() < 0.7 else chance.randrange(3))
        for grade in chance.choices((0, 1, 2), k=300)
    ]
    found = kappa(pairs, "quadratic")
    values = sorted(
        value
        for _ in range(600)
        if (value := kappa(chance.choices(pairs, k=300), "quadratic").value) is not None
    )
    assert found.low == pytest.approx(values[15], abs=0.03)
    assert found.high == pytest.approx(values[-15], abs=0.03)


def test_what_is_no_kappa() -> None:
    assert kappa([]).value is None
    assert kappa([(1, 1), (1, 1)]).value is None
    assert kappa([(0, 0), (1, 1)]).value == 1.0
    assert kappa([(0, 1), (1, 0)]).value == -1.0


def test_differences_and_ambiguous_queries() -> None:
    one = {
        "a": Judged({"p": 2, "q": 0}, "semantic"),
        "b": Judged({"p": 1}, "semantic"),
        "c": Judged({"p": 2}, "semantic"),
    }
    other = {
        "a": Judged({"p": 0, "q": 2}, "semantic"),
        "b": Judged({"p": 2}, "semantic"),
        "c": Judged({"p": 2}, "exact_term"),
    }
    pairs = shared(one, other)
    assert pairs == [("a", "p", 2, 0), ("a", "q", 0, 2), ("b", "p", 1, 2), ("c", "p", 2, 2)]
    assert [(found.query, found.page) for found in differences(pairs)] == [("a", "p"), ("a", "q"), ("b", "p")]
    assert ambiguous(one, other, pairs) == ["a"], "no answering page in common"
    assert kinds_differ(one, other) == {"c": ("semantic", "exact_term")}

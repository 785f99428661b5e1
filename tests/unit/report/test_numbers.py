"""What is printed never contradicts what was decided."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.model import wording
from gate.model.comparison import DUST
from gate.report import columns, numbers

scores = st.floats(0, 1)
near = st.one_of(scores, st.integers(0, 40).map(lambda n: n / 40))


@pytest.mark.parametrize("module", [numbers, columns, wording])
def test_examples_in_the_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@given(near, st.one_of(near, st.floats(-1e-4, 1e-4)))
@example(0.8333333, -0.0004)
@example(0.125, -2e-9)
@example(1.0, -1.1e-9)
def test_a_pair_shows_every_difference_and_its_direction(before: float, other: float) -> None:
    after = other if 0 <= other <= 1 and abs(other) > 1e-4 else min(max(before + other, 0.0), 1.0)
    one, two = numbers.pair(before, after)
    if abs(after - before) > DUST:
        assert (float(one) < float(two)) == (before < after)
        assert one != two
    else:
        assert one == two
    assert len(one.partition(".")[2]) == len(two.partition(".")[2])


@given(st.floats(0, 1e12), st.floats(0, 1e12))
def test_scores_of_any_size(before: float, after: float) -> None:
    one, two = numbers.pair(before, after)
    if abs(after - before) > DUST:
        assert (float(one) < float(two)) == (before < after)


@given(scores)
def test_a_single_score_is_zero_or_one_only_where_it_is(value: float) -> None:
    text = numbers.single(value)
    assert not text.startswith("-")
    for end in (0.0, 1.0):
        if abs(value - end) > DUST:
            assert float(text) != end
    assert abs(float(text) - value) <= 0.005


@given(st.lists(near, min_size=1, max_size=8))
def test_a_column_keeps_the_order(values: list[float]) -> None:
    texts = numbers.column(values)
    for one, first in zip(values, texts, strict=True):
        for other, second in zip(values, texts, strict=True):
            if one - other > DUST * len(values):
                assert float(first) > float(second)
            if one == other:
                assert first == second


def test_a_drop_of_four_ten_thousandths_is_seen() -> None:
    assert numbers.pair(0.8333, 0.8329) == ("0.8333", "0.8329")


def test_dust_on_a_rounding_edge_is_no_difference() -> None:
    assert numbers.pair(0.125, 0.125 - 1e-12) == numbers.pair(0.125 - 1e-12, 0.125)
    one, two = numbers.pair(0.125, 0.125 - 1e-12)
    assert one == two


@given(st.floats(0, 1))
def test_a_p_value_stays_on_its_side_of_the_level(p: float) -> None:
    text = numbers.p_value(p)
    if not text.startswith("<"):
        assert (float(text) < 0.05) == (p < 0.05)
        assert (float(text) < 1) == (p < 1)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_an_interval_shows_on_which_side_of_zero_its_ends_are(low: float, high: float) -> None:
    words = numbers.interval(low, high).split(" ")
    for value, text in ((low, words[0]), (high, words[2])):
        if abs(value) > DUST:
            assert (float(text) > 0) == (value > 0)
            assert text.startswith("+") == (value > 0)
        else:
            assert text == "0"


@given(st.integers(1, 100_000))
def test_one_case_is_never_worth_nothing(n: int) -> None:
    assert float(numbers.points(1 / n).split(" ")[0]) > 0


@given(st.integers(1, 3000), st.data())
def test_the_count_behind_a_rate(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    assert numbers.counted(hits / n, n) == hits


def test_ranks_and_counts() -> None:
    assert numbers.rank_pair(3, None) == "3 -> outside the pool"
    assert numbers.rank_pair(None, 4) == "outside the pool -> 4"
    assert numbers.count_pair(17, 16, 20) == "17/20 -> 16/20"
    assert wording.plural(2, "accepted loss") == "2 accepted losses"
    assert wording.listed(["a"], 3) == "a"
    assert numbers.interval(0.0, 0.0) == "0 to 0 points"
    assert numbers.points(1.0) == "100 points"
    assert numbers.points(0.9999) == "99.99 points"

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gate.stats.interval import mean_interval, t_quantile

sixths = st.integers(-6, 6).map(lambda sixth: sixth / 6)
differences = st.lists(sixths | st.floats(-1, 1), min_size=2, max_size=60)
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.95, 0.99, 0.9999])
@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 9, 10, 21, 40, 99, 1000, 9999, 50_000])
def test_quantile_equals_scipys(confidence: float, df: int) -> None:
    assert t_quantile(confidence, df) == pytest.approx(stats.t.ppf((1 + confidence) / 2, df), rel=1e-9)


@given(confidence=st.floats(0.001, 0.9999), df=st.integers(1, 500))
def test_quantile_covers_what_it_says(confidence: float, df: int) -> None:
    t = t_quantile(confidence, df)
    assert t > 0
    assert 1 - 2 * stats.t.sf(t, df) == pytest.approx(confidence, abs=1e-10)


@given(diffs=differences, confidence=levels)
def test_equal_to_scipys_interval_within_the_bounds(diffs: list[float], confidence: float) -> None:
    interval = mean_interval(diffs, confidence)
    assert interval is not None
    # scipy's t.interval is undefined for a spread of 0, and its own sem loses digits near it.
    mean, sem = math.fsum(diffs) / len(diffs), stats.sem(diffs)
    if sem > 1e-9:
        low, high = stats.t.interval(confidence, len(diffs) - 1, loc=mean, scale=sem)
        assert interval == pytest.approx((max(-1, low), min(1, high)), abs=1e-8)
    low, high = interval
    assert -1 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1


@given(diffs=differences)
def test_mirrored_differences_give_the_mirrored_interval(diffs: list[float]) -> None:
    interval, mirrored = mean_interval(diffs), mean_interval([-diff for diff in diffs])
    assert interval is not None
    assert mirrored == (-interval[1], -interval[0])


@given(diffs=differences, seed=st.integers(0, 1000))
def test_the_order_of_the_cases_does_not_matter(diffs: list[float], seed: int) -> None:
    shuffled = random.Random(seed).sample(diffs, len(diffs))
    assert mean_interval(shuffled) == mean_interval(diffs)


@given(diffs=differences)
def test_more_confidence_is_no_narrower(diffs: list[float]) -> None:
    narrow, wide = mean_interval(diffs, 0.8), mean_interval(diffs, 0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] <= narrow[0]
    assert narrow[1] <= wide[1]


def test_cases_that_agree_have_an_interval_without_width() -> None:
    assert mean_interval([-0.25] * 8) == (-0.25, -0.25)


def test_clipped_to_what_scores_allow() -> None:
    assert mean_interval([-1.0, 1.0]) == (-1.0, 1.0)


@pytest.mark.parametrize("diffs", [[], [0.5]])
def test_fewer_than_two_cases_have_no_interval(diffs: list[float]) -> None:
    assert mean_interval(diffs) is None


@pytest.mark.parametrize("wrong", [1.5, -2.0, math.nan, math.inf, -math.inf])
def test_what_is_no_difference_of_scores_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"must lie within \[-1, 1\]"):
        mean_interval([0.0, wrong])


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan])
def test_a_confidence_outside_0_and_1_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        mean_interval([0.0, 0.1], confidence)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        t_quantile(confidence, 3)


def test_no_degree_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="df must be 1 or more"):
        t_quantile(0.95, 0)

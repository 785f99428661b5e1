import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from gate.stats.power import smallest_drop


@pytest.mark.parametrize(
    ("n", "alpha", "losses"),
    [
        (0, 0.05, None),
        (5, 0.05, None),
        (6, 0.05, 6),
        (10_000, 0.05, 6),
        (100, 0.01, 8),
        (100, 0.1, 5),
        (1, 0.99, None),
    ],
)
def test_by_hand(n: int, alpha: float, losses: int | None) -> None:
    assert smallest_drop(n, alpha) == losses


def test_below_means_below() -> None:
    assert smallest_drop(20, 2**-5) == 7


@settings(max_examples=50)
@given(n=st.integers(0, 60), alpha=st.floats(1e-9, 0.999))
def test_the_first_that_scipy_calls_significant(n: int, alpha: float) -> None:
    significant = (losses for losses in range(1, n + 1) if binomtest(losses, losses, 0.5).pvalue < alpha)
    assert smallest_drop(n, alpha) == next(significant, None)


def test_the_smallest_level_a_float_can_hold_has_an_answer() -> None:
    assert smallest_drop(2000, 5e-324) == 1076


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 5.0, float("nan")])
def test_a_level_outside_0_and_1_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        smallest_drop(20, alpha)


def test_a_negative_number_of_cases_is_refused() -> None:
    with pytest.raises(ValueError, match="n must be 0 or more"):
        smallest_drop(-1)

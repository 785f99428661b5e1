import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gate.stats.sign_test import p_value

counts = st.integers(0, 400)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (0, 1, 1.0), (0, 5, 0.0625), (0, 6, 0.03125), (1, 7, 9 / 128), (4, 4, 1.0)],
)
def test_by_hand(wins: int, losses: int, p: float) -> None:
    assert p_value(wins, losses) == p


@given(wins=counts, losses=counts)
def test_equal_to_scipy(wins: int, losses: int) -> None:
    n = wins + losses
    theirs = binomtest(wins, n, 0.5).pvalue if n else 1.0
    assert p_value(wins, losses) == pytest.approx(theirs, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(("wins", "losses"), [(4900, 5100), (9000, 9500), (2, 3000), (0, 10_000)])
def test_equal_to_scipy_for_many_cases(wins: int, losses: int) -> None:
    theirs = binomtest(wins, wins + losses, 0.5).pvalue
    assert p_value(wins, losses) == pytest.approx(theirs, rel=1e-9, abs=1e-300)


@given(wins=counts, losses=counts)
def test_symmetric_and_a_probability(wins: int, losses: int) -> None:
    p = p_value(wins, losses)
    assert p == p_value(losses, wins)
    assert 0 < p <= 1


@given(wins=counts, losses=counts)
def test_one_more_loss_than_the_wins_is_rarer(wins: int, losses: int) -> None:
    worse = wins + losses
    assert p_value(wins, worse + 1) <= p_value(wins, worse)


@pytest.mark.parametrize(("wins", "losses"), [(-1, 3), (3, -1)])
def test_negative_counts_are_refused(wins: int, losses: int) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        p_value(wins, losses)

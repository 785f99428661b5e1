import math
import random
import subprocess
import sys
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from gate.stats import sign_flip as module
from gate.stats import sign_test
from gate.stats.sign_flip import p_value, sign_flip

ROOT = Path(__file__).parents[3]

recalls = st.integers(1, 6).flatmap(lambda n: st.integers(-n, n).map(lambda part: part / n))
reciprocals = st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda ranks: 1 / ranks[0] - 1 / ranks[1])
floats = st.floats(-1, 1)
small = st.lists(recalls, max_size=9) | st.lists(reciprocals, max_size=9) | st.lists(floats, max_size=9)
any_size = st.lists(recalls, max_size=60) | st.lists(reciprocals, max_size=40) | st.lists(floats, max_size=40)


def by_definition(diffs: list[float]) -> float:
    """Every choice of signs, in exact arithmetic but for the dust."""
    exact = [Fraction(diff) for diff in diffs if abs(diff) >= 1e-9]
    observed = abs(sum(exact)) - Fraction(1, 10**9)
    sums = [
        abs(sum(s * d for s, d in zip(signs, exact, strict=True)))
        for signs in product((1, -1), repeat=len(exact))
    ]
    return sum(value >= observed for value in sums) / len(sums)


def random_diffs(kind: str, n: int, seed: int) -> list[float]:
    rng = random.Random(seed)
    draw = {
        "sixths": lambda: rng.randint(-6, 6) / 6,
        "recall": lambda: rng.choice((-1, 1)) * rng.randint(0, 5) / rng.randint(5, 8),
        "rr": lambda: 1 / rng.randint(1, 20) - 1 / rng.randint(1, 20),
        "floats": lambda: rng.uniform(-1, 1),
        "losses": lambda: -rng.randint(1, 6) / 6,
        "one size": lambda: rng.choice((-1, 1)) * 0.123456789,
    }[kind]
    return [draw() for _ in range(n)]


KINDS = ["sixths", "recall", "rr", "floats", "losses", "one size"]


@given(diffs=small)
@example(diffs=[])
@example(diffs=[0.1, 0.2, -0.3])
@example(diffs=[1e-10, -1e-12, 0.0])
@example(diffs=[0.5 - 1 / 3, 1 / 6, -1 / 3])
@example(diffs=[-0.1234567890124, -0.2345678901234, 0.3580246791358, 0.7654321098765])
def test_equal_to_the_definition(diffs: list[float]) -> None:
    result = sign_flip(diffs)
    assert result.exact
    assert result.p == by_definition(diffs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 7, 12])
def test_equal_to_scipys_exact_permutation_test(kind: str, n: int) -> None:
    diffs = random_diffs(kind, n, seed=n)

    def mean(x: np.ndarray, axis: int) -> np.ndarray:
        return x.mean(axis=axis)

    theirs = permutation_test((diffs,), mean, permutation_type="samples", n_resamples=np.inf, vectorized=True)
    assert p_value(diffs) == pytest.approx(theirs.pvalue, abs=1e-12)


@given(wins=st.integers(0, 300), losses=st.integers(0, 300))
def test_equal_to_the_sign_test_where_all_cases_move_by_the_same(wins: int, losses: int) -> None:
    result = sign_flip([0.5] * wins + [-0.5] * losses)
    assert result.exact
    assert result.p == pytest.approx(sign_test.p_value(wins, losses), rel=1e-11, abs=1e-12)


@settings(max_examples=50)
@given(diffs=any_size)
def test_a_probability_and_the_same_for_mirrored_differences(diffs: list[float]) -> None:
    result = sign_flip(diffs)
    assert 0 < result.p <= 1
    assert sign_flip([-diff for diff in diffs]) == result


@settings(max_examples=50)
@given(diffs=any_size, seed=st.integers(0, 1000))
def test_the_order_of_the_cases_does_not_matter(diffs: list[float], seed: int) -> None:
    assert sign_flip(random.Random(seed).sample(diffs, len(diffs))) == sign_flip(diffs)


@settings(max_examples=50)
@given(diffs=any_size, ties=st.lists(st.sampled_from([0.0, -0.0, 9e-10, -5e-10, 1e-17])))
def test_ties_and_float_dust_change_nothing(diffs: list[float], ties: list[float]) -> None:
    assert sign_flip(diffs + ties) == sign_flip(diffs)


@given(sizes=st.lists(st.integers(1, 60).map(lambda part: part / 60), min_size=1, max_size=30))
def test_the_more_cases_fall_the_smaller_the_p(sizes: list[float]) -> None:
    # Of a fixed set of sizes, each one more that falls (from half of the sum on) moves the sum outwards.
    last = 1.0
    for falling in range(len(sizes) + 1):
        diffs = [-size if i < falling else size for i, size in enumerate(sizes)]
        if sum(diffs) <= 0:
            p = p_value(diffs)
            assert p <= last
            last = p
    assert last == p_value(sizes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [5, 20, 60, 150])
def test_the_ways_to_count_agree(kind: str, n: int) -> None:
    """One distribution, three ways: packed into an integer, in halves, and through the Fourier sum."""
    rng = random.Random(n)
    weights: dict[int, int] = {}
    for diff in random_diffs(kind, n, seed=n):
        weight = round(abs(diff) * 60)
        if weight:
            weights[weight] = weights.get(weight, 0) + 1
    total = sum(weight * count for weight, count in weights.items())
    for bound in (total % 2, total, *(total - 2 * rng.randint(0, total // 2) for _ in range(3))):
        packed = module._packed(weights, bound)
        assert module._fourier(weights, bound) == pytest.approx(packed, abs=2e-12)
        halves = module._halves(weights, bound)
        assert halves is None or halves == packed
    assert module._halves({1: 3, 4: 5, 7: 2}, 3) == module._packed({1: 3, 4: 5, 7: 2}, 3)


@pytest.mark.parametrize(
    ("kind", "n", "exact"),
    [
        ("floats", 26, True),
        ("floats", 27, False),
        ("floats", 2000, False),
        ("rr", 500, False),
        ("sixths", 10_000, True),
    ],
)
def test_says_whether_it_is_exact(kind: str, n: int, exact: bool) -> None:
    assert sign_flip(random_diffs(kind, n, seed=3)).exact is exact


@pytest.mark.parametrize("kind", ["floats", "rr"])
@pytest.mark.parametrize("n", [40, 250, 300, 600])
def test_rounded_differences_agree_with_drawn_signs(kind: str, n: int) -> None:
    diffs = np.array(random_diffs(kind, n, seed=n)) - 0.25 / math.sqrt(n)
    diffs = diffs.clip(-1, 1)
    draws = 20_000
    signs = np.random.default_rng(n).choice([-1.0, 1.0], size=(draws, n))
    drawn = np.mean(np.abs(signs @ diffs) >= abs(diffs.sum()) - 1e-9)
    result = sign_flip(diffs.tolist())
    assert not result.exact
    # Four standard errors of the drawn share.
    assert result.p == pytest.approx(drawn, abs=4 * math.sqrt(0.25 / draws))


@pytest.mark.parametrize("kind", ["floats", "rr"])
def test_rounding_hardly_moves_the_p(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases few enough to be counted as given, and rounded all the same."""
    diffs = random_diffs(kind, 22, seed=11)
    exact = sign_flip(diffs)
    monkeypatch.setattr(module, "_exact", lambda *_: None)
    rounded = sign_flip(diffs)
    assert exact.exact
    assert not rounded.exact
    assert rounded.p == pytest.approx(exact.p, abs=1e-3)


def test_a_p_too_small_for_the_fourier_sum_is_its_smallest() -> None:
    assert sign_flip([-1.0] * 10_000) == module.SignFlip(module.SMALLEST, True)


@pytest.mark.parametrize(
    ("kind", "n", "seconds"),
    [("sixths", 10_000, 0.2), *((kind, n, 1.0) for kind in KINDS for n in (27, 40, 256, 257, 1000, 10_000))],
)
def test_fast_whatever_the_differences(kind: str, n: int, seconds: float) -> None:
    diffs = random_diffs(kind, n, seed=5)
    started = time.process_time()
    sign_flip(diffs)
    assert time.process_time() - started < seconds


@pytest.mark.parametrize("wrong", [1.5, -2.0, math.nan, math.inf, -math.inf])
def test_what_is_no_difference_of_scores_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"must lie within \[-1, 1\]"):
        sign_flip([0.0, wrong])


def test_neither_numpy_nor_scipy_is_loaded() -> None:
    code = (
        "import sys\n"
        "from gate.stats import interval, power, sign_flip, sign_test\n"
        "sign_flip.sign_flip([i / 1001 for i in range(1, 1000)]), interval.mean_interval([0.1, 0.2])\n"
        "print(sorted({'numpy', 'scipy', 'random'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

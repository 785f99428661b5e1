"""Exact search: equal to a brute-force reference in rational arithmetic, whatever the blocks, threads or rounding."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gate.arms import _dense
from gate.arms._dense import Index, Scored

Floats = NDArray[np.float32]


def whole(vector: list[float]) -> list[int]:
    """float32 numbers as multiples of 2**-149, the smallest of them."""
    return [int(math.ldexp(x, 149)) for x in vector]


def reference(rows: Floats, query: Floats, k: int) -> list[Scored]:
    """Every score in whole numbers, rounded once by the division of two of them; a full sort."""
    if not query.any():
        return []
    exact = whole(query.tolist())
    scored = [
        Scored(at, sum(x * y for x, y in zip(whole(row), exact, strict=True)) / 2**298)
        for at, row in enumerate(rows.tolist())
        if any(row)
    ]
    return sorted(scored, key=lambda one: (-one.score, one.row))[:k]


def units(rows: NDArray[Any]) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


@st.composite
def near_ties(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Few distinct vectors, many of them repeated, turned round, zeroed, or moved by some units in the last place."""
    width = draw(st.integers(1, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    seeds = units(random.normal(size=(draw(st.integers(1, 4)), width)))
    rows = []
    for _ in range(draw(st.integers(1, 60))):
        row = seeds[random.integers(len(seeds))].copy()
        change = draw(st.sampled_from(("same", "ulps", "ulps", "negative", "zero", "swap")))
        if change == "ulps":
            at = random.integers(width)
            row[at] = row[at] * np.float32(1 + random.integers(-3, 4) * 2.0**-23)
        elif change == "negative":
            row = -row
        elif change == "zero":
            row[:] = 0
        elif change == "swap":
            row = row[::-1].copy()
        rows.append(row)
    queries = units(np.concatenate([seeds, random.normal(size=(2, width)), np.zeros((1, width))]))
    return np.array(rows, dtype=np.float32), queries


@given(near_ties(), st.integers(0, 30), st.integers(1, 70), st.integers(1, 8))
def test_near_ties_and_duplicates_rank_as_in_exact_arithmetic(
    made: tuple[Floats, Floats], k: int, block: int, tile: int
) -> None:
    rows, queries = made
    found = Index(rows, block, tile).best(queries, k)
    assert found == [reference(rows, query, k) for query in queries]


finite = st.floats(-(2.0**50), 2.0**50, width=32)


@given(st.data())
@settings(max_examples=60)
def test_vectors_of_any_length_and_size_rank_as_in_exact_arithmetic(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 6))
    vectors = st.lists(finite | st.floats(-(2.0**-120), 2.0**-120, width=32), min_size=width, max_size=width)
    rows = np.array(data.draw(st.lists(vectors, min_size=1, max_size=20)), dtype=np.float32)
    query = np.array([data.draw(vectors)], dtype=np.float32)
    k = data.draw(st.integers(1, 25))
    assert Index(rows, data.draw(st.integers(1, 30))).best(query, k) == [reference(rows, query[0], k)]


def crowded(count: int = 6000, width: int = 96, seed: int = 5) -> tuple[Floats, Floats]:
    """So many rows around one direction that float32 scores come in the wrong order."""
    random = np.random.default_rng(seed)
    middle = random.normal(size=width)
    rows = units(middle + random.normal(size=(count, width)) * 2e-4)
    rows[count // 2 :] = rows[: count - count // 2]
    return rows, units(
        np.stack([middle, middle + random.normal(size=width) * 1e-3, random.normal(size=width)])
    )


@cache
def right_order() -> list[list[Scored]]:
    rows, queries = crowded()
    return [reference(rows, query, 20) for query in queries]


def test_the_crowd_is_one_that_float32_gets_wrong() -> None:
    """Else the next test would show nothing."""
    rows, queries = crowded()
    plain = np.argsort(-(rows @ queries[0]), kind="stable")[:20].tolist()
    assert plain != [one.row for one in right_order()[0]]


@pytest.mark.parametrize("block", [1, 7, 1000, 4096, 6000, 100_000])
def test_a_crowd_ranks_the_same_for_every_block_and_tile(block: int) -> None:
    rows, queries = crowded()
    expected = right_order()
    for tile in (1, 2, 64):
        assert Index(rows, block, tile).best(queries, 20) == expected


def test_a_search_reads_a_memory_mapped_file_as_it_reads_an_array(tmp_path: Path) -> None:
    rows, queries = crowded(2000)
    rows.tofile(tmp_path / "rows.f32")
    mapped = np.memmap(tmp_path / "rows.f32", dtype=np.float32, mode="r", shape=rows.shape)
    assert Index(mapped, 512).best(queries, 10) == Index(rows).best(queries, 10)


SCRIPT = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from test_dense import crowded
from gate.arms._dense import Index
rows, queries = crowded()
print(json.dumps([[(one.row, one.score.hex()) for one in found] for found in Index(rows).best(queries, 20)]))
"""


def test_threads_and_processor_features_change_nothing() -> None:
    """The same bits under one BLAS thread and two, and with the processor's wide instructions switched off."""
    places = f'["{Path(__file__).parent}", "{Path(_dense.__file__).parents[2]}"]'
    outputs = set()
    for variables in (
        {"OPENBLAS_NUM_THREADS": "1"},
        {"OPENBLAS_NUM_THREADS": "2"},
        {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"},
        {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "AVX2"},
    ):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, places],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_a_thousand_equal_rows_come_in_row_order() -> None:
    rows = np.tile(units(np.ones((1, 8))), (5000, 1))
    assert [one.row for one in Index(rows, 100).best(rows[:1], 20)[0]] == list(range(20))


def test_zeros_are_not_found_and_find_nothing() -> None:
    rows = np.array([[0, 0], [-1, 0], [0, 0], [1, 0]], dtype=np.float32)
    found = Index(rows).best(np.array([[1, 0], [0, 0]], dtype=np.float32), 4)
    assert [[one.row for one in hits] for hits in found] == [[3, 1], []]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_what_cannot_be_scored_is_refused(bad: float) -> None:
    rows = np.array([[1, 0], [bad, 0]], dtype=np.float32)
    with pytest.raises(ValueError, match="row 1 is not finite"):
        Index(rows)
    with pytest.raises(ValueError, match="query 1 is not finite"):
        Index(rows[:1]).best(rows, 1)
    with pytest.raises(ValueError, match="do not fit"):
        Index(rows[:1]).best(np.zeros((1, 3), dtype=np.float32), 1)
    with pytest.raises(ValueError, match="float64"):
        Index(rows.astype(np.float64))


def test_no_rows_find_nothing() -> None:
    assert Index(np.zeros((0, 3), dtype=np.float32)).best(np.ones((2, 3), dtype=np.float32), 5) == [[], []]


@given(st.floats(-1e30, 1e30), st.floats(0, 1e10))
def test_a_floor_is_never_rounded_up(kth: float, margin: float) -> None:
    """A floor that rounding lifts would lose a row that ties."""
    floor = _dense._Pool(3, margin).floor_under(kth)
    assert float(floor) <= kth - margin
    assert float(np.nextafter(floor, np.float32(np.inf))) >= kth - margin


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_a_float32_product_stays_within_the_bound(width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = (random.normal(size=(20, width)) * 10.0 ** random.integers(-3, 4, size=width)).astype(np.float32)
    query = random.normal(size=width).astype(np.float32)
    longest = float(np.linalg.norm(rows.astype(np.float64), axis=1).max())
    bound = _dense._bound(width, 2.0**-24, longest) * float(np.linalg.norm(query.astype(np.float64)))
    exact = np.array([math.fsum((row.astype(np.float64) * query).tolist()) for row in rows])
    one_by_one = np.zeros(20, dtype=np.float32)  # the worst order of a sum
    for at in range(width):
        one_by_one += rows[:, at] * query[at]
    assert np.abs(rows @ query - exact).max() <= bound
    assert np.abs(one_by_one - exact).max() <= bound

"""Exact nearest rows of a float32 matrix: the same rows in the same order for any block size, thread count and CPU.

A score is the dot product of two float32 vectors, rounded once to float64. The products of two float32 numbers are
exact in float64 and `math.fsum` rounds their exact sum once, so nothing about the machine is left in it.

Computing every score so would be slow. A blocked float32 matrix product first finds who can be among the best: however
it orders its sums, it errs by at most

    d * u / (1 - d * u) * |row| * |query|,  u = 2^-24      (Higham, Accuracy and Stability, 2nd edition, section 3.1)

and what underflows on the way. A row below the k-th best approximate score by more than twice that bound cannot be
among the k best, nor tie with one of them; all others are scored exactly and sorted by (score descending, row).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]

BLOCK_ROWS = 4096  # rows of one product: with TILE_QUERIES the scores of one product stay in the cache
TILE_QUERIES = 64
_ROUND_32 = 2.0**-24
_ROUND_64 = 2.0**-53
_UNDERFLOW = 2.0**-125  # per term, even where a processor flushes denormal numbers to zero
_TOO_LONG = 1e18  # two such vectors still have a product that float32 can hold
_SLACK = 1.0 + 1e-6  # the bounds are themselves computed, in float64


class Scored(NamedTuple):
    """One row among the best, and its exact score."""

    row: int
    score: float


class Index:
    """Rows to search. They may be a read-only memory-mapped file: no copy is made, and they are read block by block.

    A row of zeros says nothing and is never found.
    """

    def __init__(self, rows: Floats, block_rows: int = BLOCK_ROWS, tile_queries: int = TILE_QUERIES) -> None:
        """`rows`: n x d float32, finite. ValueError for anything else."""
        if rows.ndim != 2 or rows.dtype != np.float32:
            raise ValueError(f"the rows are {rows.ndim}-dimensional {rows.dtype}, not a float32 matrix")
        self._rows = rows
        self._block = max(1, block_rows)
        self._tile = max(1, tile_queries)
        norms = np.concatenate([_norms(block) for _, block in self._blocks()] or [np.zeros(0)])
        _check_lengths(norms, "row")
        self._alive = norms > 0.0
        self._all_alive = bool(self._alive.all())
        self._longest = float(norms.max(initial=0.0))

    @property
    def silent(self) -> bool:
        """Whether no row says anything: whatever is asked, nothing is found."""
        return not self._alive.any()

    def best(self, queries: Floats, k: int) -> list[list[Scored]]:
        """For each query (q x d float32, finite) its `k` best rows, best first; ties in row order.

        A query of zeros says nothing and finds nothing.
        """
        if queries.ndim != 2 or queries.dtype != np.float32 or queries.shape[1] != self._rows.shape[1]:
            shapes = f"{queries.dtype} {queries.shape} for rows {self._rows.shape}"
            raise ValueError(f"the queries do not fit the rows ({shapes})")
        _check_lengths(_norms(queries), "query")
        found: list[list[Scored]] = []
        for start in range(0, len(queries), self._tile):
            tile = np.ascontiguousarray(queries[start : start + self._tile])
            norms = _norms(tile)
            candidates = self._candidates(tile, norms, k)
            for query, norm, rows in zip(tile, norms, candidates, strict=True):
                found.append(self._ranked(query, rows, k, float(norm)) if norm > 0.0 and k > 0 else [])
        return found

    def score(self, query: Floats, row: int) -> float:
        """The exact score of one row."""
        return _exact(query.astype(np.float64) * self._rows[row])

    def _blocks(self) -> Iterator[tuple[int, Floats]]:
        for start in range(0, len(self._rows), self._block):
            yield start, self._rows[start : start + self._block]

    def _candidates(self, tile: Floats, norms: Doubles, k: int) -> list[Positions]:
        """For each query of the tile the rows that its k best can be among."""
        bound = (
            _bound(self._rows.shape[1], _ROUND_32, self._longest) * norms + self._rows.shape[1] * _UNDERFLOW
        )
        pools = [_Pool(k, 2.0 * float(one)) for one in bound]
        floors = np.full(len(tile), -np.inf, dtype=np.float32)
        for start, block in self._blocks():
            scores = tile @ block.T
            if (
                start == 0 and len(block) > k > 0
            ):  # without a floor yet, nearly all of the first block would pass
                kth = np.partition(np.where(self._alive[: len(block)], scores, -np.inf), -k, axis=1)[:, -k]
                for at, pool in enumerate(pools):
                    floors[at] = pool.floor_under(float(kth[at]))
            for at in np.flatnonzero(scores.max(axis=1) >= floors).tolist():
                rows = np.flatnonzero(scores[at] >= floors[at])
                if not self._all_alive:
                    rows = rows[self._alive[start + rows]]
                floors[at] = pools[at].add(rows + start, scores[at, rows])
        return [pool.rows() for pool in pools]

    def _ranked(self, query: Floats, rows: Positions, k: int, norm: float) -> list[Scored]:
        """The k best among the candidates by exact score. Float64 leaves out most of what float32 could not decide."""
        wide = query.astype(np.float64)
        if len(rows) > 2 * k + 16:
            sums = np.concatenate(
                [(self._rows[part] * wide).sum(axis=1) for part in _parts(rows, self._block)]
            )
            margin = 2.0 * _bound(len(query), _ROUND_64, self._longest) * norm
            rows = rows[sums >= np.partition(sums, -k)[-k] - margin]
        scores: dict[bytes, float] = {}
        found = []
        for part in _parts(rows, self._block):
            values = self._rows[part]
            products = values * wide
            for at, row in enumerate(part.tolist()):
                same = values[at].tobytes()
                if same not in scores:  # pages repeat themselves; their equal chunks have equal vectors
                    scores[same] = _exact(products[at])
                found.append(Scored(row, scores[same]))
        return sorted(found, key=lambda one: (-one.score, one.row))[:k]


class _Pool:
    """The candidates of one query so far. `margin`: by how much two approximate scores can stand the wrong way round."""

    def __init__(self, k: int, margin: float) -> None:
        self._k = k
        self._margin = margin
        self._rows: list[Positions] = []
        self._scores: list[Floats] = []
        self._count = 0

    def add(self, rows: Positions, scores: Floats) -> np.float32:
        """Take rows in, in ascending order; the floor that later rows must reach."""
        self._rows.append(rows)
        self._scores.append(scores)
        self._count += len(rows)
        if self._count <= self._k:
            return np.float32(-np.inf)
        floor = self._floor()
        if self._count > 4 * self._k + 64:  # those that fell below are let go now and then
            self._keep(floor)
        return floor

    def rows(self) -> Positions:
        if self._count > self._k:
            self._keep(self._floor())
        return np.concatenate(self._rows) if self._rows else np.zeros(0, dtype=np.intp)

    def floor_under(self, kth: float) -> np.float32:
        """The largest float32 that is not above the k-th best approximate score less the margin."""
        with np.errstate(over="ignore"):
            floor = np.float32(kth - self._margin)
        return np.nextafter(floor, np.float32(-np.inf)) if float(floor) > kth - self._margin else floor

    def _floor(self) -> np.float32:
        if self._k <= 0:
            return np.float32(np.inf)
        scores = np.concatenate(self._scores)
        return self.floor_under(float(np.partition(scores, -self._k)[-self._k]))

    def _keep(self, floor: np.float32) -> None:
        scores, rows = np.concatenate(self._scores), np.concatenate(self._rows)
        kept = scores >= floor
        self._scores, self._rows = [scores[kept]], [rows[kept]]
        self._count = int(kept.sum())


def _norms(rows: Floats) -> Doubles:
    wide = rows.astype(np.float64)
    norms: Doubles = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return norms


def _check_lengths(norms: Doubles, noun: str) -> None:
    sound = norms <= _TOO_LONG  # false for NaN as well
    if not sound.all():
        at = int(np.argmin(sound))
        raise ValueError(f"{noun} {at} is not finite, or far too long (length {norms[at]})")


def _bound(length: int, unit: float, longest: float) -> float:
    """How far a sum of `length` products can be off, per unit of the query's length; `longest`: of any row."""
    return length * unit / (1.0 - length * unit) * longest * _SLACK


def _parts(rows: Positions, size: int) -> Iterator[Positions]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _exact(products: Doubles) -> float:
    values: Sequence[float] = products.tolist()
    return math.fsum(values)

"""How far two judges agree beyond chance: Cohen's kappa, plain or weighted, with its interval. Pure.

kappa = (po - pe) / (1 - pe), with po the weighted share of agreement seen and pe the one expected from how often each
judge gives each grade (Cohen 1960, 1968). The standard error is that of Fleiss, Cohen and Everitt (1969) for large samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from gate.labelling.judgements import Judged

Weights = Literal["none", "linear", "quadratic"]
_NORMAL_95 = 1.959963984540054


class Kappa(NamedTuple):
    """`value` is None where it is not defined: no pair, or both judges gave one same grade throughout."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    agreed: int


class Difference(NamedTuple):
    """One page of one query on which two judges differ."""

    query: str
    page: str
    first: int
    second: int


def kappa(pairs: Iterable[tuple[int, int]], weights: Weights = "none") -> Kappa:
    """Kappa over (grade of the first, grade of the second)."""
    every = list(pairs)
    agreed = sum(one == other for one, other in every)
    grades = sorted({grade for pair in every for grade in pair})
    n = len(every)
    if n == 0 or len(grades) < 2:
        return Kappa(None, None, None, n, agreed)
    at = {grade: position for position, grade in enumerate(grades)}
    size = len(grades)
    shares = [[0.0] * size for _ in grades]
    for one, other in every:
        shares[at[one]][at[other]] += 1 / n
    rows = [math.fsum(row) for row in shares]
    columns = [math.fsum(row[j] for row in shares) for j in range(size)]
    weight = [[_weight(i, j, size, weights) for j in range(size)] for i in range(size)]
    cells = [(i, j) for i in range(size) for j in range(size)]
    seen = math.fsum(weight[i][j] * shares[i][j] for i, j in cells)
    expected = math.fsum(weight[i][j] * rows[i] * columns[j] for i, j in cells)
    if 1 - expected < 1e-12:
        return Kappa(None, None, None, n, agreed)
    value = (seen - expected) / (1 - expected)
    of_row = [math.fsum(weight[i][j] * columns[j] for j in range(size)) for i in range(size)]
    of_column = [math.fsum(weight[i][j] * rows[i] for i in range(size)) for j in range(size)]
    inner = math.fsum(
        shares[i][j] * (weight[i][j] - (of_row[i] + of_column[j]) * (1 - value)) ** 2 for i, j in cells
    )
    variance = (inner - (value - expected * (1 - value)) ** 2) / (n * (1 - expected) ** 2)
    half = _NORMAL_95 * math.sqrt(max(variance, 0.0))
    return Kappa(value, max(value - half, -1.0), min(value + half, 1.0), n, agreed)


def _weight(i: int, j: int, size: int, weights: Weights) -> float:
    """How much of an agreement two grades are, by their places among the grades that were given."""
    if weights == "none":
        return float(i == j)
    distance = abs(i - j) / (size - 1)
    return 1 - distance if weights == "linear" else 1 - distance**2


def shared(one: Mapping[str, Judged], other: Mapping[str, Judged]) -> list[tuple[str, str, int, int]]:
    """(query, page, grade, grade) for every page that both judged, in order. "No page answers this" grades none of them."""
    return [
        (query, page, one[query].grades[page], other[query].grades[page])
        for query in sorted(one.keys() & other.keys())
        for page in sorted(one[query].grades.keys() & other[query].grades.keys())
    ]


def differences(pairs: Sequence[tuple[str, str, int, int]]) -> list[Difference]:
    """Where they differ, the widest first."""
    found = [Difference(*pair) for pair in pairs if pair[2] != pair[3]]
    return sorted(found, key=lambda one: (-abs(one.first - one.second), one.query, one.page))


def ambiguous(
    one: Mapping[str, Judged], other: Mapping[str, Judged], pairs: Sequence[tuple[str, str, int, int]]
) -> list[str]:
    """Queries to write anew or drop: the judges share no answering page, or only one of them says that none answers it."""
    found = []
    for query in sorted(one.keys() & other.keys()):
        both = [(page, first, second) for of, page, first, second in pairs if of == query]
        answers = [
            {
                page
                for page, grade in graded
                if grade == max(1, max((grade for _, grade in graded), default=0))
            }
            for graded in (
                [(page, first) for page, first, _ in both],
                [(page, second) for page, _, second in both],
            )
        ]
        apart = bool(answers[0] or answers[1]) and not answers[0] & answers[1]
        if apart or one[query].none != other[query].none:
            found.append(query)
    return found


def kinds_differ(one: Mapping[str, Judged], other: Mapping[str, Judged]) -> dict[str, tuple[str, str]]:
    """Query -> the two kinds that the judges see in it."""
    return {
        query: (one[query].kind, other[query].kind)
        for query in sorted(one.keys() & other.keys())
        if one[query].kind and other[query].kind and one[query].kind != other[query].kind
    }

"""nDCG@k: graded relevance, discounted by position, as a share of the best order the labels allow."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import fsum, log2
from operator import truediv

from gate.metrics._checks import check

ROW = "ndcg"


def score(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """DCG@k / ideal DCG@k, between 0 and 1, with linear gain: DCG = sum of grade / log2(position + 1).

    The ideal is the labels sorted by grade and cut at k. Jarvelin and Kekalainen 2002, in the form of trec_eval's
    `ndcg_cut_k`: linear gain, not 2**grade - 1.

    Args:
        ranked: doc_ids, best first, each page once. May be empty (scores 0) or shorter than k.
        grades: relevant page -> grade (1 or more); not empty.
        k: the cutoff in pages, 1 or more.

    Raises:
        ValueError: k is below 1, or `grades` is empty.

    >>> round(score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 5), 3)
    0.651
    """
    check(grades, k)
    gains = [grades.get(page, 0) for page in ranked[:k]]
    best = sorted(grades.values(), reverse=True)[:k]
    discounts = _discounts(max(len(gains), len(best)))
    # fsum, not sum: from Python 3.12 on sum() rounds otherwise than before, and a score must not depend on that.
    gained, ideal = fsum(map(truediv, gains, discounts)), fsum(map(truediv, best, discounts))
    # With grades around 2**52 rounding can lift a near-ideal order one bit above 1.
    return min(gained / ideal, 1.0)


@lru_cache(maxsize=64)
def _discounts(places: int) -> tuple[float, ...]:
    return tuple(log2(place + 1) for place in range(1, places + 1))


def title(k: int) -> str:
    """The name for a reader, with its cutoff.

    >>> title(5)
    'nDCG@5'
    """
    return f"nDCG@{k}"

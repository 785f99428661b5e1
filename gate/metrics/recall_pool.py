"""recall@pool: the share of the relevant pages anywhere in the pool; what a reranker could still lift."""

from collections.abc import Mapping, Sequence

from gate.metrics._checks import check

ROW = "recall_pool"


def score(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """|relevant in the whole ranking| / |relevant|, between 0 and 1; trec_eval's `set_recall`.

    Args:
        ranked: doc_ids, best first, each page once; already cut to the pool. May be empty (scores 0).
        grades: relevant page -> grade (1 or more); not empty. Grades do not weigh here.
        k: the cutoff in pages, 1 or more; checked like everywhere, but it cuts nothing here.

    Raises:
        ValueError: k is below 1, or `grades` is empty.

    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 1)
    1.0
    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d4": 1}, 1)
    0.5
    """
    check(grades, k)
    return sum(map(grades.__contains__, ranked)) / len(grades)


def title(k: int) -> str:  # noqa: ARG001 - every metric's title takes k
    """The name for a reader; the cutoff plays no part.

    >>> title(5)
    'recall@pool'
    """
    return "recall@pool"

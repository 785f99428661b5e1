"""MRR: how far down the first relevant page stands. One case has a reciprocal rank; the mean over cases is MRR."""

from collections.abc import Mapping, Sequence

from gate.metrics._checks import check

ROW = "rr"


def score(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1 / rank of the first relevant page (the first rank is 1), 0 if there is none; trec_eval's `recip_rank`.

    Args:
        ranked: doc_ids, best first, each page once. The whole ranking is read.
        grades: relevant page -> grade (1 or more); not empty. Grades do not weigh here.
        k: the cutoff in pages, 1 or more; checked like everywhere, but it cuts nothing here.

    Raises:
        ValueError: k is below 1, or `grades` is empty.

    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 1)
    0.5
    """
    check(grades, k)
    for rank, page in enumerate(ranked, start=1):
        if page in grades:
            return 1.0 / rank
    return 0.0


def title(k: int) -> str:  # noqa: ARG001 - every metric's title takes k
    """The name for a reader; the cutoff plays no part.

    >>> title(5)
    'MRR'
    """
    return "MRR"

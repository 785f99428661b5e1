"""recall@k: the share of the relevant pages that stand among the first k."""

from collections.abc import Mapping, Sequence

from gate.metrics._checks import check

ROW = "recall"


def score(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """|relevant in the first k| / |relevant|, between 0 and 1; trec_eval's `recall_k`.

    Args:
        ranked: doc_ids, best first, each page once. May be empty (scores 0) or shorter than k.
        grades: relevant page -> grade (1 or more); not empty. Grades do not weigh here.
        k: the cutoff in pages, 1 or more.

    Raises:
        ValueError: k is below 1, or `grades` is empty.

    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 3)
    0.5
    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 5)
    1.0
    """
    check(grades, k)
    return sum(map(grades.__contains__, ranked[:k])) / len(grades)


def title(k: int) -> str:
    """The name for a reader, with its cutoff.

    >>> title(5)
    'recall@5'
    """
    return f"recall@{k}"

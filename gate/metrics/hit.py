"""hit@k: whether any relevant page stands among the first k."""

from collections.abc import Mapping, Sequence

from gate.metrics._checks import check

ROW = "hit"


def score(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1 if a relevant page is among the first k, else 0; trec_eval's `success_k`.

    Args:
        ranked: doc_ids, best first, each page once. May be empty (scores 0) or shorter than k.
        grades: relevant page -> grade (1 or more); not empty. Grades do not weigh here.
        k: the cutoff in pages, 1 or more.

    Raises:
        ValueError: k is below 1, or `grades` is empty.

    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 1)
    0.0
    >>> score(["d3", "d1", "d7", "d2", "d9"], {"d1": 1, "d2": 1}, 2)
    1.0
    """
    check(grades, k)
    return 1.0 if any(map(grades.__contains__, ranked[:k])) else 0.0


def title(k: int) -> str:
    """The name for a reader, with its cutoff.

    >>> title(5)
    'hit@5'
    """
    return f"hit@{k}"

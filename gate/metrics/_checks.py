"""What every metric demands of its input. Underscore files are not metrics."""

from collections.abc import Mapping


def check(grades: Mapping[str, int], k: int) -> None:
    """Refuse input for which no metric has a value.

    Args:
        grades: relevant page -> grade (1 or more); at least one page.
        k: the cutoff in pages, 1 or more.

    Raises:
        ValueError: k is below 1, or no page is labelled relevant.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more ({k}).")
    if not grades:
        raise ValueError("a case needs at least one relevant page; its labels are empty.")

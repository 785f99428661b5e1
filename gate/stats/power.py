"""What a case set can show at all: the smallest drop that chance alone would hardly make."""

from gate.stats.sign_test import p_value


def smallest_drop(n: int, alpha: float = 0.05) -> int | None:
    """The fewest losses, with no win, whose two-sided exact sign test falls below alpha.

    With no win p = 2 / 2**losses, so the answer does not depend on n, but for n being large enough.

    Args:
        n: cases, 0 or more.
        alpha: the level, between 0 and 1, both excluded.

    Returns:
        A number of cases, at most n; None if even n losses of n cases stay at alpha or above.

    Raises:
        ValueError: n is negative, or alpha is not between 0 and 1.

    >>> smallest_drop(22)
    6
    >>> smallest_drop(5) is None
    True
    """
    if n < 0:
        raise ValueError(f"n must be 0 or more ({n}).")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1 ({alpha}).")
    # Ends by itself: past 1075 losses p is 0.0, below any alpha.
    return next((losses for losses in range(1, n + 1) if p_value(0, losses) < alpha), None)

"""The exact sign test: are losses more frequent than chance among the cases that moved?"""

from math import comb


def p_value(wins: int, losses: int) -> float:
    """Two-sided p of the exact sign test: min(1, 2 P(X <= min(wins, losses))), X ~ Binomial(wins + losses, 1/2).

    Ties are left out by the caller (Conover, Practical Nonparametric Statistics, 3.4). 1.0 when nothing moved.

    Args:
        wins: cases that scored higher, 0 or more.
        losses: cases that scored lower, 0 or more.

    Returns:
        A probability between 0 and 1, right to about 1e-14 of itself; 0.0 only where it is too small for a float.

    Raises:
        ValueError: a count is negative.

    >>> p_value(0, 6)
    0.03125
    >>> p_value(0, 0)
    1.0
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"wins and losses must be 0 or more ({wins}, {losses}).")
    n, fewer = wins + losses, min(wins, losses)
    # The largest term exactly, the others by their ratio to it. All are positive, so nothing cancels, and they shrink
    # from the middle outwards, so the sum ends after some multiple of sqrt(n) terms.
    total = term = 1.0
    for i in range(fewer, 0, -1):
        term *= i / (n - i + 1)
        total += term
        if term < 1e-18 * total:
            break
    return min(1.0, 2 * comb(n, fewer) / (1 << n) * total)

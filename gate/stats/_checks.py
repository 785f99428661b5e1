"""What every statistic over differences demands of them."""

from collections.abc import Sequence

# Float dust of a difference: what the scores' own rounding may leave.
DUST = 1e-9


def check(diffs: Sequence[float]) -> None:
    """Refuse numbers that cannot be differences of two scores between 0 and 1.

    Raises:
        ValueError: a difference is not a number or lies outside [-1, 1] by more than 1e-9.
    """
    for diff in diffs:
        # Written so that a NaN, which no comparison holds for, is refused too.
        if not abs(diff) <= 1 + DUST:
            raise ValueError(f"a difference of two scores must lie within [-1, 1] ({diff}).")

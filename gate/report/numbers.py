"""All rounding of the project. Decisions use raw numbers; what is printed here never contradicts one.

A difference beyond float dust is visible and points the right way, equal values print equal, and nothing that is
not whole prints as 0.00 or 1.00.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gate.model.comparison import DUST

ARROW = " -> "
OUTSIDE = "outside the pool"

_FEWEST, _MOST = 2, 12
_LARGE = 1e6


def _fixed(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _honest(text: str, value: float, ends: Sequence[float] = (0.0, 1.0)) -> bool:
    """Whether `text` does not round `value` up to an end that it has not reached."""
    return not any(float(text) == end and abs(value - end) > DUST for end in ends)


def single(value: float) -> str:
    """A score by itself: two digits, more where it would read as 0.00 or 1.00 and is not.

    >>> single(0.8333), single(1.0), single(0.9996)
    ('0.83', '1.00', '0.9996')
    """
    return column([value])[0]


def pair(before: float, after: float) -> tuple[str, str]:
    """A score before and now, with as many digits as the difference takes.

    >>> pair(0.8333, 0.7917), pair(0.8333, 0.8329), pair(0.5, 0.5)
    (('0.83', '0.79'), ('0.8333', '0.8329'), ('0.50', '0.50'))
    """
    one, two = column([before, after])
    return one, two


def column(values: Sequence[float]) -> tuple[str, ...]:
    """Scores that are read against each other: those that differ print differently, in the right order.

    >>> column([0.8333, 0.8337, 0.5])
    ('0.833', '0.834', '0.500')
    """
    merged = _merged(values)
    if max((abs(value) for value in values), default=0.0) < _LARGE:
        for digits in range(_FEWEST, _MOST + 1):
            texts = [_fixed(value, digits) for value in merged]
            apart = len(set(texts)) == len(set(merged))
            if apart and all(_honest(text, value) for text, value in zip(texts, merged, strict=True)):
                return tuple(texts)
    return tuple(repr(value) for value in merged)


def _merged(values: Sequence[float]) -> list[float]:
    """The values, those within float dust of a smaller one made equal to it."""
    leader: dict[float, float] = {}
    first = math.nan
    for value in sorted(set(values)):
        if not value - first <= DUST:
            first = value
        leader[value] = first
    return [leader[value] for value in values]


def arrow(before: str, after: str) -> str:
    """`before -> after`, or the one text where both are the same.

    >>> arrow("0.83", "0.79"), arrow("0.83", "0.83")
    ('0.83 -> 0.79', '0.83')
    """
    return before if before == after else f"{before}{ARROW}{after}"


def counted(mean: float, n: int) -> int | None:
    """The whole number of cases behind a mean of zeros and ones, or None where there is none.

    >>> counted(0.95, 20), counted(0.123, 20)
    (19, None)
    """
    total = mean * n
    whole = round(total)
    return whole if abs(total - whole) <= 1e-6 else None


def count_pair(before: int, after: int, total: int) -> str:
    """Counts beside a rate.

    >>> count_pair(17, 16, 20), count_pair(17, 17, 20)
    ('17/20 -> 16/20', '17/20')
    """
    return arrow(f"{before}/{total}", f"{after}/{total}")


def _point_number(value: float) -> str:
    """A difference in hundredths of the scale, never a 0 or a 100 that is not one."""
    if abs(value) <= DUST:
        return "0"
    scaled = value * 100
    digits = 1 if abs(scaled) >= 1 else min(_MOST, 1 - math.floor(math.log10(abs(scaled))))
    text = _fixed(scaled, digits)
    while digits < _MOST and abs(float(text)) == 100 and abs(abs(value) - 1) > DUST:
        digits += 1
        text = _fixed(scaled, digits)
    return text.rstrip("0").rstrip(".")


def points(value: float) -> str:
    """A difference of scores in points: one case of 22 is worth 4.5.

    >>> points(1 / 22), points(0.01), points(1 / 3000)
    ('4.5 points', '1 point', '0.033 points')
    """
    number = _point_number(value)
    return f"{number} point{'' if number == '1' else 's'}"


def interval(low: float, high: float) -> str:
    """An interval of differences, signs shown.

    >>> interval(-0.1364, 0.046)
    '-13.6 to +4.6 points'
    """
    ends = [f"+{number}" if float(number) > 0 else number for number in map(_point_number, (low, high))]
    return f"{ends[0]} to {ends[1]} points"


def p_value(p: float) -> str:
    """A probability: three digits, more where it would fall on the wrong side of 0.05 or read as 1.

    >>> p_value(0.0312), p_value(0.04996), p_value(1.0), p_value(0.0004)
    ('0.031', '0.04996', '1', '< 0.001')
    """
    if p < 0.001:
        return "< 0.001"
    if p >= 1:
        return "1"
    for digits in range(3, 17):
        text = f"{p:.{digits}f}"
        if (float(text) < 0.05) == (p < 0.05) and float(text) < 1:
            return text
    return repr(p)


def usd(value: float) -> str:
    """An amount in US dollars: two digits, more where they would not show it.

    >>> usd(1.5), usd(0.00016), usd(0.0)
    ('1.50', '0.00016', '0')
    """
    if value <= 0:
        return "0"
    digits = max(2, 1 - math.floor(math.log10(value)))
    return f"{value:.{min(digits, 15)}f}"


def rank(value: int | None) -> str:
    """A rank among the pages of the pool.

    >>> rank(2), rank(None)
    ('2', 'outside the pool')
    """
    return OUTSIDE if value is None else str(value)


def rank_pair(before: int | None, after: int | None) -> str:
    """A rank before and now.

    >>> rank_pair(2, 7), rank_pair(2, None), rank_pair(None, None)
    ('2 -> 7', '2 -> outside the pool', 'outside the pool')
    """
    return arrow(rank(before), rank(after))


def signed(count: int) -> str:
    """A change of a count.

    >>> signed(2), signed(-1)
    ('+2', '-1')
    """
    return f"{count:+d}"


def first_sentence(text: str) -> str:
    """The first sentence without its full stop, for a line that has no room for what to do.

    >>> first_sentence("KEY is not set. Set it."), first_sentence("HTTP 503 of api.example.org")
    ('KEY is not set', 'HTTP 503 of api.example.org')
    """
    return text.partition(". ")[0].removesuffix(".")

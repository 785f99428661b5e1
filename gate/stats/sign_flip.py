"""The paired sign-flip test: is the mean difference further from 0 than chance would put it?

If a change did nothing, each case was as likely to move up as down by what it moved. So the observed sum is held against
the sums under all 2**n choices of signs (Fisher 1935, Pitman 1937). None is drawn at random. With n the cases that moved:

1. Differences that are whole multiples of one fraction, such as recall: the sums are counted in whole numbers, all at
   once, packed into one long integer (`_packed`).
2. A few arbitrary differences: counted too, in two halves joined by one walk along both (`_halves`; Horowitz and
   Sahni 1974).
3. Multiples of one fraction over many cases: a finite Fourier sum over the lattice of the sums (`_fourier`). Exact but
   for float rounding, below 1e-12; a smaller p is given as 1e-12.
4. The rest, such as nDCG over many cases: the differences are rounded to a common step, then 1 or 3. Flipping a sign
   commutes with rounding, so this is again an exact sign-flip test, of the rounded differences: its error rate holds
   whatever the step, where a drawn sample of signs would add noise of its own. `exact` is False here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, cos, fsum, lcm, pi, sin

from gate.stats._checks import DUST, check

# Differences are read in units of 1e-12, so that float dust does not part sums that are equal in truth.
UNIT = 10**12
# Below 1e-9 a difference is dust and counts as 0; two sums nearer than that are equal.
DUST_UNITS = round(DUST * UNIT)
# A difference this near (in units) to a fraction with a denominator up to MAX_DENOMINATOR is that fraction.
SLACK = 2
MAX_DENOMINATOR = 1000

# Bounds on the work; each keeps its way below about a tenth of a second.
MAX_BITS = 1 << 30  # packed: bits of the integer x additions
MAX_SUMS = 1 << 13  # halves: sums held per half
MAX_CASES = 256  # halves: beyond that the counts themselves are long
MAX_COSINES = 1 << 20  # fourier
# Rounding: steps in the sum of all sizes; per case, and at most. At 256 cases they equal what MAX_BITS leaves.
STEPS_PER_CASE = 64
MAX_STEPS = 1 << 19

# A product of cosines below this adds nothing; ln(1e-18) = -41, and a cosine takes off ln 2 on average.
NOTHING = 1e-18
FACTORS_TO_NOTHING = 60
# What the Fourier sum can tell from 0.
SMALLEST = 1e-12

Weights = Mapping[int, int]  # size of a difference in whole units -> how many cases have it


@dataclass(frozen=True, slots=True)
class SignFlip:
    """A two-sided p, and whether it is that of the differences as given or of rounded ones."""

    p: float
    exact: bool


def p_value(diffs: Sequence[float]) -> float:
    """The p of `sign_flip`, without the word on how it was reached.

    >>> p_value([-1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
    0.03125
    """
    return sign_flip(diffs).p


def sign_flip(diffs: Sequence[float]) -> SignFlip:
    """Two-sided paired sign-flip test on the mean: the share of the sign choices with |sum| >= the observed |sum|.

    Deterministic and independent of the order of the cases. Differences below 1e-9 count as 0 and are dropped, which
    changes no p.

    Args:
        diffs: now minus before, one per case, ties included; each within [-1, 1].

    Returns:
        p, above 0 and at most 1, and whether it is exact; 1.0 when nothing moved. Up to 26 moved cases are always
        exact, many more where the differences are multiples of one fraction.

    Raises:
        ValueError: a difference is not a number or lies outside [-1, 1].

    >>> sign_flip([-0.5, -0.5, 0.0, 1.0])
    SignFlip(p=1.0, exact=True)
    >>> sign_flip([-0.5, -0.25, -1.0])
    SignFlip(p=0.25, exact=True)
    """
    check(diffs)
    moved: dict[int, int] = {}  # size in units -> cases
    balance: dict[int, int] = {}  # size in units -> cases that rose minus cases that fell
    for diff in diffs:
        size = round(abs(diff) * UNIT)
        if size >= DUST_UNITS:
            moved[size] = moved.get(size, 0) + 1
            balance[size] = balance.get(size, 0) + (1 if diff > 0 else -1)
    if not moved:
        return SignFlip(1.0, True)

    p = _exact(moved, balance)
    return SignFlip(_rounded(moved, balance), False) if p is None else SignFlip(p, True)


def _exact(moved: Weights, balance: Weights) -> float | None:
    """The p of the differences as given, or None where that takes too long."""
    multiples = _multiples(moved)
    if multiples is None:
        # Sums of numbers that are no fractions are compared with room for dust.
        return _halves(moved, abs(sum(size * toward for size, toward in balance.items())) - DUST_UNITS)
    weights, observed = _weigh(moved, balance, multiples)
    if _packed_bits(weights) <= MAX_BITS:
        return _packed(weights, observed)
    p = _halves(weights, observed)
    if p is None and _fourier_cosines(weights) <= MAX_COSINES:
        p = _fourier(weights, observed)
    return p


def _rounded(moved: Weights, balance: Weights) -> float:
    """The p of the differences rounded to a common step."""
    n, total = _extent(moved)
    # Rounding lengthens the sum of the sizes by half a step a case at most: room for that is left.
    steps = min(max(MAX_BITS // n**2 - n, STEPS_PER_CASE * n), MAX_STEPS)
    weights, observed = _weigh(moved, balance, {size: round(size * steps / total) for size in moved})
    return (_packed if _packed_bits(weights) <= MAX_BITS else _fourier)(weights, observed)


def _multiples(sizes: Weights) -> dict[int, int] | None:
    """Each size as a whole multiple of one common fraction, or None if one of them is no simple fraction."""
    found: dict[int, Fraction] = {}
    for size in sizes:
        near = Fraction(size, UNIT).limit_denominator(MAX_DENOMINATOR)
        if abs(near.numerator * UNIT - size * near.denominator) > SLACK * near.denominator:
            return None
        found[size] = near
    scale = lcm(*(near.denominator for near in found.values()))
    return {size: near.numerator * (scale // near.denominator) for size, near in found.items()}


def _weigh(moved: Weights, balance: Weights, scale: Weights) -> tuple[Weights, int]:
    """The cases per scaled size, without those of size 0, and the size of the observed sum."""
    weights: dict[int, int] = {}
    for size, count in moved.items():
        if scale[size]:
            weights[scale[size]] = weights.get(scale[size], 0) + count
    return weights, abs(sum(scale[size] * toward for size, toward in balance.items()))


def _extent(weights: Weights) -> tuple[int, int]:
    """How many cases, and the largest sum."""
    return sum(weights.values()), sum(weight * count for weight, count in weights.items())


def _packed_bits(weights: Weights) -> int:
    """What `_packed` costs: bits of its integer x additions."""
    n, total = _extent(weights)
    return n * n * total


def _packed(weights: Weights, bound: int) -> float:
    """P(|signed sum| >= bound) by counting in one long integer.

    Place b of the integer, n + 1 bits wide, holds in how many ways the cases that rise can add up to b; one more case is
    one shift and one addition. The signed sum is 2b - total. Modulo 2**width - 1 an integer is the sum of its places.
    """
    if bound == 0:
        return 1.0
    n, total = _extent(weights)
    width, ways = n + 1, 1
    for weight in sorted(weights):  # the integer stays short for longest when the small ones come first
        for _ in range(weights[weight]):
            ways += ways << weight * width
    upper = ways >> (total + bound) // 2 * width
    # The distribution is symmetric: the lower tail is as large.
    return 2 * (upper % ((1 << width) - 1)) / (1 << n)


def _halves(weights: Weights, bound: int) -> float | None:
    """P(|signed sum| >= bound) by counting, or None where there are too many sums to hold."""
    n = _extent(weights)[0]
    if n > MAX_CASES:
        return None
    # In turn, by number of cases, so that the halves come out alike.
    groups = sorted(weights.items(), key=lambda group: (group[1], group[0]))
    left, right = _sums(groups[::2]), _sums(groups[1::2])
    if left is None or right is None:
        return None
    if bound <= 0:
        return 1.0
    # As the sum on the left grows, so does the upper part of the right that reaches the bound together with it.
    upper, reached, count = sorted(right.items()), 0, 0
    for sum_left in sorted(left):
        while upper and sum_left + upper[-1][0] >= bound:
            reached += upper.pop()[1]
        count += left[sum_left] * reached
    return 2 * count / (1 << n)


def _sums(groups: Sequence[tuple[int, int]]) -> dict[int, int] | None:
    """Each signed sum and in how many ways it comes about, or None if there are too many."""
    sums = {0: 1}
    for weight, count in groups:
        if len(sums) * (count + 1) > MAX_SUMS:
            return None
        longer: dict[int, int] = {}
        for plus in range(count + 1):
            shift, ways = weight * (2 * plus - count), comb(count, plus)
            for value, before in sums.items():
                longer[value + shift] = longer.get(value + shift, 0) + before * ways
        sums = longer
    return sums


def _fourier_cosines(weights: Weights) -> int:
    """What `_fourier` costs: about how many cosines it takes until the products vanish."""
    factors = cosines = 0
    for count in sorted(weights.values(), reverse=True):
        factors, cosines = factors + 1, cosines + count
        if cosines >= FACTORS_TO_NOTHING:
            break
    return factors * _extent(weights)[1] // 2


def _fourier(weights: Weights, bound: int) -> float:
    """P(|signed sum| >= bound) by inverting the characteristic function.

    The sum S of weights that add up to W takes the values -W, -W + 2, ..., W, so that any odd number N > W of angles
    h = pi j / N tells them apart: P(S = s) is the mean over j of cos(s h) times the product of cos(weight h). Summed over
    the values |s| < bound, the cosines cos(s h) make sin((bound - 1) h) / sin(h).
    """
    if bound == 0:
        return 1.0
    total = _extent(weights)[1]
    points = total + 1 + total % 2
    # The most frequent first: their product vanishes soonest.
    groups = sorted(weights.items(), key=lambda group: (-group[1], group[0]))
    half_turn, period, inner = pi / points, 2 * points, bound - 1
    terms = [float(inner)]
    for j in range(1, points // 2 + 1):
        product = 2.0  # for j and points - j, which give the same
        for weight, count in groups:
            # Whole turns are taken off in whole numbers: the angle keeps all its digits.
            product *= cos(weight * j % period * half_turn) ** count
            if -NOTHING < product < NOTHING:
                break
        else:
            terms.append(product * sin(inner * j % period * half_turn) / sin(j * half_turn))
    return min(1.0, max(SMALLEST, 1 - fsum(terms) / points))

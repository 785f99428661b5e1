"""Small charts as inline SVG, from numbers only. Every text in them is escaped here.

Sizes are in CSS pixels of a 320 wide card, so that a chart reads on a phone as it does on a desk. Colours are classes of
the page's style sheet: an SVG attribute could not follow the theme. Each chart says in words what it shows (`title`);
the tables beside it hold the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 320, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 8, 10, 26
_LARGEST_DOT = 11.0
_SMALLEST_DOT = 3.5
_DOTTED = 60


class Dot(NamedTuple):
    """Cases that share one pair of scores. `key` finds their rows in the table."""

    before: float
    now: float
    cases: int
    key: str
    label: str


class Line(NamedTuple):
    """One curve: values in 0..1, None where there is none. `style` is a class of the style sheet."""

    name: str
    values: Sequence[float | None]
    style: str


class Band(NamedTuple):
    """How many questions went from one bucket to another."""

    before: str
    now: str
    questions: int


def _number(value: float) -> str:
    """A coordinate: two digits are finer than a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _svg(title: str, body: str, height: int = HEIGHT, style: str = "") -> str:
    return (
        f'<svg class="chart {style}" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}" preserveAspectRatio="xMinYMin meet">{body}</svg>'
    )


def bar(before: float | None, now: float, interval: tuple[float, float] | None, title: str) -> str:
    """A kind's score before (a thin bar) and now (a thick one), with the interval of the difference as a whisker.

    `interval` is of now minus before; the whisker lies around the score before, where the new one would be expected.
    """
    parts = ['<rect class="track" x="0" y="7" width="100%" height="12" rx="2"/>']
    parts.append(f'<rect class="now" x="0" y="7" width="{_number(100 * _inside(now))}%" height="12" rx="2"/>')
    if before is not None:
        at = _number(100 * _inside(before))
        parts.append(f'<rect class="before" x="0" y="2" width="{at}%" height="4" rx="1"/>')
        if interval is not None:
            low, high = (_number(100 * _inside(before + end)) for end in interval)
            parts.append(f'<line class="whisker" x1="{low}%" x2="{high}%" y1="22.5" y2="22.5"/>')
            parts += [
                f'<line class="whisker" x1="{end}%" x2="{end}%" y1="20" y2="25"/>' for end in (low, high)
            ]
    return f'<svg class="bar" height="26" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def _inside(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _axes(across: str, up: str, ticks: Iterable[tuple[float, str]]) -> str:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>']
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * (bottom - _TOP)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{_number(y)}" y2="{_number(y)}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{_number(y + 4)}" text-anchor="end">{share:g}</text>')
    for share, text in ticks:
        x = _LEFT + share * (right - _LEFT)
        anchor = "end" if share == 1 else "middle" if share else "start"
        parts.append(f'<text x="{_number(x)}" y="{bottom + 14}" text-anchor="{anchor}">{escape(text)}</text>')
    parts.append(f'<text class="name" x="{right}" y="{HEIGHT - 1}" text-anchor="end">{escape(across)}</text>')
    parts.append(f'<text class="name" x="{_LEFT + 4}" y="{_TOP + 4}">{escape(up)}</text>')
    return "".join(parts)


def scatter(dots: Sequence[Dot], metric: str) -> str:
    """Every case as before (across) against now (up); cases with the same two scores are one dot, as large as they are many."""
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    most = max((dot.cases for dot in dots), default=1)
    parts = [
        _axes("before", "now", [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]),
        f'<line class="same" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{_TOP}"/>',
    ]
    for dot in sorted(dots, key=lambda one: -one.cases):
        x = _LEFT + _inside(dot.before) * (right - _LEFT)
        y = bottom - _inside(dot.now) * (bottom - _TOP)
        radius = max(_SMALLEST_DOT, _LARGEST_DOT * math.sqrt(dot.cases / most))
        style = "won" if dot.now > dot.before else "lost" if dot.now < dot.before else "tie"
        parts.append(
            f'<circle class="dot {style}" data-key="{escape(dot.key)}" cx="{_number(x)}" cy="{_number(y)}" '
            f'r="{_number(radius)}"><title>{escape(dot.label)}</title></circle>'
        )
    told = sum(dot.cases for dot in dots)
    above = sum(dot.cases for dot in dots if dot.now > dot.before)
    below = sum(dot.cases for dot in dots if dot.now < dot.before)
    title = (
        f"{metric} of {told} cases before and now: {above} above the diagonal (won), {below} below it (lost)"
    )
    return _svg(title, "".join(parts))


def curves(lines: Sequence[Line], ticks: Sequence[str], across: str, up: str) -> str:
    """Lines over equal steps. `ticks` are the texts under the first and the last step, or under every one."""
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    steps = max((len(line.values) for line in lines), default=1)

    def x(step: int) -> float:
        return _LEFT + (step / (steps - 1) if steps > 1 else 0.5) * (right - _LEFT)

    shares = [(at / (len(ticks) - 1) if len(ticks) > 1 else 0.5, text) for at, text in enumerate(ticks)]
    parts = [_axes(across, up, shares)]
    for line in lines:
        drawn, path = False, []
        for step, value in enumerate(line.values):
            if value is None:
                drawn = False
                continue
            y = bottom - _inside(value) * (bottom - _TOP)
            path.append(f"{'L' if drawn else 'M'}{_number(x(step))} {_number(y)}")
            drawn = True
        parts.append(
            f'<path class="line {escape(line.style)}" d="{"".join(path)}"><title>{escape(line.name)}</title></path>'
        )
        if steps <= _DOTTED:  # a step without neighbours is no line, yet it is there
            for step, value in enumerate(line.values):
                if value is not None:
                    y = bottom - _inside(value) * (bottom - _TOP)
                    at = f'cx="{_number(x(step))}" cy="{_number(y)}"'
                    parts.append(f'<circle class="line {escape(line.style)}" {at} r="1.5"/>')
    said = "; ".join(
        f"{line.name} from {_end(line.values)} to {_end(list(reversed(line.values)))}" for line in lines
    )
    return _svg(f"{up} by {across}: {said}", "".join(parts))


def _end(values: Sequence[float | None]) -> str:
    return next((f"{value:.2f}" for value in values if value is not None), "nothing")


def flow(bands: Sequence[Band], order: Sequence[str], words: Mapping[str, str]) -> str:
    """Questions by bucket before (left) and now (right), with a band for each way they went. `order`: worst first."""
    total = sum(band.questions for band in bands)
    if not total:
        return ""
    top, gap, side = 16.0, 8.0, 10
    used = [name for name in order if any(name in (band.before, band.now) for band in bands)]
    scale = (HEIGHT - top - gap * len(used)) / total
    left = _stack(
        used, {name: sum(b.questions for b in bands if b.before == name) for name in used}, top, gap, scale
    )
    right = _stack(
        used, {name: sum(b.questions for b in bands if b.now == name) for name in used}, top, gap, scale
    )
    x0, x1 = 96, WIDTH - 96
    parts = [f'<text class="name" x="{x0}" y="10" text-anchor="end">before</text>']
    parts.append(f'<text class="name" x="{x1}" y="10">now</text>')
    offset_left, offset_right = dict.fromkeys(used, 0.0), dict.fromkeys(used, 0.0)
    for band in sorted(bands, key=lambda one: (used.index(one.before), used.index(one.now))):
        height = band.questions * scale
        y0 = left[band.before][0] + offset_left[band.before]
        y1 = right[band.now][0] + offset_right[band.now]
        offset_left[band.before] += height
        offset_right[band.now] += height
        middle = (x0 + side + x1 - side) / 2
        worse = used.index(band.now) < used.index(band.before)
        style = "tie" if band.before == band.now else "lost" if worse else "won"
        said = f"{words[band.before]} to {words[band.now]}: {band.questions}"
        parts.append(
            f'<path class="band {style}" d="M{x0 + side} {_number(y0)}C{middle} {_number(y0)} {middle} {_number(y1)} '
            f"{x1 - side} {_number(y1)}V{_number(y1 + height)}C{middle} {_number(y1 + height)} {middle} "
            f'{_number(y0 + height)} {x0 + side} {_number(y0 + height)}Z"><title>{escape(said)}</title></path>'
        )
    for x, stack, anchor, text_x in ((x0, left, "end", x0 - 4), (x1 - side, right, "start", x1 + 4)):
        for name, (y, count) in stack.items():
            if count:
                parts.append(
                    f'<rect class="node" x="{x}" y="{_number(y)}" width="{side}" height="{_number(max(count * scale, 1))}"/>'
                    f'<text x="{text_x}" y="{_number(y + count * scale / 2 + 4)}" text-anchor="{anchor}">'
                    f"{escape(words[name])} {count}</text>"
                )
    moved = [band for band in bands if band.before != band.now]
    said = (
        "; ".join(f"{words[b.before]} to {words[b.now]}: {b.questions}" for b in moved) or "no question moved"
    )
    return _svg(f"{total} questions by bucket before and now. {said}", "".join(parts))


def _stack(
    names: Sequence[str], counts: Mapping[str, int], top: float, gap: float, scale: float
) -> dict[str, tuple[float, int]]:
    """name -> (upper edge, count), from the top down."""
    found, y = {}, top
    for name in names:
        found[name] = (y, counts[name])
        y += counts[name] * scale + gap
    return found

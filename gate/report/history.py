"""The history of a baseline as text: a line of blocks for each kind, and under it the commits that moved it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gate.model.history import Entry, History, Move
from gate.model.wording import listed, plural
from gate.report.columns import aligned
from gate.report.escape import terminal
from gate.report.numbers import ARROW, pair, single
from gate.report.titles import of_row

# A tenth of the scale more for each block; a version without the kind leaves a gap.
_BLOCKS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_WIDEST = 60


def blocks(values: Sequence[float | None]) -> str:
    """One character a value, the lowest block for the smallest and the full one for the largest.

    >>> blocks([0.5, 0.75, None, 1.0]), blocks([0.8, 0.8])
    ('▁▅·█', '▄▄')
    """
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low == high:
        return "".join(_GAP if value is None else "▄" for value in values)
    top = len(_BLOCKS) - 1
    return "".join(
        _GAP if value is None else _BLOCKS[int((value - low) / (high - low) * top + 0.5)] for value in values
    )


def lines(history: History) -> Iterator[str]:
    """The whole page for a terminal, line by line without line breaks."""
    entries = history.entries
    first, last = entries[0], entries[-1]
    span = first.date if first.date == last.date else f"{first.date} to {last.date}"
    title = of_row(history.metric, history.k).title
    yield (
        f"{terminal(history.suite)}: {title} by kind, {plural(len(entries), 'version')} of "
        f"{terminal(history.baseline)}, {span}"
    )
    yield ""
    yield from _table(entries)
    yield ""
    told = False
    for entry in reversed(entries):
        if entry.moves or entry.notes or entry.unreadable:
            told = True
            yield from _entry(entry)
    if not told:
        yield "no version differs from the one before it" if len(entries) > 1 else "there is one version yet"
    if history.more:
        yield "older versions exist; --limit shows more of them"
    if history.cut:
        yield "this checkout is shallow, older versions may be missing: git fetch --unshallow"


def _table(entries: Sequence[Entry]) -> Iterator[str]:
    rows = []
    order = [
        (arm, kind) for entry in reversed(entries) for arm, kinds in entry.points.items() for kind in kinds
    ]
    for arm, kind in dict.fromkeys(order):
        found = [entry.points.get(arm, {}).get(kind) for entry in entries]
        means = [point.mean for point in found if point is not None]
        newest = found[-1]
        rows.append(
            (
                terminal(arm),
                terminal(kind),
                blocks([point.mean if point else None for point in found][-_WIDEST:]),
                single(newest.mean) if newest else "gone",
                str(newest.n) if newest else "",
                single(min(means)),
                single(max(means)),
            )
        )
    head = ("arm", "kind", "oldest to newest", "now", "n", "lowest", "highest")
    align = ("left", "left", "left", "right", "right", "right", "right")
    yield from aligned(head, rows, align)


def _entry(entry: Entry) -> Iterator[str]:
    yield f"{entry.date}  {entry.commit[:10]}  {terminal(entry.subject)}"
    if entry.unreadable:
        yield f"    cannot be read: {terminal(entry.unreadable)}"
    for move in entry.moves:
        yield f"    {moved(move)}"
    for note in entry.notes:
        yield f"    {terminal(note)}"


def moved(move: Move) -> str:
    """One kind's move in a line, for a terminal."""
    before, after = pair(move.before, move.after)
    parts = [
        f"{plural(len(ids), noun)} ({listed([terminal(one) for one in ids], 4)})"
        for noun, ids in (("loss", move.lost), ("win", move.won))
        if ids
    ]
    # Equal means with a loss and a win in them are a move all the same.
    said = f"{before}{ARROW}{after}" if before != after else f"{after} as before"
    return f"{terminal(move.arm)}, {terminal(move.kind)}: {said} over {plural(move.cases, 'case')}, {', '.join(parts)}"

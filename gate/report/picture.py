"""One small picture in blocks of characters, which every reader of a comment sees without a host for images.

It shows what the table cannot: where the relevant pages of the cases that moved stood, and where they stand now. A page that
fell from rank 5 to 6 and one that is gone from the pool are the same loss in recall, and not the same repair.
"""

from __future__ import annotations

from gate.model.comparison import ArmComparison
from gate.model.report import SuiteReport
from gate.report.medium import Medium
from gate.report.parts import Cells, Section

# Fewer moved pages than this are read faster one by one.
_FEWEST = 4
_WIDEST = 24


def picture(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The ranks of the relevant pages of moved cases, before and now, for the gated arm that lost most."""
    gated = {
        name: found
        for name, found in suite.comparison.items()
        if name in suite.arms and suite.arms[name].gate and found.lost
    }
    if not gated:
        return Section()
    name = max(gated, key=lambda arm: (gated[arm].losses, arm))
    before, now = _bands(suite, gated[name])
    total = sum(before.values())
    if total < _FEWEST or before == now:
        return Section()
    most = max((*before.values(), *now.values()))
    rows = tuple((band, _bar(before[band], most), _bar(now[band], most)) for band in before)
    return Section(
        f"Where the relevant pages of the moved cases stand: {medium.plain(name, 60)}",
        head=("rank", "before", "now"),
        align=("left", "left", "left"),
        rows=rows,
    )


def _bands(suite: SuiteReport, found: ArmComparison) -> tuple[dict[str, int], dict[str, int]]:
    """Counts by band of ranks, before and now."""
    k, pool = suite.k, suite.pool
    edges = [("1", 1)]
    if k > 1:
        edges.append((f"2 to {k}" if k > 2 else "2", k))
    if pool > k:
        edges.append((f"{k + 1} to {pool}" if pool > k + 1 else str(pool), pool))
    names = [*(name for name, _ in edges), "outside the pool"]
    before, now = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for move in (*found.lost, *found.won):
        for page in move.pages:
            for counts, rank in ((before, page.before), (now, page.after)):
                band = next((name for name, last in edges if rank is not None and rank <= last), names[-1])
                counts[band] += 1
    return before, now


def _bar(count: int, most: int) -> str:
    length = max(round(count / most * _WIDEST), 1) if count else 0
    return f"{'█' * length} {count}".strip() if count else "·"

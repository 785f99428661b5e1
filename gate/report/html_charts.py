"""Which charts a suite has on the page, and the numbers in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape as html_escape
from typing import NamedTuple

from gate.diagnosis import BUCKETS
from gate.history import ALL
from gate.model.comparison import DUST, GroupComparison
from gate.model.history import History
from gate.model.measurement import Measurement
from gate.model.report import ArmReport, SuiteReport
from gate.report import charts, escape
from gate.report.html_cases import Texts
from gate.report.numbers import arrow, pair, single
from gate.report.titles import of_row

_STYLES = 8
_NAMED = 6
WORDS: Mapping[str, str] = {name: name.replace("_", " ") for name in (*BUCKETS, "")} | {
    "reached_context": "in context"
}


class KindBar(NamedTuple):
    """One kind (or all cases) of an arm: its bar, and the same in figures."""

    kind: str
    figures: str
    n: str
    svg: str
    style: str


class Picture(NamedTuple):
    """One chart with its caption and, where lines have colours, (style, name) of each."""

    caption: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()


class Charts(NamedTuple):
    """All charts of a suite; the bars by arm."""

    bars: tuple[tuple[str, tuple[KindBar, ...]], ...] = ()
    scatters: tuple[Picture, ...] = ()
    curves: tuple[Picture, ...] = ()
    flows: tuple[Picture, ...] = ()
    history: tuple[Picture, ...] = ()


def _shown(name: str) -> str:
    return html_escape(escape.terminal(name, 60))


def suite_charts(suite: SuiteReport, history: History | None, texts: Texts | None) -> Charts:
    """Every chart that the report, the baseline in `texts` and the history have numbers for."""
    before = texts.before if texts is not None else None
    return Charts(
        bars=tuple((_shown(name), tuple(_bars(suite, name))) for name in suite.arms if suite.arms[name].n),
        scatters=tuple(_scatters(suite, before)),
        curves=tuple(_curves(suite, before)),
        flows=tuple(_flows(suite)),
        history=tuple(_history(history)) if history is not None else (),
    )


def _bars(suite: SuiteReport, name: str) -> Iterator[KindBar]:
    """All cases first, then every kind."""
    arm, metric = suite.arms[name], suite.metrics[0]
    found = suite.comparison.get(name)
    title = of_row(metric, suite.k)
    groups: list[tuple[str, int, float, GroupComparison | None]] = [
        ("all cases", arm.n, arm.means[title.mean], found)
    ]
    groups += [
        (kind, means.n, means.means[title.mean], found.kinds.get(kind) if found is not None else None)
        for kind, means in arm.by_kind.items()
    ]
    for kind, n, now, group in groups:
        before = group.metrics[metric].before if group is not None and metric in group.metrics else None
        after = group.metrics[metric].after if group is not None and metric in group.metrics else now
        figures = arrow(*pair(before, after)) if before is not None else single(after)
        interval = group.evidence.interval if group is not None else None
        shown = escape.terminal(kind, 60)
        fell = group is not None and group is not found and group.metrics[metric].total < -DUST
        yield KindBar(
            html_escape(shown),
            figures,
            f"{n:,}",
            charts.bar(before, after, interval, f"{shown}: {title.title} {figures} over {n} cases"),
            "fell" if fell else "",
        )


def _scatters(suite: SuiteReport, before: Measurement | None) -> Iterator[Picture]:
    if before is None:
        return
    metric = suite.metrics[0]
    title = of_row(metric, suite.k).title
    for position, (name, arm) in enumerate(suite.arms.items()):
        if name not in before.arms:
            continue
        rows = before.arms[name].rows
        groups: dict[tuple[float, float], list[str]] = {}
        for row in arm.cases:
            same = row.id in before.cases and before.cases[row.id].sha256 == suite.labels[row.id].sha256
            if same and row.id in rows and metric in rows[row.id].scores and metric in row.scores:
                groups.setdefault((rows[row.id].scores[metric], row.scores[metric]), []).append(row.id)
        dots = [
            charts.Dot(old, new, len(ids), f"{position}|{old:.6g}|{new:.6g}", _dot_label(old, new, ids))
            for (old, new), ids in groups.items()
        ]
        if dots:
            yield Picture(f"{_shown(name)}: every case, before and now", charts.scatter(dots, title))


def _dot_label(before: float, now: float, ids: Sequence[str]) -> str:
    named = ", ".join(escape.terminal(one, 40) for one in ids[:_NAMED])
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return f"{arrow(*pair(before, now))}: {len(ids):,} ({named}{more})"


def _curves(suite: SuiteReport, before: Measurement | None) -> Iterator[Picture]:
    """Recall at every k up to the pool, from the stored rankings."""
    for name, arm in suite.arms.items():
        if not arm.n:
            continue
        lines = []
        if before is not None and name in before.arms and before.settings.pool >= 1:
            rankings = {
                case: row.ranked
                for case, row in before.arms[name].rows.items()
                if case in suite.labels and before.cases[case].sha256 == suite.labels[case].sha256
            }
            if rankings:
                lines.append(charts.Line("before", recall_curve(rankings, suite, suite.pool), "before"))
        rankings = {row.id: row.ranked for row in arm.cases}
        lines.append(charts.Line("now", recall_curve(rankings, suite, suite.pool), "now"))
        svg = charts.curves(lines, ("1", str(suite.pool)) if suite.pool > 1 else ("1",), "k", "recall@k")
        legend = tuple((line.style, line.name) for line in lines)
        yield Picture(f"{_shown(name)}: recall at every k", svg, legend)


def recall_curve(rankings: Mapping[str, Sequence[str]], suite: SuiteReport, pool: int) -> list[float]:
    """The mean recall of `rankings` (case -> pages, best first) at k = 1..pool; cases without a label are left out."""
    totals: list[list[float]] = [[] for _ in range(pool)]
    for case, ranked in rankings.items():
        relevant = suite.labels[case].relevant
        found = 0
        for position in range(pool):
            found += position < len(ranked) and ranked[position] in relevant
            totals[position].append(found / len(relevant))
    return [math.fsum(shares) / len(shares) if shares else 0.0 for shares in totals]


def _flows(suite: SuiteReport) -> Iterator[Picture]:
    """From the buckets before to those now. Questions that the baseline lacks are not in it."""
    for name, found in suite.comparison.items():
        arm: ArmReport | None = suite.arms.get(name)
        if arm is None or arm.diagnosis is None or not arm.diagnosis.questions:
            continue
        moved = {move.id: move.before for move in found.question_moves}
        counted = Counter(
            (moved.get(question, bucket), bucket) for question, bucket in arm.diagnosis.questions.items()
        )
        bands = [charts.Band(old, new, number) for (old, new), number in sorted(counted.items())]
        svg = charts.flow(bands, BUCKETS, WORDS)
        if svg:
            yield Picture(f"{_shown(name)}: where the QA questions ended, before and now", svg)


def _history(history: History) -> Iterator[Picture]:
    """One chart for each arm, one line for each kind."""
    entries = history.entries
    title = of_row(history.metric, history.k).title
    for arm in dict.fromkeys(name for entry in reversed(entries) for name in entry.points):
        kinds = dict.fromkeys(kind for entry in reversed(entries) for kind in entry.points.get(arm, {}))
        lines = []
        for position, kind in enumerate(kinds):
            found = [entry.points.get(arm, {}).get(kind) for entry in entries]
            style = "all" if kind == ALL else f"c{position % _STYLES}"
            values = [point.mean if point is not None else None for point in found]
            lines.append(charts.Line(escape.terminal(kind, 40), values, style))
        first, last = entries[0].date, entries[-1].date
        ticks = (first,) if len(entries) == 1 else (first, last)
        legend = tuple((line.style, html_escape(line.name)) for line in lines)
        svg = charts.curves(lines, ticks, "", title)
        yield Picture(f"{_shown(arm)}: the committed baselines", svg, legend)

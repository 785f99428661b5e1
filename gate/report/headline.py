"""The verdict in one line, and the line of facts under it: what a reader takes in during the first five seconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from gate.model.comparison import DUST, GroupComparison
from gate.model.report import SuiteReport
from gate.model.verdict import Finding, Level, Verdict
from gate.model.wording import joined, listed, plural
from gate.report.medium import Medium
from gate.report.numbers import first_sentence
from gate.report.titles import of_row

MARKS = {
    Verdict.PASS: "✅",
    Verdict.PARTIAL: "⚠️",
    Verdict.REGRESSION: "❌",
    Verdict.INVALID: "⛔",
    Verdict.NOT_MEASURED: "⛔",
    Verdict.UNJUDGED: "ℹ️",
}
_NAMED = 3
_KINDS = 4
_SHORT = {
    "settings-changed": "the settings changed and the baseline did not",
    "settings-not-comparable": "the base's rankings cannot be scored under the new settings",
    "baseline-not-reproduced": "this run does not reproduce the new baseline",
    "no-baseline": "there is no baseline to compare with",
}


def word(verdict: Verdict) -> str:
    """The verdict as prose: `not measured`."""
    return verdict.value.replace("_", " ")


def verdict_line(suite: SuiteReport, medium: Medium) -> str:
    """`regression: exact_term of keyword dropped, 1 of 8 cases lost`."""
    said = _SAID[suite.verdict](suite, medium)
    return f"{word(suite.verdict)}: {said}" if said else word(suite.verdict)


def _at(suite: SuiteReport, level: Level) -> list[Finding]:
    return [finding for finding in suite.findings if finding.level is level]


def _joined(parts: Iterable[str], noun: str) -> str:
    every = list(dict.fromkeys(parts))
    more = [f"and {plural(len(every) - _NAMED, f'more {noun}')}"] if len(every) > _NAMED else []
    return "; ".join([*every[:_NAMED], *more])


class _Drop(NamedTuple):
    """One kind of one arm: the lost cases, the metrics that fell, and how many cases it has."""

    lost: dict[str, None]
    metrics: set[str]
    n: int


def _metrics(suite: SuiteReport, fell: Collection[str], medium: Medium) -> str:
    """`MRR`, `recall@5 and MRR`: the metrics that fell; nothing where that is the first one of the policy alone."""
    if set(fell) == {suite.metrics[0]}:
        return ""
    order = [*suite.metrics, *sorted(set(fell) - {*suite.metrics})]
    return joined([of_row(row, suite.k).shown(medium) for row in order if row in fell])


def _regression(suite: SuiteReport, medium: Medium) -> str:
    """One dropped kind in full; of several, what each arm dropped on."""
    found = _at(suite, Level.REGRESSION)
    drops: dict[tuple[str, str], _Drop] = {}
    others = []
    for finding in found:
        comparison = suite.comparison.get(finding.arm or "")
        group = comparison.kinds.get(finding.kind or "") if comparison is not None else None
        if group is None or not finding.cases or finding.code not in ("kind-dropped", "case-lost"):
            others.append(medium.plain(finding.text, 160))
        else:
            drop = drops.setdefault((finding.arm or "", finding.kind or ""), _Drop({}, set(), group.n))
            drop.lost.update(dict.fromkeys(finding.cases))
            drop.metrics.add(finding.metric or suite.metrics[0])
    verb = "dropped" if any(finding.code == "kind-dropped" for finding in found) else "fell"
    if len(drops) == 1 and not others:
        [((arm, kind), drop)] = drops.items()
        name = f"{medium.plain(kind, 60)} of {medium.plain(arm, 60)}"
        on = f" on {metrics}" if (metrics := _metrics(suite, drop.metrics, medium)) else ""
        return f"{name} {verb}{on}, {len(drop.lost):,} of {plural(drop.n, 'case')} lost"
    by_arm: dict[str, list[str]] = {}
    for (arm, kind), drop in drops.items():
        on = f"{metrics}, " if (metrics := _metrics(suite, drop.metrics, medium)) else ""
        of = f"{on}{len(drop.lost):,} of {drop.n:,}{'' if by_arm else ' cases lost'}"
        by_arm.setdefault(arm, []).append(f"{medium.plain(kind, 60)} ({of})")
    said = [f"{medium.plain(arm, 60)} {verb} on {listed(kinds, _KINDS)}" for arm, kinds in by_arm.items()]
    return _joined([*said, *others], "regression")


def _invalid(suite: SuiteReport, medium: Medium) -> str:
    said = []
    for finding in _at(suite, Level.INVALID):
        if finding.code == "cases-changed":
            changes = suite.case_changes
            counts = (
                (len(changes.added), "added"),
                (len(changes.removed), "removed"),
                (len(changes.changed), "changed"),
            )
            named = ", ".join(f"{count:,} {how}" for count, how in counts if count)
            said.append(
                f"the cases changed and the baseline did not ({named})" if named else "the cases changed"
            )
        else:
            said.append(_SHORT.get(finding.code) or medium.plain(finding.text, 160))
    return _with_regressions(_joined(said, "problem"), suite, medium)


def _not_measured(suite: SuiteReport, medium: Medium) -> str:
    said = []
    for finding in _at(suite, Level.NOT_MEASURED):
        if finding.arm is None:
            said.append(medium.plain(finding.text, 160))
        else:
            said.append(f"{medium.plain(finding.arm, 60)}{_why(suite, finding, medium)}")
    return _with_regressions(_joined(said, "arm"), suite, medium)


def _why(suite: SuiteReport, finding: Finding, medium: Medium) -> str:
    """Why an arm was not measured, in brackets: the one reason, or how many queries failed."""
    arm = suite.arms.get(finding.arm or "")
    if arm is not None and arm.reason:
        return f" ({medium.plain(first_sentence(arm.reason), 160)})"
    return f" ({plural(len(finding.cases), 'query')} failed)" if finding.cases else ""


def _with_regressions(said: str, suite: SuiteReport, medium: Medium) -> str:
    also = _regression(suite, medium)
    return f"{said}. Also a regression: {also}" if also else said


def _partial(suite: SuiteReport, medium: Medium) -> str:
    found = _at(suite, Level.PARTIAL)
    by_arm = {finding.arm: finding for finding in found if finding.arm is not None}
    arms = [medium.plain(name, 60) for name in by_arm]
    said = [f"{listed(arms, _NAMED)} not measured"] if arms else []
    if len(by_arm) == 1:
        [finding] = by_arm.values()
        said = [f"{arms[0]} not measured{_why(suite, finding, medium)}"]
    said += [medium.plain(finding.text, 160) for finding in found if finding.arm is None]
    return f"{_joined(said, 'problem')}; {_clean(suite, medium)} in what was measured"


def _pass(suite: SuiteReport, medium: Medium) -> str:
    return _clean(suite, medium)


def _clean(suite: SuiteReport, medium: Medium) -> str:
    cases = plural(len(suite.labels), "case")
    if not suite.comparison:
        new = any(finding.code == "new-baseline" for finding in suite.findings)
        return (
            f"{cases} measured, the new baseline reproduces" if new else f"{cases} measured, nothing compared"
        )
    gated = {name: found for name, found in suite.comparison.items() if _gated(suite, name)}
    fallen = [
        f"{_lowered(suite, found.kinds[kind], medium)}{medium.plain(kind, 60)} of {medium.plain(name, 60)}"
        for name, found in gated.items()
        for kind in found.lowered_kinds
    ]
    lost = [move for found in gated.values() for move in found.lost]
    won = {move.id for found in gated.values() for move in found.won}
    moved = [
        f"{plural(len(ids), 'case')} {how}"
        for ids, how in (({move.id for move in lost}, "lost"), (won, "won"))
        if ids
    ]
    if not fallen:
        shown_only = any(found.lowered_kinds for found in suite.comparison.values())
        return ", ".join([cases, "no gated kind dropped" if shown_only else "no kind dropped", *moved])
    named = listed(fallen, _NAMED)
    if all(move.accepted or move.flaky for move in lost):
        excused = [
            plural(count, noun)
            for noun, count in (
                ("accepted loss", sum(bool(move.accepted) for move in lost)),
                ("flaky loss", sum(move.flaky and not move.accepted for move in lost)),
            )
            if count
        ]
        return f"{cases}, nothing dropped but {' and '.join(excused)} ({named})"
    return f"{cases}, no drop that the policy fails ({named} lower, {', '.join(moved)})"


def _lowered(suite: SuiteReport, group: GroupComparison, medium: Medium) -> str:
    """`MRR of `: on which metrics a kind is lower, where that is not the first one alone."""
    fell = [row for row in suite.metrics if row in group.metrics and group.metrics[row].total < -DUST]
    return f"{metrics} of " if fell and (metrics := _metrics(suite, fell, medium)) else ""


def _gated(suite: SuiteReport, arm: str) -> bool:
    return arm not in suite.arms or suite.arms[arm].gate


def _unjudged(suite: SuiteReport, medium: Medium) -> str:  # noqa: ARG001 - every verdict's line takes both
    cases = plural(len(suite.labels), "case")
    if suite.comparison:
        return f"{cases} of the {suite.split} split compared, without a verdict"
    return f"{cases} measured, nothing compared"


_SAID = {
    Verdict.PASS: _pass,
    Verdict.PARTIAL: _partial,
    Verdict.REGRESSION: _regression,
    Verdict.INVALID: _invalid,
    Verdict.NOT_MEASURED: _not_measured,
    Verdict.UNJUDGED: _unjudged,
}


def lead_line(suite: SuiteReport, medium: Medium) -> str:
    """What was measured and what it was compared with."""
    measured = (
        f"Suite {medium.strong(medium.plain(suite.suite, 80))}: {plural(len(suite.labels), 'case')} "
        f"({suite.split} split{_others(suite)}), k = {suite.k}, pool {suite.pool}, context {suite.context}"
    )
    if suite.baseline is None:
        return f"{measured}. Compared with nothing."
    at = f" at {medium.code(suite.baseline.commit[:12])}" if suite.baseline.commit else ""
    return f"{measured}. Compared with {medium.code(suite.baseline.path)}{at}."


def _others(suite: SuiteReport) -> str:
    """`; 1 more in dev, not gated`: cases that somebody labelled and that no verdict looks at."""
    word = "gated" if suite.split == "test" else "measured"
    return "".join(
        f"; {count:,} more in {split}, not {word}" for split, count in suite.not_gated.items() if count
    )


def counts_line(suite: SuiteReport, medium: Medium) -> str:
    """Cases won, lost and tied, by arm."""
    said = [
        f"{medium.plain(name, 60)}: {found.wins:,} won, {found.losses:,} lost, {found.ties:,} tied"
        if found.n
        else f"{medium.plain(name, 60)}: not measured"
        for name, found in suite.comparison.items()
    ]
    return "; ".join([*said[:8], *([f"and {len(said) - 8} more arms"] if len(said) > 8 else [])])

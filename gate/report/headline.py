"""The verdict in one line, and the line of facts under it: what a reader takes in during the first five seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gate.model.report import SuiteReport
from gate.model.verdict import Finding, Level, Verdict
from gate.report.medium import Medium
from gate.report.numbers import listed, plural

MARKS = {
    Verdict.PASS: "✅",
    Verdict.PARTIAL: "⚠️",
    Verdict.REGRESSION: "❌",
    Verdict.INVALID: "⛔",
    Verdict.NOT_MEASURED: "⛔",
    Verdict.UNJUDGED: "ℹ️",
}
_NAMED = 3
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


def _regression(suite: SuiteReport, medium: Medium) -> str:
    return _joined(_regressions(suite, medium), "regression")


def _regressions(suite: SuiteReport, medium: Medium) -> Iterator[str]:
    cases: dict[tuple[str | None, str | None, str], dict[str, None]] = {}
    for finding in _at(suite, Level.REGRESSION):
        cases.setdefault((finding.arm, finding.kind, finding.code), {}).update(dict.fromkeys(finding.cases))
    for finding in _at(suite, Level.REGRESSION):
        comparison = suite.comparison.get(finding.arm or "")
        group = comparison.kinds.get(finding.kind or "") if comparison is not None else None
        lost = cases[finding.arm, finding.kind, finding.code]
        if group is None or not lost or finding.code not in ("kind-dropped", "case-lost"):
            yield medium.plain(finding.text, 160)
            continue
        fell = " dropped," if finding.code == "kind-dropped" else ":"
        name = f"{medium.plain(finding.kind or '', 60)} of {medium.plain(finding.arm or '', 60)}"
        yield f"{name}{fell} {len(lost):,} of {plural(group.n, 'case')} lost"


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
            failed = f" ({plural(len(finding.cases), 'query')} failed)" if finding.cases else ""
            said.append(f"{medium.plain(finding.arm, 60)}{failed}")
    return _with_regressions(_joined(said, "arm"), suite, medium)


def _with_regressions(said: str, suite: SuiteReport, medium: Medium) -> str:
    also = _regression(suite, medium)
    return f"{said}. Also a regression: {also}" if also else said


def _partial(suite: SuiteReport, medium: Medium) -> str:
    arms = dict.fromkeys(finding.arm or "" for finding in _at(suite, Level.PARTIAL))
    out = listed([medium.plain(arm, 60) for arm in arms], _NAMED)
    return f"{out} not measured; {_clean(suite, medium)} in the others"


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
        f"{medium.plain(kind, 60)} of {medium.plain(name, 60)}"
        for name, found in gated.items()
        for kind in found.dropped_kinds
    ]
    shown_only = any(found.dropped_kinds for found in suite.comparison.values())
    if fallen:
        said = f"{listed(fallen, _NAMED)} lower, but accepted or allowed by the policy"
    else:
        said = "no gated kind dropped" if shown_only else "no kind dropped"
    lost = {move.id for found in gated.values() for move in found.lost}
    won = {move.id for found in gated.values() for move in found.won}
    moved = [f"{plural(len(ids), 'case')} {how}" for ids, how in ((lost, "lost"), (won, "won")) if ids]
    return ", ".join([cases, said, *moved])


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
        f"({suite.split} split), k = {suite.k}, pool {suite.pool}, context {suite.context}"
    )
    if suite.baseline is None:
        return f"{measured}. Compared with nothing."
    at = f" at {medium.code(suite.baseline.commit[:12])}" if suite.baseline.commit else ""
    return f"{measured}. Compared with {medium.code(suite.baseline.path)}{at}."


def counts_line(suite: SuiteReport, medium: Medium) -> str:
    """Cases won, lost and tied, by arm."""
    said = [
        f"{medium.plain(name, 60)}: {found.wins:,} won, {found.losses:,} lost, {found.ties:,} tied"
        for name, found in suite.comparison.items()
    ]
    return "; ".join([*said[:8], *([f"and {len(said) - 8} more arms"] if len(said) > 8 else [])])

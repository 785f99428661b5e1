"""A report as strings: one view per suite and medium, shared by all templates.

All wording is decided here and in the modules beside it. Templates loop and place; they compute nothing.
"""

from __future__ import annotations

from gate.model.fingerprint import shown
from gate.model.report import Report, SuiteReport
from gate.model.verdict import Level, Verdict
from gate.model.wording import listed, plural
from gate.report import headline
from gate.report.behind import BASE_AHEAD, behind
from gate.report.board import board, slices, sweep
from gate.report.medium import Medium
from gate.report.misses import added, failures, misses
from gate.report.moves import lost, won
from gate.report.next_step import next_step
from gate.report.parts import RunView, Section, SuiteView
from gate.report.picture import picture
from gate.report.provenance import changes, notes, provenance, sure
from gate.report.questions import diagnosis, question_moves
from gate.report.titles import of_row

_FAULTS = (Level.INVALID.value, Level.NOT_MEASURED.value, Level.PARTIAL.value)
_REMARKS = (Level.WARNING.value, Level.NOTICE.value)


def suite_view(
    report: Report, suite: SuiteReport, medium: Medium, previous: Verdict | None = None
) -> SuiteView:
    """One suite of `report`. `previous` is the verdict that the last comment on this change showed."""
    return SuiteView(
        suite=medium.plain(suite.suite, 80),
        mark=headline.MARKS[suite.verdict],
        word=headline.word(suite.verdict),
        verdict=headline.verdict_line(suite, medium),
        lead=headline.lead_line(suite, medium),
        resolved=_resolved(suite.verdict, previous),
        counts=headline.counts_line(suite, medium),
        metric=of_row(suite.metrics[0], suite.k).shown(medium),
        behind=behind(suite, medium),
        banners=notes(suite, medium, (Level.BANNER.value,), "Changes to what decides: {}"),
        faults=notes(suite, medium, _FAULTS, "What keeps this from passing: {}"),
        changes=changes(suite, medium),
        board=board(suite, medium),
        failures=failures(suite, medium),
        lost=lost(suite, medium),
        picture=picture(suite, medium),
        next_step=next_step(suite, medium, several=len(report.suites) > 1),
        won=won(suite, medium),
        misses=misses(suite, medium),
        added=added(suite, medium),
        diagnosis=diagnosis(suite, medium),
        question_moves=question_moves(suite, medium),
        sweep=sweep(suite, medium),
        slices=slices(suite, medium),
        sure=sure(suite, medium),
        remarks=notes(suite, medium, _REMARKS, "Warnings and notices: {}", without=(BASE_AHEAD,)),
        provenance=provenance(report, suite, medium),
    )


def in_brief(view: SuiteView, suite: SuiteReport, medium: Medium) -> SuiteView:
    """`view` for a reader in a hurry: of a pass in which nothing moved, the table and one line of what was measured.

    Anything that there is to see leaves it as it is.
    """
    seen = (
        view.behind,
        view.banners,
        view.faults,
        view.failures,
        view.lost,
        view.won,
        view.added,
        view.question_moves,
    )
    if suite.verdict is not Verdict.PASS or any(seen):
        return view
    said = [medium.cell(suite.cases_version), medium.cell(shown(suite.versions.corpus))]
    if suite.baseline is not None:
        said.append(f"baseline sha256 {medium.cell(suite.baseline.sha256[:8])}")
    if view.misses:
        said.append(plural(len(view.misses.rows), "miss"))
    for name, arm in suite.arms.items():
        if arm.diagnosis is not None:
            buckets = [
                f"{count} {bucket.replace('_', ' ')}"
                for bucket, count in arm.diagnosis.counts.items()
                if count
            ]
            said.append(f"QA of {medium.plain(name, 60)}: {listed(buckets, 5)}")
    return view._replace(
        changes=view.changes if suite.page_changes or _settings_changed(suite) else Section(),
        misses=Section(),
        diagnosis=Section(),
        sure=Section(),
        provenance=Section(),
        brief=f"{'; '.join(said)}. {medium.command('--details')} shows all of it.",
    )


def _settings_changed(suite: SuiteReport) -> bool:
    return any(found.settings_changed for found in suite.comparison.values())


def run_view(report: Report, medium: Medium) -> RunView:
    """All suites of a run."""
    return RunView(
        mark=headline.MARKS[report.verdict],
        word=headline.word(report.verdict),
        suites=tuple(suite_view(report, suite, medium) for suite in report.suites),
    )


def _resolved(verdict: Verdict, previous: Verdict | None) -> str:
    """What became of the regression that the last comment showed."""
    if previous is Verdict.REGRESSION and verdict in (Verdict.PASS, Verdict.PARTIAL):
        return "Resolved: the regression that stood here is gone."
    return ""

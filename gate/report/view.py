"""A report as strings: one view per suite and medium, shared by all templates.

All wording is decided here and in the modules beside it. Templates loop and place; they compute nothing.
"""

from __future__ import annotations

from gate.model.report import Report, SuiteReport
from gate.model.verdict import Level, Verdict
from gate.report import headline
from gate.report.board import board, slices, sweep
from gate.report.medium import Medium
from gate.report.moves import added, diagnosis, failures, lost, misses, question_moves, won
from gate.report.parts import RunView, SuiteView
from gate.report.provenance import changes, notes, provenance, sure
from gate.report.titles import of_row

_FAULTS = (Level.INVALID.value, Level.NOT_MEASURED.value, Level.PARTIAL.value)


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
        banners=notes(suite, medium, (Level.BANNER.value,), "Changes to what decides: {}"),
        faults=notes(suite, medium, _FAULTS, "What keeps this from passing: {}"),
        changes=changes(suite, medium),
        board=board(suite, medium),
        failures=failures(suite, medium),
        lost=lost(suite, medium),
        next_step=_next_step(suite, medium),
        won=won(suite, medium),
        misses=misses(suite, medium),
        added=added(suite, medium),
        diagnosis=diagnosis(suite, medium),
        question_moves=question_moves(suite, medium),
        sweep=sweep(suite, medium),
        slices=slices(suite, medium),
        sure=sure(suite, medium),
        remarks=notes(suite, medium, (Level.WARNING.value, Level.NOTICE.value), "Warnings and notices: {}"),
        provenance=provenance(report, suite, medium),
    )


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


def _next_step(suite: SuiteReport, medium: Medium) -> str:
    if suite.verdict is not Verdict.REGRESSION or " " in suite.suite:
        return ""
    command = medium.command(f"gate baseline {suite.suite}")
    return f"If a loss is meant, {command} records it as accepted, with a reason that a reviewer reads."

"""Refreshing a baseline in the Action, first job: measure twice, and leave what the second job proposes.

This job runs the user's code and has no token that writes. What it leaves in the folder (`_handover.py`) is data to the
other job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gate.commands._handover import leave
from gate.compare import Context, Excuse, case_changes, compare_arm, page_changes
from gate.errors import InputError, Problem, raise_all
from gate.model.accepted import Entry, one_line
from gate.model.cost import summed_by_arm
from gate.model.fingerprint import shown
from gate.model.measurement import Measurement
from gate.model.metric import Metrics
from gate.model.report import BaselineRef, Report, Source, SuiteReport
from gate.model.settings import SuiteSettings
from gate.model.verdict import Finding, Level, Verdict
from gate.model.wording import listed, plural
from gate.noise import moved_questions, unstable_findings, with_unstable
from gate.rescoring import under
from gate.situation import Situation
from gate.store import baselines, git
from gate.summary import Extras, suite_report, whole_report

if TYPE_CHECKING:
    from gate.github.inputs import Inputs


def reason_of(inputs: Inputs) -> str | None:
    """The input `reason`, None where it is empty; anything but one line of plain text is an InputError."""
    if not inputs.reason:
        return None
    try:
        return one_line(inputs.reason)
    except ValueError as fault:
        raise InputError(Problem("input 'reason'", str(fault), "Say why in one sentence.")) from None


def measure_refresh(inputs: Inputs, folder: Path) -> Report:
    """Measure every selected suite twice and write the files of this job; nothing is written unless all is well."""
    from gate.commands._again import past_caches
    from gate.commands._drift import drifted
    from gate.commands._lowered import explained_from, would_lower
    from gate.commands._recording import reference_of
    from gate.commands._step_measure import measuring_arguments
    from gate.commands.baseline import measure_whole

    reason = reason_of(inputs)
    first = measure_whole(measuring_arguments(inputs, None))
    with past_caches("1"):
        # Loaded and built anew, arms and all; what the first time left in a cache does not count.
        again = measure_whole(measuring_arguments(inputs, None))
    here = git.head(again.project.root)
    problems, reports, told = [], [], []
    fresh: dict[str, Measurement] = {}
    for name, suite in again.suites.items():
        now = with_unstable(again.measured[name].now, [first.measured[name].now])
        path = suite.settings.baseline
        before, recorded, _ = reference_of(again.project, name, None)
        entries, unexplained = explained_from(
            now, before, recorded, reason, suite.settings, again.project.metrics
        )
        if unexplained:
            todo = "Give the reason with the input 'reason', in one line."
            problems.append(would_lower(path, unexplained, todo))
        sources = {
            case.id: Source(file=case.source, line=case.line) for case in suite.cases.cases if case.line
        }
        findings = [*moved_questions(first.measured[name].now, again.measured[name].now)]
        if here is not None:
            findings += drifted(here, name, suite.settings, again.project.metrics, now)
        change = Change(now, before, path, entries, suite.settings)
        reports.append(change_report(change, again.project.metrics, sources, findings))
        fresh[name] = now
        unstable = {arm: list(one.unstable) for arm, one in now.arms.items() if one.unstable}
        told.append({"suite": name, "baseline": path, "reason": reason, "unstable": unstable})
    raise_all(problems)
    leave(folder, fresh, told, here.commit if here is not None else None)
    told_by, told_again = first.report.environment.spent, again.report.environment.spent
    spent = {
        name: summed_by_arm([told_by.get(name, {}), told_again.get(name, {})])
        for name in (*told_by, *(name for name in told_again if name not in told_by))
    }
    environment = again.report.environment.model_copy(update={"spent": spent})
    return whole_report(reports).model_copy(update={"environment": environment})


class Change(NamedTuple):
    """One suite's new baseline beside the committed one. `entries`: the accepted losses that go with it."""

    now: Measurement
    before: Measurement | None
    path: str
    entries: Sequence[Entry]
    settings: SuiteSettings
    commit: str | None = None

    @property
    def lowered(self) -> list[Entry]:
        """The accepted losses among the entries: the cases that this change holds lower."""
        return [entry for entry in self.entries if entry.what == "case"]


def change_report(
    change: Change,
    metrics: Metrics,
    sources: Mapping[str, Source] | None = None,
    findings: Iterable[Finding] = (),
) -> SuiteReport:
    """The win/loss table of a refresh, as the report of a suite without a verdict.

    Only cases that both sides hold under the same label have a before and a now; the others are named as changes.
    """
    now, before, settings = change.now, change.before, change.settings
    found = [*unstable_findings(now), *_lowers(change), *findings]
    situation = Situation(())
    reference = None
    if before is not None:
        reference = BaselineRef(
            path=change.path,
            commit=change.commit,
            sha256=before.sha256(),
            cases_version=shown(before.cases_version),
        )
        situation = _situation(change, before, metrics)
        if not situation.arms and now.arms:
            text = "nothing of the committed baseline can be compared with this one: other cases, arms or settings"
            found.append(Finding(level=Level.WARNING, code="nothing-compared", text=text))
    else:
        text = f"there is no baseline that can be read at {change.path} yet; this is the first one"
        found.append(Finding(level=Level.NOTICE, code="first-baseline", text=text))
    return suite_report(
        now, settings, situation, Verdict.UNJUDGED, found, reference, metrics, Extras(sources=sources or {})
    )


def _situation(change: Change, before: Measurement, metrics: Metrics) -> Situation:
    now = change.now
    same = {
        name: label
        for name, label in before.cases.items()
        if name in now.cases and now.cases[name].sha256 == label.sha256
    }
    pages = page_changes(now.pages, before.pages)
    comparable = under(before, now.settings, metrics)
    known = baselines.score_names(now) & (baselines.score_names(comparable) if comparable else set())
    names = tuple(name for name in change.settings.policy.metrics if name in known)
    arms = {}
    if comparable is not None and names and same:
        context = Context(
            metrics=names,
            accepted={
                (entry.arm or "", entry.name): Excuse(entry.reason, entry.down_to) for entry in change.lowered
            },
            pages=pages,
        )
        arms = {
            name: compare_arm(name, arm, comparable.arms[name], same, context)
            for name, arm in now.arms.items()
            if name in comparable.arms
        }
    return Situation(
        (), arms, case_changes(now.cases, before.cases), pages, names or change.settings.policy.metrics
    )


def _lowers(change: Change) -> Iterator[Finding]:
    lowered = [f"{entry.name} ({entry.arm})" for entry in change.lowered]
    if lowered:
        yield Finding(
            level=Level.WARNING,
            code="baseline-lowers",
            cases=tuple(dict.fromkeys(entry.name for entry in change.lowered)),
            text=f"this baseline holds {plural(len(lowered), 'case')} lower than the committed one ({listed(lowered, 8)})",
        )

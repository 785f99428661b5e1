"""What a fork's own run measured, judged under the base's rules: its report and the base's files -> our report. Pure.

Of its numbers only the rankings count, scored again under the base's labels and settings. That they were measured truly
nobody can check, and the comment says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gate.absence import absence, empty_report
from gate.compare import case_changes
from gate.diagnosis import within
from gate.errors import InputError, Problem, did_you_mean
from gate.explain import plainly
from gate.github.artifact import LARGEST_SETTING, NAME_LIMIT, NAMED, REASON_LIMIT
from gate.harness import rescore
from gate.model.accepted import Entry
from gate.model.comparison import Pair
from gate.model.fingerprint import nfc, shown
from gate.model.frozen import EMPTY
from gate.model.measurement import ArmMeasurement, Measurement, Row
from gate.model.metric import Metrics
from gate.model.report import BaselineRef, Report, SuiteReport
from gate.model.verdict import Finding, Level, Verdict, decide, worst
from gate.model.wording import listed
from gate.report.flaky import flaky_findings
from gate.rescoring import covers
from gate.situation import APPROVAL_NEEDED, Run, Side, Situation, resolve
from gate.store import baselines
from gate.summary import Extras, measurement_of, suite_report

Policies = Callable[[Run, Situation], Iterable[Finding]]
"""What the base's policy finds."""


class Base(NamedTuple):
    """What the base says about its suites, and the commit that says it.

    `approved`: by suite the accepted losses that the change brings, where somebody with write access approved its head.
    """

    sides: Mapping[str, Side]
    commit: str
    approved: Mapping[str, tuple[Entry, ...]] = EMPTY


def judge(
    theirs: Report, base: Base, metrics: Metrics, policies: Mapping[str, Policies] = EMPTY
) -> tuple[SuiteReport, ...]:
    """Each suite of the base, judged from the rankings that the fork's run left. What else it left is only named."""
    measured = {suite.suite: suite for suite in theirs.suites}
    unknown = [name for name in measured if name not in base.sides]
    found: list[SuiteReport] = []
    for name, side in base.sides.items():
        more = [_unknown("suite", unknown)] if unknown and not found else []
        suite, approved = measured.get(name), base.approved.get(name, ())
        # A run that finds a suite of the base removed leaves a report of it without any arm.
        if suite is not None and suite.arms:
            found.append(_judged(suite, side, base.commit, metrics, policies.get(name), more, approved))
        else:
            found.append(_absent(name, side, approved, suite, more))
    return tuple(found)


def _judged(
    suite: SuiteReport,
    base: Side,
    commit: str,
    metrics: Metrics,
    policies: Policies | None,
    more: list[Finding],
    approved: tuple[Entry, ...],
) -> SuiteReport:
    theirs = measurement_of(suite)
    run, findings = _run(theirs, base, metrics)
    run = run._replace(
        again=_again(suite, run, metrics), head=base._replace(accepted=approved or base.accepted)
    )
    _check_metrics(base, metrics)
    situation = resolve(run, metrics)
    findings += flaky_findings(situation.arms, run.now.settings.k)
    found = [*situation.findings, *(policies(run, situation) if policies is not None else ())]
    findings += [*more, *(finding for finding in found if finding.code != APPROVAL_NEEDED)]
    findings += _claimed(suite.verdict, findings)
    findings += without_secrets(findings)
    ordered = sorted(findings, key=lambda finding: list(Level).index(finding.level))
    reference = None
    if base.baseline is not None:
        reference = BaselineRef(
            path=base.settings.baseline,
            commit=commit,
            sha256=base.baseline.sha256(),
            cases_version=shown(base.baseline.cases_version),
        )
    verdict = decide(ordered, judged=True)
    if base.baseline is not None and run.on_base is not None:
        told = plainly(
            situation.arms, run.on_base.arms, base.baseline.arms, corpus_changed=bool(situation.pages)
        )
        situation = replace(situation, arms=told)
    asked = [arm.diagnosis.unanswerable for arm in suite.arms.values() if arm.diagnosis is not None]
    extras = Extras(unanswerable=min(max(0, *asked, 0), LARGEST_SETTING))
    return suite_report(run.now, base.settings, situation, verdict, ordered, reference, metrics, extras)


def _again(suite: SuiteReport, run: Run, metrics: Metrics) -> dict[Pair, Row]:
    """The second measurements that the run left, under the base's labels and settings. No better known than the first."""
    if run.on_base is None:
        return {}
    labels, meaning = run.on_base.cases, run.on_base.settings
    found: dict[Pair, Row] = {}
    for name, arm in suite.arms.items():
        kept = run.on_base.arms[name].rows if name in run.on_base.arms else {}
        rows = {case: row for case, row in arm.again.items() if case in kept}
        found |= {(name, case): row for case, row in rescore(rows, labels, meaning, metrics).items()}
    return found


def without_secrets(findings: Iterable[Finding]) -> list[Finding]:
    """What a maintainer can do where arms were not measured in a run that GitHub gives no secrets."""
    arms = dict.fromkeys(finding.arm for finding in findings if finding.arm and finding.level in _UNMEASURED)
    if not arms:
        return []
    return [
        Finding(
            level=Level.NOTICE,
            code="no-secrets",
            text="GitHub gives no secrets to a run of a pull request from a fork or of Dependabot's, and "
            f"{', '.join(arms)} may need one",
            todo="Somebody with write access who has read the change can push its branch to this repository: there all "
            "of it is measured.",
        )
    ]


_UNMEASURED = (Level.NOT_MEASURED, Level.PARTIAL)


def _check_metrics(base: Side, metrics: Metrics) -> None:
    known = {metric.ROW for metric in metrics.values()}
    recorded = baselines.score_names(base.baseline) if base.baseline is not None else known
    for name in base.settings.policy.metrics:
        if name not in known or name not in recorded:
            what = f"the base's policy decides on {name!r}, of which there are no scores"
            raise InputError(Problem(base.settings.baseline, what, did_you_mean(name, known & recorded)))


def _run(theirs: Measurement, base: Side, metrics: Metrics) -> tuple[Run, list[Finding]]:
    """The fork's rankings over the base's cases, with the base's labels, kinds and settings."""
    trusted = base.baseline
    labels = trusted.cases if trusted is not None else theirs.cases
    meaning = base.settings.meaning
    same = theirs.settings == meaning
    possible = covers(theirs.settings, meaning)
    arms: dict[str, ArmMeasurement] = {}
    lacking: dict[str, None] = {}
    for name in base.settings.arms:
        arm = theirs.arms.get(name)
        if arm is None:
            continue
        asked = {
            case: label
            for case, label in labels.items()
            if case in theirs.cases and nfc(theirs.cases[case].query) == nfc(label.query)
        }
        failed = {case: arm.failed[case][:REASON_LIMIT] for case in asked if case in arm.failed}
        rows = {case: arm.rows[case] for case in asked if case in arm.rows and case not in failed}
        lacking |= dict.fromkeys(case for case in labels if case not in rows and case not in failed)
        arms[name] = ArmMeasurement(
            settings=arm.settings,
            rows=rescore(rows, labels, meaning, metrics) if possible else {},
            questions=within(arm.questions, meaning),
            unstable=tuple(case for case in arm.unstable if case in labels),
            failed=failed,
            failed_questions={
                case[:NAME_LIMIT]: reason[:REASON_LIMIT]
                for case, reason in list(arm.failed_questions.items())[:1000]
            },
        )
    now = Measurement(
        suite=theirs.suite,
        settings=meaning,
        cases_version=trusted.cases_version if trusted is not None else theirs.cases_version,
        qa_version=theirs.qa_version,
        corpus_version=theirs.corpus_version,
        cases=labels,
        pages=theirs.pages,
        arms=arms,
    )
    findings = [*_about_settings(theirs, base, same=same, possible=possible), *_about_cases(theirs, trusted)]
    if lacking and possible:
        findings.append(
            Finding(
                level=Level.INVALID,
                code="cases-lacking",
                cases=tuple(lacking),
                text=f"the run has no answer to {len(lacking)} of the base's {len(labels)} cases "
                f"({', '.join(list(lacking)[:NAMED])}{', ...' if len(lacking) > NAMED else ''})",
                todo="Bring them back; removing one is for a branch of this repository.",
            )
        )
    foreign = [name for name in theirs.arms if name not in base.settings.arms]
    if foreign:
        findings.append(_unknown("arm", foreign))
    # The base is both sides: nothing that the change brings along decides here.
    run = Run(suite=theirs.suite, head=base, now=now, on_base=now if possible else None, base=base)
    return run, findings


def _about_settings(theirs: Measurement, base: Side, *, same: bool, possible: bool) -> Iterator[Finding]:
    if same:
        return
    old, new = base.settings.meaning.model_dump(), theirs.settings.model_dump()
    said = ", ".join(f"{name} {old[name]} -> {new[name]}" for name in old if old[name] != new[name])
    if possible:
        yield Finding(
            level=Level.BANNER,
            code="settings-changed",
            text=f"the run was measured under other settings ({said}); it is scored again under the base's",
        )
    else:
        yield Finding(
            level=Level.INVALID,
            code="settings-not-comparable",
            text=f"the run was measured under other settings ({said}) and cannot be scored under the base's",
            todo="Change the split or the pool from a branch of this repository.",
        )


def _about_cases(theirs: Measurement, trusted: Measurement | None) -> Iterator[Finding]:
    changes = case_changes(theirs.cases, trusted.cases) if trusted is not None else None
    if changes:
        yield Finding(
            level=Level.BANNER,
            code="cases-changed",
            text=f"the pull request changes the cases ({_short(changes.added, 'added')}"
            f"{_short(changes.removed, 'removed')}{_short(changes.changed, 'changed')}".rstrip("; ")
            + "); here the base's decide",
        )


def _short(names: Sequence[str], word: str) -> str:
    if not names:
        return ""
    return f"{len(names)} {word}: {listed((name[:NAME_LIMIT] for name in names), NAMED)}; "


def _unknown(what: str, names: Sequence[str]) -> Finding:
    return Finding(
        level=Level.NOTICE,
        code=f"{what}-unknown",
        text=f"the run also measured what the base does not know, shown only by name: {_short(names, f'{what}s')[:-2]}",
    )


_LEVELS = {
    Verdict.INVALID: Level.INVALID,
    Verdict.NOT_MEASURED: Level.NOT_MEASURED,
    Verdict.REGRESSION: Level.REGRESSION,
    Verdict.PARTIAL: Level.PARTIAL,
}


def _claimed(verdict: Verdict, findings: Sequence[Finding]) -> Iterator[Finding]:
    """A run may call itself worse than what is found here, never better: a red check has no green comment."""
    own = decide(findings, judged=True)
    if verdict in _LEVELS and worst([verdict, own]) is verdict is not own:
        yield Finding(
            level=_LEVELS[verdict],
            code="run-says-so",
            text=f"the pull request's own run ended as {verdict.value.replace('_', ' ')}",
            todo="See its log; it also applies the rules that the pull request itself brings.",
        )


def _absent(
    name: str, base: Side, approved: Sequence[Entry], suite: SuiteReport | None, more: Sequence[Finding]
) -> SuiteReport:
    """A suite that the run did not measure. `suite`: what its own run said of that, where it said anything."""
    findings = [one for one in absence(name, base, approved) if one.code != APPROVAL_NEEDED]
    findings += _claimed(suite.verdict, findings) if suite is not None else ()
    return empty_report(name, base.settings, [*findings, *more])

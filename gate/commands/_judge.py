"""Measured suite -> findings, verdict and report: the situation, the policies, and what the base tree already lost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from gate.commands._again import Again, settle_claims, settle_losses
from gate.commands._already_lost import lost_on_base
from gate.commands._base_tree import BaseTree
from gate.commands._crosswise import explained
from gate.commands._drift import drifted
from gate.commands._gone import page_renames
from gate.commands._load import Suite, not_gated
from gate.commands._measure import Measured
from gate.commands._notices import notices
from gate.commands._out_of_reach import baseline_outside, config_moved
from gate.commands._project import Project
from gate.commands._shortened import shortened
from gate.commands._typed import typed_policy
from gate.commands.compare import incomplete
from gate.compare import Context, compare_arm
from gate.judged import with_unjudged
from gate.model.fingerprint import shown
from gate.model.measurement import ArmMeasurement, Measurement
from gate.model.metric import Metrics
from gate.model.report import BaselineRef, Source, SuiteReport
from gate.model.verdict import Finding, Level, Verdict, decide
from gate.model.wording import listed, plural
from gate.noise import doubted
from gate.renames import follow_renames, relabelled
from gate.report.behind import ahead_finding
from gate.report.flaky import flaky_findings
from gate.rescoring import within_both
from gate.situation import Run, Side, Situation, resolve, unmeasured
from gate.store import git
from gate.summary import NO_SITUATION, Extras, suite_report

_ORDER = list(Level)


def judge(
    project: Project,
    suite: Suite,
    measured: Measured,
    args: argparse.Namespace,
    against: Measurement | None,
    again: Again,
) -> SuiteReport:
    """The report of one suite. `against` stands in for the baseline where --against names one; `again` measures what
    is in doubt a second time.
    """
    run = _held(project, suite, measured, against)
    compares = run.trusted is not None or not (args.no_baseline or _other_split(args, suite))
    if compares:
        run = follow_renames(run, project.metrics)
        measured = _followed(measured, run, project.metrics)
        run, situation, findings = _compared(project, suite, run, measured, again)
        if against is not None:
            findings += incomplete(str(args.against), against)
        findings += _behind(project, args)
    else:
        situation, findings = NO_SITUATION, list(unmeasured(run))
    # Said once, with the lines and for every split and the QA gold; the situation only knows the evaluated cases.
    findings = [finding for finding in findings if finding.code != "labelled-page-gone"]
    findings = in_order([*findings, *notices(suite, measured, run, situation)])
    verdict = decide(findings, judged=compares and not _other_split(args, suite))
    if _other_split(args, suite) and verdict is Verdict.REGRESSION:
        verdict = Verdict.UNJUDGED
    return suite_report(
        run.now,
        suite.settings,
        situation,
        verdict,
        findings,
        baseline_ref(project, run, args) if compares else None,
        project.metrics,
        _extras(suite, measured, args)._replace(again=run.again),
    )


def _held(project: Project, suite: Suite, measured: Measured, against: Measurement | None) -> Run:
    """What was measured, and what it is held against."""
    head, base = suite.head, suite.base
    if against is not None:
        head, base = Side(suite.head.settings, against), None
    return Run(
        suite=suite.name,
        head=head,
        now=measured.now,
        on_base=measured.on_base,
        base=base,
        renames=doc_renames(project, suite),
        left_out=suite.left_out,
        base_has_config=project.base_settings is not None,
        against=against is not None,
        failed_again=failed_again(measured),
    )


def _compared(
    project: Project, suite: Suite, run: Run, measured: Measured, again: Again
) -> tuple[Run, Situation, list[Finding]]:
    """The situation with the causes of its losses, and all that it, the policies and the base's history find."""
    with closing(BaseTree(project, run)) as tree:
        run, situation, findings = _settled(project, run, measured, again, tree)
        situation = explained(project, suite, run, situation, tree)
    trusted = run.trusted
    if run.on_base is not None and trusted is not None:
        rejected, k = _rejected(suite), run.now.settings.k
        told = with_unjudged(situation.arms, run.on_base.arms, trusted.arms, trusted.cases, rejected, k)
        situation = replace(situation, arms=told)
    findings += policy_findings(project, suite, run, situation)
    findings += flaky_findings(situation.arms, run.now.settings.k)
    findings += [*config_moved(project), *baseline_outside(project, suite)]
    findings += shortened(project, suite, situation)
    if project.base is not None:
        findings += drifted(project.base, suite.name, run.rules, project.metrics)
    return run, situation, findings


def _rejected(suite: Suite) -> dict[str, tuple[str, ...]]:
    """Case -> the pages that were judged and rejected for it."""
    return {case.id: case.not_relevant for case in suite.cases.cases if case.not_relevant}


def _behind(project: Project, args: argparse.Namespace) -> Iterator[Finding]:
    """Where the base went on without this checkout. In the Action the base is what was merged, so it never did."""
    if project.base is not None and (commits := git.ahead(project.base)):
        yield ahead_finding(str(args.base), commits)


def _extras(suite: Suite, measured: Measured, args: argparse.Namespace) -> Extras:
    """What the report shows beside the comparison."""
    cases = suite.cases.cases
    return Extras(
        fields={case.id: case.fields for case in cases},
        slices=suite.settings.slices,
        sweep=getattr(args, "sweep", None) or (),
        unanswerable=measured.unanswerable,
        sources={case.id: Source(file=case.source, line=case.line) for case in cases if case.line},
        tied=measured.tied,
        traces=measured.traces,
        rejected=_rejected(suite),
        not_gated=not_gated(suite),
    )


def _settled(
    project: Project, run: Run, measured: Measured, again: Again, tree: BaseTree
) -> tuple[Run, Situation, list[Finding]]:
    """The situation once all that is in doubt was measured a second time, and what there is to say about it."""
    run = settle_claims(run, measured, again)
    situation = resolve(run, project.metrics)
    findings: list[Finding] = []
    trusted = run.trusted
    if trusted is not None and (losses := doubted(trusted, (situation.arms, situation.under_base))):
        run, failed = settle_losses(run, losses, measured, again)
        findings += failed
        situation = resolve(run, project.metrics)
    lost = lost_on_base(project, run, situation, tree)
    if lost:
        run = run._replace(already_lost=lost)
        situation = resolve(run, project.metrics)
    return run, situation, [*situation.findings, *findings]


def _followed(measured: Measured, run: Run, metrics: Metrics) -> Measured:
    """`measured` with its repetitions over the base's cases labelled as those of `run` are."""
    again = tuple(
        other._replace(on_base=relabelled(other.on_base, run.now.cases, run.followed, metrics))
        if other.on_base is not None
        else other
        for other in measured.again
    )
    return measured._replace(again=again)


def failed_again(measured: Measured) -> dict[str, ArmMeasurement]:
    """The arms that were complete the first time and failed in a repetition, as they were then."""
    found: dict[str, ArmMeasurement] = {}
    for other in measured.again:
        for side, first in ((other.now, measured.now), (other.on_base, measured.on_base)):
            for name, arm in side.arms.items() if side is not None and first is not None else ():
                if not arm.complete and measured.now.arms[name].complete:
                    found.setdefault(name, arm)
    return found


def _other_split(args: argparse.Namespace, suite: Suite) -> bool:
    """Whether a split other than the frozen test split was asked for: it is measured, never judged."""
    return bool(getattr(args, "split", None)) and suite.settings.split != "test"


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without repeats, the weightiest first."""
    unique = list({finding.model_dump_json(): finding for finding in findings}.values())
    return sorted(unique, key=lambda finding: _ORDER.index(finding.level))


def baseline_ref(project: Project, run: Run, args: argparse.Namespace) -> BaselineRef | None:
    trusted = run.trusted
    if trusted is None:
        return None
    from_git = project.base is not None and run.base is not None
    return BaselineRef(
        path=str(args.against) if getattr(args, "against", None) else run.rules.baseline,
        commit=project.base.commit if project.base is not None and from_git else None,
        sha256=trusted.sha256(),
        cases_version=shown(trusted.cases_version),
        committed=not run.against,
    )


def policy_findings(project: Project, suite: Suite, run: Run, situation: Situation) -> Iterator[Finding]:
    """What the base's policy finds, and what a stricter one in the change finds beyond it."""
    gated = [name for name in suite.settings.arms if suite.settings.arms[name].gate]
    uncompared = {
        # An absolute rule (a floor) judges an arm without a before as well; held against itself it lost nothing.
        name: compare_arm(name, arm, arm, run.now.cases, Context(metrics=situation.metrics))
        for name, arm in run.now.arms.items()
        if name not in situation.arms
    }
    sides = [run.rules.policy]
    if run.head.settings.policy != run.rules.policy:
        sides.append(run.head.settings.policy)
    for policy in sides:
        module, settings = typed_policy(policy, f"{project.config.shown} [suite.{suite.name}]", project.root)
        for name, comparison in {**uncompared, **situation.arms}.items():
            if name in gated and comparison.n:
                yield from module.judge(name, comparison, settings)
                yield from _moved_questions(name, comparison.question_moves, policy.diagnosis == "fail")
        for name, comparison in situation.under_base.items():
            if name in gated and comparison.n:
                fallen = _moved_questions(name, comparison.question_moves, policy.diagnosis == "fail")
                for finding in (*module.judge(name, comparison, settings), *fallen):
                    yield _under_base(finding, run)


def _under_base(finding: Finding, run: Run) -> Finding:
    """A regression that only the base's own settings show; the table beside it is under the new ones."""
    trusted = run.trusted
    assert trusted is not None
    meaning = within_both(trusted.settings, run.now.settings)
    said = ", ".join(f"{name} = {value}" for name, value in meaning.model_dump().items() if name != "split")
    text = f"{finding.text} under the base's own settings ({said})"
    return finding.model_copy(
        update={"code": f"{finding.code}-under-base", "text": text, "arm": None, "kind": None}
    )


def _moved_questions(arm: str, moves: Sequence[Any], fails: bool) -> Iterator[Finding]:
    worse = [move for move in moves if move.worse]
    if worse:
        said = listed((f"{move.id} {move.before} -> {move.after}" for move in worse), 8)
        yield Finding(
            level=Level.REGRESSION if fails else Level.WARNING,
            code="diagnosis-worse",
            arm=arm,
            text=f"{arm}: {plural(len(worse), 'QA question')} fell back ({said})",
        )


def doc_renames(project: Project, suite: Suite) -> dict[str, str]:
    """Old -> new doc_id of pages that git sees as renamed since the base."""
    known = suite.trusted.pages if suite.trusted is not None else ()
    return page_renames(project.base, suite.settings.corpus, suite.corpus, known)

"""gate compare: any two reports or baselines case by case, or several systems in one table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gate.commands import _flags

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gate.model.measurement import Measurement
    from gate.model.metric import Metrics
    from gate.model.report import ArmReport, SuiteReport
    from gate.model.settings import SuiteSettings
    from gate.model.verdict import Finding

HELP = "compare reports or baselines; the first one is the before"
EXAMPLES = """\
examples:
  gate compare before.json after.json
  gate compare baselines/orbit.json report.json --rule any-loss
  gate compare a.json b.json c.json     one table of all systems, each held against the first

exit codes: 0 nothing dropped; 1 a kind dropped; 2 the files cannot be compared (other cases, other settings); 3 a file
has cases that were not measured
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="reports or baselines; at least two")
    parser.add_argument(
        "--rule",
        choices=("any-drop", "any-loss"),
        default="any-drop",
        help="what decides (default: any-drop)",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    _flags.add_outputs(parser)


def guard(args: argparse.Namespace) -> AbstractContextManager[None]:
    """No output file of an earlier run outlives a run that fails."""
    from gate.commands import _output

    return _output.replacing(args)


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gate.commands import _output
    from gate.commands._project import load_metrics
    from gate.errors import InputError, Problem
    from gate.report import render
    from gate.store import reports
    from gate.summary import whole_report

    if len(args.files) < 2:
        raise InputError(
            Problem("gate compare", "needs at least two files", "Name the before first, then the after.")
        )
    metrics = load_metrics()
    files = [(name, reports.measurements(Path(name), name, metrics)) for name in args.files]
    suites = _common(files)
    compared = [
        _pair(suite, files[0], other, args.rule, metrics, named=len(files) > 2)
        for suite in suites
        for other in files[1:]
    ]
    report = whole_report(compared)
    if len(files) > 2 and "-" not in (args.json, args.markdown):
        for suite in suites:
            k = files[0][1][suite].settings.k
            table = render.compare_console(
                _systems(suite, files, metrics), k=k, colour=_output.colour(), title=suite
            )
            _output.emit(table + "\n")
    _output.write(args, report)
    return int(report.verdict.exit_code)


Files = Sequence[tuple[str, Mapping[str, "Measurement"]]]


def _common(files: Files) -> list[str]:
    """The suites of the first file that all files have, under the same cases and settings."""
    from gate.compare import case_changes
    from gate.errors import InputError, Problem, raise_all
    from gate.model.fingerprint import shown

    first_name, first = files[0]
    suites = [suite for suite in first if all(suite in other for _, other in files)]
    if not suites:
        raise InputError(
            Problem(
                ", ".join(name for name, _ in files), "have no suite in common", "Name files of one suite."
            )
        )
    problems = [
        Problem(name, f"has no suite '{suite}', which {first_name} has", "Compare files of the same suites.")
        for name, other in files[1:]
        for suite in first
        if suite not in other
    ]
    for suite in suites:
        before = first[suite]
        for name, other in files[1:]:
            now = other[suite]
            if now.settings != before.settings:
                old, new = before.settings.model_dump(), now.settings.model_dump()
                said = ", ".join(f"{key} {old[key]} -> {new[key]}" for key in old if old[key] != new[key])
                problems.append(
                    Problem(
                        name,
                        f"measured under other settings than {first_name} ({said})",
                        "Measure both alike.",
                    )
                )
            elif now.cases_version != before.cases_version:
                problems.append(
                    Problem(
                        name,
                        f"has {shown(now.cases_version)}, {first_name} has {shown(before.cases_version)} "
                        f"({case_changes(now.cases, before.cases)})",
                        "Measure both on the same cases.",
                    )
                )
    raise_all(problems)
    return suites


def _pair(
    suite: str,
    before: tuple[str, Mapping[str, Measurement]],
    after: tuple[str, Mapping[str, Measurement]],
    rule: str,
    metrics: Metrics,
    *,
    named: bool,
) -> SuiteReport:
    """One file against the first one, as a suite of the report."""
    from gate.commands._typed import typed_policy
    from gate.compare import Context, compare_arm, page_changes
    from gate.model.fingerprint import shown
    from gate.model.report import BaselineRef
    from gate.model.verdict import decide
    from gate.situation import Run, Side, Situation, unmeasured
    from gate.summary import Extras, suite_report

    was, now = before[1][suite], after[1][suite]
    settings = _settings(now, rule)
    pairs = _arms(was, now)
    context = Context(pages=page_changes(now.pages, was.pages))
    arms = {name: compare_arm(name, now.arms[name], was.arms[old], was.cases, context) for old, name in pairs}
    run = Run(suite, Side(settings), now)
    module, policy = typed_policy(settings.policy, "--rule", None)
    findings = [*unmeasured(run), *incomplete(before[0], was), *_unpaired(was, now, pairs)]
    findings += [
        finding for name, arm in arms.items() if arm.n for finding in module.judge(name, arm, policy)
    ]
    situation = Situation((), arms, pages=context.pages)
    report = suite_report(
        now,
        settings,
        situation,
        decide(findings, judged=True),
        findings,
        BaselineRef(
            path=before[0],
            sha256=was.sha256(),
            cases_version=shown(was.cases_version),
            committed=False,
        ),
        metrics,
        Extras(),
    )
    return report.model_copy(update={"suite": f"{suite} ({after[0]})"}) if named else report


def incomplete(name: str, reference: Measurement) -> Iterator[Finding]:
    """Cases that the reference itself did not measure: nothing of them can be compared, and that is no pass."""
    from gate.model.verdict import Finding, Level

    for arm_name, arm in reference.arms.items():
        failed = {**arm.failed, **arm.failed_questions}
        if failed:
            yield Finding(
                level=Level.NOT_MEASURED,
                code="reference-not-measured",
                arm=arm_name,
                cases=tuple(failed),
                text=f"{name} did not measure {len(failed)} queries of the arm '{arm_name}' (first '{next(iter(failed))}')",
                todo="Measure it again.",
            )


def _settings(measurement: Measurement, rule: str) -> SuiteSettings:
    from gate.model.settings import OpenArmSettings, OpenPolicySettings, SuiteSettings

    return SuiteSettings(
        corpus="(from a file)",
        cases=("(from a file)",),
        baseline="(from a file)",
        arms={
            name: OpenArmSettings(type=str(arm.settings.get("type", "recorded")))
            for name, arm in measurement.arms.items()
        },
        policy=OpenPolicySettings(rule=rule),
        **measurement.settings.model_dump(),
    )


def _arms(before: Measurement, now: Measurement) -> list[tuple[str, str]]:
    """(arm before, arm now): those of one name; where each file has a single arm, these two whatever their names."""
    if len(before.arms) == len(now.arms) == 1:
        return [(next(iter(before.arms)), next(iter(now.arms)))]
    return [(name, name) for name in now.arms if name in before.arms]


def _unpaired(before: Measurement, now: Measurement, pairs: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """What one file has and the other has not: nothing of it was compared, and that is no pass."""
    from gate.model.verdict import Finding, Level

    for name in before.arms.keys() - {old for old, _ in pairs}:
        yield Finding(
            level=Level.INVALID,
            code="arm-absent",
            arm=name,
            text=f"the arm '{name}' is only in the first file",
        )
    for name in now.arms.keys() - {new for _, new in pairs}:
        yield Finding(
            level=Level.NOTICE, code="arm-new", arm=name, text=f"the arm '{name}' is not in the first file"
        )


def _systems(suite: str, files: Files, metrics: Metrics) -> list[tuple[str, ArmReport]]:
    """Every arm of every file, under the file's name."""
    from gate.model.settings import ArmSettings
    from gate.summary import Extras, arm_report

    systems = []
    for file, measurements in files:
        one = measurements[suite]
        for name, arm in one.arms.items():
            label = file if len(one.arms) == 1 else f"{file}: {name}"
            settings = ArmSettings(type=str(arm.settings.get("type", "recorded")))
            systems.append((label, arm_report(arm, settings, one.cases, one.settings, metrics, Extras())))
    return systems

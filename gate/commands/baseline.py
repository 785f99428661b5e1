"""gate baseline: record what is measured now as the committed baseline, and a reason for every case it lowers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.commands._load import Suite
    from gate.commands._pipeline import Outcome
    from gate.commands._project import Project
    from gate.commands._recording import Held
    from gate.model.measurement import Measurement

HELP = "record the baseline, with a reason for every case it lowers"
EXAMPLES = """\
examples:
  gate baseline                         every suite of gate.toml
  gate baseline orbit                   one suite
  gate baseline orbit --reason "pages on 2.x were retired"
  gate baseline --repeat 3              measure three times, and record the cases that move as unstable
  gate baseline --from-report report.json      take what a run in CI measured

A case that would score lower than in the baseline of the base (--base, else the commit that is checked out, else the
file) needs --reason; it is written to baselines/<suite>.accepted.toml, where a reviewer reads it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="SUITE", nargs="*", help="the suites to record (default: all)")
    _flags.add_config(parser)
    _flags.add_repeat(parser)
    parser.add_argument("--reason", metavar="TEXT", default=None, help="why cases are lowered, in one line")
    parser.add_argument(
        "--base", metavar="REF", default=None, help="the commit whose baseline lowered cases are told from"
    )
    parser.add_argument(
        "--from-report",
        metavar="FILE",
        default=None,
        help="take a report or candidate baseline instead of measuring",
    )
    _flags.add_generate(parser)


def run(args: argparse.Namespace) -> int:
    from gate.commands import _output
    from gate.commands._project import open_project
    from gate.commands._recording import prepare
    from gate.errors import InputError, Problem
    from gate.model.accepted import one_line

    if args.reason is not None:
        try:
            one_line(args.reason)
        except ValueError as fault:
            raise InputError(Problem("--reason", str(fault), "Say why in one sentence.")) from None
    args.suite = [*(args.suite or []), *args.name] or None
    reference, args.base = args.base, None
    project = open_project(args)
    held = _held_against(args, project, reference)
    if args.from_report:
        fresh, suites = _recorded(args, project), _loaded(args, project)
        over_base: dict[str, Measurement | None] = dict.fromkeys(fresh)
    else:
        outcome = measure_whole(args, held)
        fresh = {name: measured.now for name, measured in outcome.measured.items()}
        over_base = {name: measured.on_base for name, measured in outcome.measured.items()}
        suites = outcome.suites
    once = args.repeat == 1 and not args.from_report
    writes = [
        prepare(project, suites[name], now, over_base[name], held[name], args.reason, once=once)
        for name, now in fresh.items()
    ]
    problems = [problem for write in writes for problem in write.problems]
    if problems:
        raise InputError(problems)
    for write in writes:
        write.commit()
        _output.emit(write.said)
    return 0


def _held_against(args: argparse.Namespace, project: Project, reference: str | None) -> dict[str, Held]:
    from gate.commands._project import open_project, select_suites
    from gate.commands._recording import Held, reference_of
    from gate.errors import InputError

    try:
        based = open_project(argparse.Namespace(**{**vars(args), "base": reference or "HEAD"}))
        base, rules = based.base, based.base_settings
    except InputError:
        if reference:
            raise
        base, rules = None, None
    return {
        name: Held(
            *reference_of(project, name, reference),
            base,
            rules.suite.get(name) if rules is not None else None,
            bool(reference),
        )
        for name in select_suites(project, _flags.wanted_suites(args))
    }


def _loaded(args: argparse.Namespace, project: Project) -> dict[str, Suite]:
    from gate.commands._pipeline import load_all

    args.no_baseline, args.against, args.split, args.arm = True, None, None, None
    return load_all(project, args)[0]


def measure_whole(args: argparse.Namespace, held: Mapping[str, Held] | None = None) -> Outcome:
    """Measure the suites afresh, and the cases of the baselines that they are held against.

    A baseline is only recorded from a whole measurement, and while every label names a page that is there.
    """
    from gate.commands._gone import gone_labels_of, refused
    from gate.commands._pipeline import execute
    from gate.commands._recording import NOTHING
    from gate.errors import NotMeasuredError, Problem, raise_all
    from gate.model.verdict import Level

    args.no_baseline, args.against, args.split, args.arm = True, None, None, None
    before = {name: one.before for name, one in (held or {}).items() if one.before is not None}

    def sound(suites: Mapping[str, Suite]) -> None:
        raise_all(
            [
                problem
                for name, suite in suites.items()
                for problem in refused(gone_labels_of(suite), (held or {}).get(name, NOTHING).renames(suite))
            ]
        )

    outcome = execute(args, before, sound)
    failed = [
        Problem(
            f"suite '{suite.suite}'",
            finding.text,
            "A baseline needs every case measured; nothing was written.",
        )
        for suite in outcome.report.suites
        for finding in suite.findings
        if finding.level in (Level.NOT_MEASURED, Level.PARTIAL)
    ]
    if failed:
        raise NotMeasuredError(failed)
    return outcome


def _recorded(args: argparse.Namespace, project: Project) -> dict[str, Measurement]:
    """The measurements of a report file, for the suites that were asked for."""
    from pathlib import Path

    from gate.commands._project import select_suites
    from gate.errors import InputError, Problem
    from gate.store import reports

    found = reports.measurements(Path(args.from_report), args.from_report, project.metrics)
    wanted = (
        select_suites(project, args.suite)
        if args.suite
        else [n for n in project.config.settings.suite if n in found]
    )
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        raise InputError(
            Problem(
                args.from_report,
                f"has no suite {', '.join(map(repr, missing)) or 'of this gate.toml'}",
                "Name another file.",
            )
        )
    broken = [name for name in wanted if not all(arm.complete for arm in found[name].arms.values())]
    if broken:
        raise InputError(
            Problem(
                args.from_report, f"did not measure every case of {', '.join(broken)}", "Measure again first."
            )
        )
    other = [n for n in wanted if found[n].settings != project.config.settings.suite[n].meaning]
    if other:
        raise InputError(
            Problem(
                args.from_report,
                f"measured {', '.join(other)} under other settings than gate.toml",
                "Measure again.",
            )
        )
    return {name: found[name] for name in wanted}

"""gate run: measure every suite, compare with the baseline, say what broke, and exit with the verdict's code."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gate.commands import _flags

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gate.commands._pipeline import Outcome

HELP = "measure, compare with the baseline, and exit with the verdict"
EXAMPLES = """\
examples:
  gate run                              every suite of the nearest gate.toml
  gate run --base origin/main           as a pull request is judged: the base's baseline, under its rules
  gate run --sweep 1,3,5,10             the same cases at several k
  gate run --repeat 3                   which cases move between identical runs of a noisy retriever
  gate run --split dev --no-baseline    tune on the dev split; nothing is judged
  gate run --json report.json --markdown comment.md --html report.html

exit codes: 0 pass, partial or unjudged; 1 regression; 2 invalid input; 3 not measured
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _flags.add_measuring(parser)
    _flags.add_repeat(parser)
    parser.add_argument(
        "--sweep", metavar="K,K,...", type=ks, default=(), help="also show every metric at these k"
    )
    parser.add_argument(
        "--html", metavar="FILE", default=None, help="write the report as one HTML page that needs no network"
    )
    parser.add_argument(
        "--trec", metavar="FOLDER", default=None, help="write TREC runs and qrels into this folder"
    )
    _flags.add_generate(parser)


def ks(text: str) -> tuple[int, ...]:
    """`1,3,5` -> (1, 3, 5); every k is a whole number from 1 on."""
    try:
        values = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        values = ()
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(
            f"not a list of whole numbers from 1 on ({text!r}), for example 1,3,5,10"
        )
    return values


def guard(args: argparse.Namespace) -> AbstractContextManager[None]:
    """No output file of an earlier run outlives a run that fails."""
    from gate.commands import _output

    return _output.replacing(args)


def run(args: argparse.Namespace) -> int:
    from gate.commands import _output
    from gate.commands._pipeline import execute
    from gate.commands._templates import overrides

    outcome = execute(args)
    with overrides(outcome.project, outcome.suites) as folders:
        _output.write(args, outcome.report, folders)
    if args.html:
        from gate.commands._html import write_page

        write_page(args.html, outcome, outcome.against)
    if args.json and args.json != "-":
        write_candidates(args.json, outcome)
    if args.trec:
        from pathlib import Path

        from gate.store import trec

        for measured in outcome.measured.values():
            trec.export(Path(args.trec), measured.now)
    return int(outcome.report.verdict.exit_code)


def write_candidates(report: str, outcome: Outcome) -> None:
    """Where the cases changed and the baseline did not, the baseline this run would record, beside the report."""
    from pathlib import Path

    from gate.store import baselines

    for suite in outcome.report.suites:
        if any(finding.code == "cases-changed" for finding in suite.findings):
            now = outcome.measured[suite.suite].now
            if all(arm.complete for arm in now.arms.values()):
                path = Path(report).with_suffix(f".{suite.suite}.baseline.json")
                baselines.write(path, now, str(path))

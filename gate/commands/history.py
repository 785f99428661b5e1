"""gate history: how each kind did in every committed version of the baseline, and which commits moved it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.commands._project import Project
    from gate.model.history import History

HELP = "show every committed version of the baseline: each kind over time, and the commits that moved it"
EXAMPLES = """\
examples:
  gate history                       the newest 50 versions on this branch
  gate history --ref origin/main --metric mrr
  gate history --limit 500 --json history.json

exit codes: 0 shown; 2 no git repository, no such suite, or no version of the baseline
"""
LIMIT = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _flags.add_config(parser)
    parser.add_argument("--ref", metavar="REF", default="HEAD", help="the branch or commit to walk back from")
    parser.add_argument(
        "--limit", metavar="N", type=at_least_one, default=LIMIT, help=f"how many versions ({LIMIT})"
    )
    parser.add_argument("--metric", metavar="NAME", default="recall", help="the metric of the means (recall)")
    parser.add_argument(
        "--json", metavar="FILE", default=None, help="write it as JSON ('-': standard output)"
    )


def at_least_one(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a whole number from 1 on ({text!r})")
    return int(text)


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gate.commands import _output
    from gate.commands._project import open_project, select_suites
    from gate.report.history import lines
    from gate.store import canonical

    _output.check_targets(args)
    project = open_project(args)
    found = [
        read_history(project, name, args.ref, args.limit, args.metric)
        for name in select_suites(project, _flags.wanted_suites(args))
    ]
    if args.json:
        text = canonical.dumps({"suites": [one.as_json() for one in found]}, sort=False)
        if args.json == "-":
            _output.emit(text)
        else:
            canonical.write_text(Path(args.json), text, args.json)
    if args.json != "-":
        _output.emit("\n\n".join("\n".join(lines(one)) for one in found) + "\n")
    return 0


def read_history(project: Project, suite: str, ref: str, limit: int, metric: str) -> History:
    """The versions of one suite's baseline on `ref`, read through git."""
    from gate.errors import InputError, Problem, did_you_mean
    from gate.history import Recorded, trace
    from gate.model.history import History
    from gate.store import baselines, git

    settings = project.config.settings.suite[suite]
    # People write the mean's name (mrr); rows hold the case's (rr).
    rows = {name.replace("-", "_"): one.ROW for name, one in project.metrics.items()}
    rows |= {row: row for row in rows.values()}
    if metric not in rows:
        raise InputError(Problem(f"--metric {metric}", "no such metric", did_you_mean(metric, rows)))
    base = git.open_base(project.root, ref)
    versions = git.versions(base, settings.baseline, limit + 1)
    if not versions:
        what = f"no commit of {ref} has {settings.baseline}"
        raise InputError(Problem(f"gate history {suite}", what, "Commit a baseline first: 'gate baseline'."))
    recorded = []
    for version in reversed(versions[:limit]):
        try:
            text = base._replace(commit=version.commit).read(settings.baseline)
            measurement = (
                baselines.parse(text, settings.baseline, suite, project.metrics) if text is not None else None
            )
            recorded.append(
                Recorded(*version, measurement, None if text is not None else "the file was removed")
            )
        except InputError as fault:
            recorded.append(Recorded(*version, None, fault.problems[0].what))
    return History(
        suite=suite,
        baseline=settings.baseline,
        metric=rows[metric],
        k=settings.k,
        entries=trace(recorded, rows[metric]),
        cut=git.is_shallow(base.top),
        more=len(versions) > limit,
    )

"""gate baseline: record what is measured now as the committed baseline, and a reason for every case it lowers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.commands._load import Project
    from gate.commands._pipeline import Outcome
    from gate.errors import Problem
    from gate.model.accepted import Entry
    from gate.model.measurement import Measurement
    from gate.model.metric import Metrics
    from gate.model.settings import SuiteSettings

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
    from gate.commands._load import open_project
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
    if args.from_report:
        fresh = _recorded(args, project)
    else:
        fresh = {name: measured.now for name, measured in measure_whole(args).measured.items()}
    once = args.repeat == 1 and not args.from_report
    writes = [_prepare(project, name, now, reference, args.reason, once) for name, now in fresh.items()]
    problems = [problem for write in writes for problem in write.problems]
    if problems:
        raise InputError(problems)
    for write in writes:
        write.commit()
        _output.emit(write.said)
    return 0


def measure_whole(args: argparse.Namespace) -> Outcome:
    """Measure the suites afresh. A baseline is only recorded from a whole measurement."""
    from gate.commands._pipeline import execute
    from gate.errors import NotMeasuredError, Problem
    from gate.model.verdict import Level

    args.no_baseline, args.against, args.split, args.arm = True, None, None, None
    outcome = execute(args)
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

    from gate.commands._load import select_suites
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


class _Write:
    """One suite's files, ready to be written, or the problems that forbid it."""

    def __init__(self, project: Project, name: str, now: Measurement) -> None:
        self.problems: list[Problem] = []
        self.said = ""
        self.entries: tuple[Entry, ...] | None = None
        self._project, self._name, self._now = project, name, now

    @property
    def settings(self) -> SuiteSettings:
        return self._project.config.settings.suite[self._name]

    def commit(self) -> None:
        from gate.commands._load import inside
        from gate.store import accepted, baselines, canonical

        root, shown = self._project.root, self.settings.baseline
        baselines.write(inside(root, shown), self._now, shown)
        if self.entries is not None:
            beside = accepted.path_beside(shown)
            path = inside(root, beside)
            if self.entries:
                canonical.write_text(path, accepted.dumps(self.entries), beside)
            else:
                path.unlink(missing_ok=True)


def _prepare(
    project: Project, name: str, now: Measurement, reference: str | None, reason: str | None, once: bool
) -> _Write:
    """`once`: the suite was measured a single time, which cannot tell what is unstable."""
    from gate.noise import carried
    from gate.store.accepted import path_beside

    before, recorded, others = reference_of(project, name, reference)
    if once and before is not None:
        now = carried(now, before)
    write = _Write(project, name, now)
    shown = write.settings.baseline
    entries, unexplained = explained(now, before, recorded, reason, project.metrics)
    if unexplained:
        write.problems.append(
            would_lower(shown, unexplained, f'Say why: gate baseline {name} --reason "..."')
        )
        return write
    if entries or recorded:
        # Written anew: an entry against this very baseline whose loss was undone must not excuse a later one.
        write.entries = (*entries, *others)
        losses = sum(entry.what == "case" for entry in entries)
        count = f"{losses} accepted loss{'es' if losses != 1 else ''}"
        write.said = f"{'wrote' if write.entries else 'removed'} {path_beside(shown)}: {count}\n"
    write.said = f"wrote {shown}: {_summary(now, before)}\n{_unstable(now, once)}{write.said}"
    return write


def would_lower(shown: str, pairs: Sequence[tuple[str, str]], todo: str) -> Problem:
    """Cases that a new baseline would hold lower although nobody said why."""
    from gate.errors import Problem

    said = ", ".join(f"{case} ({arm})" for arm, case in pairs[:8])
    more = ", ..." if len(pairs) > 8 else ""
    return Problem(
        shown, f"{len(pairs)} case{'s' if len(pairs) > 1 else ''} would be lowered: {said}{more}", todo
    )


def explained(
    now: Measurement,
    before: Measurement | None,
    recorded: Sequence[Entry],
    reason: str | None,
    metrics: Metrics,
) -> tuple[tuple[Entry, ...], list[tuple[str, str]]]:
    """All entries of the accepted file beside the new baseline, and the (arm, case) pairs that nothing explains.

    `recorded`: the entries already written against `before`. A reason given there stays where it still covers the loss.
    """
    from gate.model.accepted import Entry

    kept = {(entry.arm or "", entry.name): entry for entry in recorded if entry.what == "case"}
    lowered = lowered_cases(now, before, metrics) if before is not None else {}
    entries, unexplained = [], []
    for (arm, case), scores in sorted(lowered.items()):
        assert before is not None
        covered = _covered(kept.get((arm, case)), scores)
        why = kept[arm, case].reason if covered else reason
        if why is None:
            unexplained.append((arm, case))
            continue
        entries.append(
            Entry(
                what="case",
                name=case,
                arm=arm,
                reason=why,
                case_sha256=before.cases[case].sha256,
                baseline_sha256=before.sha256(),
                down_to=dict(scores),
            )
        )
    return (*entries, *(entry for entry in recorded if entry.what != "case")), unexplained


def _summary(now: Measurement, before: Measurement | None) -> str:
    from gate.compare import case_changes
    from gate.model.fingerprint import shown

    text = f"{shown(now.cases_version)}, {len(now.arms)} arm{'s' if len(now.arms) != 1 else ''}"
    changes = case_changes(now.cases, before.cases) if before is not None else None
    return f"{text} ({changes})" if changes else text


def _unstable(now: Measurement, once: bool) -> str:
    """What the baseline records as unstable, a line for each arm."""
    lines = []
    for name, arm in now.arms.items():
        if arm.unstable:
            known = ", known from the last one ('--repeat 3' finds out anew)" if once else ""
            more = ", ..." if len(arm.unstable) > 8 else ""
            lines.append(
                f"  {name}: {len(arm.unstable)} unstable{known}: {', '.join(arm.unstable[:8])}{more}\n"
            )
    return "".join(lines)


def lowered_cases(
    now: Measurement, before: Measurement, metrics: Metrics
) -> dict[tuple[str, str], dict[str, float]]:
    """(arm, case) -> its score now on every metric on which it fell, for cases that both hold under the same labels.

    Where k or context changed, the earlier rows are scored again first: another meaning is no loss.
    """
    from gate.harness import rescore
    from gate.model.comparison import DUST

    found = {}
    again_possible = before.settings != now.settings and before.settings.pool >= now.settings.pool
    for arm, recorded in before.arms.items():
        if arm not in now.arms:
            continue
        rows = recorded.rows
        if again_possible:
            rows = rescore(recorded.rows, before.cases, now.settings, metrics)
        for case, row in rows.items():
            same = case in now.cases and now.cases[case].sha256 == before.cases[case].sha256
            again = now.arms[arm].rows.get(case)
            if not same or again is None:
                continue
            fallen = {m: again.scores[m] for m, v in row.scores.items() if again.scores.get(m, v) - v < -DUST}
            if fallen:
                found[arm, case] = fallen
    return found


def _covered(entry: Entry | None, scores: Mapping[str, float]) -> bool:
    """Whether an entry written earlier already accepts scores as low as these."""
    from gate.model.comparison import DUST

    if entry is None:
        return False
    return not entry.down_to or all(
        metric in entry.down_to and score >= entry.down_to[metric] - DUST for metric, score in scores.items()
    )


def reference_of(
    project: Project, name: str, reference: str | None
) -> tuple[Measurement | None, tuple[Entry, ...], tuple[Entry, ...]]:
    """The baseline that lowered cases are told from, the entries already written against it, and the others.

    The others were written against another baseline, such as the base branch's once a first refresh is committed
    here. They are kept: only a run against that base can tell whether they still count.

    --base, else the commit that is checked out, else the file: a second refresh on one branch must not forget what
    the first one lowered. A file that cannot be read any more is no reference; it is about to be replaced.
    """
    from gate.commands._load import inside
    from gate.errors import InputError
    from gate.store import accepted, baselines, git
    from gate.store.text import is_there, read_text

    shown = project.config.settings.suite[name].baseline
    base = git.open_base(project.root, reference) if reference else git.head(project.root)
    try:
        text = base.read(shown) if base is not None else None
        if text is None and is_there(project.root / shown):
            text = read_text(inside(project.root, shown), shown)
        before = baselines.parse(text, shown, name, project.metrics) if text is not None else None
    except InputError:
        if reference:
            raise
        before = None
    beside = accepted.path_beside(shown)
    entries: tuple[Entry, ...] = ()
    if is_there(project.root / beside):
        entries = accepted.parse(read_text(inside(project.root, beside), beside), beside)
    digest = before.sha256() if before is not None else ""
    valid = tuple(entry for entry in entries if entry.baseline_sha256 == digest)
    return before, valid, tuple(entry for entry in entries if entry not in valid)

"""gate check: everything that can be wrong before anything is measured."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gate.commands import _flags

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gate.commands._load import Suite
    from gate.model.case import Case
    from gate.model.measurement import Measurement

HELP = "lint config, corpus, cases, QA gold and baselines without measuring"
EXAMPLES = """\
examples:
  gate check                      all suites
  gate check --suite orbit --json -

exit codes: 0 nothing wrong; 2 something is, all of it is listed
"""


# The kinds that every document of this project uses.
WELL_KNOWN = ("exact_term", "semantic", "multi_hop")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _flags.add_config(parser)
    parser.add_argument(
        "--json", metavar="FILE", default=None, help="write the findings as JSON ('-': standard output)"
    )


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gate.commands import _output
    from gate.commands._pipeline import load_all
    from gate.commands._project import open_project
    from gate.errors import InputError
    from gate.model.wording import plural
    from gate.report.escape import terminal
    from gate.store import canonical

    _output.check_targets(args)
    value: dict[str, Any] = {"problems": [], "suites": {}}
    fault: InputError | None = None
    try:
        project = open_project(args)
        suites, _ = load_all(project, args)
        value["suites"] = {name: describe(suite, project.root) for name, suite in suites.items()}
    except InputError as found:
        fault = found
        value["problems"] = [{"where": p.where, "what": p.what, "todo": p.todo} for p in found.problems]
    if args.json == "-":
        _output.emit(canonical.dumps(value, sort=False))
    elif args.json:
        canonical.write_text(Path(args.json), canonical.dumps(value, sort=False), args.json)
    if fault is not None:
        raise fault
    if args.json != "-":
        for name, one in value["suites"].items():
            kinds = ", ".join(f"{kind} {n}" for kind, n in one["kinds"].items())
            others = "".join(
                f"; {plural(n, 'case')} in {split} not gated" for split, n in one["not_gated"].items()
            )
            _output.emit(
                f"{name}: ok. {plural(one['pages'], 'page')}, {plural(one['cases'], 'case')} in {one['split']} "
                f"gated ({terminal(kinds)}){others}\n"
            )
            for text in one["notices"]:
                _output.emit(f"  {terminal(text)}\n")
    return 0


def describe(suite: Suite, root: Path) -> dict[str, Any]:
    """Counts, and what is worth a second look although nothing is wrong."""
    from collections import Counter

    from gate.commands._gone import gone_labels_of
    from gate.commands._load import not_gated
    from gate.commands._measure import label
    from gate.compare import case_changes
    from gate.labelling.lint import lint, shallow
    from gate.model.report import SMALL_SAMPLE
    from gate.model.wording import plural

    kinds = Counter(case.kind for case in suite.cases.cases)
    notices = [*suite.cases.notices, *kind_hints(suite.cases.all_cases, suite.trusted)]
    if gone := gone_labels_of(suite):
        notices += [f"{label.where}: {label.said}, a page that is gone" for label in gone]
        notices.append(
            f"{plural(len(gone), 'label')} to change or remove before a merge: until then each is measured as missing, and "
            f"'gate baseline {suite.name}' refuses"
        )
    notices += [
        f"the kind '{kind}' has {n} case{'s' if n != 1 else ''} in this split: too few to read much into"
        for kind, n in sorted(kinds.items())
        if n < SMALL_SAMPLE
    ]
    if suite.trusted is None:
        notices.append(
            f"no baseline at {suite.settings.baseline}: record one with 'gate baseline {suite.name}'"
        )
    else:
        changes = case_changes({case.id: label(case) for case in suite.cases.cases}, suite.trusted.cases)
        if changes:
            notices.append(
                f"the cases differ from the baseline's ({changes}): refresh with 'gate baseline {suite.name}'"
            )
    notices += lacks(suite, root)
    notices += shallow(suite.cases.headers, suite.settings.k)
    notices += lint(suite.cases.all_cases, suite.corpus.pages, suite.trusted)
    return {
        "pages": len(suite.corpus.pages),
        "cases": len(suite.cases.cases),
        "split": suite.settings.split,
        "not_gated": not_gated(suite),
        "kinds": dict(sorted(kinds.items())),
        "questions": None if suite.questions is None else len(suite.questions),
        "notices": notices,
    }


def lacks(suite: Suite, root: Path) -> Iterator[str]:
    """What this machine does not have, and an arm needs: no fault of the settings, so only a notice."""
    from gate import registry

    for name, settings in suite.arms.items():
        if ":" not in settings.type:
            lacking = getattr(registry.load("arms", settings.type, suite.name), "lacking", None)
            for said in lacking(settings, root) if lacking is not None else ():
                yield f"arm '{name}': {said.rstrip('.')}. Here it would not be measured"


def kind_hints(cases: Sequence[Case], trusted: Measurement | None) -> list[str]:
    """Kinds that look like a typo of another: a rare one beside a common or well-known one of nearly the same name."""
    from collections import Counter

    from gate.errors import nearest

    counts = Counter(case.kind for case in cases)
    recorded = set(trusted.kinds if trusted is not None else ())
    found = []
    for kind, n in counts.items():
        if kind in WELL_KNOWN or kind in recorded:
            continue
        common = {other for other, many in counts.items() if other != kind and many > n}
        near = nearest(kind, sorted({*common, *recorded, *WELL_KNOWN}))
        if near is not None:
            first = next(case for case in cases if case.kind == kind)
            found.append(
                f"{first.source}:{first.line}: case '{first.id}' has the kind '{kind}', as {n} of {len(cases)} have. "
                f"Did you mean '{near}'?"
            )
    return found

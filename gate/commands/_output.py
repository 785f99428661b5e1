"""Where a report goes: the terminal, --json, --markdown. `-` is standard output, which then carries nothing else."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from gate.errors import GateError, InputError, Problem

if TYPE_CHECKING:
    from gate.model.report import Report


def colour() -> bool:
    """Colour only on a terminal, and never against NO_COLOR or a dumb terminal."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def emit(text: str) -> None:
    """Write to standard output. A reader that went away (`gate run | head`) must not change the exit code."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered goes nowhere, so that Python does not complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    """Say on standard error what did not keep the command from its work."""
    from gate.arms._process import quiet

    print(f"warning: {quiet(text)}", file=sys.stderr)


def check_targets(args: argparse.Namespace) -> None:
    """Refuse before measuring what could not be written after it."""
    targets = {flag: target for flag in ("json", "markdown", "html") if (target := getattr(args, flag, None))}
    for one, other in combinations(targets, 2):
        if os.path.normpath(targets[one]) == os.path.normpath(targets[other]):
            what = "both want standard output" if targets[one] == "-" else "both want the same file"
            raise InputError(
                Problem(f"--{one}, --{other} {targets[one]}", what, "Give each a file of its own.")
            )
    if targets.get("html") == "-":
        raise InputError(Problem("--html -", "a page does not go to standard output", "Name a file."))
    folder = getattr(args, "trec", None)
    if folder and Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(Problem(f"--trec {folder}", "is a file", "Name a folder."))
    for flag, target in targets.items():
        if target == "-":
            continue
        path = Path(target)
        if path.is_dir():
            raise InputError(Problem(f"--{flag} {target}", "is a folder", "Name a file."))
        if not path.parent.is_dir():
            raise InputError(Problem(f"--{flag} {target}", "its folder does not exist", "Create it first."))
        if path.is_file() and not _is_ours(path):
            raise InputError(
                Problem(
                    f"--{flag} {target}",
                    "is there already and is no report",
                    "Name another file, or remove it first.",
                )
            )


@contextmanager
def replacing(args: argparse.Namespace) -> Iterator[None]:
    """Around what makes the outputs of `args`: where it fails, no file may go on telling of an earlier run.

    The Markdown file then tells of the fault, as a comment of the Action does. What would be read by programs goes: a
    report of nothing would be one more thing for each of them to know.
    """
    check_targets(args)
    try:
        yield
    except GateError as fault:
        from gate.report.fault import fault_text
        from gate.store import canonical

        _remove_outputs(args, "json", "html")
        if args.markdown and args.markdown != "-":
            canonical.write_text(Path(args.markdown), fault_text(fault), args.markdown)
        raise
    except BaseException:
        _remove_outputs(args, "json", "html", "markdown")
        raise


def _remove_outputs(args: argparse.Namespace, *flags: str) -> None:
    """Remove plain files that these flags name; not one that the command also reads, which is the user's."""
    read = [
        Path(name).resolve() for name in (getattr(args, "against", None), *getattr(args, "files", ())) if name
    ]
    for flag in flags:
        path = Path(getattr(args, flag, None) or "-")
        if path.is_file() and path.resolve() not in read:
            path.unlink()


def _is_ours(path: Path) -> bool:
    """Whether a file may be replaced: an empty one, or one that the gate wrote as an output."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4096).decode("utf-8", "replace")
    except OSError:
        return True  # writing says what is wrong
    return not start.strip() or start.startswith(_STARTS)


# How a comment, a report, and the JSON of check, diagnose and explain begin.
_STARTS = (
    "<!-- retrieval-gate ",
    '{\n "schema": "retrieval-gate/report/',
    '{\n "problems": ',
    '{\n "suites": ',
    '{\n "suite": ',
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"',
)


Overrides = Mapping[str, Path]
"""Suite -> the folder of templates that extends the built-in ones, for suites that name one."""


def write(args: argparse.Namespace, report: Report, overrides: Overrides | None = None) -> None:
    """Write the report to where the flags say; the terminal gets the table unless standard output is taken."""
    from gate.store import canonical, reports

    folders = overrides or {}

    if args.json:
        text = reports.dumps(report)
        if args.json == "-":
            emit(text)
        else:
            canonical.write_text(Path(args.json), text, args.json)
    if args.markdown:
        from gate.report import render

        text = "\n".join(
            render.comment(report, suite, overrides=folders.get(suite.suite)) for suite in report.suites
        )
        if args.markdown == "-":
            emit(text)
        else:
            canonical.write_text(Path(args.markdown), text, args.markdown)
    if "-" not in (args.json, args.markdown):
        from gate.report import render

        details = getattr(args, "details", False)
        if not folders:
            emit(render.console(report, colour=colour(), details=details))
            return
        for suite in report.suites:
            one = report.model_copy(update={"suites": (suite,)})
            emit(render.console(one, colour=colour(), overrides=folders.get(suite.suite), details=details))

"""The measuring step of action.yml: measure, judge, and leave report, page and candidates for the steps with a token."""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._approval import APPROVED_PAGE, PAGE, lifted, needs_approval
from gate.commands._step import REPORT, Outputs, event_of, faulty, fresh_folder, tell, templates_beside
from gate.errors import GateError, NotMeasuredError, Problem
from gate.github.event import Event, Mode
from gate.github.inputs import Inputs, read_inputs, working_folder
from gate.github.workflow import command, fenced

if TYPE_CHECKING:
    from gate.commands._pipeline import Outcome
    from gate.model.report import Report


def measuring_arguments(inputs: Inputs, base: str | None) -> argparse.Namespace:
    """The flags of `gate run` for this run. A typed place for what the command line would have parsed."""
    return argparse.Namespace(
        config=inputs.config or None,
        suite=list(inputs.suite) or None,
        arm=None,
        split=None,
        base=base or None,
        against=None,
        no_baseline=False,
        json=None,
        markdown=None,
        sweep=(),
        trec=None,
        debug=False,
    )


def run_measure(environment: Mapping[str, str]) -> int:
    """Measure, judge, and leave report, comments and candidates behind. The verdict's code is an output, not an exit.

    An input fault is a verdict of its own (invalid, not measured): it gets a comment too, so that nobody reads an old
    green one as this run's.
    """
    from gate.commands._pipeline import execute
    from gate.commands._templates import overrides
    from gate.commands.run import write_candidates
    from gate.store import canonical, reports

    outputs, inputs, folder = Outputs(environment), read_inputs(environment), fresh_folder(environment)
    try:
        os.chdir(working_folder(inputs.working_directory))
        with _deadline(inputs.timeout_minutes):
            if inputs.mode is Mode.REFRESH:
                return _refresh(inputs, outputs, folder)
            outcome = execute(measuring_arguments(inputs, environment.get("GATE_BASE")))
            with overrides(outcome.project, outcome.suites) as folders:
                _keep_templates(folders, templates_beside(folder))
    except GateError as fault:
        return faulty(fault, outputs, folder, "no baseline was made" if inputs.mode is Mode.REFRESH else "")
    report = with_fork_notice(outcome.report, event_of(environment))
    canonical.write_text(folder / REPORT, reports.dumps(report), REPORT)
    write_candidates(str(folder / REPORT), outcome)
    _page(folder, outcome)
    _log(report)
    tell(outputs, report, folder)
    outputs.set("folder", _folder_in_repository(outcome.project.root))
    outputs.set("approval-needed", "true" if needs_approval(report) else "false")
    return 0


def _folder_in_repository(root: Path) -> str:
    """The folder of the config as the repository names it: what the report's paths are relative to."""
    from gate.store import git

    found = git.head(root)
    return found.prefix if found is not None else ""


def _page(folder: Path, outcome: Outcome) -> None:
    """The HTML page for the artifact, and the one for after an approval: only here are the pages' texts at hand.

    It shows what was decided and decides nothing: a fault in it is a warning.
    """
    from gate.commands._html import write_page

    try:
        write_page(str(folder / PAGE), outcome)
        if needs_approval(outcome.report):
            write_page(str(folder / APPROVED_PAGE), replace(outcome, report=lifted(outcome.report)))
    except Exception as fault:
        print(
            command("warning", f"the HTML report could not be made ({type(fault).__name__}: {fault})"), end=""
        )


def with_fork_notice(report: Report, event: Event) -> Report:
    """The report of a pull request that gets no secrets, with what a maintainer can do about what was not measured."""
    if not event.untrusted:
        return report
    from gate.github.fork import without_secrets

    suites = [
        suite.model_copy(update={"findings": (*suite.findings, *without_secrets(suite.findings))})
        for suite in report.suites
    ]
    return report.model_copy(update={"suites": tuple(suites)})


def _refresh(inputs: Inputs, outputs: Outputs, folder: Path) -> int:
    """Measure twice, and leave a baseline that the other job proposes. A refresh has no verdict."""
    from gate.commands._refresh import measure_refresh
    from gate.report import render
    from gate.store import canonical, reports

    report = measure_refresh(inputs, folder)
    canonical.write_text(folder / REPORT, reports.dumps(report), REPORT)
    canonical.write_text(folder / "summary.md", render.summary(report), "summary.md")
    _log(report)
    tell(outputs, report, folder)
    return 0


def _keep_templates(folders: Mapping[str, Path], into: Path) -> None:
    """The base's template overrides, for the steps that render."""
    for suite, source in folders.items():
        for path in source.glob("*.j2"):
            target = into / suite / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


AGAIN_SECONDS = 5.0


class _deadline:  # noqa: N801 - reads as a verb at its use
    """Ends the measuring with *not measured* when the minutes are over; 0 means no limit."""

    def __init__(self, minutes: float) -> None:
        self._seconds = minutes * 60

    def __enter__(self) -> None:
        import signal

        if self._seconds > 0:
            signal.signal(signal.SIGALRM, self._over)
            # Again and again: what is raised inside a destructor or a callback of C code, Python swallows.
            signal.setitimer(signal.ITIMER_REAL, self._seconds, AGAIN_SECONDS)

    def _over(self, *_: object) -> None:
        raise _TimeIsUp

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        import signal

        if self._seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if kind is _TimeIsUp:
            minutes = f"the {self._seconds / 60:g} minutes are over"
            raise NotMeasuredError(Problem("input 'timeout-minutes'", minutes, "Not measured."))


class _TimeIsUp(BaseException):
    """No Exception: a retriever's fault is caught and recorded, the end of the time is not."""


def _log(report: Report) -> None:
    """The terminal report, between stop-commands: corpus text in it can never be read as a command."""
    from gate.report import render

    print(fenced(render.console(report, colour=False), secrets.token_hex(16)), end="", flush=True)

"""The last steps of action.yml: the job summary, the annotations and the verdict's code. They need no token."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._approval import choose_page
from gate.commands._step import REPORT, fault_of, folder_of
from gate.github.workflow import command
from gate.model.verdict import Exit, Verdict
from gate.report.escape import terminal

if TYPE_CHECKING:
    from gate.model.comparison import CaseMove
    from gate.model.report import Report, SuiteReport

ANNOTATIONS = 8


def run_publish(environment: Mapping[str, str]) -> int:
    """The job summary and the annotations; needs no token."""
    from gate.report import render
    from gate.store import reports
    from gate.store.text import read_text

    folder = folder_of(environment)
    choose_page(folder, approved=False)  # unless the comment step has chosen
    path = folder / REPORT
    if not path.exists():
        append_summary(environment.get("GITHUB_STEP_SUMMARY"), fault_of(folder)[1])
        return 0
    report = reports.parse(read_text(path, REPORT), REPORT)
    append_summary(environment.get("GITHUB_STEP_SUMMARY"), render.summary(report))
    print(*lost_annotations(report, environment.get("GATE_FOLDER", "")), sep="", end="")
    return 0


def append_summary(path: str | None, text: str) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")


def lost_annotations(report: Report, folder: str) -> list[str]:
    """A workflow command for each lost case, on the line of the file that labels it: at most 8 for the whole run.

    `folder`: what the report's files are relative to, as the repository names it.

    GitHub shows ten errors of a step and drops the rest without a word, so what is left out is counted here.
    """
    found = [line for suite in report.suites for line in _of_suite(suite, folder)]
    more = len(found) - ANNOTATIONS
    return found[:ANNOTATIONS] + (
        [command("notice", f"{more} more lost cases in the report")] if more > 0 else []
    )


def _of_suite(suite: SuiteReport, folder: str) -> list[str]:
    """One command for each case, however many arms lost it."""
    lost: dict[str, list[tuple[str, CaseMove]]] = {}
    for name, arm in suite.comparison.items():
        for move in arm.lost:
            if not move.accepted and not move.flaky:
                lost.setdefault(move.id, []).append((name, move))
    level = "error" if suite.verdict is Verdict.REGRESSION else "warning"
    found = []
    for case, moves in lost.items():
        fallen = dict.fromkeys(page.doc_id for _, move in moves for page in move.pages if page.fell)
        arms, move = ", ".join(name for name, _ in moves), moves[0][1]
        message = f"{arms}: {case} is lost ({move.query[:120]}); fallen: {', '.join(fallen) or 'none'}"
        properties: dict[str, str | int] = {"title": f"retrieval gate: {move.kind} case lost"}
        source = suite.sources.get(case)
        if source is not None:
            properties |= {
                "file": posixpath.normpath(posixpath.join(folder, source.file)),
                "line": source.line,
            }
        found.append(command(level, terminal(message), properties))
    return found


def run_finish(environment: Mapping[str, str]) -> int:
    """End the job with the verdict's code. A code that is missing means that the measuring step broke: 70."""
    code = environment.get("GATE_EXIT_CODE", "")
    verdict = environment.get("GATE_VERDICT", "")
    if not code.isdecimal():
        print(command("error", "the gate did not come to a verdict; see the measuring step's log"), end="")
        return int(Exit.INTERNAL)
    print(f"verdict {verdict or 'none'}, exit code {code}")
    return int(code)

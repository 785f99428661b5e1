"""The steps of action.yml. Each reads the environment, does one thing, and tells the next step through outputs.

`plan` and `measure` run without a token. What they leave for later steps lies in one folder below RUNNER_TEMP.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate.errors import GateError, InputError, NotMeasuredError, Problem
from gate.github.base import Found, find_base
from gate.github.event import Activity, Event, Mode, Plan, plan, read_event
from gate.github.inputs import Inputs, read_inputs, refuse_absolute
from gate.github.workflow import command, fenced, output
from gate.model.verdict import Exit, Verdict

if TYPE_CHECKING:
    from gate.commands._pipeline import Outcome
    from gate.model.report import Report, SuiteReport

REPORT = "report.json"
TEMPLATES = "templates"
LIST_BYTES = 50_000


class Outputs:
    """GITHUB_OUTPUT of this step."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._path = environment.get("GITHUB_OUTPUT")
        self._token = f"gate-{secrets.token_hex(16)}"

    def set(self, name: str, value: str) -> None:
        """Set one output; outside GitHub it is printed."""
        if self._path is None:
            print(f"{name}={value}")
            return
        with Path(self._path).open("a", encoding="utf-8") as stream:
            stream.write(output(name, value, self._token))


def event_of(environment: Mapping[str, str]) -> Event:
    """The event of this run, from the event file that GitHub wrote."""
    path = environment.get("GITHUB_EVENT_PATH")
    payload: Any = {}
    if path and Path(path).is_file():
        payload = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    return read_event(environment, payload if isinstance(payload, dict) else {})


def folder_of(environment: Mapping[str, str]) -> Path:
    """Where the steps of one job leave files for each other."""
    folder = Path(environment.get("RUNNER_TEMP") or ".") / "retrieval-gate"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Checkout:
    """What the checkout and the public API know of the history (gate.github.base.History). Uses no token."""

    def __init__(self, folder: Path, event: Event) -> None:
        self._folder, self._event = folder, event

    def parents(self, commit: str) -> list[str]:
        from gate.store import git

        return git.parents(self._folder, commit) if commit else []

    def parents_by_api(self, commit: str) -> list[str]:
        from gate.github.client import GitHubClient, GitHubError
        from gate.store import git

        # Asked only where the checkout is the merge and shallow. A workflow that checked out the head alone measures no
        # merge, and main may have gone on without it.
        found = git.head(self._folder)
        if found is None or found.commit != commit or self.parents(commit) or not self._event.repository:
            return []
        try:
            return GitHubClient("", self._event.repository, self._event.api_url).parents(commit)
        except GitHubError:
            return []

    def merge_base(self, one: str, other: str) -> str | None:
        from gate.store import git

        found = git.merge_base(self._folder, one, other)
        if found is None and git.is_shallow(self._folder):
            for depth in (50, 1000):
                git.fetch(self._folder, one, depth)
                git.fetch(self._folder, other, depth)
                found = git.merge_base(self._folder, one, other)
                if found is not None:
                    break
        return found


def run_plan(environment: Mapping[str, str]) -> int:
    """Decide what this run does and what it is held against; fetch the base commit where the checkout lacks it."""
    from gate.store import git

    outputs = Outputs(environment)
    inputs, event = read_inputs(environment), event_of(environment)
    refuse_absolute(inputs.working_directory)
    decided = plan(event, inputs.mode)
    found = Found(None, "no base")
    folder = Path(inputs.working_directory)
    if decided.activity in (Activity.MEASURE, Activity.REFRESH) and not folder.is_dir():
        what = f"no such folder in the checkout ({inputs.working_directory!r})"
        raise InputError(Problem("input 'working-directory'", what, "Check out the repository first."))
    if decided.activity is Activity.MEASURE:
        found = find_base(event, Checkout(folder, event))
        if (
            found.commit is not None
            and not git.has(folder, found.commit)
            and not git.fetch(folder, found.commit, 1)
        ):
            raise InputError(
                Problem(
                    f"base {found.commit[:10]}",
                    "is not in the checkout and cannot be fetched",
                    "Check out with fetch-depth: 2 (pull_request) or 0.",
                )
            )
        if found.commit is None and event.name in ("pull_request", "merge_group"):
            raise InputError(
                Problem(event.name, "has no base commit in its event", "Report this with the event file.")
            )
    print(f"{decided.activity.value}: {decided.why}")
    if found.commit is not None:
        print(f"base {found.commit}: {found.how}")
    if found.warning:
        print(command("warning", found.warning), end="")
    if decided.activity is Activity.REFUSE:
        print(command("error", decided.why), end="")
        _invalid(outputs, decided)
    outputs.set("activity", decided.activity.value)
    outputs.set("base", found.commit or "")
    outputs.set("comments", "true" if decided.comments and inputs.comment.value != "never" else "false")
    outputs.set("seeds-cache", "true" if decided.seeds_cache else "false")
    return 0


def _invalid(outputs: Outputs, decided: Plan) -> None:
    outputs.set("verdict", Verdict.INVALID.value)
    outputs.set("exit-code", str(int(Exit.INVALID)))
    outputs.set("why", decided.why)


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

    outputs, inputs, folder = Outputs(environment), read_inputs(environment), folder_of(environment)
    # A job may use the action twice: what the first use left is no report of the second.
    shutil.rmtree(folder)
    folder.mkdir()
    os.chdir(inputs.working_directory)
    try:
        with _deadline(inputs.timeout_minutes):
            if inputs.mode is Mode.REFRESH:
                return _refresh(inputs, outputs, folder)
            outcome = execute(measuring_arguments(inputs, environment.get("GATE_BASE")))
            with overrides(outcome.project, outcome.suites) as folders:
                _keep_templates(folders, folder / TEMPLATES)
    except GateError as fault:
        return faulty(fault, outputs, folder, "no baseline was made" if inputs.mode is Mode.REFRESH else "")
    report = with_fork_notice(outcome.report, event_of(environment))
    canonical.write_text(folder / REPORT, reports.dumps(report), REPORT)
    write_candidates(str(folder / REPORT), outcome)
    _page(folder, outcome)
    _log(report)
    tell(outputs, report, folder)
    outputs.set("approval-needed", "true" if needs_approval(report) else "false")
    return 0


def needs_approval(report: Report) -> bool:
    """Whether an approving review would lift a regression of this report."""
    from gate.situation import APPROVAL_NEEDED

    return any(finding.code == APPROVAL_NEEDED for suite in report.suites for finding in suite.findings)


def _page(folder: Path, outcome: Outcome) -> None:
    """The HTML page for the artifact. It shows what was decided and decides nothing: a fault in it is a warning."""
    from gate.commands._html import write_page

    try:
        write_page(str(folder / "report.html"), outcome)
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


def faulty(fault: GateError, outputs: Outputs, folder: Path, title: str = "") -> int:
    """Nothing could be measured: say so in the log, the outputs and the comment. `title` is what did not come about."""
    verdict = Verdict.NOT_MEASURED if fault.exit_code == int(Exit.NOT_MEASURED) else Verdict.INVALID
    for problem in fault.problems[:10]:
        print(command("error", str(problem)), end="")
    lines = problem_list(fault.problems)
    title = title or ("nothing was measured" if verdict is Verdict.INVALID else "")
    said = ": ".join(filter(None, (verdict.value.replace("_", " "), title)))
    body = f"<!-- retrieval-gate verdict={verdict.value} -->\n### ⛔ {said}\n\n{lines}\n"
    (folder / "fault.md").write_text(body, encoding="utf-8")
    (folder / "fault.json").write_text(json.dumps({"verdict": verdict.value}), encoding="utf-8")
    outputs.set("verdict", verdict.value)
    outputs.set("exit-code", str(fault.exit_code))
    outputs.set("regressed", "[]")
    return 0


def problem_list(problems: Sequence[Problem], most: int = 50) -> str:
    """The problems as a list in Markdown that fits into a comment, however much escaping makes of them."""
    from gate.report.escape import plain

    lines: list[str] = []
    room = LIST_BYTES
    for problem in problems[:most]:
        line = f"- {plain(str(problem), 1000)}"
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    left = len(problems) - len(lines)
    return "\n".join([*lines, *([f"- and {left} more"] if left else [])])


class _deadline:  # noqa: N801 - reads as a verb at its use
    """Ends the measuring with *not measured* when the minutes are over; 0 means no limit."""

    def __init__(self, minutes: float) -> None:
        self._seconds = minutes * 60

    def __enter__(self) -> None:
        import signal

        if self._seconds > 0:
            signal.signal(signal.SIGALRM, self._over)
            signal.setitimer(signal.ITIMER_REAL, self._seconds)

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


def tell(outputs: Outputs, report: Report, folder: Path) -> None:
    """The outputs of the action that follow from a report."""
    outputs.set("verdict", report.verdict.value)
    outputs.set("exit-code", str(int(report.verdict.exit_code)))
    outputs.set("regressed", json.dumps(regressed(report), ensure_ascii=True))
    outputs.set("cases-version", ", ".join(suite.cases_version for suite in report.suites))
    outputs.set("unmeasured", json.dumps(unmeasured(report)))
    outputs.set("report", str(folder / REPORT))
    outputs.set("cost-usd", cost(report))


def cost(report: Report) -> str:
    """What all arms of all suites cost in US dollars, or `unknown`: what has no price is not free."""
    from gate.model.cost import summed
    from gate.report.numbers import usd

    total = summed(spent for arms in report.environment.spent.values() for spent in arms.values()).cost_usd
    return "unknown" if total is None else usd(total)


def regressed(report: Report) -> list[dict[str, Any]]:
    """Every kind that fails the check: suite, arm, kind, mean before and now, and the lost cases."""
    found = []
    for suite in report.suites:
        for finding in suite.findings:
            if (
                finding.level.value != "regression"
                or finding.kind is None
                or finding.arm not in suite.comparison
            ):
                continue
            change = suite.comparison[finding.arm].kinds[finding.kind].metrics[suite.metrics[0]]
            found.append(
                {
                    "suite": suite.suite,
                    "arm": finding.arm,
                    "kind": finding.kind,
                    "before": change.before,
                    "after": change.after,
                    "cases": list(finding.cases),
                }
            )
    return found


def unmeasured(report: Report) -> list[str]:
    """The arms that were not measured, whole or in part."""
    levels = ("not_measured", "partial")
    return sorted(
        {f.arm for suite in report.suites for f in suite.findings if f.arm and f.level.value in levels}
    )


def run_publish(environment: Mapping[str, str]) -> int:
    """The job summary and the annotations; needs no token."""
    from gate.report import render
    from gate.store import reports
    from gate.store.text import read_text

    folder = folder_of(environment)
    path = folder / REPORT
    if not path.exists():
        append_summary(environment.get("GITHUB_STEP_SUMMARY"), _fault_text(folder))
        return 0
    report = reports.parse(read_text(path, REPORT), REPORT)
    append_summary(environment.get("GITHUB_STEP_SUMMARY"), render.summary(report))
    inputs = read_inputs(environment)
    for suite in report.suites:
        for line in lost_annotations(suite, inputs.working_directory):
            print(line, end="")
    return 0


def _fault_text(folder: Path) -> str:
    path = folder / "fault.md"
    return path.read_text(encoding="utf-8") if path.exists() else "### ⛔ not measured\n"


def append_summary(path: str | None, text: str) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")


ANNOTATIONS = 8


def lost_annotations(suite: SuiteReport, working_directory: str) -> list[str]:
    """A workflow command for each lost case, on the line of the file that labels it; at most 8."""
    found = []
    for name, arm in suite.comparison.items():
        for move in arm.lost:
            if move.accepted or move.flaky:
                continue
            source = suite.sources.get(move.id)
            fallen = ", ".join(
                page.doc_id for page in move.pages if page.before and (page.after or 10**9) > page.before
            )
            message = f"{name}: {move.id} is lost ({move.query[:120]}); fallen: {fallen or 'none'}"
            properties: dict[str, str | int] = {"title": f"retrieval gate: {move.kind} case lost"}
            if source is not None:
                prefix = "" if working_directory in ("", ".") else f"{working_directory.rstrip('/')}/"
                properties |= {"file": f"{prefix}{source.file}", "line": source.line}
            level = "error" if suite.verdict is Verdict.REGRESSION else "warning"
            found.append(command(level, visible_line(message), properties))
    more = len(found) - ANNOTATIONS
    return found[:ANNOTATIONS] + (
        [command("notice", f"{more} more lost cases in the report")] if more > 0 else []
    )


def visible_line(text: str) -> str:
    """Corpus text as one line without control or direction characters."""
    from gate.report.escape import terminal

    return terminal(text)


def run_finish(environment: Mapping[str, str]) -> int:
    """End the job with the verdict's code. A code that is missing means that the measuring step broke: 70."""
    code = environment.get("GATE_EXIT_CODE", "")
    verdict = environment.get("GATE_VERDICT", "")
    if not code.isdecimal():
        print(command("error", "the gate did not come to a verdict; see the measuring step's log"), end="")
        return int(Exit.INTERNAL)
    print(f"verdict {verdict or 'none'}, exit code {code}")
    return int(code)

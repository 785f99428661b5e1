"""What the steps of action.yml share: their outputs, their event, the folder they hand on, and how a fault is told.

`plan` and `measure` run without a token. What they leave for later steps lies in one folder below RUNNER_TEMP.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate.errors import GateError, InputError, Problem
from gate.github.event import Event, read_event
from gate.github.workflow import command, output
from gate.model.verdict import Verdict, of_fault
from gate.report.escape import terminal
from gate.report.fault import fault_body, fault_text

if TYPE_CHECKING:
    from gate.model.report import Report, SuiteReport
    from gate.model.verdict import Finding

REPORT = "report.json"
FAULT = "fault.md"


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
        try:
            payload = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except ValueError as fault:
            raise InputError(
                Problem(
                    f"event file {path}", f"is no JSON ({fault})", "GitHub writes it; see who changed it."
                )
            ) from fault
    return read_event(environment, payload if isinstance(payload, dict) else {})


def folder_of(environment: Mapping[str, str]) -> Path:
    """Where the steps of one job leave files for each other."""
    temp = environment.get("RUNNER_TEMP")
    if not temp:
        raise InputError(
            Problem("RUNNER_TEMP", "is not set", "On a laptop use 'gate run'; this is a step of the Action.")
        )
    folder = Path(temp) / "retrieval-gate"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def templates_beside(folder: Path) -> Path:
    """Where the base's template overrides lie for the steps that render; not in the folder, which is the artifact."""
    return folder.with_name("retrieval-gate-templates")


def fresh_folder(environment: Mapping[str, str]) -> Path:
    """The same, emptied: a job may use the action twice, and what the first use left is no report of the second."""
    folder = folder_of(environment)
    shutil.rmtree(folder)
    shutil.rmtree(templates_beside(folder), ignore_errors=True)
    folder.mkdir()
    return folder


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
    """Everything that fails the check, once: what of which arm and kind, its mean before and now, the lost cases.

    What is about no kind has none, and no means. Several rules that find the same drop are one entry with the cases of all.
    """
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for suite in report.suites:
        for finding in suite.findings:
            if finding.level.value == "regression":
                entry = _entry(suite, finding)
                about = ("suite", "arm", "kind", "metric", *(() if finding.kind else ("code",)))
                same = tuple(entry[name] for name in about) + (() if finding.kind else finding.cases)
                kept = found.setdefault(same, entry)
                kept["cases"] = list(dict.fromkeys((*kept["cases"], *entry["cases"])))
    return list(found.values())


def _entry(suite: SuiteReport, finding: Finding) -> dict[str, Any]:
    """One finding for the output. A rule from outside that names no metric is told with the first one."""
    metric = finding.metric or (suite.metrics[0] if finding.kind is not None else None)
    before = after = None
    if finding.arm is not None and finding.kind is not None and metric is not None:
        before, after = _means(suite, finding.arm, finding.kind, metric)
    return {
        "suite": suite.suite,
        "arm": finding.arm,
        "kind": finding.kind,
        "metric": metric,
        "before": before,
        "after": after,
        "cases": list(finding.cases),
        "code": finding.code,
    }


def _means(suite: SuiteReport, arm: str, kind: str, metric: str) -> tuple[float | None, float | None]:
    """The mean of a kind before and now; without a comparison (a floor under a new arm) only now."""
    from gate.report.titles import of_row

    group = suite.comparison[arm].kinds.get(kind) if arm in suite.comparison else None
    if group is not None and metric in group.metrics:
        return group.metrics[metric].before, group.metrics[metric].after
    now = suite.arms[arm].by_kind.get(kind) if arm in suite.arms else None
    return None, now.means.get(of_row(metric, suite.k).mean) if now is not None else None


def unmeasured(report: Report) -> list[str]:
    """The arms that were not measured, whole or in part."""
    levels = ("not_measured", "partial")
    return sorted(
        {f.arm for suite in report.suites for f in suite.findings if f.arm and f.level.value in levels}
    )


def faulty(fault: GateError, outputs: Outputs, folder: Path, title: str = "", spent: str = "unknown") -> int:
    """Nothing could be measured: say so in the log, the outputs, the comment and the summary. `title` is what did not
    come about, `spent` what it has cost so far.
    """
    for problem in fault.problems[:10]:
        print(command("error", terminal(str(problem), 1000)), end="")
    (folder / FAULT).write_text(fault_text(fault, title), encoding="utf-8")
    outputs.set("verdict", of_fault(fault.exit_code).value)
    outputs.set("exit-code", str(fault.exit_code))
    outputs.set("regressed", "[]")
    outputs.set("unmeasured", "[]")
    outputs.set("cost-usd", spent)
    return 0


def fault_of(folder: Path) -> tuple[Verdict, str]:
    """What the steps before left instead of a report; where they left nothing, the gate broke or was stopped."""
    from gate.report.render import verdict_of

    path = folder / FAULT
    body = path.read_text(encoding="utf-8") if path.exists() else ""
    verdict = verdict_of(body)
    if verdict is not None:
        return verdict, body
    lines = "- The gate broke, or was stopped before it came to a verdict. The log of this job says where."
    return Verdict.NOT_MEASURED, fault_body(Verdict.NOT_MEASURED, "", lines)

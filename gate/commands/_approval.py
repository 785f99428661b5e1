"""What an approving review lifts: the losses that a change accepts for itself, where the policy asks for a review."""

from __future__ import annotations

from pathlib import Path

from gate.model.report import Report
from gate.model.verdict import decide, worst
from gate.situation import APPROVAL_NEEDED

PAGE = "report.html"
APPROVED_PAGE = "report-approved.html"


def needs_approval(report: Report) -> bool:
    """Whether an approving review would lift a regression of this report."""
    return any(finding.code == APPROVAL_NEEDED for suite in report.suites for finding in suite.findings)


def lifted(report: Report) -> Report:
    """The report once a review approves: without those findings, and with the verdict that the others give."""
    suites = []
    for suite in report.suites:
        findings = tuple(finding for finding in suite.findings if finding.code != APPROVAL_NEEDED)
        suites.append(
            suite.model_copy(update={"findings": findings, "verdict": decide(findings, judged=True)})
        )
    return report.model_copy(
        update={"suites": tuple(suites), "verdict": worst(suite.verdict for suite in suites)}
    )


def choose_page(folder: Path, *, approved: bool) -> None:
    """Of the two pages that the measuring step left, keep the one that says what the check says."""
    other = folder / APPROVED_PAGE
    if other.exists() and approved:
        other.replace(folder / PAGE)
    other.unlink(missing_ok=True)

"""Findings, verdicts and exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum

from gate.model.frozen import Frozen


class Exit(IntEnum):
    """What the process ends with (DESIGN section 7)."""

    PASS = 0
    REGRESSION = 1
    INVALID = 2
    NOT_MEASURED = 3
    INTERNAL = 70
    INTERRUPTED = 130


class Verdict(StrEnum):
    """What a run says. Only `pass` is green without a remark."""

    PASS = "pass"  # noqa: S105 - no password
    PARTIAL = "partial"
    REGRESSION = "regression"
    INVALID = "invalid"
    NOT_MEASURED = "not_measured"
    UNJUDGED = "unjudged"

    @property
    def exit_code(self) -> Exit:
        return _EXITS[self]


_EXITS = {
    Verdict.PASS: Exit.PASS,
    Verdict.PARTIAL: Exit.PASS,
    Verdict.UNJUDGED: Exit.PASS,
    Verdict.REGRESSION: Exit.REGRESSION,
    Verdict.INVALID: Exit.INVALID,
    Verdict.NOT_MEASURED: Exit.NOT_MEASURED,
}


def of_fault(exit_code: int) -> Verdict:
    """What a run says that ended with a fault of this exit code (`gate.errors`)."""
    return Verdict.NOT_MEASURED if exit_code == Exit.NOT_MEASURED else Verdict.INVALID


# The order in which one verdict outranks another when there are several.
_RANK = (
    Verdict.INVALID,
    Verdict.NOT_MEASURED,
    Verdict.REGRESSION,
    Verdict.PARTIAL,
    Verdict.UNJUDGED,
    Verdict.PASS,
)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that decides among several: invalid, not measured, regression, partial, unjudged, pass. Of none it is
    invalid: what has no verdict is no pass.
    """
    return min(verdicts, key=_RANK.index, default=Verdict.INVALID)


class Level(StrEnum):
    """How much a finding weighs. The first three decide; a banner and a warning only have to be seen."""

    INVALID = "invalid"
    NOT_MEASURED = "not_measured"
    REGRESSION = "regression"
    PARTIAL = "partial"
    BANNER = "banner"
    WARNING = "warning"
    NOTICE = "notice"


class Finding(Frozen):
    """One thing the run found. `text` is a full sentence in our words with quoted data; `todo` says what to do.

    `metric`: the row name of the metric that it is about, where it is about one.
    """

    level: Level
    code: str
    text: str
    todo: str = ""
    arm: str | None = None
    kind: str | None = None
    metric: str | None = None
    cases: tuple[str, ...] = ()


def banner(code: str, text: str) -> Finding:
    """A finding that decides nothing and has to be seen."""
    return Finding(level=Level.BANNER, code=code, text=text)


_BY_LEVEL = {
    Level.INVALID: Verdict.INVALID,
    Level.NOT_MEASURED: Verdict.NOT_MEASURED,
    Level.REGRESSION: Verdict.REGRESSION,
    Level.PARTIAL: Verdict.PARTIAL,
}


def decide(findings: Iterable[Finding], *, judged: bool) -> Verdict:
    """The verdict over `findings`; without a comparison (`judged` false) a clean run is unjudged, never pass."""
    clean = Verdict.PASS if judged else Verdict.UNJUDGED
    return worst([clean, *(_BY_LEVEL[finding.level] for finding in findings if finding.level in _BY_LEVEL)])

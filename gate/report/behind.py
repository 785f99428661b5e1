"""A base that went on without this checkout: what it gained since looks like a loss here. Said before any number."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from gate.model.verdict import Finding, Level
from gate.model.wording import plural
from gate.report.parts import Note, Section
from gate.report.provenance import notes

if TYPE_CHECKING:
    from gate.model.report import SuiteReport
    from gate.report.medium import Medium

BASE_AHEAD = "base-ahead"


def ahead_finding(ref: str, commits: int) -> Finding:
    """`ref` as the user named the base; `commits`: how many it has that the checkout lacks."""
    typed = shlex.quote(ref)
    one = commits == 1
    return Finding(
        level=Level.WARNING,
        code=BASE_AHEAD,
        text=f"{ref} has {plural(commits, 'commit')} that this checkout lacks; what {'it' if one else 'they'} brought shows "
        "here as your loss",
        todo=f"Merge {'it' if one else 'them'} first, or: gate run --base $(git merge-base HEAD {typed})",
    )


def is_behind(suite: SuiteReport) -> bool:
    """Whether the checkout lacks commits of its base."""
    return any(finding.code == BASE_AHEAD for finding in suite.findings)


def behind(suite: SuiteReport, medium: Medium) -> Section[Note]:
    """It stands at the top, not among the remarks."""
    return notes(suite, medium, (Level.WARNING.value,), "Behind its base: {}", only=(BASE_AHEAD,))

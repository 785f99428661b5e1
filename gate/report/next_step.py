"""What to do about a regression: where to look, what stands in the way of accepting it, and what accepts it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gate.model.comparison import CaseMove
from gate.model.report import SuiteReport
from gate.model.verdict import Verdict
from gate.model.wording import joined, listed
from gate.report.behind import is_behind
from gate.report.medium import Medium

_NAMED = 3
_ID = 80


def next_step(suite: SuiteReport, medium: Medium, *, several: bool = False) -> str:
    """The sentences under the lost cases; nothing where no refresh could replace what the run was compared with.

    `several`: the run has more suites, and two of them may have a case of one id.
    """
    refreshes = suite.baseline is not None and suite.baseline.committed
    if suite.verdict is not Verdict.REGRESSION or not refreshes:
        return ""
    return " ".join(filter(None, (_look(suite, medium, several), _accept(suite, medium))))


def _look(suite: SuiteReport, medium: Medium, several: bool) -> str:
    """Which command shows why a case was lost, against the same base: the first one that weighs and is still there."""
    losses = [
        move
        for arm, move in _losses(suite)
        if move.id in suite.labels and (arm not in suite.arms or suite.arms[arm].gate)
    ]
    first = next((move for move in losses if move.weighs), losses[0] if losses else None)
    if first is None:
        return ""
    commit = suite.baseline.commit if suite.baseline is not None else None
    # What is pasted into a shell holds no text that has to be quoted there.
    typed = first.id if len(first.id) <= _ID and shlex.quote(first.id) == first.id else "CASE"
    base = f" --base {commit[:12]}" if commit else ""
    of = f" --suite {suite.suite}" if several else ""
    return f"{medium.command(f'gate explain {typed}{of}{base}')} shows how a case was lost."


def _losses(suite: SuiteReport) -> Iterator[tuple[str, CaseMove]]:
    for arm, found in suite.comparison.items():
        yield from ((arm, move) for move in found.lost)


def _accept(suite: SuiteReport, medium: Medium) -> str:
    """How a loss is accepted. A label of a page that is gone comes first: before that no baseline is recorded."""
    meant = "If a loss stays after the merge and is meant" if is_behind(suite) else "If a loss is meant"
    reason = ' --reason "why"' if _needs_reason(suite) else ""
    command = medium.command(f"gate baseline {suite.suite}{reason}")
    mend = [*_labels_to_mend(suite, medium)]
    if mend:
        return f"{meant}: {listed(mend, _NAMED, '; ')}, then: {command}."
    if any(finding.code == "labelled-page-gone" for finding in suite.findings):
        # Of another split, or of the QA gold: what stands in the report beside the warning does not tell.
        return f"{meant}: change or remove the labels of gone pages that the warning names, then: {command}."
    return f"{meant}, {command} records it as accepted, for a reviewer to read."


def _labels_to_mend(suite: SuiteReport, medium: Medium) -> Iterator[str]:
    """`change 'guides/refunds' to 'guides/voids' in eval/cases.jsonl:8`, for each gone page that cases label."""
    places: dict[str, list[str]] = {}
    for case, label in suite.labels.items():
        for page in label.relevant:
            if page not in suite.pages:
                source = suite.sources.get(case)
                place = f"{source.file}:{source.line}" if source is not None else f"the case {case}"
                places.setdefault(page, []).append(place)
    for page, found in places.items():
        where = joined([medium.plain(place, 160) for place in found[:_NAMED]], "and")
        where += f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
        new = suite.page_changes.renamed.get(page)
        if new is not None:
            yield f"change {medium.cell(page, _ID)} to {medium.cell(new, _ID)} in {where}"
        else:
            yield f"remove or change the label {medium.cell(page, _ID)} in {where}"


def _needs_reason(suite: SuiteReport) -> bool:
    """Whether a baseline recorded once the labels follow their renamed pages would still hold a case lower."""
    return any(not move.accepted and not _healed(suite, arm, move) for arm, move in _losses(suite))


def _healed(suite: SuiteReport, arm: str, move: CaseMove) -> bool:
    """Whether every page that fell was only renamed, and stands under its new name where it stood before."""
    rows = {row.id: row for row in suite.arms[arm].cases} if arm in suite.arms else {}
    ranked = rows[move.id].ranked if move.id in rows else ()
    fell = [page for page in move.pages if page.fell]
    return bool(fell) and all(
        page.cause == "renamed"
        and page.renamed_to in ranked
        and ranked.index(page.renamed_to) < (page.before or 0)
        for page in fell
    )

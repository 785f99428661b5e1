"""The evidence of one run, case by case: what was missed, what is new, what was not measured."""

from __future__ import annotations

from gate.model.report import ArmReport, CaseRow, SuiteReport
from gate.model.wording import listed, plural
from gate.report.medium import Medium
from gate.report.parts import Added, Cells, Miss, Section

_PAGES = 6
_NAMED = 3
_ID = 80


def _missing(suite: SuiteReport, row: CaseRow, medium: Medium) -> str:
    """Each missing page with where it stands now."""
    said = []
    for page in row.missing[:_PAGES]:
        where = f"rank {row.ranked.index(page) + 1}" if page in row.ranked else "outside the pool"
        said.append(f"{medium.cell(page, _ID)} ({where if page in suite.pages else 'no such page now'})")
    more = len(row.missing) - len(said)
    return ", ".join(said) + (f" and {more:,} more" if more else "")


def _instead(suite: SuiteReport, row: CaseRow, medium: Medium) -> str:
    relevant = suite.labels[row.id].relevant
    others = [page for page in row.ranked[: suite.k] if page not in relevant]
    if others:
        return ", ".join(medium.cell(page, _ID) for page in others[:_NAMED])
    return "nothing else" if row.ranked else "nothing"


def misses(suite: SuiteReport, medium: Medium) -> Section[Miss]:
    """Every case with a relevant page outside the top k, by arm."""
    rows = tuple(
        Miss(
            arm=medium.plain(name, 60),
            case=medium.cell(row.id, _ID),
            kind=medium.plain(row.kind, 60),
            query=medium.cell(row.query),
            missing=_missing(suite, row, medium),
            instead=_instead(suite, row, medium),
        )
        for name, arm in suite.arms.items()
        for row in arm.cases
        if row.missing
    )
    by_arm = [
        f"{medium.plain(name, 60)} {sum(bool(row.missing) for row in arm.cases):,} of {plural(arm.n, 'case')}"
        for name, arm in suite.arms.items()
        if arm.n or not arm.failed
    ]
    return Section(f"All misses: {len(rows):,}", intro=f"{listed(by_arm, 8)}.", rows=rows)


def added(suite: SuiteReport, medium: Medium) -> Section[Added]:
    """The cases that the baseline does not have, with what each arm did; and which others changed."""
    rows_of = {name: {row.id: row for row in arm.cases} for name, arm in suite.arms.items()}
    changes = suite.case_changes
    rows = []
    for case in changes.added:
        label = suite.labels.get(case)
        if label is not None:
            outcomes = (
                _outcome(suite, suite.arms[name], found.get(case), name, medium)
                for name, found in rows_of.items()
            )
            rows.append(
                Added(
                    case=medium.cell(case, _ID),
                    kind=medium.plain(label.kind, 60),
                    query=medium.cell(label.query),
                    outcome="; ".join(outcomes),
                )
            )
    notes = [
        f"{what}: {listed([medium.code(case, _ID) for case in ids], 12)}"
        for what, ids in (("Removed", changes.removed), ("Changed (query, labels or kind)", changes.changed))
        if ids
    ]
    return Section(
        f"Added cases: {len(rows):,}{_in_sum(suite, medium) if rows else ''}",
        intro="They have no baseline yet, so nothing gates them.",
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _in_sum(suite: SuiteReport, medium: Medium) -> str:
    """` (all pages found: by keyword for 2, by vector for 1)`: in the title, since a comment folds the rows away."""
    new = set(suite.case_changes.added)
    found = [
        f"by {medium.plain(name, 60)} for {sum(row.id in new and not row.missing for row in arm.cases):,}"
        for name, arm in suite.arms.items()
        if arm.cases
    ]
    return f" (all pages found: {listed(found, 4)})" if found else ""


def _outcome(suite: SuiteReport, arm: ArmReport, row: CaseRow | None, name: str, medium: Medium) -> str:
    if row is None:
        return f"{medium.plain(name, 60)} {'not measured' if arm.failed else 'not asked'}"
    if not row.missing:
        relevant = suite.labels[row.id].relevant
        ranks = [str(row.ranked.index(page) + 1) for page in relevant if page in row.ranked]
        return f"{medium.plain(name, 60)} found all (rank {listed(ranks, _PAGES)})"
    return f"{medium.plain(name, 60)} missed {_missing(suite, row, medium)}"


def failures(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """What was not measured, with the reason; a reason that many share is said once."""
    rows = []
    count = 0
    for name, arm in suite.arms.items():
        reasons: dict[str, list[str]] = {}
        for case, reason in (*arm.failed.items(), *arm.failed_questions.items()):
            reasons.setdefault(reason, []).append(case)
        failed = sum(map(len, reasons.values()))
        answered = len(arm.cases) + (len(arm.diagnosis.questions) if arm.diagnosis is not None else 0)
        count += failed
        for reason, cases in reasons.items():
            if len(cases) == failed > 1 and not answered:
                said = f"all {plural(failed, 'query')}"
            else:
                said = listed([medium.cell(case, _ID) for case in cases], _NAMED)
            rows.append((medium.plain(name, 60), said, medium.cell(reason, 200)))
    head = ("arm", "case", "reason")
    return Section(f"Not measured: {count:,}", head=head, align=("left", "left", "left"), rows=tuple(rows))

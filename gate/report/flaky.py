"""Losses that a second measurement does not confirm, in words. Their scores are rounded here, as all others are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gate.model.comparison import DUST, ArmComparison, CaseMove
from gate.model.verdict import Finding, Level
from gate.model.wording import listed, plural
from gate.report.numbers import column
from gate.report.titles import of_row


def flaky_findings(comparison: Mapping[str, ArmComparison], k: int) -> Iterator[Finding]:
    """One warning for each arm with such losses: every case, with its score before, now, and when measured again."""
    for name, found in comparison.items():
        moves = [move for move in found.lost if move.flaky]
        if moves:
            were = "loss was" if len(moves) == 1 else "losses were"
            yield Finding(
                level=Level.WARNING,
                code="flaky",
                arm=name,
                cases=tuple(move.id for move in moves),
                text=f"{name}: {len(moves):,} {were} not confirmed when measured again, shown and not gated: "
                + "; ".join(f"{move.id} {scores(move, k)}" for move in moves),
                todo="The baseline knows this arm as unstable.",
            )


def scores(move: CaseMove, k: int) -> str:
    """`recall@5 1.00 -> 0.50, again 1.00`, for each metric that fell."""
    said = []
    for row, (before, now) in move.scores.items():
        if now - before < -DUST and row in move.again:
            was, fell, back = column([before, now, move.again[row]])
            said.append(f"{of_row(row, k).title} {was} -> {fell}, again {back}")
    return " and ".join(said)


def again(move: CaseMove) -> str:
    """What the second measurement scored, beside a case in a table: `flaky: 1.00 when measured again`."""
    fell = [row for row, (before, now) in move.scores.items() if now - before < -DUST and row in move.again]
    if not fell:
        return ""
    told = ", ".join(column([*move.scores[row], move.again[row]])[2] for row in fell)
    return f"flaky, not gated: {told} when measured again" if move.flaky else f"measured again: {told}"


def tie_findings(tied: Mapping[str, tuple[str, ...]], k: int) -> Iterator[Finding]:
    """The cases in which equal scores decide which page is the last of the top k, by arm."""
    for name, cases in tied.items():
        if cases:
            yield Finding(
                level=Level.NOTICE,
                code="tie-at-k",
                arm=name,
                cases=cases,
                text=f"{name}: in {plural(len(cases), 'case')} the pages at ranks {k} and {k + 1} score the same, so a "
                f"tie decides the top {k} ({listed(cases, 8)})",
            )

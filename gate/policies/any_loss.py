"""any-loss: a single case that scores lower is a regression, even where a win in the same kind offsets it."""

from __future__ import annotations

from gate.model.comparison import ArmComparison
from gate.model.settings import PolicySettings
from gate.model.verdict import Finding, Level
from gate.policies._kinds import gated_kinds


class Settings(PolicySettings):
    """No keys of its own."""


def judge(arm: str, comparison: ArmComparison, settings: Settings) -> list[Finding]:
    """A regression for every deciding kind with a loss that is neither accepted nor spared."""
    kinds = {kind for kind, _ in gated_kinds(comparison, settings)}
    lost: dict[str, list[str]] = {}
    for move in comparison.lost:
        if move.kind in kinds and move.weighs:
            lost.setdefault(move.kind, []).append(move.id)
    return [
        Finding(
            level=Level.REGRESSION,
            code="case-lost",
            arm=arm,
            kind=kind,
            cases=tuple(ids),
            text=f"{arm}: {kind} lost {len(ids)} case{'s' if len(ids) > 1 else ''}",
        )
        for kind, ids in sorted(lost.items())
    ]

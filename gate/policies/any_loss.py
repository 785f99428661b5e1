"""any-loss: a single case that scores lower is a regression, even where a win in the same kind offsets it."""

from __future__ import annotations

from gate.edits import METRIC_NAMES
from gate.model.comparison import ArmComparison
from gate.model.settings import PolicySettings
from gate.model.verdict import Finding, Level
from gate.model.wording import plural
from gate.policies._kinds import gated_kinds


class Settings(PolicySettings):
    """No keys of its own."""


def judge(arm: str, comparison: ArmComparison, settings: Settings) -> list[Finding]:
    """A regression for every deciding kind and metric with a loss that is neither accepted nor spared."""
    kinds = {kind for kind, _ in gated_kinds(comparison, settings)}
    lost: dict[tuple[str, int], list[str]] = {}
    for move in comparison.lost:
        if move.kind in kinds and move.weighs:
            for position, metric in enumerate(settings.metrics):
                if move.fell(metric):
                    lost.setdefault((move.kind, position), []).append(move.id)
    return [
        Finding(
            level=Level.REGRESSION,
            code="case-lost",
            arm=arm,
            kind=kind,
            metric=settings.metrics[position],
            cases=tuple(ids),
            text=f"{arm}: {kind} lost {plural(len(ids), 'case')}{_on(settings, position)}",
        )
        for (kind, position), ids in sorted(lost.items())
    ]


def _on(settings: PolicySettings, position: int) -> str:
    """The metric, where the policy names several."""
    metric = settings.metrics[position]
    return f" on {METRIC_NAMES.get(metric, metric)}" if len(settings.metrics) > 1 else ""

"""What the policies share: which groups decide, and how a fallen one is worded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gate.edits import METRIC_NAMES
from gate.model.comparison import ArmComparison, GroupComparison, MetricChange
from gate.model.settings import PolicySettings
from gate.model.verdict import Finding, Level


def gated_kinds(comparison: ArmComparison, settings: PolicySettings) -> Iterator[tuple[str, GroupComparison]]:
    """The kinds that decide: all, or those that the policy names."""
    for kind, group in comparison.kinds.items():
        if settings.kinds is None or kind in settings.kinds:
            yield kind, group


def fallen_kinds(
    arm: str,
    comparison: ArmComparison,
    settings: PolicySettings,
    code: str,
    fell: Callable[[MetricChange, int], bool],
    why: str,
) -> list[Finding]:
    """One regression for each deciding kind and metric where `fell(change, n)` holds."""
    found = []
    for kind, group in gated_kinds(comparison, settings):
        for metric in settings.metrics:
            change = group.metrics[metric]
            if fell(change, group.n):
                lost = tuple(
                    move.id
                    for move in comparison.lost
                    if move.kind == kind and not move.accepted and not move.flaky and move.fell(metric)
                )
                found.append(
                    Finding(
                        level=Level.REGRESSION,
                        code=code,
                        arm=arm,
                        kind=kind,
                        metric=metric,
                        cases=lost,
                        text=f"{arm}: {kind} {why} on {METRIC_NAMES.get(metric, metric)}",
                    )
                )
    return found

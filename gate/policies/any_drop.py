"""any-drop, the default: a kind whose mean is below the baseline's is a regression.

A loss that an equal win in the same kind offsets is not a drop, and float dust is not one either.
"""

from __future__ import annotations

from gate.model.comparison import DUST, ArmComparison
from gate.model.settings import PolicySettings
from gate.model.verdict import Finding
from gate.policies._kinds import fallen_kinds


class Settings(PolicySettings):
    """No keys of its own."""


def judge(arm: str, comparison: ArmComparison, settings: Settings) -> list[Finding]:
    """A regression for every deciding kind and metric whose summed difference is below zero."""
    return fallen_kinds(
        arm, comparison, settings, "kind-dropped", lambda change, _: change.gated < -DUST, "dropped"
    )

"""max-drop: a kind may fall by at most `max_drop` of its mean; more is a regression.

For suites with an arm that is known to wobble. Small falls add up over many merges, so prefer any-drop with
accepted losses where the arm repeats bit for bit.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gate.model.comparison import DUST, ArmComparison
from gate.model.settings import PolicySettings
from gate.model.verdict import Finding
from gate.policies._kinds import fallen_kinds


class Settings(PolicySettings):
    """`max_drop`: the largest fall of a kind's mean that passes, in the metric's own unit (0.02 = two points)."""

    max_drop: Annotated[float, Field(ge=0.0, le=1.0)]


def judge(arm: str, comparison: ArmComparison, settings: Settings) -> list[Finding]:
    """A regression for every deciding kind and metric whose mean fell by more than `max_drop`."""
    return fallen_kinds(
        arm,
        comparison,
        settings,
        "kind-dropped",
        lambda change, n: -change.gated / n > settings.max_drop + DUST,
        f"dropped by more than {settings.max_drop:g}",
    )

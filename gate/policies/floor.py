"""floor: a kind's mean may not be below a fixed value, whatever the baseline says.

A floor alone lets quality slide down to it; it is meant for new arms that have no history worth keeping yet.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gate.model.comparison import DUST, ArmComparison
from gate.model.settings import PolicySettings
from gate.model.verdict import Finding
from gate.policies._kinds import fallen_kinds


class Settings(PolicySettings):
    """`floor`: the lowest mean that passes, for every deciding kind and metric."""

    floor: Annotated[float, Field(ge=0.0, le=1.0)]


def judge(arm: str, comparison: ArmComparison, settings: Settings) -> list[Finding]:
    """A regression for every deciding kind and metric whose mean is below `floor`."""
    return fallen_kinds(
        arm,
        comparison,
        settings,
        "below-floor",
        lambda change, _: change.after < settings.floor - DUST,
        f"is below the floor of {settings.floor:g}",
    )

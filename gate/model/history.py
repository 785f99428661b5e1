"""A baseline through the commits that changed it, as values."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from gate.model.frozen import Frozen

HISTORY_SCHEMA: Final = "retrieval-gate/history/1"


class Point(Frozen):
    """The mean of one kind (or of all cases, under `all`) in one version of the baseline; `n` cases are behind it."""

    n: int
    mean: float


class Move(Frozen):
    """One kind of one arm that moved between two versions, over the cases that both hold under the same label.

    `cases` of them were compared; `won` and `lost` are the ids that scored higher and lower.
    """

    arm: str
    kind: str
    before: float
    after: float
    cases: int
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


class Entry(Frozen):
    """One version of the baseline. `points`: arm -> kind -> mean. `moves`: against the version before.

    `notes` say what else differs from it: settings, cases, pages, arms. `unreadable` is why a version has no points.
    """

    commit: str
    date: str
    subject: str
    points: dict[str, dict[str, Point]] = Field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    notes: tuple[str, ...] = ()
    unreadable: str | None = None


class History(Frozen):
    """One suite's baseline, oldest version first. `metric` is the row name that the means are of.

    `cut`: the checkout lacks older history; `more`: older versions exist beyond the limit.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
    )

    schema_name: Literal["retrieval-gate/history/1"] = Field(default=HISTORY_SCHEMA, alias="schema")
    suite: str
    baseline: str
    metric: str
    k: int
    entries: tuple[Entry, ...]
    cut: bool = False
    more: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        value: dict[str, Any] = self.model_dump(mode="json")
        return value

"""A paired comparison of two measurements, as values."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from pydantic import Field

from gate.model.frozen import Frozen
from gate.model.wording import listed

# A kind has dropped when the sum of its differences is below minus this; anything smaller is float dust.
DUST = 1e-9

Pair = tuple[str, str]
"""(arm, case id)"""


class PageMove(Frozen):
    """One relevant page of one case: its rank among the pages of the pool before and now, None outside it.

    `cause`: deleted, renamed, moved (the section that was found went to the page `moved_to`), edited, split (cut into
    other chunks), overtaken, shifted (no page concerned changed, but the corpus did) or empty. `renamed_to`: the new
    doc_id where it was renamed. `legs`: its ranks (before, now) in each arm that this one asks.
    """

    doc_id: str
    before: int | None
    after: int | None
    cause: str = ""
    renamed_to: str | None = None
    moved_to: str | None = None
    legs: dict[str, tuple[int | None, int | None]] = Field(default_factory=dict)

    @property
    def fell(self) -> bool:
        """Whether it stands lower than before, or nowhere."""
        return self.before is not None and (self.after is None or self.after > self.before)


class CaseMove(Frozen):
    """One case whose score moved on a metric that the policy names.

    `scores`: metric -> (before, now). `pages`: its relevant pages. `overtaken_by`: pages above the lost page now
    that were not above it before. `touched`: those of all these pages whose content differs from the baseline's.
    `accepted`: the reason, where a reviewed file accepts the loss. `already_lost`: the base tree, measured again,
    has the loss too. `unjudged`: pages new in its top k that nobody ever judged, where that is known. `by`: whose doing a loss is, where that was measured: pages, settings, either or together. `again`: metric -> the score of a second measurement, where there was one; `flaky`: that one does
    not confirm the loss, and the baseline knows the arm as unstable. `weighs`: some of the loss is not excused.
    """

    id: str
    kind: str
    query: str
    scores: dict[str, tuple[float, float]]
    pages: tuple[PageMove, ...] = ()
    overtaken_by: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    accepted: str | None = None
    already_lost: bool = False
    by: str = ""
    unjudged: tuple[str, ...] = ()
    again: dict[str, float] = Field(default_factory=dict)
    flaky: bool = False
    weighs: bool = False

    def fell(self, metric: str) -> bool:
        """Whether it scores lower on `metric` than before, beyond float dust."""
        before, after = self.scores.get(metric, (0.0, 0.0))
        return after - before < -DUST

    @property
    def lost(self) -> bool:
        """Whether any metric of the policy fell."""
        return any(self.fell(metric) for metric in self.scores)

    @property
    def won(self) -> bool:
        """Whether one metric of the policy rose and none fell."""
        return not self.lost and any(after - before > DUST for before, after in self.scores.values())


class Counts(NamedTuple):
    """How many cases were lost, won or neither, over all metrics of the policy."""

    wins: int
    losses: int
    ties: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


class Evidence(Frozen):
    """How sure a difference is. Information beside a verdict, never part of it."""

    sign_p: float
    flip_p: float
    interval: tuple[float, float] | None
    smallest_drop: int | None


class MetricChange(Frozen):
    """One metric over the same cases: means before and now, the sum of the differences, and the counts.

    `gated` is the sum without accepted and flaky losses: what a policy decides on.
    """

    before: float
    after: float
    total: float
    gated: float
    wins: int
    losses: int
    ties: int


class GroupComparison(Frozen):
    """The paired comparison of one kind, or of a whole arm. `evidence` is about the first metric of the policy."""

    n: int
    metrics: dict[str, MetricChange]
    evidence: Evidence


class QuestionMove(Frozen):
    """A QA question whose bucket changed, with the cited pages that are not where they were."""

    id: str
    before: str
    after: str
    worse: bool
    pages: tuple[str, ...] = ()


class ArmComparison(GroupComparison):
    """One arm against its own rows in the baseline.

    A case is lost when any metric of the policy falls, and won when one rises and none falls: `losses` and `wins` count
    `lost` and `won`, `ties` the rest. How often one metric alone rose and fell stands in `metrics`.
    `lowered_kinds` score below the baseline on a metric of the policy; `dropped_kinds` are those of them whose fall
    nothing excuses: no accepted loss, no second measurement.
    """

    wins: int
    losses: int
    ties: int
    dropped_kinds: tuple[str, ...] = ()
    lowered_kinds: tuple[str, ...] = ()
    kinds: dict[str, GroupComparison] = Field(default_factory=dict)
    lost: tuple[CaseMove, ...] = ()
    won: tuple[CaseMove, ...] = ()
    question_moves: tuple[QuestionMove, ...] = ()
    settings_changed: tuple[str, ...] = ()

    def counts_by_kind(self) -> dict[str | None, Counts]:
        """The counts of every kind; None is the whole arm."""
        won, lost = (Counter(move.kind for move in moves) for moves in (self.won, self.lost))
        counts: dict[str | None, Counts] = {None: Counts(self.wins, self.losses, self.ties)}
        for kind, group in self.kinds.items():
            counts[kind] = Counts(won[kind], lost[kind], group.n - won[kind] - lost[kind])
        return counts


class CaseChanges(Frozen):
    """How one case set differs from another, by case fingerprint. Falsy when they are the same."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = [
            f"{len(ids)} {word}: {listed(ids, 8)}"
            for word, ids in (("added", self.added), ("removed", self.removed), ("changed", self.changed))
            if ids
        ]
        return "; ".join(parts)


class PageChanges(Frozen):
    """How one corpus differs from another, by page content hash. `renamed` maps the old doc_id to the new one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    renamed: dict[str, str] = Field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.edited or self.renamed)

"""Measurement x baseline -> paired comparison. Every case is compared with itself; raw scores decide.

Both sides must hold the same cases (same labels, same kinds): `gate.situation` sees to that before it calls here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gate.diagnosis import BUCKETS, comparable
from gate.harness import CONTEXT_RECALL
from gate.model.comparison import (
    DUST,
    ArmComparison,
    CaseChanges,
    CaseMove,
    Evidence,
    GroupComparison,
    MetricChange,
    PageChanges,
    PageMove,
    Pair,
    QuestionMove,
)
from gate.model.frozen import EMPTY
from gate.model.measurement import ArmMeasurement, Label, Measurement, Question, Row
from gate.stats import interval, power, sign_flip, sign_test

# How many of the pages that now stand above a fallen page are named; the first ones took its place.
OVERTAKERS = 5


class Excuse(NamedTuple):
    """Why a loss does not weigh, and down to which score on each metric; without scores, whatever it is."""

    reason: str
    down_to: Mapping[str, float] = EMPTY


@dataclass(frozen=True, slots=True)
class Context:
    """What a comparison is told beside the two measurements.

    `metrics`: row names the policy decides on; the evidence is about the first one. `accepted`: the losses that a
    reviewed file names. `already_lost`: what the base tree itself scores on a case that it loses too; such a loss
    weighs unless `spare_already_lost`, and then only beyond the base tree's own. `again`: scores of a second
    measurement; `flaky`: pairs that it does not confirm on an arm that is known to be unstable.
    `pages`: how the corpus differs from the baseline's. `followed`: cases whose labels were renamed with their pages.
    """

    metrics: Sequence[str] = ("recall",)
    accepted: Mapping[Pair, Excuse] = field(default_factory=dict)
    already_lost: Mapping[Pair, Mapping[str, float]] = field(default_factory=dict)
    spare_already_lost: bool = False
    again: Mapping[Pair, Mapping[str, float]] = field(default_factory=dict)
    flaky: frozenset[Pair] = frozenset()
    pages: PageChanges = field(default_factory=PageChanges)
    followed: frozenset[str] = frozenset()

    def excuses(self, arm: str, case: str) -> list[Excuse]:
        """What speaks for a loss of this case under this arm."""
        pair = (arm, case)
        found = [self.accepted[pair]] if pair in self.accepted else []
        if self.spare_already_lost and pair in self.already_lost:
            found.append(Excuse("already lost on the base", self.already_lost[pair]))
        if pair in self.flaky:
            found.append(Excuse("not confirmed when measured again"))
        return found


def unexcused(metric: str, before: float, now: float, excuses: Sequence[Excuse]) -> float:
    """The difference of one case that weighs: what of a loss no excuse covers; a win weighs whole."""
    difference = now - before
    if difference >= 0:
        return difference
    for excuse in excuses:
        if not excuse.down_to:
            return 0.0
        if metric in excuse.down_to:
            difference = max(difference, min(0.0, now - excuse.down_to[metric]))
    return difference


def case_changes(now: Mapping[str, Label], before: Mapping[str, Label]) -> CaseChanges:
    """Which cases were added, removed or changed (another fingerprint under the same id)."""
    return CaseChanges(
        added=tuple(sorted(now.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - now.keys())),
        changed=tuple(
            sorted(name for name in now.keys() & before.keys() if now[name].sha256 != before[name].sha256)
        ),
    )


def page_changes(
    now: Mapping[str, str], before: Mapping[str, str], renames: Mapping[str, str] | None = None
) -> PageChanges:
    """How the pages differ, by content hash. A removed page whose exact content stands under a new name was renamed;
    `renames` (old doc_id -> new doc_id, from git) says so for those that were edited on the way.
    """
    removed = before.keys() - now.keys()
    added = now.keys() - before.keys()
    by_hash = {now[name]: name for name in sorted(added, reverse=True)}
    renamed = {name: by_hash[before[name]] for name in sorted(removed) if before[name] in by_hash}
    for old, new in sorted((renames or {}).items()):
        if old in removed and new in added and old not in renamed and new not in renamed.values():
            renamed[old] = new
    return PageChanges(
        added=tuple(sorted(added - set(renamed.values()))),
        removed=tuple(sorted(removed - renamed.keys())),
        edited=tuple(sorted(name for name in now.keys() & before.keys() if now[name] != before[name])),
        renamed=renamed,
    )


def compare_arm(
    arm: str, now: ArmMeasurement, before: ArmMeasurement, labels: Mapping[str, Label], context: Context
) -> ArmComparison:
    """Compare one arm over the cases that both sides measured. A case that failed now has no pair; the arm is then
    reported as not measured elsewhere, so that nobody reads this comparison as complete.
    """
    ids = [name for name in labels if name in now.rows and name in before.rows]
    excused = {name: found for name in ids if (found := context.excuses(arm, name))}
    kinds = {
        kind: _group(
            [name for name in ids if labels[name].kind == kind], now.rows, before.rows, context, excused
        )
        for kind in sorted({labels[name].kind for name in ids})
    }
    whole = _group(ids, now.rows, before.rows, context, excused)
    moves = [_move(arm, name, now.rows[name], before.rows[name], labels[name], context) for name in ids]
    lost = [move for move in moves if move.lost]
    won = [move for move in moves if move.won]
    return ArmComparison(
        n=whole.n,
        metrics=whole.metrics,
        evidence=whole.evidence,
        wins=len(won),
        losses=len(lost),
        ties=whole.n - len(won) - len(lost),
        dropped_kinds=_below(kinds, context.metrics, lambda change: change.gated),
        lowered_kinds=_below(kinds, context.metrics, lambda change: change.total),
        kinds=kinds,
        lost=tuple(
            sorted(lost, key=lambda move: (min(_difference(p) for p in move.scores.values()), move.id))
        ),
        won=tuple(
            sorted(won, key=lambda move: (-max(_difference(p) for p in move.scores.values()), move.id))
        ),
        question_moves=question_moves(now.questions, before.questions),
        settings_changed=settings_changed(now.settings, before.settings),
    )


def _below(
    kinds: Mapping[str, GroupComparison], metrics: Sequence[str], of: Callable[[MetricChange], float]
) -> tuple[str, ...]:
    return tuple(kind for kind, group in kinds.items() if any(of(group.metrics[m]) < -DUST for m in metrics))


def _difference(pair: tuple[float, float]) -> float:
    return pair[1] - pair[0]


def _group(
    ids: Sequence[str],
    now: Mapping[str, Row],
    before: Mapping[str, Row],
    context: Context,
    excused: Mapping[str, Sequence[Excuse]],
) -> GroupComparison:
    names = sorted(set.intersection(*({*now[n].scores} & {*before[n].scores} for n in ids))) if ids else []
    metrics = {}
    for name in names:
        differences = [now[case].scores[name] - before[case].scores[name] for case in ids]
        metrics[name] = _change(
            [before[case].scores[name] for case in ids],
            [now[case].scores[name] for case in ids],
            differences,
            [
                unexcused(name, before[case].scores[name], now[case].scores[name], excused.get(case, ()))
                for case in ids
            ],
        )
    deciding = context.metrics[0]
    return GroupComparison(
        n=len(ids),
        metrics=metrics,
        evidence=evidence([now[n].scores[deciding] - before[n].scores[deciding] for n in ids]),
    )


def _change(
    before: Sequence[float], after: Sequence[float], differences: Sequence[float], gated: Sequence[float]
) -> MetricChange:
    wins = sum(value > DUST for value in differences)
    losses = sum(value < -DUST for value in differences)
    return MetricChange(
        before=math.fsum(before) / len(before),
        after=math.fsum(after) / len(after),
        total=math.fsum(differences),
        gated=math.fsum(gated),
        wins=wins,
        losses=losses,
        ties=len(differences) - wins - losses,
    )


def evidence(differences: Sequence[float]) -> Evidence:
    """How sure a mean difference is: exact sign test, paired sign-flip test, 95 % interval, smallest visible drop."""
    wins = sum(value > DUST for value in differences)
    losses = sum(value < -DUST for value in differences)
    return Evidence(
        sign_p=sign_test.p_value(wins, losses),
        flip_p=sign_flip.p_value(differences),
        interval=interval.mean_interval(differences),
        smallest_drop=power.smallest_drop(len(differences)),
    )


def rank_of(row: Row, page: str) -> int | None:
    """The 1-based rank of `page` among the pages of the pool, None outside it."""
    return row.ranked.index(page) + 1 if page in row.ranked else None


def _move(arm: str, name: str, now: Row, before: Row, label: Label, context: Context) -> CaseMove:
    scores = {
        metric: (before.scores[metric], now.scores[metric])
        for metric in context.metrics
        if metric in before.scores and metric in now.scores
    }
    if not any(abs(_difference(pair)) > DUST for pair in scores.values()):
        return CaseMove(id=name, kind=label.kind, query=label.query, scores=scores)
    new_names = context.pages.renamed if name in context.followed else EMPTY
    pages = tuple(_page_move(page, now, before, context.pages, new_names) for page in label.relevant)
    overtaken_by = _overtakers(pages, now, before, {new_names.get(page, page) for page in label.relevant})
    excuse = context.accepted.get((arm, name))
    again = context.again.get((arm, name), {})

    def weighs(*excuses: Excuse) -> bool:
        return any(unexcused(metric, *pair, excuses) < -DUST for metric, pair in scores.items())

    changed = {
        *context.pages.added,
        *context.pages.removed,
        *context.pages.edited,
        *context.pages.renamed,
        *context.pages.renamed.values(),
    }
    return CaseMove(
        id=name,
        kind=label.kind,
        query=label.query,
        scores=scores,
        pages=pages,
        overtaken_by=overtaken_by,
        touched=tuple(page for page in (*label.relevant, *overtaken_by) if page in changed),
        accepted=excuse.reason if excuse is not None and not weighs(excuse) else None,
        already_lost=(arm, name) in context.already_lost,
        again={metric: score for metric, score in again.items() if metric in scores},
        flaky=(arm, name) in context.flaky and weighs(),
        weighs=weighs(*context.excuses(arm, name)),
    )


def _page_move(
    page: str, now: Row, before: Row, changes: PageChanges, new_names: Mapping[str, str]
) -> PageMove:
    """`new_names`: what the label calls the pages that were renamed together with it."""
    was, is_now = rank_of(before, page), rank_of(now, new_names.get(page, page))
    cause = ""
    if page in changes.removed:
        cause = "deleted"
    elif page in changes.renamed and page not in new_names:
        cause = "renamed"
    elif page in changes.edited:
        cause = "edited"
    elif was is not None and (is_now is None or is_now > was):
        cause = "overtaken" if now.ranked else "empty"
    return PageMove(doc_id=page, before=was, after=is_now, cause=cause, renamed_to=changes.renamed.get(page))


def _overtakers(
    pages: Iterable[PageMove], now: Row, before: Row, relevant: Collection[str]
) -> tuple[str, ...]:
    """Pages that stand above a fallen page now and did not before, best first; the relevant ones are left out."""
    found: dict[str, None] = {}
    for move in pages:
        if move.before is None or (move.after is not None and move.after <= move.before):
            continue
        above_before = set(before.ranked[: move.before - 1])
        above_now = now.ranked if move.after is None else now.ranked[: move.after - 1]
        found.update((page, None) for page in above_now if page not in above_before and page not in relevant)
    return tuple(found)[:OVERTAKERS]


def question_moves(now: Mapping[str, Question], before: Mapping[str, Question]) -> tuple[QuestionMove, ...]:
    """The questions, equal on both sides, whose bucket changed; the worse ones first."""
    moves = []
    for name in sorted(now.keys() & before.keys()):
        after, was = now[name], before[name]
        new, old = comparable(after.bucket, was.bucket)
        if after.sha256 != was.sha256 or new == old:
            continue
        fallen = tuple(page for page, at in after.at.items() if at != was.at.get(page))
        worse = BUCKETS.index(new) < BUCKETS.index(old)
        moves.append(QuestionMove(id=name, before=old, after=new, worse=worse, pages=fallen))
    return tuple(sorted(moves, key=lambda move: (not move.worse, move.id)))


def settings_changed(now: Mapping[str, object], before: Mapping[str, object]) -> tuple[str, ...]:
    """The arm's own settings that differ, each as `key: before -> now`."""
    return tuple(
        f"{key}: {before.get(key, 'unset')} -> {now.get(key, 'unset')}"
        for key in sorted(now.keys() | before.keys())
        if now.get(key) != before.get(key)
    )


def unreproduced(
    now: Measurement,
    recorded: Measurement,
    trusted: Measurement | None = None,
    seen: Mapping[Pair, Sequence[Row]] = EMPTY,
) -> dict[str, tuple[str, ...]]:
    """The cases and questions of `recorded` that this run does not reproduce, by arm.

    Equal means equal scores to float dust and equal buckets. An arm on one side only is not reproduced at all. A case
    that this run or the `trusted` baseline knows as unstable may have other scores, but none below all that the
    trusted baseline holds and this run measured (`seen`: its further measurements). What `recorded` says of itself
    is not believed.
    """
    nothing = ArmMeasurement(settings={}, rows={})
    found: dict[str, tuple[str, ...]] = {}
    for arm in sorted(now.arms.keys() | recorded.arms.keys()):
        mine, theirs = now.arms.get(arm, nothing), recorded.arms.get(arm, nothing)
        known = trusted.arms.get(arm, nothing) if trusted is not None else nothing
        unstable = {*mine.unstable, *known.unstable}
        wrong = []
        for name in sorted(mine.rows.keys() | theirs.rows.keys()):
            row, other = mine.rows.get(name), theirs.rows.get(name)
            if _reproduced(row, other):
                continue
            held = [known.rows[name]] if name in known.rows else []
            every = [*([row] if row is not None else []), *held, *seen.get((arm, name), ())]
            if name not in unstable or other is None or _below_all(other, every):
                wrong.append(name)
        wrong += [
            name
            for name in sorted(mine.questions.keys() | theirs.questions.keys())
            if _other_bucket(mine.questions.get(name), theirs.questions.get(name))
        ]
        if wrong:
            found[arm] = tuple(wrong)
    return found


def _reproduced(one: Row | None, other: Row | None) -> bool:
    return one is not None and other is not None and same_scores(one, other)


def _below_all(row: Row, others: Sequence[Row]) -> bool:
    """Whether `row` has a score lower than that of every other one."""
    return any(
        score < min((other.scores.get(metric, score) for other in others), default=score) - DUST
        for metric, score in row.scores.items()
    )


def _other_bucket(one: Question | None, other: Question | None) -> bool:
    """Whether they differ, as far as both can be compared."""
    if one is None or other is None:
        return one is not other
    now, before = comparable(one.bucket, other.bucket)
    return now != before


def same_scores(one: Row, other: Row) -> bool:
    """Whether every metric of `one` stands in `other` with the same score, float dust aside."""
    mine, theirs = one.scores, other.scores
    return all(name in theirs and abs(mine[name] - theirs[name]) <= DUST for name in mine)


def warned_metrics(comparison: GroupComparison, decided: Sequence[str]) -> tuple[str, ...]:
    """The metrics that fell although the policy does not decide on them: MRR, hit@k and context recall."""
    return tuple(
        name
        for name in ("rr", "hit", CONTEXT_RECALL)
        if name in comparison.metrics and name not in decided and comparison.metrics[name].total < -DUST
    )

"""Which baseline, and whose rules: every row of the table in DESIGN section 6, as a pure function.

The base's files are trusted and the change's are not, so the paired comparison always runs over the base baseline's
cases, with its labels and kinds: unchanged, removed and relabelled cases are gated alike, added ones are only
listed. Without a base (on a laptop) the work tree's baseline stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gate.acceptance import APPROVAL_NEEDED, accepted_here, accepted_losses
from gate.compare import Context, case_changes, compare_arm, page_changes, warned_metrics
from gate.edits import METRIC_NAMES, absent, differences, edited_baseline, edited_rules, not_reproduced
from gate.harness import rescore
from gate.model.comparison import ArmComparison, CaseChanges, PageChanges, Pair
from gate.model.fingerprint import shown
from gate.model.measurement import ArmMeasurement, Measurement, Row
from gate.model.metric import Metrics
from gate.model.run import Run, Side
from gate.model.settings import ArmSettings
from gate.model.verdict import Finding, Level
from gate.model.wording import listed
from gate.noise import claims, not_stable_here, unconfirmed
from gate.renames import renames_told
from gate.rescoring import under, within_both

__all__ = ["APPROVAL_NEEDED", "Run", "Side", "Situation", "resolve", "unmeasured"]


REASON = ' --reason "why"'


@dataclass(frozen=True, slots=True)
class Situation:
    """What the table says: findings, and the paired comparison of each arm where one could be made."""

    findings: tuple[Finding, ...]
    arms: Mapping[str, ArmComparison] = field(default_factory=dict)
    cases: CaseChanges = field(default_factory=CaseChanges)
    pages: PageChanges = field(default_factory=PageChanges)
    metrics: tuple[str, ...] = ("recall",)
    under_base: Mapping[str, ArmComparison] = field(default_factory=dict)


def resolve(run: Run, metrics: Metrics) -> Situation:
    """Find out what this run is compared with and whether it may be, and compare. The policies judge afterwards."""
    trusted = run.trusted
    findings = [*unmeasured(run)]
    if trusted is None:
        return Situation((*findings, *_without_baseline(run)))
    before, faults = _same_meaning(run, trusted, metrics)
    changes = case_changes(run.now.cases, trusted.cases)
    findings += faults
    place = len(findings)
    findings += absent(run, trusted)
    findings += edited_baseline(run, trusted, changes)
    findings += edited_rules(run)
    findings += claims(run)
    findings += _without_rows(run, trusted)
    accepted, about_accepted = accepted_losses(run, trusted)
    findings += about_accepted
    pages = page_changes(run.now.pages, trusted.pages, run.renames)
    names = run.rules.policy.metrics
    findings += renames_told(run, pages.renamed)
    if before is None or run.on_base is None:
        findings[place:place] = _changed_cases(run, trusted, changes, lost=False)
        return Situation(tuple(findings), cases=changes, pages=pages, metrics=names)
    deciding = tuple(dict.fromkeys((*names, *run.head.settings.policy.metrics)))
    context = Context(
        metrics=deciding,
        accepted=accepted,
        again={pair: row.scores for pair, row in run.again.items()},
        flaky=unconfirmed(before, run.again, deciding),
        already_lost=run.already_lost,
        spare_already_lost=run.rules.policy.already_lost == "warn",
        pages=pages,
        followed=frozenset(run.followed),
    )
    arms = _compared(run.on_base, before, context)
    under_base = {}
    meaning = within_both(trusted.settings, run.now.settings)
    kept, at_base = under(trusted, meaning, metrics), under(run.on_base, meaning, metrics)
    if before is not trusted and kept is not None and at_base is not None:
        # The base's own settings hold as well: a higher k must not hide what is lost at the base's.
        again = _rescored_pairs(run.again, kept, metrics)
        own = replace(
            context,
            already_lost={},
            again={pair: row.scores for pair, row in again.items()},
            flaky=unconfirmed(kept, again, deciding),
        )
        under_base = _compared(at_base, kept, own)
    lost = any(not move.accepted for one in (*arms.values(), *under_base.values()) for move in one.lost)
    findings[place:place] = _changed_cases(run, trusted, changes, lost=lost)
    findings += accepted_here(run, trusted, (arms, under_base))
    findings += not_stable_here(run, arms)
    findings += _nothing_compared(run, arms)
    findings += _warnings(run, arms, context.metrics)
    return Situation(tuple(findings), arms, changes, pages, tuple(context.metrics), under_base)


def _compared(now: Measurement, before: Measurement, context: Context) -> dict[str, ArmComparison]:
    return {
        name: compare_arm(name, arm, before.arms[name], before.cases, context)
        for name, arm in now.arms.items()
        if name in before.arms
    }


def _rescored_pairs(rows: Mapping[Pair, Row], trusted: Measurement, metrics: Metrics) -> dict[Pair, Row]:
    """Second measurements scored under the settings of `trusted`."""
    return {
        (arm, case): rescore({case: row}, trusted.cases, trusted.settings, metrics)[case]
        for (arm, case), row in rows.items()
    }


def _without_rows(run: Run, trusted: Measurement) -> Iterator[Finding]:
    """Arms that decide but have no rows in the baseline: nothing could be lost, so nothing would ever be said."""
    rules = {**run.head.settings.arms, **run.rules.arms}
    for name in run.now.arms:
        if name in trusted.arms or (name in rules and not rules[name].gate):
            continue
        new_here = run.base is not None and name not in run.base.settings.arms
        recorded = run.brings is not None and name in run.brings.arms
        if new_here:
            yield Finding(
                level=Level.NOTICE if recorded else Level.BANNER,
                code="arm-new",
                arm=name,
                text=f"the arm '{name}' is new in this change: it has no rows in the base's baseline to be compared with",
                todo=""
                if recorded
                else f"Record it with 'gate baseline {run.suite}', or later changes are invalid.",
            )
        else:
            yield Finding(
                level=Level.NOTICE if run.against else Level.INVALID,
                code="arm-without-rows",
                arm=name,
                text=f"the arm '{name}' has no rows in the baseline, so no loss of it could show",
                todo=f"Record it with 'gate baseline {run.suite}', or set gate = false.",
            )


def _nothing_compared(run: Run, arms: Mapping[str, ArmComparison]) -> Iterator[Finding]:
    """A pass needs a comparison of at least one arm that decides."""
    rules = {**run.head.settings.arms, **run.rules.arms}
    if not any(one.n and (name not in rules or rules[name].gate) for name, one in arms.items()):
        yield Finding(
            level=Level.INVALID,
            code="nothing-compared",
            text=f"no arm of the suite '{run.suite}' that decides could be compared with the baseline",
            todo=f"Keep an arm that the base has, or record a baseline with 'gate baseline {run.suite}'.",
        )


def unmeasured(run: Run) -> Iterator[Finding]:
    """Arms that failed on a case or could not be built, and arms that the command line left out."""
    rules = {**run.head.settings.arms, **run.rules.arms}
    for name, arm in _all_arms(run).items():
        if arm.complete:
            continue
        yield _failed(name, arm, _unmeasured_level(rules.get(name)))
    for name, arm in run.failed_again.items():
        yield _failed(name, arm, _unmeasured_level(rules.get(name)), " when measured again")
    for name in run.left_out:
        # Held against a base, what the base requires must be measured; on a laptop a part is what was asked for.
        yield Finding(
            level=_unmeasured_level(rules.get(name)) if run.base is not None else Level.PARTIAL,
            code="arm-left-out",
            arm=name,
            text=f"arm '{name}' was left out by --arm",
            todo="Not measured.",
        )


def _failed(name: str, arm: ArmMeasurement, level: Level, when: str = "") -> Finding:
    """Queries of one arm that failed. One reason for all of them is said once."""
    failed = {**arm.failed, **arm.failed_questions}
    asked = len(arm.rows) + len(arm.failed) + len(arm.questions) + len(arm.failed_questions)
    first = next(iter(failed))
    if asked == len(failed) > 1 and len(set(failed.values())) == 1:
        text = f"arm '{name}': all {asked} queries failed{when}: {failed[first]}"
    else:
        text = (
            f"arm '{name}': {len(failed)} of {asked} queries failed{when} (first '{first}': {failed[first]})"
        )
    return Finding(
        level=level,
        code="arm-not-measured",
        arm=name,
        cases=tuple(failed),
        text=text,
        todo="Not measured.",
    )


def _unmeasured_level(rules: ArmSettings | None) -> Level:
    """An arm that the rules do not name is required."""
    return Level.NOT_MEASURED if rules is None or rules.required else Level.PARTIAL


def _all_arms(run: Run) -> dict[str, ArmMeasurement]:
    """Every arm with the failures of both case lists."""
    arms = dict(run.now.arms)
    if run.on_base is not None and run.on_base is not run.now:
        for name, arm in run.on_base.arms.items():
            if not arm.complete and (name not in arms or arms[name].complete):
                arms[name] = arm
    return arms


def _without_baseline(run: Run) -> Iterator[Finding]:
    brought = run.brings
    if brought is None:
        yield Finding(
            level=Level.INVALID,
            code="no-baseline",
            text=f"the suite '{run.suite}' has no baseline ({run.rules.baseline})",
            todo=f"Record one with 'gate baseline {run.suite}', or only measure with --no-baseline.",
        )
        return
    faults = not_reproduced(run, brought)
    if faults:
        yield from faults
    else:
        where = (
            "no baseline on the base yet"
            if run.base_has_config
            else "no gate.toml on the base: nothing of it decides"
        )
        yield Finding(
            level=Level.NOTICE if run.base_has_config else Level.BANNER,
            code="new-baseline",
            text=f"the suite '{run.suite}' has {where}; the baseline that this change brings reproduces",
        )


def _same_meaning(
    run: Run, trusted: Measurement, metrics: Metrics
) -> tuple[Measurement | None, list[Finding]]:
    """The base's rows under the settings of this run, or None where that is impossible."""
    if trusted.settings == run.now.settings:
        return trusted, []
    difference = differences(trusted.settings, run.now.settings)
    brought = run.brings
    if brought is None:
        return None, [
            Finding(
                level=Level.INVALID,
                code="settings-changed",
                text=f"the baseline was recorded under other settings ({difference})",
                todo=f"Undo the change, or refresh with 'gate baseline {run.suite}'.",
            )
        ]
    before = under(trusted, run.now.settings, metrics)
    if before is None:
        return None, [
            Finding(
                level=Level.INVALID,
                code="settings-not-comparable",
                text=f"the base's stored rankings cannot be scored under the new settings ({difference})",
                todo="Change the split or raise the pool in a change of its own that an owner merges knowingly.",
            )
        ]
    banner = Finding(
        level=Level.BANNER,
        code="settings-changed",
        text=f"this change alters what the numbers mean ({difference}); the base's rows were scored again, and its own "
        "settings are applied as well where they can be",
    )
    return before, [banner, *not_reproduced(run, brought)]


def _changed_cases(run: Run, trusted: Measurement, changes: CaseChanges, *, lost: bool) -> Iterator[Finding]:
    """`lost`: a case that nobody accepted is lost as well, so a refresh will ask why."""
    if not changes:
        return
    brought = run.brings
    if brought is None or brought.cases_version == trusted.cases_version:
        where = run.rules.baseline
        yield Finding(
            level=Level.INVALID,
            code="cases-changed",
            cases=(*changes.added, *changes.removed, *changes.changed),
            text=(
                f"{where} was recorded on {shown(trusted.cases_version)}; "
                f"this run has {shown(run.now.cases_version)} ({changes})"
            ),
            todo=f"Refresh it with 'gate baseline {run.suite}{REASON if lost else ''}'.",
        )
        return
    yield Finding(
        level=Level.BANNER,
        code="cases-and-baseline-changed",
        cases=(*changes.removed, *changes.changed),
        text=f"this change alters the cases and the baseline ({changes}); the base's cases still decide",
    )
    if trusted.settings == run.now.settings:
        yield from not_reproduced(run, brought)


def _warnings(run: Run, arms: Mapping[str, ArmComparison], decided: Sequence[str]) -> Iterator[Finding]:
    """What is seen without deciding: other metrics that fell, gains that no baseline keeps, labelled pages that are gone."""
    for name, comparison in arms.items():
        for kind, group in comparison.kinds.items():
            for metric in warned_metrics(group, decided):
                change = group.metrics[metric]
                yield Finding(
                    level=Level.WARNING,
                    code="metric-fell",
                    arm=name,
                    kind=kind,
                    metric=metric,
                    text=f"{name}: {METRIC_NAMES.get(metric, metric)} of {kind} fell ({change.losses} lower, {change.wins} higher)",
                )
        if comparison.won and run.brings is None and not run.against:
            won = [move.id for move in comparison.won]
            yield Finding(
                level=Level.NOTICE,
                code="baseline-below",
                arm=name,
                cases=tuple(won),
                text=f"{name}: {len(won)} case{'s score' if len(won) > 1 else ' scores'} higher than the baseline "
                f"records ({listed(won, 8)})",
                todo="A refresh would keep the gain.",
            )
    pages = {page for label in run.now.cases.values() for page in label.relevant}
    gone = sorted(page for page in pages if page not in run.now.pages)
    if gone:
        yield Finding(
            level=Level.WARNING,
            code="labelled-page-gone",
            text=f"{len(gone)} labelled page{'s are' if len(gone) > 1 else ' is'} gone ({listed(gone, 8)})",
            todo="They are measured as missing. Relabel the cases, or bring the pages back.",
        )

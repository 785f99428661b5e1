"""Which baseline, and whose rules: every row of the table in DESIGN section 6, as a pure function.

The base's files are trusted and the change's are not, so the paired comparison always runs over the base baseline's
cases, with its labels and kinds: unchanged, removed and relabelled cases are gated alike, added ones are only
listed. Without a base (on a laptop) the work tree's baseline stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gate.compare import (
    Context,
    Excuse,
    Pair,
    case_changes,
    compare_arm,
    page_changes,
    unreproduced,
    warned_metrics,
)
from gate.diagnosis import BUCKETS, within
from gate.harness import rescore
from gate.model.accepted import Entry
from gate.model.comparison import DUST, ArmComparison, CaseChanges, PageChanges
from gate.model.fingerprint import shown
from gate.model.frozen import EMPTY
from gate.model.measurement import ArmMeasurement, Meaning, Measurement
from gate.model.metric import Metrics
from gate.model.settings import ArmSettings, SuiteSettings
from gate.model.verdict import Finding, Level

# A regression that an approving review of the head commit lifts (gate.github reads the reviews live).
APPROVAL_NEEDED = "approval-needed"


class Side(NamedTuple):
    """What one tree says about a suite: its settings, its baseline, its accepted losses."""

    settings: SuiteSettings
    baseline: Measurement | None = None
    accepted: tuple[Entry, ...] = ()


class Run(NamedTuple):
    """All that is known when a suite is judged.

    `now`: the change's own cases. `on_base`: the change's arms over the cases of the base baseline (the same object
    as `now` where the case sets are equal). `base`: the trusted side; None without --base. `renames`: doc_id ->
    doc_id, from git. `left_out`: arms that the command line did not select.
    """

    suite: str
    head: Side
    now: Measurement
    on_base: Measurement | None = None
    base: Side | None = None
    renames: Mapping[str, str] = EMPTY
    left_out: tuple[str, ...] = ()
    already_lost: Mapping[Pair, Mapping[str, float]] = EMPTY
    base_has_config: bool = True
    against: bool = False

    @property
    def rules(self) -> SuiteSettings:
        return self.base.settings if self.base is not None else self.head.settings

    @property
    def trusted(self) -> Measurement | None:
        """The baseline that decides."""
        return self.base.baseline if self.base is not None else self.head.baseline

    @property
    def baseline_changed(self) -> bool:
        """Whether the change brings another baseline than the base has."""
        if self.base is None or self.head.baseline is None:
            return False
        return self.base.baseline is None or self.head.baseline.as_json() != self.base.baseline.as_json()

    @property
    def brings(self) -> Measurement | None:
        """The baseline that the change brings, where it brings one."""
        return self.head.baseline if self.baseline_changed else None


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
    findings += _changed_cases(run, trusted, changes)
    findings += _absent(run, trusted)
    findings += _edited_baseline(run, trusted, changes)
    findings += _edited_rules(run)
    findings += _without_rows(run, trusted)
    accepted, about_accepted = _accepted(run, trusted)
    findings += about_accepted
    pages = page_changes(run.now.pages, trusted.pages, run.renames)
    names = run.rules.policy.metrics
    if before is None or run.on_base is None:
        return Situation(tuple(findings), cases=changes, pages=pages, metrics=names)
    context = Context(
        metrics=tuple(dict.fromkeys((*names, *run.head.settings.policy.metrics))),
        accepted=accepted,
        already_lost=run.already_lost,
        spare_already_lost=run.rules.policy.already_lost == "warn",
        pages=pages,
    )
    arms = _compared(run.on_base, before, context)
    under_base = {}
    if before is not trusted and run.now.settings.pool >= trusted.settings.pool:
        # The base's own settings hold as well: a higher k must not hide what is lost at the base's.
        own = replace(context, already_lost={})
        under_base = _compared(_rescored(run.on_base, trusted.settings, metrics), trusted, own)
    findings += _nothing_compared(run, arms)
    findings += _warnings(run, arms, context.metrics)
    return Situation(tuple(findings), arms, changes, pages, tuple(context.metrics), under_base)


def _compared(now: Measurement, before: Measurement, context: Context) -> dict[str, ArmComparison]:
    return {
        name: compare_arm(name, arm, before.arms[name], before.cases, context)
        for name, arm in now.arms.items()
        if name in before.arms
    }


def _rescored(measurement: Measurement, meaning: Meaning, metrics: Metrics) -> Measurement:
    """The same rankings scored under other settings: rows, and the buckets of the QA questions."""
    arms = {
        name: arm.model_copy(
            update={
                "rows": rescore(arm.rows, measurement.cases, meaning, metrics),
                "questions": within(arm.questions, meaning),
            }
        )
        for name, arm in measurement.arms.items()
    }
    return measurement.model_copy(update={"settings": meaning, "arms": arms})


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
        failed = {**arm.failed, **arm.failed_questions}
        first = next(iter(failed))
        asked = len(arm.rows) + len(arm.failed) + len(arm.questions) + len(arm.failed_questions)
        yield Finding(
            level=_unmeasured_level(rules.get(name)),
            code="arm-not-measured",
            arm=name,
            cases=tuple(failed),
            text=f"arm '{name}': {len(failed)} of {asked} queries failed (first '{first}': {failed[first]})",
            todo="Not measured.",
        )
    for name in run.left_out:
        # Held against a base, what the base requires must be measured; on a laptop a part is what was asked for.
        yield Finding(
            level=_unmeasured_level(rules.get(name)) if run.base is not None else Level.PARTIAL,
            code="arm-left-out",
            arm=name,
            text=f"arm '{name}' was left out by --arm",
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
    faults = _not_reproduced(run, brought)
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


def _not_reproduced(run: Run, brought: Measurement) -> list[Finding]:
    """What keeps a baseline that the change brings from being believed; empty when this run reproduces it."""
    todo = f"Record it again with 'gate baseline {run.suite}'."
    if brought.settings != run.now.settings:
        text = f"the new baseline was recorded with {_differences(brought.settings, run.now.settings)}"
    elif brought.cases_version != run.now.cases_version:
        changes = case_changes(run.now.cases, brought.cases)
        text = (
            f"the new baseline was recorded on {shown(brought.cases_version)}; "
            f"this run has {shown(run.now.cases_version)} ({changes})"
        )
    else:
        wrong = {
            arm: names
            for arm, names in unreproduced(run.now, brought, run.trusted).items()
            if arm not in run.left_out
        }
        if not wrong:
            return []
        text = f"this run does not reproduce the new baseline ({_by_arm(wrong)})"
    return [Finding(level=Level.INVALID, code="baseline-not-reproduced", text=text, todo=todo)]


def _by_arm(names: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(
        f"{arm}: {', '.join(ids[:5])}{', ...' if len(ids) > 5 else ''}" for arm, ids in names.items()
    )


def _differences(before: Meaning, now: Meaning) -> str:
    old, new = before.model_dump(), now.model_dump()
    return ", ".join(f"{name} {old[name]} -> {new[name]}" for name in old if old[name] != new[name])


def _same_meaning(
    run: Run, trusted: Measurement, metrics: Metrics
) -> tuple[Measurement | None, list[Finding]]:
    """The base's rows under the settings of this run, or None where that is impossible."""
    if trusted.settings == run.now.settings:
        return trusted, []
    difference = _differences(trusted.settings, run.now.settings)
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
    possible = (
        trusted.settings.split == run.now.settings.split and trusted.settings.pool >= run.now.settings.pool
    )
    if not possible:
        return None, [
            Finding(
                level=Level.INVALID,
                code="settings-not-comparable",
                text=f"the base's stored rankings cannot be scored under the new settings ({difference})",
                todo="Change the split or raise the pool in a change of its own that an owner merges knowingly.",
            )
        ]
    before = _rescored(trusted, run.now.settings, metrics)
    banner = Finding(
        level=Level.BANNER,
        code="settings-changed",
        text=f"this change alters what the numbers mean ({difference}); the base's rows were scored again, and its own "
        "settings are applied as well where they can be",
    )
    return before, [banner, *_not_reproduced(run, brought)]


def _changed_cases(run: Run, trusted: Measurement, changes: CaseChanges) -> Iterator[Finding]:
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
            todo=f"Refresh it with 'gate baseline {run.suite}'.",
        )
        return
    yield Finding(
        level=Level.BANNER,
        code="cases-and-baseline-changed",
        cases=(*changes.removed, *changes.changed),
        text=f"this change alters the cases and the baseline ({changes}); the base's cases still decide",
    )
    if trusted.settings == run.now.settings:
        yield from _not_reproduced(run, brought)


def _absent(run: Run, trusted: Measurement) -> Iterator[Finding]:
    """What the base has and this run has not, unless an entry accepts it with a reason."""
    accepted: dict[tuple[str, str], str] = {
        (entry.what, entry.name): entry.reason for entry in _valid(run, trusted)
    }
    gone = [("arm", name) for name in trusted.arms if name not in run.now.arms and name not in run.left_out]
    gone += [
        ("arm", n)
        for n in run.rules.arms
        if n not in run.now.arms and n not in (*trusted.arms, *run.left_out)
    ]
    gone += [("kind", name) for name in trusted.kinds if name not in run.now.kinds]
    if trusted.qa_version is not None and run.now.qa_version is None:
        gone.append(("qa", "qa"))
    for what, name in gone:
        thing = "the QA set" if what == "qa" else f"the {what} '{name}'"
        reason = accepted.get((what, name))
        if reason is not None:
            yield Finding(
                level=Level.BANNER, code=f"{what}-absent", text=f"{thing} is gone, accepted: {reason}"
            )
        else:
            yield Finding(
                level=Level.INVALID,
                code=f"{what}-absent",
                text=f"{thing} of the base is absent here",
                todo="Bring it back, or accept its absence with a reason in the accepted file.",
            )
    if (
        run.rules.policy.diagnosis == "fail"
        and ("qa", "qa") not in accepted
        and run.now.qa_version is not None
    ):
        yield from _talked_away(run, trusted)
    if trusted.qa_version is not None and run.now.qa_version not in (None, trusted.qa_version):
        yield Finding(
            level=Level.BANNER if run.base is not None else Level.WARNING,
            code="qa-changed",
            text=f"the QA gold differs from the baseline's ({shown(trusted.qa_version)} -> {shown(run.now.qa_version or '')})",
            todo="Only unchanged questions are compared.",
        )


def _talked_away(run: Run, trusted: Measurement) -> Iterator[Finding]:
    """Where the diagnosis decides, a question that was reworded or removed can no longer be seen to fall."""
    for name, arm in trusted.arms.items():
        now = run.now.arms.get(name)
        lost = [
            question
            for question, was in arm.questions.items()
            if now is not None
            and question not in now.failed_questions
            and (question not in now.questions or now.questions[question].sha256 != was.sha256)
        ]
        if lost:
            yield Finding(
                level=Level.INVALID,
                code="questions-changed",
                arm=name,
                text=f"{len(lost)} QA questions of the base were changed or removed, and the policy decides on them "
                f"({', '.join(lost[:8])})",
                todo="Bring them back, or accept the change of the QA set with a reason in the accepted file.",
            )
            return


def _edited_baseline(run: Run, trusted: Measurement, changes: CaseChanges) -> Iterator[Finding]:
    """What an edit of the baseline alone would hide from later changes."""
    brought = run.brings
    if brought is None or changes or run.now.settings != trusted.settings:
        return
    if brought.settings != run.now.settings or brought.cases_version != run.now.cases_version:
        yield from _not_reproduced(run, brought)
        return
    lowered: dict[str, list[str]] = {}
    raised: dict[str, list[str]] = {}
    for name, arm in trusted.arms.items():
        theirs = brought.arms.get(name)
        for case, row in arm.rows.items():
            other = theirs.rows.get(case) if theirs is not None else None
            steps = (
                [-1.0]
                if other is None
                else [other.scores[m] - value for m, value in row.scores.items() if m in other.scores]
            )
            if any(step < -DUST for step in steps):
                lowered.setdefault(name, []).append(case)
            elif any(step > DUST for step in steps):
                raised.setdefault(name, []).append(case)
    parts = [f"lowers {_by_arm(lowered)}" if lowered else "", f"raises {_by_arm(raised)}" if raised else ""]
    said = " and ".join(part for part in parts if part) or "changes no score"
    wrong = unreproduced(run.now, brought, trusted)
    if wrong:
        said += f"; this run does not reproduce it ({_by_arm(wrong)})"
    hidden = _hidden(run, brought, lowered, wrong)
    if hidden:
        yield Finding(
            level=Level.REGRESSION,
            code="baseline-lowered",
            cases=tuple(dict.fromkeys(name for names in hidden.values() for name in names)),
            text=f"this change lowers the baseline below what is measured ({_by_arm(hidden)}): later losses would not show",
            todo=f"Restore it, or record what is measured with 'gate baseline {run.suite}'.",
        )
    yield Finding(
        level=Level.BANNER,
        code="baseline-edited",
        cases=tuple(dict.fromkeys(case for cases in lowered.values() for case in cases)),
        text=f"this change edits the baseline: it {said}. The base's rows still decide",
    )


def _hidden(
    run: Run, brought: Measurement, lowered: Mapping[str, Sequence[str]], wrong: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Cases that the brought baseline holds lower than this run measures them, and questions that it drops or sinks."""
    found = {}
    for arm, names in wrong.items():
        here, there = run.now.arms.get(arm), brought.arms.get(arm)
        questions = here.questions.keys() if here is not None else set()
        sunk = [
            name
            for name in names
            if name in lowered.get(arm, ())
            or (name in questions and (there is None or name not in there.questions))
            or (name in questions and there is not None and _worse(there, here, name))
        ]
        if sunk:
            found[arm] = sunk
    return found


def _worse(there: ArmMeasurement, here: ArmMeasurement | None, name: str) -> bool:
    """Whether the recorded bucket of a question is a worse one than the measured."""
    return here is not None and BUCKETS.index(there.questions[name].bucket) < BUCKETS.index(
        here.questions[name].bucket
    )


def _edited_rules(run: Run) -> Iterator[Finding]:
    """A banner for each rule of the base that the change's own gate.toml alters."""
    if run.base is None:
        return
    base, head = run.base.settings, run.head.settings
    if head.baseline != base.baseline:
        yield _banner(
            "baseline-moved",
            f"this change moves the baseline ({base.baseline} -> {head.baseline}); the base's decides",
        )
    if head.policy != base.policy:
        yield _banner(
            "policy-changed", "this change alters the policy; the base's and the new one are both applied"
        )
    for name, arm in base.arms.items():
        other = head.arms.get(name)
        for flag in ("gate", "required"):
            if other is not None and getattr(other, flag) != getattr(arm, flag):
                yield _banner(
                    "arm-rules-changed",
                    f"this change sets {flag} = {str(getattr(other, flag)).lower()} for the arm '{name}'; the base's value holds",
                )


def _banner(code: str, text: str) -> Finding:
    return Finding(level=Level.BANNER, code=code, text=text)


def _valid(run: Run, trusted: Measurement) -> list[Entry]:
    """The entries that count: written against this base baseline, about the case as it is labelled there."""
    digest = trusted.sha256()
    return [entry for entry in _listened_to(run) if not _stale(entry, digest, trusted)]


def _listened_to(run: Run) -> list[Entry]:
    if run.base is None:
        return list(run.head.accepted)
    entries = list(run.base.accepted)
    if run.base.settings.policy.accept == "head":
        entries += [entry for entry in run.head.accepted if entry not in entries]
    return entries


def _stale(entry: Entry, digest: str, trusted: Measurement) -> bool:
    if entry.baseline_sha256 != digest:
        return True
    label = trusted.cases.get(entry.name)
    return entry.what == "case" and (label is None or label.sha256 != entry.case_sha256)


def _accepted(run: Run, trusted: Measurement) -> tuple[dict[Pair, Excuse], list[Finding]]:
    digest = trusted.sha256()
    listened = _listened_to(run)
    valid = [entry for entry in listened if not _stale(entry, digest, trusted)]
    findings = []
    stale = [entry for entry in listened if entry not in valid]
    if stale:
        findings.append(
            Finding(
                level=Level.WARNING,
                code="accepted-stale",
                cases=tuple(entry.name for entry in stale if entry.what == "case"),
                text=f"{len(stale)} accepted entr{'y is' if len(stale) == 1 else 'ies are'} stale and ignored "
                f"({', '.join(entry.name for entry in stale[:8])})",
                todo="They name another baseline or another labelling; remove them.",
            )
        )
    ignored = [entry for entry in run.head.accepted if entry not in listened]
    if ignored:
        findings.append(
            _banner(
                "accepted-ignored",
                f"the policy of the base takes no accepted losses from a change ({', '.join(e.name for e in ignored[:8])})",
            )
        )
    own = [entry for entry in valid if run.base is not None and entry not in run.base.accepted]
    if own:
        said = "; ".join(
            f"{entry.name}{f' ({entry.arm})' if entry.arm else ''}: {entry.reason}" for entry in own[:8]
        )
        more = f"; and {len(own) - 8} more" if len(own) > 8 else ""
        findings.append(
            _banner("accepted-here", f"this change accepts {len(own)} of its own losses: {said}{more}")
        )
        if run.rules.policy.approval:
            findings.append(
                Finding(
                    level=Level.REGRESSION,
                    code=APPROVAL_NEEDED,
                    cases=tuple(entry.name for entry in own if entry.what == "case"),
                    text=f"{len(own)} losses that this change accepts await an approving review of its head commit",
                    todo="Somebody with write access approves it, then this check runs again.",
                )
            )
    excuses = {
        (entry.arm or "", entry.name): Excuse(entry.reason, entry.down_to)
        for entry in valid
        if entry.what == "case"
    }
    return excuses, findings


_NAMES = {"rr": "MRR", "context_recall": "context recall"}


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
                    text=f"{name}: {_NAMES.get(metric, metric)} of {kind} fell ({change.losses} lower, {change.wins} higher)",
                )
        if comparison.won and run.brings is None and not run.against:
            won = [move.id for move in comparison.won]
            yield Finding(
                level=Level.NOTICE,
                code="baseline-below",
                arm=name,
                cases=tuple(won),
                text=f"{name}: {len(won)} case{'s score' if len(won) > 1 else ' scores'} higher than the baseline "
                f"records ({', '.join(won[:8])}{', ...' if len(won) > 8 else ''})",
                todo="A refresh would keep the gain.",
            )
    pages = {page for label in run.now.cases.values() for page in label.relevant}
    gone = sorted(page for page in pages if page not in run.now.pages)
    if gone:
        yield Finding(
            level=Level.WARNING,
            code="labelled-page-gone",
            text=f"{len(gone)} labelled page{'s are' if len(gone) > 1 else ' is'} gone ({', '.join(gone[:8])})",
            todo="They are measured as missing. Relabel the cases, or bring the pages back.",
        )

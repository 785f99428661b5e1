"""What a change does to what guards it: its baseline, its rules, the arms, kinds and questions that the base has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gate.acceptance import valid_entries
from gate.compare import case_changes, unreproduced
from gate.diagnosis import BUCKETS
from gate.model.comparison import DUST, CaseChanges
from gate.model.fingerprint import shown
from gate.model.measurement import ArmMeasurement, Meaning, Measurement, Row
from gate.model.run import Run
from gate.model.verdict import Finding, Level, banner
from gate.model.wording import listed

METRIC_NAMES = {"rr": "MRR", "context_recall": "context recall"}


def edited_baseline(run: Run, trusted: Measurement, changes: CaseChanges) -> Iterator[Finding]:
    """What an edit of the baseline alone would hide from later changes."""
    brought = run.brings
    if run.base is not None and run.base.baseline is not None and run.head.baseline is None:
        yield Finding(
            level=Level.INVALID,
            code="baseline-removed",
            text=f"this change leaves no baseline at {run.head.settings.baseline}: after it nothing could be compared",
            todo=f"Bring it back, or record it with 'gate baseline {run.suite}'.",
        )
    if brought is None or changes or run.now.settings != trusted.settings:
        return
    if brought.settings != run.now.settings or brought.cases_version != run.now.cases_version:
        yield from not_reproduced(run, brought)
        return
    lowered: dict[str, dict[str, str]] = {}
    raised: dict[str, dict[str, str]] = {}
    for name, arm in trusted.arms.items():
        theirs = brought.arms.get(name)
        for case, row in arm.rows.items():
            other = theirs.rows.get(case) if theirs is not None else None
            if other is None:
                lowered.setdefault(name, {})[case] = f"{case} (its row is gone)"
            elif lower := _below(other, row):
                lowered.setdefault(name, {})[case] = f"{case} ({_named(lower)})"
            elif higher := _below(row, other):
                raised.setdefault(name, {})[case] = f"{case} ({_named(higher)})"
    parts = [
        f"{verb} {by_arm({arm: list(cases.values()) for arm, cases in found.items()})}"
        for verb, found in (("lowers", lowered), ("raises", raised))
        if found
    ]
    said = " and ".join(parts) or "changes no score"
    wrong = unreproduced(run.now, brought, trusted, run.seen)
    if wrong:
        said += f"; this run does not reproduce it ({by_arm(wrong)})"
    hidden = _hidden(run, brought, lowered, wrong)
    if hidden:
        yield Finding(
            level=Level.REGRESSION,
            code="baseline-lowered",
            cases=tuple(dict.fromkeys(name for names in hidden.values() for name in names)),
            text=f"this change lowers the baseline below what is measured ({by_arm(hidden)}): later losses would not show",
            todo=f"Restore it, or record what is measured with 'gate baseline {run.suite}'.",
        )
    above = _beyond(run, brought, wrong)
    if above:
        yield Finding(
            level=Level.REGRESSION,
            code="baseline-above",
            cases=tuple(dict.fromkeys(name for names in above.values() for name in names)),
            text=f"this change brings a baseline above what is measured ({by_arm(above)}): once merged, every run would fail",
            todo=f"Record what is measured with 'gate baseline {run.suite}'.",
        )
    yield Finding(
        level=Level.BANNER,
        code="baseline-edited",
        cases=tuple(dict.fromkeys(case for cases in lowered.values() for case in cases)),
        text=f"this change edits the baseline: it {said}. The base's rows still decide",
    )


def _named(metrics: Sequence[str]) -> str:
    return ", ".join(METRIC_NAMES.get(name, name) for name in metrics)


def _below(row: Row | None, other: Row | None, metrics: Sequence[str] | None = None) -> list[str]:
    """The metrics (those named, or all) on which `row` scores lower than `other`."""
    if row is None or other is None:
        return []
    return [
        name
        for name, score in row.scores.items()
        if (metrics is None or name in metrics)
        and name in other.scores
        and score - other.scores[name] < -DUST
    ]


def _beyond(run: Run, brought: Measurement, wrong: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Cases that the brought baseline holds higher than this run measures them, on a metric that decides."""
    deciding = (*run.rules.policy.metrics, *run.head.settings.policy.metrics)
    rules = {**run.head.settings.arms, **run.rules.arms}
    found = {
        arm: [
            name
            for name in names
            if _below(run.now.arms[arm].rows.get(name), brought.arms[arm].rows.get(name), deciding)
        ]
        for arm, names in wrong.items()
        if arm in run.now.arms and arm in brought.arms and (arm not in rules or rules[arm].gate)
    }
    return {arm: names for arm, names in found.items() if names}


def _hidden(
    run: Run, brought: Measurement, lowered: Mapping[str, Collection[str]], wrong: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Cases that the brought baseline holds lower than this run measures them, and questions that it drops or sinks."""
    found = {}
    for arm, names in wrong.items():
        here, there = run.now.arms.get(arm), brought.arms.get(arm)
        questions = here.questions.keys() if here is not None else set()
        sunk = [
            name
            for name in names
            if (name in lowered.get(arm, ()) and _sinks(there, here, name))
            or (name in questions and (there is None or name not in there.questions))
            or (name in questions and there is not None and _worse(there, here, name))
        ]
        if sunk:
            found[arm] = sunk
    return found


def _sinks(there: ArmMeasurement | None, here: ArmMeasurement | None, name: str) -> bool:
    """Whether the recorded row of a case is gone, or lower than the measured one. A row that was not measured now
    could be any: it counts as higher.
    """
    recorded = there.rows.get(name) if there is not None else None
    measured = here.rows.get(name) if here is not None else None
    return recorded is None or measured is None or bool(_below(recorded, measured))


def _worse(there: ArmMeasurement, here: ArmMeasurement | None, name: str) -> bool:
    """Whether the recorded bucket of a question is a worse one than the measured."""
    return here is not None and BUCKETS.index(there.questions[name].bucket) < BUCKETS.index(
        here.questions[name].bucket
    )


def _told(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value) if value is not None else "none"


def edited_rules(run: Run) -> Iterator[Finding]:
    """A banner for each rule of the base that the change's own gate.toml alters."""
    if run.base is None:
        return
    base, head = run.base.settings, run.head.settings
    if head.baseline != base.baseline:
        yield banner(
            "baseline-moved",
            f"this change moves the baseline ({base.baseline} -> {head.baseline}); the base's decides",
        )
    for key in ("corpus", "reader", "cases", "qa"):
        was, now = getattr(base, key), getattr(head, key)
        if was != now:
            yield banner("inputs-moved", f"this change sets {key} = {_told(now)}; the base has {_told(was)}")
    if head.policy != base.policy:
        yield banner(
            "policy-changed", "this change alters the policy; the base's and the new one are both applied"
        )
    for name, arm in base.arms.items():
        other = head.arms.get(name)
        for flag in ("gate", "required"):
            if other is not None and getattr(other, flag) != getattr(arm, flag):
                yield banner(
                    "arm-rules-changed",
                    f"this change sets {flag} = {str(getattr(other, flag)).lower()} for the arm '{name}'; the base's value holds",
                )


def absent(run: Run, trusted: Measurement) -> Iterator[Finding]:
    """What the base has and this run has not, unless an entry accepts it with a reason."""
    accepted: dict[tuple[str, str], str] = {
        (entry.what, entry.name): entry.reason for entry in valid_entries(run, trusted)
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
                f"({listed(lost, 8)})",
                todo="Bring them back, or accept the change of the QA set with a reason in the accepted file.",
            )
            return


def not_reproduced(run: Run, brought: Measurement) -> list[Finding]:
    """What keeps a baseline that the change brings from being believed; empty when this run reproduces it."""
    todo = f"Record it again with 'gate baseline {run.suite}'."
    if brought.settings != run.now.settings:
        text = f"the new baseline was recorded with {differences(brought.settings, run.now.settings)}"
    elif brought.cases_version != run.now.cases_version:
        changes = case_changes(run.now.cases, brought.cases)
        text = (
            f"the new baseline was recorded on {shown(brought.cases_version)}; "
            f"this run has {shown(run.now.cases_version)} ({changes})"
        )
    else:
        wrong = {
            arm: names
            for arm, names in unreproduced(run.now, brought, run.trusted, run.seen).items()
            if arm not in run.left_out
        }
        if not wrong:
            return []
        text = f"this run does not reproduce the new baseline ({by_arm(wrong)})"
    return [Finding(level=Level.INVALID, code="baseline-not-reproduced", text=text, todo=todo)]


def by_arm(names: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{arm}: {listed(ids, 5)}" for arm, ids in names.items())


def differences(before: Meaning, now: Meaning) -> str:
    old, new = before.model_dump(), now.model_dump()
    return ", ".join(f"{name} {old[name]} -> {new[name]}" for name in old if old[name] != new[name])

"""Cases whose scores move between identical runs: which they are, who may say so, and which losses they excuse.

The base's baseline may say that a case is unstable, and so may this run where it saw the case move. A baseline that
the change brings is not believed: else a change could declare itself noisy and so excuse what it loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gate.compare import same_scores, unreproduced
from gate.diagnosis import comparable
from gate.model.comparison import DUST, ArmComparison, Pair
from gate.model.measurement import ArmMeasurement, Measurement, Question, Row
from gate.model.run import Run
from gate.model.verdict import Finding, Level, banner
from gate.model.wording import listed, plural

_NAMED = 8


def moved(row: Row | None, other: Row | None) -> bool:
    """Whether two measurements of one case differ beyond float dust; a case that failed in one of them has moved."""
    if row is None or other is None:
        return row is not other
    return not (same_scores(row, other) and same_scores(other, row))


def with_unstable(counts: Measurement, others: Sequence[Measurement]) -> Measurement:
    """`counts`, with the cases that scored differently in any of the `others` recorded as unstable."""
    pairs = {
        (name, case)
        for other in others
        for name, arm in counts.arms.items()
        for case, row in arm.rows.items()
        if moved(row, other.arms[name].rows.get(case))
    }
    return marked(counts, pairs)


def marked(measurement: Measurement, pairs: Iterable[Pair]) -> Measurement:
    """`measurement` with these pairs recorded as unstable, beside those that are already."""
    found: dict[str, set[str]] = {}
    for arm, case in pairs:
        if arm in measurement.arms and case in measurement.cases:
            found.setdefault(arm, set(measurement.arms[arm].unstable)).add(case)
    if not found:
        return measurement
    arms = {
        name: arm.model_copy(update={"unstable": tuple(sorted(found[name]))}) if name in found else arm
        for name, arm in measurement.arms.items()
    }
    return measurement.model_copy(update={"arms": arms})


def carried(now: Measurement, before: Measurement) -> Measurement:
    """`now`, measured once, with what `before` knows as unstable: one measurement cannot tell that it no longer is.

    Only under the same label, and for an arm with the same settings.
    """
    return marked(
        now,
        [
            (name, case)
            for name, arm in before.arms.items()
            if name in now.arms and now.arms[name].settings == arm.settings
            for case in arm.unstable
            if case in now.cases
            and case in before.cases
            and now.cases[case].sha256 == before.cases[case].sha256
        ],
    )


def doubted(
    trusted: Measurement, comparisons: Iterable[Mapping[str, ArmComparison]]
) -> dict[str, tuple[str, ...]]:
    """arm -> lost cases that are to be measured again: those that weigh, of arms with unstable cases in `trusted`."""
    found: dict[str, dict[str, None]] = {}
    for arms in comparisons:
        for name, comparison in arms.items():
            if trusted.arms[name].unstable:
                lost = {move.id: None for move in comparison.lost if move.weighs}
                found.setdefault(name, {}).update(lost)
    return {name: tuple(cases) for name, cases in found.items() if cases}


def unconfirmed(before: Measurement, again: Mapping[Pair, Row], metrics: Sequence[str]) -> frozenset[Pair]:
    """The pairs that the second measurement does not show below `before`, on arms that `before` knows as unstable."""
    return frozenset(
        (arm, case)
        for (arm, case), row in again.items()
        if arm in before.arms
        and before.arms[arm].unstable
        and _no_lower(row, before.arms[arm], case, metrics)
    )


def _no_lower(row: Row, before: ArmMeasurement, case: str, metrics: Sequence[str]) -> bool:
    was = before.rows.get(case)
    return was is not None and all(
        row.scores[metric] >= was.scores[metric] - DUST
        for metric in metrics
        if metric in row.scores and metric in was.scores
    )


def flaky_pairs(arms: Mapping[str, ArmComparison]) -> set[Pair]:
    """The losses that a second measurement does not confirm."""
    return {(name, move.id) for name, found in arms.items() for move in found.lost if move.flaky}


def claimed(run: Run) -> dict[str, tuple[str, ...]]:
    """arm -> cases of the brought baseline that this run does not reproduce and that somebody calls unstable.

    Measured again they may show that they are, or score as low as it says.
    """
    brought = run.brings
    if brought is None or (brought.settings, brought.cases_version) != (
        run.now.settings,
        run.now.cases_version,
    ):
        return {}
    nothing = ArmMeasurement(settings={}, rows={})
    trusted = run.trusted.arms if run.trusted is not None else {}
    found = {}
    for name, wrong in unreproduced(run.now, brought, run.trusted, run.seen).items():
        if name not in run.now.arms or name not in brought.arms:
            continue
        said = (run.now.arms[name], brought.arms[name], trusted.get(name, nothing))
        unstable = {case for one in said for case in one.unstable}
        cases = tuple(case for case in wrong if case in unstable and case in run.now.arms[name].rows)
        if cases:
            found[name] = cases
    return found


def with_seen(run: Run, rows: Mapping[Pair, Row]) -> Run:
    """The run, having seen these rows of its own cases as well; those that moved are unstable."""
    seen = {pair: (*run.seen.get(pair, ()), row) for pair, row in rows.items()}
    differ = [
        (arm, case) for (arm, case), row in rows.items() if moved(run.now.arms[arm].rows.get(case), row)
    ]
    now = marked(run.now, differ)
    return run._replace(
        now=now, on_base=now if run.on_base is run.now else run.on_base, seen={**run.seen, **seen}
    )


def with_again(run: Run, rows: Mapping[Pair, Row]) -> Run:
    """The run, with lost cases measured again; those that moved are unstable."""
    assert run.on_base is not None
    differ = [
        (arm, case) for (arm, case), row in rows.items() if moved(run.on_base.arms[arm].rows.get(case), row)
    ]
    labels = run.on_base.cases
    own = [
        (arm, case)
        for arm, case in differ
        if case in run.now.cases and run.now.cases[case].sha256 == labels[case].sha256
    ]
    now = marked(run.now, own)
    on_base = now if run.on_base is run.now else marked(run.on_base, differ)
    return run._replace(now=now, on_base=on_base, again={**run.again, **rows})


def claims(run: Run) -> Iterator[Finding]:
    """A banner where the baseline that the change brings calls cases unstable that the base's does not."""
    brought, trusted = run.brings, run.trusted
    if brought is None:
        return
    for name, arm in brought.arms.items():
        known = trusted.arms[name].unstable if trusted is not None and name in trusted.arms else ()
        new = [case for case in arm.unstable if case not in known]
        if new:
            yield banner(
                "unstable-recorded",
                f"this change records {plural(len(new), 'case')} of {name} as unstable ({listed(new, _NAMED)}): once it is merged, "
                f"losses of that arm count only where a second measurement confirms them",
            )


def not_stable_here(run: Run, arms: Mapping[str, ArmComparison]) -> Iterator[Finding]:
    """Losses that moved in this run on an arm that the trusted baseline knows as stable: they count, and it is said."""
    trusted = run.trusted
    if trusted is None or run.on_base is None:
        return
    for name, comparison in arms.items():
        if trusted.arms[name].unstable:
            continue
        shaky = [move.id for move in comparison.lost if move.id in run.on_base.arms[name].unstable]
        if shaky:
            yield Finding(
                level=Level.WARNING,
                code="loss-not-stable",
                arm=name,
                cases=tuple(shaky),
                text=f"{name}: {plural(len(shaky), 'lost case')} scored differently when measured again ({listed(shaky, _NAMED)}); "
                "the baseline knows this arm as stable, so the loss counts",
                todo=f"If the arm is noisy, record that with 'gate baseline {run.suite} --repeat 3' in a change of its own.",
            )


def unstable_findings(now: Measurement, told: Iterable[Pair] = ()) -> Iterator[Finding]:
    """The cases that moved when measured again, by arm; without those that are `told` elsewhere."""
    elsewhere = set(told)
    for name, arm in now.arms.items():
        cases = tuple(case for case in arm.unstable if (name, case) not in elsewhere)
        if cases:
            yield Finding(
                level=Level.WARNING,
                code="unstable",
                arm=name,
                cases=cases,
                text=f"{name}: {plural(len(cases), 'case')} scored differently when measured again, recorded as "
                f"unstable ({listed(cases, _NAMED)})",
            )


def moved_questions(first: Measurement, again: Measurement) -> Iterator[Finding]:
    """The QA questions whose bucket differs between two measurements, by arm."""
    for name, arm in again.arms.items():
        before = first.arms[name].questions
        other = [
            question
            for question, now in arm.questions.items()
            if question not in before or _moved_bucket(before[question], now)
        ]
        if other:
            yield Finding(
                level=Level.WARNING,
                code="unstable-questions",
                arm=name,
                text=f"{name}: {plural(len(other), 'QA question')} fell into another bucket when measured again "
                f"({listed(other, _NAMED)})",
            )


def _moved_bucket(one: Question, other: Question) -> bool:
    was, now = comparable(one.bucket, other.bucket)
    return was != now

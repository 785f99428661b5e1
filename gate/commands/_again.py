"""Measuring a suite, or a few of its cases, another time: every arm built anew, past the cache of queries.

The corpus is read and cut once. What moves between two such measurements is noise of the arm, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from gate.commands._generate import generation
from gate.commands._load import Suite
from gate.commands._measure import Measured, Progress, Workshop, as_case, build, measure, prepare
from gate.commands._project import Project
from gate.embedders._cache import NO_CACHE
from gate.harness import Rows, evaluate
from gate.model.comparison import Pair
from gate.model.cost import Spent, summed_by_arm
from gate.model.frozen import EMPTY
from gate.model.measurement import Label, Meaning, Measurement, Row
from gate.model.metric import Metrics
from gate.model.run import Run
from gate.model.verdict import Finding, Level
from gate.noise import claimed, with_again, with_seen, with_unstable

# How often a case that a brought baseline calls unstable may show that it is. Noise that turns up every second time
# goes unseen once in eight runs.
TRIES = 3


@contextmanager
def past_caches(what: str) -> Iterator[None]:
    """GATE_NO_CACHE for all that is measured inside: "queries", or "1" for every cache. A stronger one stays."""
    before = os.environ.get(NO_CACHE)
    os.environ[NO_CACHE] = "1" if before == "1" else what
    try:
        yield
    finally:
        if before is None:
            del os.environ[NO_CACHE]
        else:
            os.environ[NO_CACHE] = before


def measure_suite(
    project: Project,
    suite: Suite,
    workshop: Workshop,
    trusted: Measurement | None,
    repeat: int,
    progress: Progress,
) -> Measured:
    """The suite measured `repeat` times. The first time counts; cases that moved in any are recorded as unstable."""

    def once(workshop: Workshop) -> Measured:
        with closing(workshop):
            return measure(
                suite.name,
                workshop,
                suite.settings.meaning,
                project.metrics,
                suite.cases.cases,
                suite.questions,
                trusted,
                progress,
                model,
            )

    model = generation(project, suite, workshop)
    try:
        first = once(workshop)
    finally:
        if model is not None:
            model.generator.close()
    model = None  # what is measured again is the retrieving
    with past_caches("queries"):
        again = [once(workshop.anew()) for _ in range(repeat - 1)]
    if not again:
        return first
    now = with_unstable(first.now, [other.now for other in again])
    on_base = first.on_base
    if on_base is first.now:
        on_base = now
    elif on_base is not None:
        on_base = with_unstable(on_base, [other.on_base for other in again if other.on_base is not None])
    spent = summed_by_arm([first.spent, *(other.spent for other in again)])
    return first._replace(now=now, on_base=on_base, spent=spent, again=tuple(again))


class Again:
    """Measures cases of one suite a second time; `spent` is what that used of a service, by arm."""

    def __init__(self, workshop: Workshop, meaning: Meaning, metrics: Metrics) -> None:
        self._workshop, self._meaning, self._metrics = workshop, meaning, metrics
        self.spent: dict[str, Spent] = {}

    def rows(self, asked: Mapping[str, Sequence[str]], labels: Mapping[str, Label]) -> dict[str, Rows]:
        """arm -> its answers to these cases, labelled as in `labels`."""
        found = {}
        with past_caches("queries"), closing(self._workshop.anew()) as workshop:
            for arm, names in asked.items():
                cases = [as_case(name, labels[name]) for name in names]
                built = prepare(build(workshop, arm), cases, (), self._meaning.pool)
                found[arm] = evaluate(built, cases, self._meaning, self._metrics)
            self.spent = summed_by_arm([self.spent, workshop.spent])
        return found


def settle_claims(run: Run, measured: Measured, again: Again) -> Run:
    """Measure again what a brought baseline calls unstable and this run does not reproduce, until it is seen to move."""
    for other in measured.again:
        run = with_seen(run, _by_pair(other.now))
    for _ in range(TRIES):
        open_claims = claimed(run)
        if not open_claims:
            break
        found = again.rows(open_claims, run.now.cases)
        run = with_seen(
            run, {(arm, case): row for arm, rows in found.items() for case, row in rows.rows.items()}
        )
    return run


def settle_losses(
    run: Run, doubted: Mapping[str, Sequence[str]], measured: Measured, again: Again
) -> tuple[Run, list[Finding]]:
    """Measure these losses a second time; where the run has a second measurement already, that one is it.

    A loss that cannot be measured again counts, and a finding says so.
    """
    assert run.on_base is not None
    second: Mapping[str, Rows] = EMPTY
    if measured.again:
        repeat = measured.again[0].on_base or measured.again[0].now
        second = {arm: Rows(repeat.arms[arm].rows, repeat.arms[arm].failed) for arm in doubted}
    else:
        second = again.rows(doubted, run.on_base.cases)
    rows: dict[Pair, Row] = {}
    findings = []
    for arm, cases in doubted.items():
        failed = {case: why for case in cases if (why := second[arm].failed.get(case)) is not None}
        rows |= {(arm, case): second[arm].rows[case] for case in cases if case in second[arm].rows}
        if failed:
            first = next(iter(failed))
            findings.append(
                Finding(
                    level=Level.WARNING,
                    code="loss-not-measured-again",
                    arm=arm,
                    cases=tuple(failed),
                    text=f"{arm}: {len(failed)} of {len(cases)} losses could not be measured again (first '{first}': "
                    f"{failed[first]})",
                    todo="They count.",
                )
            )
    return with_again(run, rows), findings


def _by_pair(measurement: Measurement) -> dict[Pair, Row]:
    return {(name, case): row for name, arm in measurement.arms.items() for case, row in arm.rows.items()}

"""Warning where refreshes have drifted down in sum (gate.drift): the baseline's versions, read from the base's history.

It costs a run nothing that matters: only history that the checkout has is read, and of a long one the newest part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gate.drift import SERIES, Drift, Version, drifts
from gate.errors import InputError
from gate.model.verdict import Finding, Level
from gate.model.wording import listed, plural
from gate.report.numbers import single
from gate.report.titles import of_row
from gate.store import baselines, git

if TYPE_CHECKING:
    from gate.model.measurement import Measurement
    from gate.model.metric import Metrics
    from gate.model.settings import SuiteSettings

VERSIONS = 50
COMMITS = 2000
BYTES = 5_000_000
_NAMED = 8


def drifted(
    base: git.Base, suite: str, rules: SuiteSettings, metrics: Metrics, newest: Measurement | None = None
) -> list[Finding]:
    """What the committed versions of the baseline lost in sum, with `newest` after them where a new one is about to be.

    Whatever cannot be read is left out; a history that git cannot tell is none.
    """
    try:
        found = git.versions(base, rules.baseline, VERSIONS, within=COMMITS)
        if len(found) + (newest is not None) <= SERIES:
            return []
        texts = git.read_versions(base, rules.baseline, [one.commit for one in found], BYTES)
    except InputError:
        return []
    series = [
        Version(one.commit, one.date, measurement)
        for one, text in zip(found, texts, strict=False)
        if text is not None and (measurement := parsed(text, suite, metrics)) is not None
    ]
    return drift_findings(series[::-1], suite, rules, newest)


def parsed(text: str, suite: str, metrics: Metrics) -> Measurement | None:
    """An old version of a baseline, None for one that this version of the gate cannot read."""
    try:
        return baselines.parse(text, "an old version", suite, metrics)
    except InputError:
        return None


def drift_findings(
    committed: Sequence[Version], suite: str, rules: SuiteSettings, newest: Measurement | None = None
) -> list[Finding]:
    """The warnings about a series of versions, oldest first."""
    series = [*committed, Version("", "", newest)] if newest is not None else committed
    return list(_told(drifts(series, rules), suite, series[-1].measurement.settings.k if series else 0))


def _told(found: Iterable[Drift], suite: str, k: int) -> Iterator[Finding]:
    for one in found:
        steps = [step.commit[:10] if step.commit else "this one" for step in one.steps]
        yield Finding(
            level=Level.WARNING,
            code="baseline-drifted",
            arm=one.arm,
            kind=one.kind,
            cases=one.lost,
            text=f"{one.arm}: {len(steps)} refreshes since {one.steps[0].date} lowered {one.kind} by "
            f"{single(one.fallen).removesuffix('.00')} of {plural(one.of, 'case')} in sum ({of_row(one.metric, k).title}: "
            f"{listed(list(one.lost), _NAMED)}; in {listed(steps, _NAMED)})",
            todo=f"Each was accepted by itself; look at them together with 'gate history {suite}'.",
        )

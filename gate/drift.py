"""Whether refreshes have let a kind fall bit by bit: small losses, each accepted with a reason, are a large one in sum.

Each refresh is judged against the baseline before it, so nobody sees how far several of them went together. Here the
versions of a baseline are added up: for each gated arm and kind the per-case differences of every step, over the cases
that both versions hold under the same label, from the version where the kind stood highest to the newest one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from gate.model.comparison import DUST
from gate.model.measurement import Measurement
from gate.model.settings import SuiteSettings

SERIES = 2
"""From how many lowering steps on it is a series. A single one was seen by whoever approved it."""


class Version(NamedTuple):
    """One baseline of a series: the commit that recorded it and its day, both empty for one that is not committed yet."""

    commit: str
    date: str
    measurement: Measurement


class Drift(NamedTuple):
    """A kind of an arm that fell in sum.

    `fallen`: the sum of the differences, in cases (above 0). `of`: how many cases of the kind the newest version has.
    `lost`: the cases that are lower in sum; one that came back is none. `steps`: the versions in which those fell, oldest
    first.
    """

    arm: str
    kind: str
    metric: str
    fallen: float
    of: int
    steps: tuple[Version, ...]
    lost: tuple[str, ...]


class _Step(NamedTuple):
    version: Version
    cases: dict[str, float]

    @property
    def sum(self) -> float:
        return math.fsum(self.cases.values())


def drifts(versions: Iterable[Version], settings: SuiteSettings) -> tuple[Drift, ...]:
    """What fell over `versions` (oldest first), by arm, kind and metric: what is gated and decides under `settings`."""
    series = list(versions)
    if len(series) <= SERIES:
        return ()
    newest = series[-1].measurement
    found = []
    for arm in newest.arms:
        if arm in settings.arms and not settings.arms[arm].gate:
            continue
        for kind in newest.kinds:
            if settings.policy.kinds is not None and kind not in settings.policy.kinds:
                continue
            for metric in settings.policy.metrics:
                drift = _drift(list(_steps(series, arm, kind, metric)))
                if drift is not None:
                    of = sum(label.kind == kind for label in newest.cases.values())
                    found.append(Drift(arm, kind, metric, drift[0], of, drift[1], drift[2]))
    return tuple(found)


def _steps(series: Sequence[Version], arm: str, kind: str, metric: str) -> Iterator[_Step]:
    """How each case of a kind moved from one version to the next. Under other settings nothing is comparable."""
    for earlier, later in pairwise(series):
        old, new = earlier.measurement, later.measurement
        if old.settings != new.settings or arm not in old.arms or arm not in new.arms:
            continue
        then, now = old.arms[arm], new.arms[arm]
        noisy = {*then.unstable, *now.unstable}
        moved = {}
        for name, label in new.cases.items():
            if label.kind != kind or name in noisy or name not in old.cases:
                continue
            if old.cases[name].sha256 != label.sha256 or name not in then.rows or name not in now.rows:
                continue
            before, after = then.rows[name].scores.get(metric), now.rows[name].scores.get(metric)
            if before is not None and after is not None and abs(after - before) > DUST:
                moved[name] = after - before
        if moved:
            yield _Step(later, moved)


def _drift(steps: Sequence[_Step]) -> tuple[float, tuple[Version, ...], tuple[str, ...]] | None:
    """(fallen, lowering versions, lost cases) since the highest stand, the latest of several; None for no series."""
    lowest, start = 0.0, len(steps)
    for first in range(len(steps) - 1, -1, -1):
        stand = math.fsum(step.sum for step in steps[first:])
        if stand < lowest - DUST:
            lowest, start = stand, first
    since = steps[start:]
    total: dict[str, float] = {}
    for step in since:
        for name, difference in step.cases.items():
            total[name] = total.get(name, 0.0) + difference
    lost = {name for name, change in total.items() if change < -DUST}
    lowering = tuple(step.version for step in since if any(step.cases.get(name, 0.0) < 0 for name in lost))
    return (-lowest, lowering, tuple(sorted(lost))) if len(lowering) >= SERIES else None

"""All that is known when a suite is judged, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gate.model.accepted import Entry
from gate.model.comparison import Pair
from gate.model.frozen import EMPTY
from gate.model.measurement import ArmMeasurement, Measurement, Row
from gate.model.settings import SuiteSettings


class Side(NamedTuple):
    """What one tree says about a suite: its settings, its baseline, its accepted losses."""

    settings: SuiteSettings
    baseline: Measurement | None = None
    accepted: tuple[Entry, ...] = ()


class Run(NamedTuple):
    """All that is known when a suite is judged.

    `now`: the change's own cases. `on_base`: the change's arms over the cases of the base baseline (the same object
    as `now` where the case sets are equal). `base`: the trusted side; None without --base. `renames`: doc_id ->
    doc_id, from git. `left_out`: arms that the command line did not select. `again`: lost cases as the base labels them,
    in a second measurement. `followed`: cases whose labels were renamed together with their pages; `on_base` has them
    under the new names. `failed_again`: arms that failed when the whole was repeated. `seen`: further rows of the change's own cases, where a case was measured more than once.
    """

    suite: str
    head: Side
    now: Measurement
    on_base: Measurement | None = None
    base: Side | None = None
    renames: Mapping[str, str] = EMPTY
    left_out: tuple[str, ...] = ()
    already_lost: Mapping[Pair, Mapping[str, float]] = EMPTY
    again: Mapping[Pair, Row] = EMPTY
    failed_again: Mapping[str, ArmMeasurement] = EMPTY
    seen: Mapping[Pair, tuple[Row, ...]] = EMPTY
    followed: tuple[str, ...] = ()
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

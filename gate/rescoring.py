"""A measurement under other settings than it was taken with, as far as its stored rankings give that. Pure."""

from __future__ import annotations

from gate.diagnosis import within
from gate.harness import rescore
from gate.model.measurement import Meaning, Measurement
from gate.model.metric import Metrics


def covers(measured: Meaning, asked: Meaning) -> bool:
    """Whether what was measured under one meaning can be scored under another.

    Any k and context can; a larger pool was never looked at, and another split has other cases.
    """
    return measured.split == asked.split and measured.pool >= asked.pool


def under(measurement: Measurement, meaning: Meaning, metrics: Metrics) -> Measurement | None:
    """The same rankings scored under `meaning`, rows and the buckets of QA questions alike; None where that is impossible.

    What has that meaning already comes back as it is.
    """
    if measurement.settings == meaning:
        return measurement
    if not covers(measurement.settings, meaning):
        return None
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


def within_both(base: Meaning, here: Meaning) -> Meaning:
    """The base's settings, as far down as the smaller of both pools reaches: a smaller pool must not switch them off."""
    pool = min(base.pool, here.pool)
    return base.model_copy(update={"pool": pool, "k": min(base.k, pool), "context": min(base.context, pool)})

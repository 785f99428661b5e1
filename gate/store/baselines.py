"""Baseline files: read with every check that a committed, possibly hand-edited file needs, and written canonically."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gate.compare import same_scores
from gate.diagnosis import OFFLINE, bucket
from gate.errors import InputError, Problem
from gate.harness import rescore
from gate.model.fingerprint import corpus_version, label_digest, labels_version
from gate.model.measurement import BASELINE_SCHEMA, ArmMeasurement, Measurement, Row
from gate.model.metric import Metrics
from gate.store import canonical
from gate.store.text import told

_FAMILY = BASELINE_SCHEMA.rpartition("/")[0]


def dumps(measurement: Measurement) -> str:
    """The text of a baseline file."""
    return canonical.dumps(measurement.as_json())


def write(path: Path, measurement: Measurement, shown: str) -> None:
    canonical.write_text(path, dumps(measurement), shown)


def parse(text: str, shown: str, suite: str, metrics: Metrics) -> Measurement:
    """The measurement in the text of a baseline file, checked against itself.

    A file of a newer schema, of another suite, or whose rows contradict their own rankings, labels or fingerprints
    is an InputError: a baseline that was edited by hand proves nothing.
    """
    value = _object(text, shown, suite)
    try:
        measurement = Measurement.model_validate_json(text)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            Problem(shown, f"not a baseline this version can read ({place}: {first['msg']})", _refresh(suite))
        ) from None
    if measurement.suite != suite:
        raise InputError(
            Problem(
                shown,
                f"recorded for the suite {told(value.get('suite'))}, not for '{suite}'",
                _refresh(suite),
            )
        )
    faults = inconsistencies(measurement, metrics)
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise InputError(Problem(shown, f"contradicts itself ({faults[0]}{more})", _refresh(suite)))
    failed = [f"{arm}: {case}" for arm, one in measurement.arms.items() for case in one.failed]
    if failed:
        raise InputError(Problem(shown, f"has cases that were not measured ({failed[0]})", _refresh(suite)))
    return completed(measurement, metrics)


def completed(measurement: Measurement, metrics: Metrics) -> Measurement:
    """The measurement with every known metric: one that its rows lack follows from their rankings."""
    lacking = {metric.ROW for metric in metrics.values()} - score_names(measurement)
    if not lacking:
        return measurement
    arms = {}
    for name, arm in measurement.arms.items():
        again = rescore(arm.rows, measurement.cases, measurement.settings, metrics)
        rows = {
            case: Row(ranked=row.ranked, at=row.at, **{**again[case].scores, **row.scores})
            for case, row in arm.rows.items()
        }
        arms[name] = arm.model_copy(update={"rows": rows})
    return measurement.model_copy(update={"arms": arms})


def _refresh(suite: str) -> str:
    return f"Restore it, or record it again with 'gate baseline {suite}'."


def _object(text: str, shown: str, suite: str) -> dict[str, Any]:
    value = canonical.loads(text, shown, _refresh(suite))
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(schema, str) or schema.rpartition("/")[0] != _FAMILY:
        raise InputError(Problem(shown, f"not a baseline (schema {told(schema)})", _refresh(suite)))
    if schema != BASELINE_SCHEMA:
        raise InputError(
            Problem(
                shown,
                f"written by another version of the gate ({told(schema)}; this one reads '{BASELINE_SCHEMA}')",
                "Update the gate, or record the baseline again with it.",
            )
        )
    return value


def score_names(measurement: Measurement) -> set[str]:
    """The metrics that every row has."""
    rows = [row for arm in measurement.arms.values() for row in arm.rows.values()]
    return set.intersection(*(set(row.scores) for row in rows)) if rows else set()


def inconsistencies(measurement: Measurement, metrics: Metrics) -> list[str]:
    """Where a measurement contradicts itself; empty for one that a run wrote."""
    faults = []
    labels = measurement.cases
    everywhere = score_names(measurement)
    for name, label in labels.items():
        if label.sha256 != label_digest(label.key(name)):
            faults.append(f"the fingerprint of case '{name}' does not fit its labels")
    if measurement.cases_version != labels_version(label.key(name) for name, label in labels.items()):
        faults.append("cases_version does not fit the cases")
    if measurement.corpus_version != corpus_version(measurement.pages):
        faults.append("corpus_version does not fit the pages")
    if measurement.qa_version is None and any(arm.questions for arm in measurement.arms.values()):
        faults.append("it has QA questions but no qa_version")
    for arm_name, arm in measurement.arms.items():
        absent = [name for name in labels if name not in arm.rows and name not in arm.failed]
        foreign = [name for name in arm.rows if name not in labels]
        faults += [f"arm '{arm_name}' has no row for case '{name}'" for name in absent]
        faults += [f"arm '{arm_name}' has a row for '{name}', which is no case" for name in foreign]
        faults += [
            f"arm '{arm_name}': '{name}' is unstable but no case"
            for name in arm.unstable
            if name not in labels
        ]
        if foreign:
            continue
        faults += _row_faults(arm_name, arm, measurement, metrics, everywhere)
        for name, question in arm.questions.items():
            if question.bucket in OFFLINE and question.bucket != bucket(
                question.at, measurement.settings.context
            ):
                faults.append(
                    f"arm '{arm_name}', question '{name}': the bucket does not follow from the positions"
                )
    return faults


def ranking_fault(row: Row, pool: int) -> str:
    """What is wrong with the ranking of a row by itself; empty for one that a run wrote."""
    if len(row.at) != len(row.ranked) or list(row.at) != sorted(set(row.at)):
        return "'at' does not fit 'ranked'"
    if max(row.at, default=0) > pool:
        return f"a page stands beyond the pool of {pool}"
    return "a page is ranked twice" if len(set(row.ranked)) != len(row.ranked) else ""


def _row_faults(
    arm_name: str, arm: ArmMeasurement, measurement: Measurement, metrics: Metrics, everywhere: set[str]
) -> Iterator[str]:
    known = {name: metric for name, metric in metrics.items() if metric.ROW in everywhere}
    for name, row in arm.rows.items():
        where = f"arm '{arm_name}', case '{name}'"
        extra = sorted(row.scores.keys() - everywhere)
        if fault := ranking_fault(row, measurement.settings.pool):
            yield f"{where}: {fault}"
        elif extra:
            yield f"{where} has the score '{extra[0]}', which other rows lack"
        else:
            again = rescore({name: row}, measurement.cases, measurement.settings, known)
            if not same_scores(again[name], row):
                yield f"{where}: the scores do not follow from the ranking"

"""Baseline files: read with every check that a committed, possibly hand-edited file needs, and written canonically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gate.compare import same_scores
from gate.diagnosis import OFFLINE, bucket
from gate.errors import InputError, Problem
from gate.harness import rescore
from gate.model.fingerprint import corpus_version, label_digest, labels_version
from gate.model.measurement import BASELINE_SCHEMA, Measurement
from gate.model.metric import Metrics
from gate.store import canonical

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
            Problem(shown, f"recorded for the suite '{value.get('suite')}', not for '{suite}'", _refresh(suite))
        )
    faults = inconsistencies(measurement, metrics)
    if faults:
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise InputError(Problem(shown, f"contradicts itself ({faults[0]}{more})", _refresh(suite)))
    return measurement


def _refresh(suite: str) -> str:
    return f"Restore it, or record it again with 'gate baseline {suite}'."


def _object(text: str, shown: str, suite: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as fault:
        hint = "; it holds merge conflict marks" if "<<<<<<<" in text else ""
        raise InputError(Problem(shown, f"not JSON ({fault}{hint})", _refresh(suite))) from fault
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, str) or schema.rpartition("/")[0] != _FAMILY:
        raise InputError(Problem(shown, f"not a baseline (schema {schema!r})", _refresh(suite)))
    if schema != BASELINE_SCHEMA:
        raise InputError(
            Problem(shown, f"written by another version of the gate ({schema}; this one reads {BASELINE_SCHEMA})",
                    "Update the gate, or record the baseline again with it.")
        )
    assert isinstance(value, dict)
    return value


def inconsistencies(measurement: Measurement, metrics: Metrics) -> list[str]:
    """Where a measurement contradicts itself; empty for one that a run wrote."""
    faults = []
    labels = measurement.cases
    for name, label in labels.items():
        if label.sha256 != label_digest(label.key(name)):
            faults.append(f"the fingerprint of case '{name}' does not fit its labels")
    if measurement.cases_version != labels_version(label.key(name) for name, label in labels.items()):
        faults.append("cases_version does not fit the cases")
    if measurement.corpus_version != corpus_version(measurement.pages):
        faults.append("corpus_version does not fit the pages")
    for arm_name, arm in measurement.arms.items():
        absent = [name for name in labels if name not in arm.rows]
        foreign = [name for name in arm.rows if name not in labels]
        faults += [f"arm '{arm_name}' has no row for case '{name}'" for name in absent]
        faults += [f"arm '{arm_name}' has a row for '{name}', which is no case" for name in foreign]
        if foreign:
            continue
        known = {name: metric for name, metric in metrics.items() if all(metric.ROW in r.scores for r in arm.rows.values())}
        again = rescore(arm.rows, labels, measurement.settings, known)
        for name, row in arm.rows.items():
            if len(row.at) != len(row.ranked) or list(row.at) != sorted(set(row.at)):
                faults.append(f"arm '{arm_name}', case '{name}': 'at' does not fit 'ranked'")
            elif len(set(row.ranked)) != len(row.ranked):
                faults.append(f"arm '{arm_name}', case '{name}': a page is ranked twice")
            elif not same_scores(again[name], row):
                faults.append(f"arm '{arm_name}', case '{name}': the scores do not follow from the ranking")
        for name, question in arm.questions.items():
            if question.bucket in OFFLINE and question.bucket != bucket(question.at, measurement.settings.context):
                faults.append(f"arm '{arm_name}', question '{name}': the bucket does not follow from the positions")
    return faults

"""Report files: written for other programs, and read back where one stands for a baseline."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from gate.errors import InputError, Problem, did_you_mean
from gate.model.measurement import BASELINE_SCHEMA, Measurement
from gate.model.metric import Metrics
from gate.model.report import REPORT_SCHEMA, Report
from gate.store import baselines, canonical
from gate.store.text import read_text
from gate.summary import measurement_of


def dumps(report: Report) -> str:
    """The text of a report file."""
    return canonical.dumps(report.as_json(), sort=False)


def parse(text: str, shown: str) -> Report:
    """The report in a file's text; anything else is an InputError."""
    try:
        return Report.model_validate_json(text)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top"
        raise InputError(
            Problem(shown, f"not a report this version can read ({place}: {first['msg']})", "Write one with 'gate run --json'.")
        ) from None


def measurements(path: Path, shown: str, metrics: Metrics) -> dict[str, Measurement]:
    """The measurements in a report or baseline file, by suite."""
    text = read_text(path, shown)
    schema = schema_of(text, shown)
    if schema.startswith(BASELINE_SCHEMA.rpartition("/")[0]):
        suite = str(json.loads(text).get("suite"))
        return {suite: baselines.parse(text, shown, suite, metrics)}
    return {suite.suite: measurement_of(suite) for suite in parse(text, shown).suites}


def measurement(path: Path, shown: str, suite: str, metrics: Metrics) -> Measurement:
    """The measurement of one suite in a report or baseline file."""
    found = measurements(path, shown, metrics)
    if suite not in found:
        raise InputError(Problem(shown, f"has no suite '{suite}'", did_you_mean(suite, found)))
    return found[suite]


def schema_of(text: str, shown: str) -> str:
    """What a JSON file says it is."""
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as fault:
        raise InputError(Problem(shown, f"not JSON ({fault})", "Name a report or a baseline file.")) from fault
    schema = value.get("schema") if isinstance(value, dict) else None
    known = (REPORT_SCHEMA.rpartition("/")[0], BASELINE_SCHEMA.rpartition("/")[0])
    if not isinstance(schema, str) or schema.rpartition("/")[0] not in known:
        raise InputError(
            Problem(shown, f"neither a report nor a baseline (schema {schema!r})", "Name a file that 'gate run --json' wrote.")
        )
    return schema

"""Report files: written for other programs, and read back where one stands for a baseline."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from gate.errors import InputError, Problem, did_you_mean
from gate.model.measurement import BASELINE_SCHEMA, Measurement
from gate.model.metric import Metrics
from gate.model.report import REPORT_SCHEMA, Report
from gate.store import baselines, canonical
from gate.store.text import read_text, told
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
            Problem(
                shown,
                f"not a report this version can read ({place}: {first['msg']})",
                "Write one with 'gate run --json'.",
            )
        ) from None


def measurements(path: Path, shown: str, metrics: Metrics) -> dict[str, Measurement]:
    """The measurements in a report or baseline file, by suite, each checked against itself."""
    text = read_text(path, shown)
    value = canonical.loads(text, shown, "Name a report or a baseline file.")
    schema = value.get("schema") if isinstance(value, dict) else None
    family = schema.rpartition("/")[0] if isinstance(schema, str) else None
    if family == BASELINE_SCHEMA.rpartition("/")[0]:
        suite = str(value.get("suite"))
        return {suite: baselines.parse(text, shown, suite, metrics)}
    if family != REPORT_SCHEMA.rpartition("/")[0]:
        what = f"neither a report nor a baseline (schema {told(schema)})"
        raise InputError(Problem(shown, what, "Name a file that 'gate run --json' wrote."))
    if schema != REPORT_SCHEMA:
        what = f"written by another version of the gate ({told(schema)}; this one reads '{REPORT_SCHEMA}')"
        raise InputError(Problem(shown, what, "Update the gate, or write the report again with it."))
    found = {suite.suite: measurement_of(suite) for suite in parse(text, shown).suites}
    for suite, measurement in found.items():
        if faults := baselines.inconsistencies(measurement, metrics):
            what = f"contradicts itself (suite '{suite}': {faults[0]})"
            raise InputError(Problem(shown, what, "Write it again with 'gate run --json'."))
    return found


def measurement(path: Path, shown: str, suite: str, metrics: Metrics) -> Measurement:
    """The measurement of one suite in a report or baseline file."""
    found = measurements(path, shown, metrics)
    if suite not in found:
        raise InputError(Problem(shown, f"has no suite '{suite}'", did_you_mean(suite, found)))
    return found[suite]

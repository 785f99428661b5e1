"""TREC runs and qrels, so that any other tool can read the same rankings and labels.

Scores are integers, length minus rank: every tool then reads the same order, ties or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from gate.model.measurement import Label, Measurement, Row
from gate.store import canonical

_UNSAFE = re.compile(r"[\s%]")


def token(text: str) -> str:
    """A name as one TREC column: white space and % are percent-encoded, all else stays."""
    return _UNSAFE.sub(lambda found: quote(found[0]), text)


def run_lines(rows: Mapping[str, Row], tag: str) -> Iterator[str]:
    """`query Q0 page rank score tag` for every page of every pool."""
    for name, row in rows.items():
        length = len(row.ranked)
        for rank, page in enumerate(row.ranked, 1):
            yield f"{token(name)} Q0 {token(page)} {rank} {length - rank + 1} {token(tag)}\n"


def qrels_lines(labels: Mapping[str, Label]) -> Iterator[str]:
    """`query 0 page grade` for every label."""
    for name, label in labels.items():
        for page, grade in label.relevant.items():
            yield f"{token(name)} 0 {token(page)} {grade}\n"


def export(folder: Path, measurement: Measurement) -> list[Path]:
    """Write `<suite>.<arm>.run` for each arm and `<suite>.qrels`; the paths written."""
    written = []
    for name, arm in measurement.arms.items():
        path = folder / f"{measurement.suite}.{name}.run"
        canonical.write_text(path, "".join(run_lines(arm.rows, name)), str(path))
        written.append(path)
    path = folder / f"{measurement.suite}.qrels"
    canonical.write_text(path, "".join(qrels_lines(measurement.cases)), str(path))
    return [*written, path]

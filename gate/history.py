"""The versions of a baseline -> what each kind did, and which commits moved it.

A mean alone cannot tell a worse retriever from harder cases. So a move is counted over the cases that two versions
share under the same label; what was added, removed or relabelled stands beside it as a note.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gate.compare import case_changes, page_changes
from gate.model.comparison import DUST
from gate.model.history import Entry, Move, Point
from gate.model.measurement import ArmMeasurement, Label, Measurement

ALL = "all"


class Recorded(NamedTuple):
    """One version as it was read: the commit, and its measurement or why there is none."""

    commit: str
    date: str
    subject: str
    measurement: Measurement | None
    unreadable: str | None = None


def trace(versions: Iterable[Recorded], metric: str) -> tuple[Entry, ...]:
    """The entries, oldest first. A version that cannot be read keeps its place, and is compared with nothing."""
    entries = []
    before: Measurement | None = None
    for version in versions:
        now = version.measurement
        entries.append(
            Entry(
                commit=version.commit,
                date=version.date,
                subject=version.subject,
                points=points(now, metric) if now is not None else {},
                moves=tuple(moves(now, before, metric)) if now is not None and before is not None else (),
                notes=tuple(notes(now, before)) if now is not None and before is not None else (),
                unreadable=version.unreadable,
            )
        )
        before = now or before
    return tuple(entries)


def points(measurement: Measurement, metric: str) -> dict[str, dict[str, Point]]:
    """The mean of every kind, and of all cases, for each arm."""
    return {
        name: {
            kind: Point(n=len(scores), mean=math.fsum(scores) / len(scores))
            for kind, scores in _by_kind(arm, measurement.cases, metric).items()
        }
        for name, arm in measurement.arms.items()
    }


def _by_kind(arm: ArmMeasurement, labels: Mapping[str, Label], metric: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for case, row in arm.rows.items():
        if metric in row.scores:
            found.setdefault(ALL, []).append(row.scores[metric])
            found.setdefault(labels[case].kind, []).append(row.scores[metric])
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != ALL, entry[0])))


def moves(now: Measurement, before: Measurement, metric: str) -> Iterator[Move]:
    """Every kind of every arm that scores differently on shared cases. Under other settings nothing is compared."""
    if now.settings != before.settings:
        return
    shared = [
        name
        for name, label in now.cases.items()
        if name in before.cases and before.cases[name].sha256 == label.sha256
    ]
    for arm in now.arms.keys() & before.arms.keys():
        then, here = before.arms[arm].rows, now.arms[arm].rows
        for kind in dict.fromkeys(now.cases[name].kind for name in sorted(shared)):
            scores = {
                name: (then[name].scores[metric], here[name].scores[metric])
                for name in shared
                if now.cases[name].kind == kind
                and all(name in rows and metric in rows[name].scores for rows in (then, here))
            }
            won = tuple(sorted(name for name, (old, new) in scores.items() if new - old > DUST))
            lost = tuple(sorted(name for name, (old, new) in scores.items() if old - new > DUST))
            if won or lost:
                yield Move(
                    arm=arm,
                    kind=kind,
                    before=math.fsum(old for old, _ in scores.values()) / len(scores),
                    after=math.fsum(new for _, new in scores.values()) / len(scores),
                    cases=len(scores),
                    won=won,
                    lost=lost,
                )


def notes(now: Measurement, before: Measurement) -> Iterator[str]:
    """What else differs between two versions, each in one line."""
    old, new = before.settings.model_dump(), now.settings.model_dump()
    changed = [f"{key} {old[key]} -> {new[key]}" for key in old if old[key] != new[key]]
    if changed:
        yield f"other settings ({', '.join(changed)}): not comparable with the version before"
    if cases := case_changes(now.cases, before.cases):
        yield f"cases: {cases}"
    pages = page_changes(now.pages, before.pages)
    counts = {
        word: len(ids)
        for word, ids in (
            ("added", pages.added),
            ("removed", pages.removed),
            ("renamed", pages.renamed),
            ("edited", pages.edited),
        )
        if ids
    }
    if counts:
        yield f"pages: {', '.join(f'{count} {word}' for word, count in counts.items())}"
    if arrived := sorted(now.arms.keys() - before.arms.keys()):
        yield f"new arms: {', '.join(arrived)}"
    if gone := sorted(before.arms.keys() - now.arms.keys()):
        yield f"arms gone: {', '.join(gone)}"
    altered = [
        arm
        for arm in sorted(now.arms.keys() & before.arms.keys())
        if now.arms[arm].settings != before.arms[arm].settings
    ]
    if altered:
        yield f"settings changed: {', '.join(altered)}"

"""What the measuring job of a refresh leaves for the proposing one: one baseline a suite, and what was measured.

The first job ran the user's code, so whatever lies in the folder is data of a stranger to the second: each file is a plain
one of bounded size, parsed and never run. `refresh.json` tells people what happened; the second job reads one thing
of it, the commit, and only ever to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate.errors import InputError, Problem
from gate.github.tree import LARGEST_FILE
from gate.store import baselines, canonical
from gate.store.text import read_text

if TYPE_CHECKING:
    from gate.model.measurement import Measurement
    from gate.model.metric import Metrics

REFRESH = "refresh.json"
REFRESH_SCHEMA = "retrieval-gate/refresh/1"
AGAIN = "Measure again."
NOT_LEFT = "is not among what the first job left"
_LARGEST_NOTE = 10_000_000
"""In bytes. Unstable cases are listed in it; more than so many is no note."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def file_of(suite: str) -> str:
    """The name under which one job leaves a suite's new baseline for the other."""
    return f"{suite}.baseline.json"


def leave(
    folder: Path, fresh: Mapping[str, Measurement], told: Sequence[Mapping[str, Any]], commit: str | None
) -> None:
    """Write the new baselines by suite, and `refresh.json` with what there is to tell of each.

    `commit`: what is checked out, None outside git.
    """
    for name, now in fresh.items():
        baselines.write(folder / file_of(name), now, file_of(name))
    note = {"schema": REFRESH_SCHEMA, "commit": commit, "suites": told}
    canonical.write_text(folder / REFRESH, canonical.dumps(note, sort=False), REFRESH)


def baseline_left(folder: Path, suite: str, metrics: Metrics) -> Measurement | None:
    """The baseline that was left of a suite, None where there is none."""
    shown = file_of(suite)
    text = _text(folder, shown, LARGEST_FILE, "Measure fewer cases, or a smaller pool.")
    return baselines.parse(text, shown, suite, metrics) if text is not None else None


def commit_left(folder: Path) -> str:
    """The commit that was measured, in full. Where nothing that can be one is said, an InputError."""
    text = _text(folder, REFRESH, _LARGEST_NOTE, AGAIN)
    note = canonical.loads(text, REFRESH, AGAIN) if text is not None else None
    commit = note.get("commit") if isinstance(note, dict) else None
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        what = "does not say which commit was measured" if text is not None else NOT_LEFT
        raise InputError(Problem(REFRESH, what, AGAIN))
    return commit


def _text(folder: Path, shown: str, largest: int, todo: str) -> str | None:
    """The text of a file in the folder, None where there is none. `largest`: in bytes."""
    path = folder / shown
    if path.is_symlink():
        raise InputError(Problem(shown, "is a link", AGAIN))
    if not path.exists():
        return None
    if path.stat().st_size > largest:
        raise InputError(Problem(shown, "is too large", todo))
    return read_text(path, shown)

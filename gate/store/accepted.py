"""`baselines/<suite>.accepted.toml`: read, checked, written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePosixPath

from gate.model.accepted import AcceptedFile, Entry
from gate.store.config import parse_toml, typed

HEADER = """\
# Losses that were accepted, each with its reason. Written by 'gate baseline --reason', reviewed like code.
# An entry counts only against the base baseline whose digest it names; later ones list it as stale.
"""


def path_beside(baseline: str) -> str:
    """The accepted file that belongs to a baseline path: `baselines/orbit.json` -> `baselines/orbit.accepted.toml`."""
    return PurePosixPath(baseline).with_suffix(".accepted.toml").as_posix()


def parse(text: str, shown: str) -> tuple[Entry, ...]:
    """The entries of one file. Anything odd in it is an InputError: a loss is never accepted by half a line."""
    accepted: AcceptedFile = typed(AcceptedFile, parse_toml(text, shown), shown)
    return accepted.accepted


def dumps(entries: Iterable[Entry]) -> str:
    """The entries as TOML, sorted by what, name and arm."""
    blocks = []
    for entry in sorted(entries, key=lambda entry: (entry.what, entry.name, entry.arm or "")):
        lines = ["[[accepted]]"]
        # A JSON string is a TOML basic string, but for DEL, which neither a name nor a reason can hold.
        values = entry.model_dump(exclude_none=True)
        scores = values.pop("down_to")
        # A JSON string is a TOML basic string, but for DEL, which neither a name nor a reason needs.
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
        if scores:
            said = ", ".join(f"{json.dumps(name)} = {score!r}" for name, score in sorted(scores.items()))
            lines.append(f"down_to = {{ {said} }}")
        blocks.append("\n".join(lines) + "\n")
    return HEADER + "".join(f"\n{block}" for block in blocks)

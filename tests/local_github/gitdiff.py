"""The files of a diff, out of what git prints."""

from __future__ import annotations

import re
from dataclasses import dataclass

NAMES = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed", "C": "copied"}


@dataclass(frozen=True)
class Change:
    """One file of a diff."""

    path: str
    status: str
    additions: int
    deletions: int
    sha: str | None
    previous: str | None = None
    patch: str | None = None


def changes(raw: str, numstat: str, text: str) -> list[Change]:
    """`git diff` with `--raw -z`, with `--numstat -z` and as text: the same files in the same order."""
    fields, counts = raw.split("\0"), numstat.split("\0")
    found, at, count_at = [], 0, 0
    for patch in re.split(r"(?m)^diff --git ", text)[1:]:
        *_, old_sha, new_sha, letter = fields[at].split(" ")
        moved = letter[0] in "RC"
        previous, path = (fields[at + 1], fields[at + 2]) if moved else (None, fields[at + 1])
        at += 3 if moved else 2
        added, removed = counts[count_at].split("\t")[:2]
        count_at += 3 if moved else 1
        hunks = patch.find("\n@@ ")
        found.append(
            Change(
                path=path,
                status=NAMES[letter[0]],
                additions=0 if added == "-" else int(added),
                deletions=0 if removed == "-" else int(removed),
                sha=old_sha if letter[0] == "D" else new_sha,
                previous=previous,
                patch=patch[hunks + 1 :].removesuffix("\n") if hunks >= 0 else None,
            )
        )
    return found

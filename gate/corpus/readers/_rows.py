"""What the two JSONL readers share: which file it is, what its first row has, and checks of one row."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.errors import Problem, nearest
from gate.model.fingerprint import nfc
from gate.store.text import DOC_ID_LIMIT, bad_id, told

FILE = "corpus.jsonl"
LINE_LIMIT = 16_000_000  # bytes; a page can be a whole book
PEEK = 4_000_000

_MACHINE_PATH = re.compile(r"/|\\|[A-Za-z]:[\\/]|file:", re.I)


def is_jsonl(path: Path) -> bool:
    """A `.jsonl` file, or a folder with a `corpus.jsonl`."""
    return path.suffix.lower() == ".jsonl" if path.is_file() else (path / FILE).is_file()


def file_of(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def shown_of(path: Path, shown: str) -> str:
    return f"{shown}/{FILE}" if path.is_dir() else shown


def first_row(file: Path) -> Mapping[str, Any]:
    """The first object of a file, or nothing where it cannot be read: the reader will say why."""
    try:
        with file.open("rb") as lines:
            while line := lines.readline(PEEK):
                text = line.decode().lstrip("\ufeff").strip()
                if text:
                    value = json.loads(text)
                    return value if isinstance(value, dict) else {}
    except (OSError, ValueError, RecursionError):
        pass
    return {}


class Check:
    """One row under check; what is wrong is added to `problems`."""

    __slots__ = ("keys", "problems", "value", "where")

    def __init__(
        self, where: str, value: Mapping[str, Any], keys: Sequence[str], problems: list[Problem]
    ) -> None:
        self.where = where
        self.value = value
        self.keys = keys
        self.problems = problems
        if len(value) > len(keys) or any(key not in keys for key in value):
            self._misspelt()

    def page_id(self, key: str) -> str | None:
        """An id of a page or chunk, NFC."""
        if key not in self.value:
            self._absent(key)
            return None
        found = self.value[key]
        reason = bad_id(found, DOC_ID_LIMIT)
        if reason is None and _MACHINE_PATH.match(found):
            reason = f"is a path from the root ({told(found)}); write it relative to the corpus"
        if reason:
            self.problems.append(Problem(self.where, f"the {key} {reason}"))
            return None
        return nfc(found)

    def text(self, key: str, *, needed: bool = True) -> str | None:
        """A string, which may be empty; where it is not needed, absent and null are the empty string."""
        found = self.value.get(key)
        if isinstance(found, str):
            return found
        if needed and key not in self.value:
            self._absent(key)
            return None
        if not needed and found is None:
            return ""
        self.problems.append(Problem(self.where, f"the {key} is not a string ({told(found)})"))
        return None

    def _absent(self, key: str) -> None:
        if not any(self._near(other) == key for other in self.value if other not in self.keys):
            self.problems.append(Problem(self.where, f"has no {key}", f'Add "{key}".'))

    def _misspelt(self) -> None:
        """Other keys are the user's own, unless one looks like a key of ours that is not there."""
        for key in self.value:
            if key not in self.keys and (near := self._near(key)):
                self.problems.append(
                    Problem(self.where, f"unknown key {told(key)}", f"Did you mean '{near}'?")
                )

    def _near(self, key: str) -> str | None:
        absent = [one for one in self.keys if one not in self.value]
        return nearest(key.casefold(), absent) if absent else None

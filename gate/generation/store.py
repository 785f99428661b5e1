"""Answers that were paid for once: a file each, named by all that an answer depends on.

A file appears whole or not at all (written beside, then renamed). One that cannot be read, or that is about something else,
counts as absent. Its time is the day on which it was last used.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = "answers"
_DAY = 86400


class Kept(NamedTuple):
    """One kept answer: its file, its bytes, and when it was last used (seconds since 1970)."""

    path: Path
    size: int
    used: float


class AnswerStore:
    """The answers below one cache folder. `warnings` says what went wrong; nothing here raises for a bad file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / _FOLDER
        self.warnings: list[str] = []

    def get(self, key: str) -> Any:
        """The JSON value kept under `key` (hex digits), None where there is none."""
        path = self._path(key)
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(held, dict) or held.get("key") != key or "value" not in held:
            return None
        with suppress(OSError):  # once a day; in a folder that is only read it keeps its old time
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
        return held["value"]

    def put(self, key: str, value: Any) -> None:
        """Keep a JSON value. When this returns without a warning, it is on disk."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"key": key, "value": value}, file)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError as fault:
            text = f"answers are not kept in {self.folder} ({fault.strerror or fault})"
            if text not in self.warnings:
                self.warnings.append(text)

    def kept(self) -> list[Kept]:
        """Every kept answer, the longest unused first."""
        return sorted(self._walk(), key=lambda one: (one.used, one.path))

    def prune(self, older_than: int | None, limit: int | None) -> int:
        """Remove what was not used for `older_than` days, then the longest unused until `limit` bytes are left; how many went."""
        kept, gone = self.kept(), 0
        size = sum(one.size for one in kept)
        for one in kept:
            old = older_than is not None and time.time() - one.used > older_than * _DAY
            if not old and (limit is None or size <= limit):
                continue
            try:
                one.path.unlink(missing_ok=True)
            except OSError as fault:
                self.warnings.append(f"{one.path} cannot be removed ({fault.strerror or fault})")
                continue
            size -= one.size
            gone += 1
        return gone

    def _walk(self) -> Iterator[Kept]:
        for path in self.folder.glob("*/*.json"):
            with suppress(OSError):  # another run may just have removed it
                found = path.stat()
                yield Kept(path, found.st_size, found.st_mtime)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

"""Answers that were paid for once: a file each, named by all that an answer depends on.

A file appears whole or not at all (written beside, then renamed). One that cannot be read, or that is about something else,
counts as absent.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

_FOLDER = "answers"


class AnswerStore:
    """The answers below one cache folder. `warnings` says what went wrong; nothing here raises for a bad file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self.warnings: list[str] = []

    def get(self, key: str) -> Any:
        """The JSON value kept under `key` (hex digits), None where there is none."""
        try:
            held = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return (
            held["value"] if isinstance(held, dict) and held.get("key") == key and "value" in held else None
        )

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
            text = f"answers are not kept in {self._folder} ({fault.strerror or fault})"
            if text not in self.warnings:
                self.warnings.append(text)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

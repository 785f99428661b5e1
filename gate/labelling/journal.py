"""A judge's file: one line for each action, on disk before anybody is told that it counts.

The first line says which pool it is of and who judges. A last line that a crash tore is dropped with a warning, and cut off
before the next is written. One process at a time may write to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gate.errors import InputError, Problem, raise_all
from gate.labelling.judgements import Judged, WrongActionError, checked, fold
from gate.model.pool import Pool

SCHEMA = "retrieval-gate/judgements/1"


class StaleError(RuntimeError):
    """Somebody else changed this query since the writer looked at it."""


class Journal:
    """An open journal. Use it as a context manager. `warnings` says what was mended."""

    def __init__(self, path: Path, pool: Pool, judge: str) -> None:
        self._path, self._pool, self.judge = path, pool, judge
        self.warnings: list[str] = []
        self.actions: list[dict[str, Any]] = []
        self._file: Any = None

    def __enter__(self) -> Journal:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+b")
        _lock(self._file, self._path)
        try:
            whole = self._whole_lines()
            if whole:
                self.actions = _actions(whole, self._pool, self.judge, self._path)
            else:
                header = {"schema": SCHEMA, "pool": self._pool.name, "pool_sha256": self._pool.sha256()}
                self._write({**header, "judge": self.judge})
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _whole_lines(self) -> list[str]:
        """The lines that end with a line break. What stands after the last one was torn, and goes."""
        self._file.seek(0)
        raw = self._file.read()
        end = raw.rfind(b"\n") + 1
        if end < len(raw):
            self.warnings.append(f"{self._path.name}: the last line was torn, and is left out")
            self._file.truncate(end)
        return [line for line in raw[:end].decode("utf-8", "replace").split("\n") if line.strip()]

    @property
    def state(self) -> dict[str, Judged]:
        """Query -> what was said of it."""
        return fold(self.actions)

    def act(self, action: Mapping[str, Any], seen: int | None = None) -> int:
        """Write one action; its number. `seen`: the revision of the query that the writer looked at.

        WrongActionError where it fits nothing, StaleError where the query has changed since.
        """
        good = checked(action, self._pool)
        query = good.get("query")
        if query is None:
            undone = self.actions[good["undo"] - 1] if good["undo"] <= len(self.actions) else None
            if undone is None or "undo" in undone:
                raise WrongActionError("undo names no action")
            query = undone["query"]
        now = self.state.get(query, Judged())
        if seen is not None and seen != now.rev:
            raise StaleError(query)
        self._write({**good, "at": datetime.now(UTC).isoformat(timespec="seconds")})
        self.actions.append(good)
        return len(self.actions)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def read(path: Path, pool: Pool, judge: str) -> dict[str, Judged]:
    """The state in a journal that nobody has to write to."""
    try:
        raw = path.read_bytes()
    except OSError as fault:
        todo = f"Judge the pool first: 'gate label judge {pool.name} --judge {judge}'."
        raise InputError(Problem(str(path), f"cannot be read ({fault.strerror})", todo)) from fault
    whole = raw[: raw.rfind(b"\n") + 1].decode("utf-8", "replace")
    lines = [line for line in whole.split("\n") if line.strip()]
    return fold(_actions(lines, pool, judge, path)) if lines else {}


def _actions(lines: list[str], pool: Pool, judge: str, path: Path) -> list[dict[str, Any]]:
    """The actions behind the header; every line that is none is a problem."""
    problems: list[Problem] = []
    parsed: list[Any] = []
    for number, line in enumerate(lines, 1):
        try:
            parsed.append(json.loads(line))
        except ValueError:
            problems.append(Problem(f"{path}:{number}", "is no JSON", "Restore the line, or remove it."))
            parsed.append(None)
    header = parsed[0] if parsed and isinstance(parsed[0], dict) else {}
    if header.get("schema") != SCHEMA:
        raise InputError(Problem(f"{path}:1", "this is no journal of judgements", "Name another judge."))
    if header.get("judge") != judge:
        raise InputError(
            Problem(f"{path}:1", f"belongs to the judge {header.get('judge')!r}", "Name another one.")
        )
    if header.get("pool_sha256") != pool.sha256():
        what = f"was made for another version of the pool '{pool.name}'"
        raise InputError(
            Problem(f"{path}:1", what, "Restore that pool, or judge this one under another name.")
        )
    actions = []
    for number, line in enumerate(parsed[1:], 2):
        if not isinstance(line, dict):
            continue
        try:
            actions.append(checked(line, pool))
        except WrongActionError as fault:
            problems.append(Problem(f"{path}:{number}", str(fault), "Remove the line."))
    raise_all(problems)
    return actions


def _lock(file: Any, path: Path) -> None:
    """Keep others out for as long as it is open; where the system has no such lock, go without."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        todo = "Go on in that window, or end it first."
        raise InputError(Problem(str(path), "somebody is judging into this file right now", todo)) from None

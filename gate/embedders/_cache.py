"""Vectors that were computed once: one SQLite file, addressed by all that a vector depends on.

What `put` returned from is kept, also when the process is killed right after (each call is one transaction of a
write-ahead log). Every row has a checksum over its key and vector, so that a damaged one is embedded again instead of
believed. A file that is no such cache is set aside under another name, never deleted. A folder that cannot be written, or a
lock that never comes free, costs a warning and the saving, not the run.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE = "vectors.sqlite3"
_APPLICATION = 0x52474331
_VERSION = 1
_AT_ONCE = 500
_BUSY_SECONDS = 30.0
_DAY = 86400
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
  key BLOB PRIMARY KEY, length INTEGER NOT NULL, vector BLOB NOT NULL, checksum INTEGER NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID
"""


class Stats(NamedTuple):
    """What a cache holds. `oldest` and `newest` are days since 1970 on which a vector was last used; None when empty."""

    path: Path
    vectors: int
    size: int
    oldest: int | None
    newest: int | None


def cache_folder() -> Path:
    """GATE_CACHE, else the user's own cache folder."""
    named = os.environ.get("GATE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "retrieval-gate"


class Cache:
    """The cache of one folder, opened on first use. `warnings` says what went wrong; nothing here raises for a bad file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._connection: sqlite3.Connection | None = None
        self._off = False
        self._read_only = False
        self.warnings: list[str] = []

    def get(self, keys: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """The vectors that are here, by key; in no order. A damaged one is not."""
        import numpy as np

        wanted = list(keys)
        damaged = 0
        for start in range(0, len(wanted), _AT_ONCE):
            part = [bytes.fromhex(key) for key in wanted[start : start + _AT_ONCE]]
            for key, length, vector, checksum, _ in self._select(part):
                if len(vector) != 4 * length or checksum != _checksum(key, vector):
                    damaged += 1
                    continue
                yield key.hex(), np.frombuffer(vector, dtype="<f4").astype(np.float32, copy=False)
            self._touch(part)
        if damaged:
            self._warn(f"{damaged} damaged vectors in {self._path} are computed again")

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep the vectors. When this returns without a warning they are on disk, all of them."""
        if not vectors or self._read_only:
            return
        today = int(time.time()) // _DAY
        rows = []
        for key, vector in vectors.items():
            binary, blob = bytes.fromhex(key), vector.astype("<f4").tobytes()
            rows.append((binary, len(vector), blob, _checksum(binary, blob), today))
        self._write("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)

    def stats(self) -> Stats:
        """How much is here."""
        count, oldest, newest = 0, None, None
        for row in self._execute("SELECT COUNT(*), MIN(used), MAX(used) FROM vectors"):
            count, oldest, newest = row
        return Stats(self._path, count, _size(self._path), oldest, newest)

    def prune(self, days: int | None = None, size: int | None = None) -> int:
        """Remove what was not used for `days` days, then the longest unused until at most `size` bytes of vectors are
        left; the number of vectors that went. The file gives the room back.
        """
        before = self.stats().vectors
        if days is not None:
            self._write("DELETE FROM vectors WHERE used < ?", [(int(time.time()) // _DAY - days,)])
        if size is not None:
            kept, doomed = 0, []
            # Per row: the vector, its key, and about as much again for numbers and the tree.
            for key, length in self._execute("SELECT key, length FROM vectors ORDER BY used DESC, key"):
                kept += 4 * length + 64
                if kept > size:
                    doomed.append((key,))
            self._write("DELETE FROM vectors WHERE key = ?", doomed)
        left = self.stats().vectors
        if left < before and self._connection is not None:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before - left

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _select(self, keys: Sequence[bytes]) -> list[tuple[bytes, int, bytes, int, int]]:
        marks = ",".join("?" * len(keys))
        return self._execute(
            f"SELECT key, length, vector, checksum, used FROM vectors WHERE key IN ({marks})",  # noqa: S608 - only question marks
            keys,
        )

    def _touch(self, keys: Sequence[bytes]) -> None:
        """Remember that these were used today, once a day."""
        today = int(time.time()) // _DAY
        marks = ",".join("?" * len(keys))
        stale = self._execute(
            f"SELECT key FROM vectors WHERE used < ? AND key IN ({marks})",  # noqa: S608
            (today, *keys),
        )
        if stale and not self._read_only:
            self._write("UPDATE vectors SET used = ? WHERE key = ?", [(today, key) for (key,) in stale])

    def _execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        connection = self._open()
        if connection is None:
            return []
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as fault:
            self._warn(f"the cache {self._path} cannot be read ({fault})")
        except sqlite3.DatabaseError as fault:
            self._set_aside(str(fault))
        return []

    def _write(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        connection = self._open()
        if connection is None or not rows:
            return
        try:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(statement, rows)
        except sqlite3.OperationalError as fault:
            self._read_only = True
            self._warn(f"nothing more is kept in the cache {self._path} ({fault})")
        except sqlite3.DatabaseError as fault:
            self._set_aside(str(fault))

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and not self._off:
            try:
                self._connection = self._connect()
            except sqlite3.OperationalError as fault:
                self._off = True
                self._warn(f"the cache {self._path} cannot be opened ({fault})")
            except sqlite3.DatabaseError as fault:
                self._set_aside(str(fault))
            except OSError as fault:
                self._off = True
                self._warn(f"the cache {self._path} cannot be opened ({fault.strerror or fault})")
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = not self._path.exists() or self._path.stat().st_size == 0
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            if not new:
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
                # Two processes may make it at once: one without tables yet is being made, not foreign.
                if tables and (application, version) != (_APPLICATION, _VERSION):
                    raise sqlite3.DatabaseError("it is no cache of this version of the gate")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute(_SCHEMA)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self, reason: str) -> None:
        """Move the file out of the way and begin anew; should that not work, go on without."""
        self.close()
        aside = self._path.with_name(f"{self._path.name}.aside-{int(time.time())}-{os.getpid()}")
        try:
            self._path.rename(aside)
            for ending in ("-wal", "-shm"):  # they belong to that file, and would damage the next one
                journal = self._path.with_name(self._path.name + ending)
                if journal.exists():
                    journal.rename(aside.with_name(aside.name + ending))
        except OSError as fault:
            self._off = True
            self._warn(f"the cache {self._path} cannot be used ({reason}), nor set aside ({fault.strerror})")
            return
        self._warn(f"the cache {self._path} could not be used ({reason}); it was set aside as {aside.name}")

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def _checksum(key: bytes, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(struct.pack("<I", len(blob)), zlib.crc32(key)))


def _size(path: Path) -> int:
    """Bytes on disk, the log included."""
    total = 0
    for ending in ("", "-wal"):
        try:
            total += path.with_name(path.name + ending).stat().st_size
        except OSError:
            continue
    return total

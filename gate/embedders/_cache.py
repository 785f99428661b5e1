"""Vectors that were computed once: one SQLite file, addressed by all that a vector depends on.

What `put` returned from is kept, also when the process is killed right after (each call is one transaction of a
write-ahead log). Every row has a checksum over its key and vector, so that a damaged one is embedded again instead of
believed. A file that is no such cache is set aside under another name, never deleted. What cannot be written is still read; a
folder that cannot be used, or a lock that never comes free, costs a warning and the saving, not the run.
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

from gate.errors import InputError, Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE = "vectors.sqlite3"
_APPLICATION = 0x52474331
_VERSION = 1
_AT_ONCE = 500
_BUSY_SECONDS = 30.0
_DAY = 86400
_READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN})
_ENDINGS = ("-wal", "-shm")
# With pages of this size, and the keys in an index of their own, 10,000 vectors of 384 numbers take 17 MB instead of the 47
# of one tree with SQLite's default, and are read four times as fast.
_PAGE_BYTES = 8192
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
  key BLOB PRIMARY KEY, length INTEGER NOT NULL, used INTEGER NOT NULL, checksum INTEGER NOT NULL, vector BLOB NOT NULL
)
"""


class Stats(NamedTuple):
    """What a cache holds. `oldest` and `newest` are days since 1970 on which a vector was last used; None when empty.

    `aside`: the files that were set aside, for their owner to look at or delete.
    """

    path: Path
    vectors: int
    size: int
    oldest: int | None
    newest: int | None
    aside: tuple[Path, ...] = ()


def cache_folder() -> Path:
    """GATE_CACHE, else the user's own cache folder."""
    named = os.environ.get("GATE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "retrieval-gate"


NO_CACHE = "GATE_NO_CACHE"


def skipped_caches() -> str:
    """What GATE_NO_CACHE asks for: "" (every cache is used), "queries" (none for queries) or "1" (none at all)."""
    asked = os.environ.get(NO_CACHE, "")
    if asked not in ("", "queries", "1"):
        raise InputError(
            Problem(NO_CACHE, f"is neither 1 nor queries ({asked!r})", "Say one of them, or unset it.")
        )
    return asked


class Cache:
    """The cache of one folder, opened on first use. `warnings` says what went wrong; nothing here raises for a bad file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._connection: sqlite3.Connection | None = None
        self._off = False
        self._read_only = False
        self._inode: int | None = None
        self.warnings: list[str] = []

    def get(self, keys: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """The vectors that are here, by key; in no order. A damaged one is not."""
        import numpy as np

        wanted = list(keys)
        damaged = 0
        today = int(time.time()) // _DAY
        for start in range(0, len(wanted), _AT_ONCE):
            part = [bytes.fromhex(key) for key in wanted[start : start + _AT_ONCE]]
            stale = []
            for key, length, vector, checksum, used in self._select(part):
                if (
                    not isinstance(vector, bytes)
                    or len(vector) != 4 * length
                    or checksum != _checksum(key, vector)
                ):
                    damaged += 1
                    continue
                if used != today:
                    stale.append((today, key))
                yield key.hex(), np.frombuffer(vector, dtype="<f4").astype(np.float32, copy=False)
            if stale and not self._read_only:  # once a day
                self._write("UPDATE vectors SET used = ? WHERE key = ?", stale)
        if damaged:
            self._warn(f"{damaged} damaged vectors in {self._path} are computed again")

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep the vectors, all or none. When this returns without a warning, killing the process loses none of them."""
        if not vectors or self._read_only:
            return
        today = int(time.time()) // _DAY
        rows = []
        for key, vector in vectors.items():
            binary, blob = bytes.fromhex(key), vector.astype("<f4").tobytes()
            rows.append((binary, len(vector), blob, _checksum(binary, blob), today))
        self._write(
            "INSERT OR REPLACE INTO vectors (key, length, vector, checksum, used) VALUES (?, ?, ?, ?, ?)",
            rows,
        )

    def stats(self) -> Stats:
        """How much is here. Nothing is made by asking."""
        count, oldest, newest = 0, None, None
        if self._connection is not None or _inode(self._path) is not None:
            for row in self._execute("SELECT COUNT(*), MIN(used), MAX(used) FROM vectors"):
                count, oldest, newest = row
        aside = sorted(self._path.parent.glob(f"{FILE}.aside-*"))
        mains = tuple(path for path in aside if not path.name.endswith(_ENDINGS))
        return Stats(self._path, count, _size(self._path), _day(oldest), _day(newest), mains)

    def prune(self, days: int | None = None, size: int | None = None) -> int:
        """Remove what was not used for `days` days, then the longest unused until at most `size` bytes of vectors are
        left; the number of vectors that went. The file gives the room back.
        """
        before = self.stats().vectors
        if not before:
            return 0
        if days is not None:
            today = int(time.time()) // _DAY
            self._write("DELETE FROM vectors WHERE used < ?", [(max(today - days, 0),)])
        if size is not None:
            kept, doomed = 0, []
            # Per row: the vector, its key, and about as much again for numbers and the tree.
            for key, length in self._execute("SELECT key, length FROM vectors ORDER BY used DESC, key"):
                kept += 4 * length + 64
                if kept > size:
                    doomed.append((key,))
            self._write("DELETE FROM vectors WHERE key = ?", doomed)
        left = self.stats().vectors
        if left < before:
            self._execute("VACUUM")
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before - left

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _select(self, keys: Sequence[bytes]) -> list[Any]:
        marks = ",".join("?" * len(keys))
        return self._execute(
            f"SELECT key, length, vector, checksum, used FROM vectors WHERE key IN ({marks})",  # noqa: S608 - only question marks
            keys,
        )

    def _execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        connection = self._open()
        if connection is None:
            return []
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as fault:
            self._warn(f"the cache {self._path} cannot be used for all that it should ({fault})")
        except sqlite3.DatabaseError as fault:
            self._set_aside(str(fault))
        return []

    def _write(self, statement: str, rows: Sequence[Sequence[object]], *, again: bool = True) -> None:
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
            if again:  # into the new file
                self._write(statement, rows, again=False)

    def _open(self) -> sqlite3.Connection | None:
        for _ in range(2):  # once more after a bad file was set aside
            if self._connection is not None or self._off:
                break
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
        self._inode = _inode(self._path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._connect_in_turn()
        except sqlite3.OperationalError as fault:
            if self._inode is None or fault.sqlite_errorcode & 0xFF not in _READ_ONLY:
                raise
            connection = self._connect_to_read()
            self._read_only = True
            self._warn(f"the cache {self._path} can only be read; nothing new is kept ({fault})")
        self._inode = _inode(self._path)
        return connection

    def _connect_in_turn(self) -> sqlite3.Connection:
        """SQLite does not wait by itself for another process that makes the same file."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._connect_to_write()
            except sqlite3.OperationalError as fault:
                if fault.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _connect_to_write(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute(
                f"PRAGMA page_size = {_PAGE_BYTES}"
            )  # of a file without tables; no other is changed
            made = _is_ours(connection)  # before anything is changed in a file that may be foreign
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if not made:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                connection.execute(_SCHEMA)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        """Of a file beside which nothing can be written. What lies in a log that no longer can be merged is not seen."""
        address = f"{self._path.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
        try:
            if not _is_ours(connection):
                raise sqlite3.OperationalError("it is empty")
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self, reason: str) -> None:
        """Move the file out of the way and begin anew; should that not work, go on without."""
        self.close()
        if self._read_only:
            self._off = True
            self._warn(f"the cache {self._path} cannot be used ({reason})")
            return
        if _inode(self._path) != self._inode:
            return  # another process did it already, and what lies there now is its new one
        aside = self._path.with_name(f"{self._path.name}.aside-{int(time.time())}-{os.getpid()}")
        try:
            # The logs first: they belong to this file, and would damage the next one.
            for ending in (*_ENDINGS, ""):
                part = self._path.with_name(self._path.name + ending)
                if part.exists():
                    part.rename(aside.with_name(aside.name + ending))
        except OSError as fault:
            self._off = True
            self._warn(f"the cache {self._path} cannot be used ({reason}), nor set aside ({fault.strerror})")
            return
        self._warn(f"the cache {self._path} could not be used ({reason}); it was set aside as {aside.name}")

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def _is_ours(connection: sqlite3.Connection) -> bool:
    """False for a database without anything in it: two processes may make the file at once. DatabaseError if foreign."""
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    # After the tables, which come with them: a file that is being made right now is not foreign.
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and (application, version) != (_APPLICATION, _VERSION):
        raise sqlite3.DatabaseError("it is no cache of this version of the gate")
    return bool(tables)


def _day(used: Any) -> int | None:
    """A day since 1970 that a calendar has, None for what damage has made of it."""
    return used if isinstance(used, int) and 0 <= used < 2_000_000 else None


def _inode(path: Path) -> int | None:
    """Which file lies there, None for none."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _checksum(key: bytes, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(struct.pack("<I", len(blob)), zlib.crc32(key)))


def _size(path: Path) -> int:
    """Bytes on disk, the log included."""
    total = 0
    for ending in ("", _ENDINGS[0]):
        try:
            total += path.with_name(path.name + ending).stat().st_size
        except OSError:
            continue
    return total

"""The vector cache: what comes back is what went in, and a bad file never gives a vector."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from gate.embedders._cache import FILE, Cache
from gate.embedders._cached import CachedEmbedder
from gate.model.embedding import Batch, EmbeddingError, Identity


def key(number: int) -> str:
    return f"{number:064x}"


def row(number: int, length: int = 8) -> np.ndarray:
    return np.random.default_rng(number).normal(size=length).astype(np.float32)


def filled(folder: Path, number: int = 10) -> Cache:
    cache = Cache(folder)
    cache.put({key(one): row(one) for one in range(number)})
    return cache


def test_vectors_come_back_bit_for_bit(tmp_path: Path) -> None:
    filled(tmp_path, 1200).close()
    cache = Cache(tmp_path)
    found = dict(cache.get([key(one) for one in range(1300)]))
    assert len(found) == 1200
    assert all(found[key(one)].tobytes() == row(one).tobytes() for one in range(1200))
    assert cache.warnings == []
    cache.close()


def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    Cache(tmp_path / "none").close()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\x00" * 2000])
def test_a_file_that_is_no_cache_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    cache = filled(tmp_path)
    assert len(cache.warnings) == 1
    assert "set aside" in cache.warnings[0]
    cache.put({key(1): row(1)})
    assert dict(cache.get([key(1)]))[key(1)].tobytes() == row(1).tobytes()
    cache.close()
    aside = [path for path in tmp_path.iterdir() if ".aside-" in path.name and "-wal" not in path.name]
    assert [path.read_bytes() for path in aside] == [content], "set aside, not deleted"


def test_somebody_elses_database_is_set_aside(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("CREATE TABLE mine (x)")
    other.execute("INSERT INTO mine VALUES (42)")
    other.commit()
    other.close()
    cache = filled(tmp_path)
    assert "no cache of this version" in cache.warnings[0]
    cache.close()
    aside = next(path for path in tmp_path.iterdir() if ".aside-" in path.name)
    again = sqlite3.connect(aside)
    assert again.execute("SELECT x FROM mine").fetchall() == [(42,)]
    again.close()


@pytest.mark.parametrize("damage", ["blob", "length", "swap"])
def test_a_damaged_row_is_no_vector(tmp_path: Path, damage: str) -> None:
    filled(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE)
    first, second = (bytes.fromhex(key(one)) for one in (0, 1))
    if damage == "blob":
        database.execute("UPDATE vectors SET vector = ? WHERE key = ?", (row(99).tobytes(), first))
    elif damage == "length":
        database.execute("UPDATE vectors SET length = 4 WHERE key = ?", (first,))
    else:
        database.execute(
            "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE key = ?), checksum = (SELECT checksum FROM vectors WHERE key = ?) WHERE key = ?",
            (second, second, first),
        )
    database.commit()
    database.close()
    cache = Cache(tmp_path)
    assert sorted(dict(cache.get([key(one) for one in range(10)]))) == [key(one) for one in range(1, 10)]
    assert "damaged" in cache.warnings[0]
    cache.close()


def test_random_damage_never_gives_a_wrong_vector(tmp_path: Path) -> None:
    filled(tmp_path, 300).close()
    whole = (tmp_path / FILE).read_bytes()
    random = np.random.default_rng(7)
    for attempt in range(25):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        torn = bytearray(whole)
        for _ in range(40):
            torn[int(random.integers(100, len(torn)))] = int(random.integers(256))
        (folder / FILE).write_bytes(bytes(torn[: int(random.integers(len(torn) // 2, len(torn)))]))
        cache = Cache(folder)
        found = dict(cache.get([key(one) for one in range(300)]))
        assert all(vector.tobytes() == row(int(name, 16)).tobytes() for name, vector in found.items())
        cache.put({key(5): row(5)})
        cache.close()


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    cache = filled(tmp_path / "file")
    assert "cannot be opened" in cache.warnings[0]
    assert list(cache.get([key(1)])) == []
    assert len(cache.warnings) == 1


READ_ONLY = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_cache import key, row
from gate.embedders._cache import Cache
import numpy
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everywhere
cache = Cache(Path(sys.argv[1]))
found = dict(cache.get([key(one) for one in range(10)]))
assert len(found) == 10, len(found)
assert found[key(3)].tobytes() == row(3).tobytes()
cache.put({key(50): row(50)})
cache.close()
print(*cache.warnings, sep="\\n")
"""


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o444), (0o555, 0o644), (0o755, 0o444)])
def test_a_cache_that_cannot_be_written_is_read(tmp_path: Path, folder_mode: int, file_mode: int) -> None:
    with tempfile.TemporaryDirectory(prefix="gate-cache-") as name:
        folder = Path(name)
        filled(folder).close()
        (folder / FILE).chmod(file_mode)
        folder.chmod(folder_mode)
        before = sorted((path.name, path.read_bytes()) for path in folder.iterdir())
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, name, str(Path(__file__).parent)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
        after = sorted((path.name, path.read_bytes()) for path in folder.iterdir() if path.name == FILE)
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert "nothing" in done.stdout
    assert "kept" in done.stdout
    assert after == before


def test_asking_what_is_there_makes_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "none")
    assert cache.stats().vectors == 0
    assert cache.prune(size=0) == 0
    cache.close()
    assert not (tmp_path / "none").exists()


def test_what_was_set_aside_is_shown(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else" * 100)
    cache = filled(tmp_path)
    stats = cache.stats()
    assert stats.vectors == 10
    assert [path.read_bytes()[:14] for path in stats.aside] == [b"something else"]
    cache.close()


def test_a_foreign_database_is_not_even_changed(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    before = (tmp_path / FILE).read_bytes()
    cache = filled(tmp_path)
    (aside,) = cache.stats().aside
    assert aside.read_bytes() == before
    cache.close()


def test_of_two_that_find_a_bad_file_only_one_sets_it_aside(tmp_path: Path) -> None:
    filled(tmp_path, 300).close()
    one, other = Cache(tmp_path), Cache(tmp_path)
    for cache in (one, other):
        assert len(list(cache.get([key(0)]))) == 1
    torn = bytearray((tmp_path / FILE).read_bytes())
    torn[4096:] = b"\xff" * (len(torn) - 4096)
    with (tmp_path / FILE).open("r+b") as file:
        file.write(bytes(torn))
    one.put({key(1000): row(1000)})
    other.put({key(2000): row(2000)})
    assert "set aside" in str(one.warnings)
    assert "set aside" not in str(other.warnings)
    one.close()
    other.close()
    third = Cache(tmp_path)
    assert len(dict(third.get([key(1000), key(2000)]))) == 2, "both in the new file, without asking again"
    assert len(third.stats().aside) == 1
    third.close()


def test_prune_beside_a_reader_is_no_internal_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.embedders._cache._BUSY_SECONDS", 0.1)
    filled(tmp_path).close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM vectors").fetchone()
    cache = Cache(tmp_path)
    assert cache.prune(size=0) == 10
    assert cache.prune(days=10**9) == 0
    cache.close()
    other.execute("ROLLBACK")
    other.close()
    again = Cache(tmp_path)
    assert again.stats().vectors == 0
    again.close()


def test_a_locked_cache_costs_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.embedders._cache._BUSY_SECONDS", 0.1)
    filled(tmp_path).close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    cache = Cache(tmp_path)
    assert len(dict(cache.get([key(1)]))) == 1
    other.execute("BEGIN IMMEDIATE")
    cache.put({key(50): row(50)})
    assert "nothing more is kept" in cache.warnings[0]
    assert len(dict(cache.get([key(1)]))) == 1
    other.execute("ROLLBACK")
    other.close()
    cache.close()


def test_processes_that_begin_together_fill_one_cache(tmp_path: Path) -> None:
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[3]); from pathlib import Path; from test_cache import key, row\n"
        "from gate.embedders._cache import Cache\n"
        "cache = Cache(Path(sys.argv[1])); start = int(sys.argv[2])\n"
        "(Path(sys.argv[1]) / f'ready-{start}').touch()\n"
        "while len(list(Path(sys.argv[1]).glob('ready-*'))) < 3: time.sleep(0.001)\n"
        "for at in range(start, start + 200): cache.put({key(at): row(at)})\n"
        "assert cache.warnings == [], cache.warnings\n"
    )
    here = str(Path(__file__).parent)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(start), here], stderr=subprocess.PIPE
        )
        for start in (0, 200, 400)
    ]
    for one in running:
        _, said = one.communicate(timeout=60)
        assert one.returncode == 0, said.decode()
    cache = Cache(tmp_path)
    assert len(dict(cache.get([key(one) for one in range(600)]))) == 600
    assert cache.stats().aside == ()
    cache.close()


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_cache import key, row
from gate.embedders._cache import Cache
cache = Cache(Path(sys.argv[1]))
for start in range(int(sys.argv[3]), 10**9, 7):
    cache.put({key(at): row(at, 64) for at in range(start, start + 7)})
    print(start, flush=True)  # acknowledged
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    """One cache, killed again and again: every batch that was said to be kept is there, bit for bit."""
    chance = random.Random(9)
    acknowledged: list[int] = []
    for attempt in range(20):
        begin = attempt * 100_000
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(Path(__file__).parent), str(begin)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        told = process.stdout.readline()
        time.sleep(chance.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        rest, said = process.communicate(timeout=30)
        assert process.returncode == -signal.SIGKILL, said.decode()
        # The last line may be half written.
        acknowledged += [int(line) for line in (told + rest).split(b"\n")[:-1]]
    assert len(acknowledged) > 20
    cache = Cache(tmp_path)
    wanted = {key(start + at): start + at for start in acknowledged for at in range(7)}
    found = dict(cache.get(wanted))
    assert len(found) == len(wanted)
    assert all(vector.tobytes() == row(wanted[name], 64).tobytes() for name, vector in found.items())
    assert cache.warnings == []
    assert cache.stats().aside == ()
    cache.close()
    database = sqlite3.connect(tmp_path / FILE)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def test_prune_removes_what_was_long_unused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    cache = filled(tmp_path, 10)
    monkeypatch.setattr("gate.embedders._cache.time.time", lambda: now + 40 * 86400)
    assert len(list(cache.get([key(1), key(2)]))) == 2, "used again today"
    assert cache.prune(days=30) == 8
    assert cache.stats().vectors == 2
    assert sorted(name for name, _ in cache.get([key(one) for one in range(10)])) == [key(1), key(2)]
    cache.put({key(one): row(one) for one in range(10)})
    assert cache.prune(size=3 * (4 * 8 + 64)) == 7
    assert cache.prune(size=0) == 3
    assert cache.stats().vectors == 0
    assert cache.stats().oldest is None
    cache.close()


class Counting:
    """An embedder of two dimensions that logs what it is asked; texts with `bad` have no vector."""

    identity = Identity("counting", "m")

    def __init__(self, odd: bool = False) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.odd = odd

    def embed(self, texts, mode):  # type: ignore[no-untyped-def]
        self.asked.append((mode, list(texts)))
        good = [at for at, text in enumerate(texts) if "bad" not in text]
        bad = [at for at, text in enumerate(texts) if "bad" in text]
        if good:
            yield Batch(
                good, np.asarray([[len(texts[at]), 1.0] + [0.0] * self.odd for at in good], dtype=np.float32)
            )
        if bad:
            yield Batch(bad, None, "it is bad")


def test_what_is_cached_is_not_asked_again(tmp_path: Path) -> None:
    first = CachedEmbedder(Counting(), Cache(tmp_path))
    before = first.passages(["one", "three", "one", " "])
    assert before.tolist() == [[3, 1], [5, 1], [3, 1], [0, 0]]
    first.close()
    inner = Counting()
    second = CachedEmbedder(inner, Cache(tmp_path))
    assert second.passages(["three", "one", "seven"]).tolist() == [[5, 1], [3, 1], [5, 1]]
    assert inner.asked == [("passage", ["seven"])]
    assert (second.spent.texts, second.spent.cached) == (1, 2)
    assert second.queries(["one", ""])["one"].tolist() == [3, 1]  # type: ignore[union-attr]
    assert inner.asked[-1] == ("query", ["one"]), "a vector of one mode never stands for the other"
    second.close()


def test_what_failed_is_told_and_what_was_paid_is_kept(tmp_path: Path) -> None:
    inner = Counting()
    embedder = CachedEmbedder(inner, Cache(tmp_path))
    with pytest.raises(EmbeddingError, match=r"1 of 3 texts have no vector: it is bad"):
        embedder.passages(["one", "bad", "three"])
    assert embedder.queries(["two", "bad"])["bad"] == "it is bad"
    with pytest.raises(EmbeddingError):
        embedder.passages(["one", "bad", "three"])
    assert inner.asked[-1] == ("passage", ["bad"])
    embedder.close()


def test_vectors_of_two_lengths_are_never_mixed(tmp_path: Path) -> None:
    first = CachedEmbedder(Counting(), Cache(tmp_path))
    first.passages(["one"])
    first.close()
    second = CachedEmbedder(Counting(odd=True), Cache(tmp_path))
    with pytest.raises(
        EmbeddingError, match=r"3 dimensions where others have 2.*'revision'.*gate cache prune --all"
    ):
        second.passages(["one", "new"])
    assert "3 dimensions" in str(second.queries(["new"])["new"]), "nor are a query's and a passage's"
    second.close()
    third = CachedEmbedder(Counting(), Cache(tmp_path))
    assert third.passages(["one", "new"]).tolist() == [[3, 1], [3, 1]], "what did not fit was not kept"
    third.close()


def test_queries_can_bypass_the_cache(tmp_path: Path) -> None:
    inner = Counting()
    embedder = CachedEmbedder(inner, Cache(tmp_path), skip_queries=True)
    for _ in range(2):
        embedder.queries(["one"])
        embedder.passages(["two"])
    assert inner.asked == [("query", ["one"]), ("passage", ["two"]), ("query", ["one"])]
    embedder.close()


def test_a_large_matrix_lies_in_a_file_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.embedders._cached.MAPPED", 16)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    embedder = CachedEmbedder(Counting(), None)
    matrix = embedder.passages(["one", "three", "seven"])
    assert matrix.tolist() == [[3, 1], [5, 1], [5, 1]]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 1

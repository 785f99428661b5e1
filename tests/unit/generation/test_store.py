"""Kept answers: what is damaged counts as absent, what is not used for long goes first."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gate.generation.store import AnswerStore

KEYS = tuple(f"{position:02x}" * 32 for position in range(4))


def aged(store: AnswerStore, key: str, days: float) -> None:
    (path,) = store.folder.glob(f"*/{key}.json")
    then = time.time() - days * 86400
    os.utime(path, (then, then))


@pytest.fixture
def store(tmp_path: Path) -> AnswerStore:
    """Four answers of one size, unused for 0, 10, 20 and 30 days."""
    store = AnswerStore(tmp_path)
    for position, key in enumerate(KEYS):
        store.put(key, {"answer": position})
        aged(store, key, 10 * position)
    return store


def test_the_longest_unused_go_first(store: AnswerStore) -> None:
    assert [one.path.stem for one in store.kept()] == list(reversed(KEYS))
    assert store.prune(older_than=25, limit=None) == 1
    assert store.prune(older_than=None, limit=2 * store.kept()[0].size) == 1
    assert [store.get(key) for key in KEYS] == [{"answer": 0}, {"answer": 1}, None, None]
    assert store.prune(older_than=None, limit=0) == 2
    assert store.kept() == []
    assert store.warnings == []


def test_a_used_answer_is_young_again(store: AnswerStore) -> None:
    assert store.get(KEYS[3]) == {"answer": 3}
    assert store.prune(older_than=25, limit=None) == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"key": "another", "value": 1}', '{"key": "' + KEYS[0] + '"}']
)
def test_a_damaged_answer_is_absent(store: AnswerStore, text: str) -> None:
    store.kept()[-1].path.write_text(text, encoding="utf-8")
    assert store.get(KEYS[0]) is None
    store.put(KEYS[0], 7)
    assert store.get(KEYS[0]) == 7


def test_a_folder_that_is_a_file_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("", encoding="utf-8")
    store = AnswerStore(tmp_path)
    store.put(KEYS[0], 1)
    store.put(KEYS[1], 1)
    assert len(store.warnings) == 1
    assert "answers are not kept in" in store.warnings[0]
    assert store.kept() == []

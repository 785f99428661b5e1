"""The journal: what was acknowledged is there after a crash, and a stale window overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate.errors import InputError
from gate.labelling.journal import Journal, StaleError, read
from gate.labelling.judgements import Judged, WrongActionError, checked, fold, last_action
from gate.model.pool import Pool, PoolQuery

POOL = Pool(
    name="p",
    suite="docs",
    depth=10,
    systems=("keyword",),
    queries=(
        PoolQuery(id="q-001", query="one", candidates=("a", "b")),
        PoolQuery(id="q-002", query="two", candidates=("a",)),
    ),
    pages={"a": "1", "b": "2"},
)


def grade(page: str, value: int | None, query: str = "q-001") -> dict[str, Any]:
    return {"query": query, "page": page, "grade": value}


def test_the_state_is_the_fold_of_the_actions() -> None:
    actions = [
        grade("a", 2),
        grade("b", 0),
        {"query": "q-001", "kind": "semantic"},
        grade("a", 1),
        {"undo": 4},
    ]
    state = fold(actions)
    assert state["q-001"].grades == {"a": 2, "b": 0}
    assert state["q-001"].complete(("a", "b"))
    assert state["q-001"].rev == 5
    assert last_action(actions) == 3
    assert fold([grade("a", 2), grade("a", None)])["q-001"].grades == {}
    assert not Judged({"a": 1}).complete(("a",)), "a kind is missing"
    assert Judged(none=True).complete(("a", "b"))


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"query": "q-009", "kind": "x"},
        grade("c", 1),
        grade("a", 3),
        grade("a", True),  # type: ignore[arg-type]
        grade("b", 1, "q-002"),
        {"query": "q-001", "none": 1},
        {"query": "q-001", "kind": "x" * 61},
        {"query": "q-001", "note": 5},
        {"undo": 0},
        {"undo": "1"},
        {"query": "q-001"},
    ],
)
def test_what_fits_nothing_is_refused(action: dict[str, Any]) -> None:
    with pytest.raises(WrongActionError):
        checked(action, POOL)


def test_everything_that_was_acknowledged_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "p.ada.jsonl"
    with Journal(path, POOL, "ada") as journal:
        assert journal.act(grade("a", 2), seen=0) == 1
        assert journal.act({"query": "q-001", "kind": "semantic"}, seen=1) == 2
        whole = path.read_bytes()
    with Journal(path, POOL, "ada") as journal:
        assert journal.state["q-001"].grades == {"a": 2}
        journal.act(grade("b", 1))
    assert path.read_bytes().startswith(whole), "nothing is ever written over"
    assert read(path, POOL, "ada")["q-001"].grades == {"a": 2, "b": 1}


def test_a_torn_line_is_dropped_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "p.ada.jsonl"
    with Journal(path, POOL, "ada") as journal:
        journal.act(grade("a", 2))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"query": "q-001", "pa')
    with Journal(path, POOL, "ada") as journal:
        assert "torn" in journal.warnings[0]
        assert journal.state["q-001"].grades == {"a": 2}
        journal.act(grade("b", 0))
    assert read(path, POOL, "ada")["q-001"].grades == {"a": 2, "b": 0}


def test_a_stale_window_overwrites_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl", POOL, "ada") as journal:
        journal.act(grade("a", 2), seen=0)
        with pytest.raises(StaleError):
            journal.act(grade("a", 0), seen=0)
        journal.act(grade("a", 1, "q-002"), seen=0)
        assert journal.state["q-001"].grades == {"a": 2}
        with pytest.raises(WrongActionError):
            journal.act({"undo": 9})


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "j.jsonl", POOL, "ada"),
        pytest.raises(InputError, match="right now"),
        Journal(tmp_path / "j.jsonl", POOL, "ada"),
    ):
        pass


def test_another_pool_judge_or_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, POOL, "ada"):
        pass
    for pool, judge, said in (
        (POOL.model_copy(update={"depth": 5}), "ada", "another version of the pool"),
        (POOL, "bob", "belongs to the judge 'ada'"),
    ):
        with pytest.raises(InputError, match=said), Journal(path, pool, judge):
            pass
    path.write_text('{"id": "rq-1"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no journal"):
        read(path, POOL, "ada")
    header = {
        "schema": "retrieval-gate/judgements/1",
        "pool": "p",
        "pool_sha256": POOL.sha256(),
        "judge": "ada",
    }
    lines = [json.dumps(header), "junk", json.dumps(grade("z", 1)), json.dumps(grade("a", 9))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as fault:
        read(path, POOL, "ada")
    assert [problem.where.rpartition(":")[2] for problem in fault.value.problems] == ["2", "3", "4"], (
        "all at once"
    )

"""A shared leg is asked once per query, whatever comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gate.arms._remembered import Remembered
from gate.model.ranking import Hit


class Costly:
    """An arm that counts what it is asked and fails on `bad`."""

    tolerance = 0.5

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.told: list[tuple[Sequence[str], int]] = []

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        self.told.append((queries, pool))

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        self.asked.append((query, pool))
        if query == "bad":
            raise TimeoutError(f"attempt {len(self.asked)}")
        return [Hit("a#0", "a", "", 1.0)] * pool


def test_answers_are_kept_by_query_and_pool() -> None:
    arm = Costly()
    shared = Remembered(arm)
    assert [len(shared.search("q", pool)) for pool in (2, 2, 3, 3)] == [2, 2, 3, 3]
    assert arm.asked == [("q", 2), ("q", 3)]


def test_a_fault_is_kept_too() -> None:
    shared = Remembered(Costly())
    for _ in range(2):
        with pytest.raises(TimeoutError, match="attempt 1"):
            shared.search("bad", 2)


def test_only_new_queries_are_passed_on() -> None:
    arm = Costly()
    shared = Remembered(arm)
    for queries in (["x", "y", "x"], ["y", "x"], ["z", "x"]):
        shared.prepare(queries, 5)
    shared.prepare(["x"], 6)
    assert arm.told == [(["x", "y"], 5), (["z"], 5), (["x"], 6)]


def test_all_else_is_the_arms_own() -> None:
    arm = Costly()
    shared = Remembered(arm)
    assert shared.tolerance == 0.5
    assert not hasattr(shared, "unknown")
    arm.unknown = {"late"}  # type: ignore[attr-defined]
    assert shared.unknown == {"late"}

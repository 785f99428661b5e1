"""Measuring a suite: what the arms are told beforehand, and what is known of each arm beside its rows."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

import pytest

from gate import registry
from gate.commands._measure import Measured, Workshop, measure
from gate.model.case import Case, QaCase
from gate.model.cost import Spent
from gate.model.measurement import Meaning
from gate.model.page import Corpus, Page
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings

METRICS = {name: registry.load("metrics", name, "test") for name in registry.names("metrics")}
CORPUS = Corpus((Page("a", "A", "red"), Page("b", "B", "red"), Page("c", "C", "blue")))
CASES = [
    Case(id="one", query="red", grades={"a": 1}, kind="x"),
    Case(id="two", query="blue", grades={"c": 1}, kind="x"),
    Case(id="again", query="red", grades={"b": 1}, kind="x"),
]
QUESTIONS = [QaCase("qa", "blue", "It is.", ("c",)), QaCase("open", "green", "", ())]


class Own:
    """An arm of somebody's own: it keeps what it was told, and looks up which cases ask a query."""

    tolerance = 0.25
    spent = Spent(requests=3)

    def __init__(self, materials: Materials, fault: str) -> None:
        self.materials = materials
        self.fault = fault
        self.told: list[tuple[Sequence[str], int]] = []
        self.ids: dict[str, tuple[str, ...]] = {}

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        self.told.append((queries, pool))
        if self.fault:
            raise ConnectionError(self.fault)

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        self.ids[query] = self.materials.case_ids[query]
        scores = {"a": 1.0, "b": 0.8, "c": 0.5} if query == "red" else {"c": 1.0, "a": 0.1}
        return [Hit(f"{page}#0", page, "", score) for page, score in scores.items()]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module outside the gate with an arm in it: `own.made` is the arm, `own.fault` what its `prepare` raises."""
    module = types.ModuleType("own_arm")

    def build(materials: Materials, _settings: Any) -> Own:
        module.made = Own(materials, module.fault)  # type: ignore[attr-defined]
        return module.made  # type: ignore[no-any-return]

    holder = types.SimpleNamespace(build=build, Settings=ArmSettings)
    module.arm, module.fault = holder, ""  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_arm", module)
    return module


def measured(k: int = 1) -> Measured:
    keyword = registry.load("arms", "bm25", "test").Settings(type="bm25")
    arms = {"own": ArmSettings(type="own_arm:arm"), "keyword": keyword}
    return measure("it", Workshop(CORPUS, arms, "test"), Meaning(k=k), METRICS, CASES, QUESTIONS, None)


def test_an_arm_is_told_each_query_once_before_it_is_asked(own: Any) -> None:
    measured()
    assert own.made.told == [(["red", "blue"], 20)], "questions nobody can answer are never asked"
    assert own.made.ids == {"red": ("one", "again"), "blue": ("two", "qa")}


def test_ties_and_spending_are_kept_by_arm(own: Any) -> None:
    found = measured()
    assert found.tied == {"own": ("one", "again"), "keyword": ("one", "again")}
    assert found.spent == {"own": Spent(requests=3)}
    assert measured(k=2).tied == {}


def test_what_goes_wrong_while_an_arm_is_told_is_the_reason_of_every_query(own: Any) -> None:
    own.fault = "no such host"
    found = measured()
    arm = found.now.arms["own"]
    assert set(arm.failed) == {"one", "two", "again"}
    assert set(arm.failed_questions) == {"qa"}
    assert "ConnectionError: no such host" in arm.failed["one"]
    assert found.now.arms["keyword"].complete

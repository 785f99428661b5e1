"""What several versions of a baseline lowered in sum."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gate.drift import Drift, Version, drifts
from gate.model.measurement import ArmMeasurement, Label, Meaning, Measurement, Row
from gate.model.settings import OpenArmSettings, OpenPolicySettings, SuiteSettings

CASES = {"a": "semantic", "b": "semantic", "c": "semantic", "x": "exact_term"}


def suite(**more: object) -> SuiteSettings:
    arms = {"keyword": OpenArmSettings(type="bm25"), "shown": OpenArmSettings(type="bm25", gate=False)}
    policy = OpenPolicySettings.model_validate(more)
    return SuiteSettings(corpus="docs", cases=("cases.jsonl",), baseline="b.json", arms=arms, policy=policy)


def version(
    commit: str, scores: dict[str, float], *, k: int = 5, unstable: tuple[str, ...] = (), **shas: str
) -> Version:
    labels = {
        name: Label(kind=CASES[name], query=name, relevant={"page": 1}, sha256=shas.get(name, name))
        for name in scores
    }
    rows = {
        name: Row.model_validate({"ranked": (), "at": (), "recall": score, "rr": 1.0})
        for name, score in scores.items()
    }
    arm = ArmMeasurement(settings={}, rows=rows, unstable=unstable)
    return Version(
        commit,
        "2026-05-01",
        Measurement(
            suite="docs", settings=Meaning(k=k), cases_version="", corpus_version="", cases=labels, pages={},
            arms={"keyword": arm, "shown": arm},
        ),
    )  # fmt: skip


def series(*scores: dict[str, float]) -> list[Version]:
    return [version(f"v{position}", one) for position, one in enumerate(scores)]


FULL = {"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0}


def test_small_losses_are_added_up() -> None:
    found = drifts(series(FULL, {**FULL, "a": 0.5}, {**FULL, "a": 0.5, "b": 0.0}), suite())
    (one,) = found
    assert isinstance(one, Drift)
    assert (one.arm, one.kind, one.metric, one.of) == ("keyword", "semantic", "recall", 3)
    assert one.fallen == 1.5
    assert [step.commit for step in one.steps] == ["v1", "v2"]
    assert one.lost == ("a", "b")


def test_a_loss_stays_one_though_its_case_is_removed_afterwards() -> None:
    """Which the first and the last version alone would not show."""
    without = {name: score for name, score in FULL.items() if name != "a"}
    found = drifts(series(FULL, {**FULL, "a": 0.0}, without, {**without, "b": 0.0}), suite())
    assert [(one.fallen, one.lost) for one in found] == [(2.0, ("a", "b"))]


def test_one_lowering_is_no_series_and_neither_is_one_that_came_back() -> None:
    low = {**FULL, "a": 0.0}
    assert drifts(series(FULL, low, low, low), suite()) == ()
    assert drifts(series(FULL, low, FULL, low), suite()) == ()
    assert drifts(series(FULL, low, {**low, "b": 0.0}, FULL), suite()) == ()
    assert drifts(series(FULL, low, {**low, "b": 0.0}, low), suite()) == ()


def test_it_is_counted_from_the_highest_stand() -> None:
    """An early gain does not hide what is given away afterwards."""
    empty = dict.fromkeys(FULL, 0.0)
    found = drifts(series(empty, FULL, {**FULL, "a": 0.5}, {**FULL, "a": 0.5, "b": 0.5}), suite())
    assert [one.fallen for one in found] == [1.0]
    traded = {"a": 1.0, "b": 0.0, "c": 1.0, "x": 1.0}
    offset = drifts(series(FULL, {**FULL, "a": 0.0}, traded, {**traded, "c": 0.0}), suite())
    assert [(one.fallen, one.lost) for one in offset] == [(2.0, ("b", "c"))]


def test_only_what_decides_counts() -> None:
    falls = series(FULL, {**FULL, "a": 0.5}, {**FULL, "a": 0.0})
    assert [one.arm for one in drifts(falls, suite())] == ["keyword"]
    assert drifts(falls, suite(kinds=("exact_term",))) == ()
    assert drifts(falls, suite(metrics=("rr",))) == ()
    assert drifts(falls, suite(metrics=("nothing",))) == ()


def test_noise_relabelling_and_other_settings_are_no_lowering() -> None:
    low, lower = {**FULL, "a": 0.5}, {**FULL, "a": 0.0}
    noisy = [version("v0", FULL), version("v1", low, unstable=("a",)), version("v2", lower)]
    assert drifts(noisy, suite()) == ()
    relabelled = [version("v0", FULL), version("v1", low), version("v2", lower, a="other")]
    assert drifts(relabelled, suite()) == ()
    settings = [version("v0", FULL, k=5), version("v1", low, k=3), version("v2", lower, k=3)]
    assert drifts(settings, suite()) == ()


def test_nothing_and_too_little() -> None:
    assert drifts([], suite()) == ()
    assert drifts(series(FULL), suite()) == ()
    assert drifts(series(FULL, {**FULL, "a": 0.0}), suite()) == ()


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=4), max_size=7))
def test_what_is_told_is_true(rows: list[list[float]]) -> None:
    versions = series(*(dict(zip(FULL, row, strict=True)) for row in rows))
    found = {one.kind: one for one in drifts(versions, suite())}
    for kind in ("semantic", "exact_term"):
        stands = [
            math.fsum(score for name, score in zip(FULL, row, strict=True) if CASES[name] == kind)
            for row in rows
        ]
        fallen = max(stands) - stands[-1] if stands else 0.0
        if kind in found:
            assert found[kind].fallen == fallen > 0
            assert len(found[kind].steps) >= 2
        elif fallen:
            top = len(stands) - 1 - stands[::-1].index(max(stands))
            for name, column in zip(FULL, zip(*rows[top:], strict=True), strict=True):
                if CASES[name] == kind and column[-1] < column[0]:
                    steps = {
                        position
                        for position, (before, after) in enumerate(pairwise(column))
                        if after < before
                    }
                    assert len(steps) == 1

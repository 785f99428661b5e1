"""A measurement under other settings: what stored rankings give, and what they do not."""

from __future__ import annotations

from typing import Any

import pytest
from golden.build import World, measurement, metrics

from gate.model.measurement import Meaning, Measurement, Question
from gate.rescoring import covers, under

BEFORE = measurement(World())


def asked(**changes: Any) -> Meaning:
    return BEFORE.settings.model_copy(update=changes)


def with_question(at: dict[str, int | None]) -> Measurement:
    question = Question(bucket="reached_context", at=at, sha256="0" * 64)
    arms = {name: arm.model_copy(update={"questions": {"qa": question}}) for name, arm in BEFORE.arms.items()}
    return BEFORE.model_copy(update={"arms": arms})


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({}, True),
        ({"k": 1}, True),
        ({"k": 50}, True),
        ({"context": 50}, True),
        ({"pool": BEFORE.settings.pool - 1}, True),
        ({"pool": BEFORE.settings.pool + 1}, False),
        ({"split": "dev"}, False),
    ],
)
def test_what_stored_rankings_give(changes: dict[str, Any], possible: bool) -> None:
    meaning = asked(**changes)
    found = under(BEFORE, meaning, metrics())
    assert covers(BEFORE.settings, meaning) == possible == (found is not None)
    assert found is None or found.settings == meaning


def test_the_same_settings_change_nothing() -> None:
    assert under(BEFORE, BEFORE.settings, metrics()) is BEFORE


def test_rows_and_questions_follow_alike() -> None:
    before = with_question({"install": 2, "queue": 5})
    found = under(before, asked(pool=4, context=1, k=1), metrics())
    assert found is not None
    for arm in found.arms.values():
        assert max(position for row in arm.rows.values() for position in row.at) <= 4
        assert arm.questions["qa"].at == {"install": 2, "queue": None}
        assert arm.questions["qa"].bucket == "ranking"
    # There and back again is not possible, but twice in one direction is once.
    assert under(found, BEFORE.settings, metrics()) is None
    assert under(found, asked(pool=3, context=1, k=1), metrics()) == under(
        before, asked(pool=3, context=1, k=1), metrics()
    )

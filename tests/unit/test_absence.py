"""What the absence of a suite means, as a table over what both trees say of it."""

from __future__ import annotations

from typing import Literal

import pytest
from golden.build import World, measurement, metrics, settings

from gate.absence import absence, empty_report
from gate.model.accepted import Entry
from gate.model.run import Side
from gate.model.settings import OpenPolicySettings
from gate.model.verdict import Verdict
from gate.store import baselines
from gate.summary import measurement_of

WORLD = World()
TRUSTED = measurement(WORLD)


def entry(reason: str, name: str = "orbit", digest: str = "") -> Entry:
    return Entry(what="suite", name=name, reason=reason, baseline_sha256=digest or TRUSTED.sha256())


def verdict(
    base: list[Entry],
    brought: list[Entry],
    accept: Literal["head", "base"] = "head",
    *,
    approval: bool = False,
    recorded: bool = True,
) -> tuple[Verdict, list[str]]:
    rules = settings(WORLD).model_copy(
        update={"policy": OpenPolicySettings(accept=accept, approval=approval)}
    )
    side = Side(rules, TRUSTED if recorded else None, tuple(base))
    report = empty_report("orbit", rules, list(absence("orbit", side, brought)))
    assert (report.k, report.split, dict(report.arms)) == (rules.k, rules.split, {})
    assert baselines.inconsistencies(measurement_of(report), metrics()) == []
    return report.verdict, [finding.text for finding in report.findings]


def test_without_a_baseline_it_guarded_nothing() -> None:
    found, (text,) = verdict([], [], recorded=False)
    assert found is Verdict.PASS
    assert text.endswith("the base had no baseline of it, so it guarded nothing")


@pytest.mark.parametrize("brought", [[], [entry("x", "other")], [entry("x", digest="0" * 64)]])
def test_without_a_reason_that_counts_it_is_invalid(brought: list[Entry]) -> None:
    assert verdict([], brought) == (Verdict.INVALID, ["the suite 'orbit' of the base is absent here"])


def test_a_reason_of_the_base_counts_always_and_first() -> None:
    said = ["the suite 'orbit' is gone, accepted: base"]
    assert verdict([entry("base")], [], "base", approval=True) == (Verdict.PASS, said)
    assert verdict([entry("base")], [entry("mine")], approval=True) == (Verdict.PASS, said)


def test_a_reason_of_the_change_counts_where_the_base_listens() -> None:
    assert verdict([], [entry("mine")]) == (Verdict.PASS, ["the suite 'orbit' is gone, accepted: mine"])
    assert verdict([], [entry("mine")], "base")[0] is Verdict.INVALID


def test_a_reason_of_the_change_may_need_a_review() -> None:
    found, (_, text) = verdict([], [entry("mine")], approval=True)
    assert found is Verdict.REGRESSION
    assert text == ("that this change drops the suite 'orbit' awaits an approving review of its head commit")

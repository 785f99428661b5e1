"""The output `regressed`: what fails the check, each thing once, with the metric that it is about."""

from __future__ import annotations

from typing import Any

from golden.build import World, judged
from golden.scenarios import BASE

from gate.commands._step import regressed
from gate.model.report import Report
from gate.model.verdict import Finding, Level
from gate.policies import any_loss

BOTH = {"metrics": ("recall", "rr")}
# Page 2 instead of 1: recall@3 holds, MRR halves.
LOWER = ("install", "limits", "paint")
GONE = ("install", "paint", "queue")


def after(lowered: World, **policy: Any) -> Report:
    return judged(lowered.but(arms=("keyword",)), BASE.but(arms=("keyword",)), policy=policy or BOTH)


def entry(**more: Any) -> dict[str, Any]:
    return {
        "suite": "orbit",
        "arm": "keyword",
        "kind": "exact_term",
        "metric": "recall",
        "before": 1.0,
        "after": 1.0,
        "cases": ["rq-004"],
        "code": "kind-dropped",
    } | more


def test_one_dropped_kind_under_the_default_policy() -> None:
    found = regressed(after(BASE.answers("keyword", rq_004=GONE), metrics=("recall",)))
    assert found == [entry(after=2 / 3)]


def test_a_drop_of_a_further_metric_has_that_metrics_numbers() -> None:
    found = regressed(after(BASE.answers("keyword", rq_004=LOWER)))
    assert found == [entry(metric="rr", after=2.5 / 3)]


def test_both_metrics_dropped_are_two_entries_that_differ() -> None:
    found = regressed(after(BASE.answers("keyword", rq_004=GONE)))
    assert found == [entry(after=2 / 3), entry(metric="rr", after=2 / 3)]


def test_two_rules_that_find_the_same_drop_are_one_entry() -> None:
    """The base's any-drop and a stricter rule of the change: the cases of both, once."""
    report = after(BASE.answers("keyword", rq_004=GONE, rq_002=("install", "errors")), metrics=("recall",))
    suite = report.suites[0]
    stricter = Finding(
        level=Level.REGRESSION,
        code="case-lost",
        arm="keyword",
        kind="exact_term",
        metric="recall",
        cases=("rq-006", "rq-004"),
        text="keyword: exact_term lost 2 cases",
    )
    both = suite.model_copy(update={"findings": (*suite.findings, stricter)})
    found = regressed(report.model_copy(update={"suites": (both,)}))
    assert found == [entry(after=2 / 3, cases=["rq-004", "rq-006"])]


def test_what_is_about_no_kind_has_an_entry_too() -> None:
    nothing = {"kind": None, "metric": None, "before": None, "after": None, "cases": []}
    more = [
        Finding(
            level=Level.REGRESSION,
            code="diagnosis-worse",
            arm="keyword",
            text="keyword: 1 QA question fell back",
        ),
        Finding(
            level=Level.REGRESSION,
            code="kind-dropped-under-base",
            metric="rr",
            cases=("rq-002",),
            text="keyword: exact_term dropped under the base's own settings (k = 3)",
        ),
        Finding(
            level=Level.WARNING, code="metric-fell", arm="keyword", kind="semantic", text="no regression"
        ),
    ]
    report = judged(BASE, BASE, more=more)
    assert report.verdict.value == "regression"
    assert regressed(report) == [
        entry(**nothing, code="diagnosis-worse"),
        entry(**nothing, code="kind-dropped-under-base") | {"arm": None, "metric": "rr", "cases": ["rq-002"]},
    ]


def test_a_floor_under_an_arm_that_the_baseline_lacks_has_no_before() -> None:
    below = Finding(
        level=Level.REGRESSION, code="below-floor", arm="vector", kind="semantic", metric="rr", text="below"
    )
    report = judged(BASE, BASE.but(arms=("keyword",)), more=[below])
    assert regressed(report) == [
        entry(arm="vector", kind="semantic", metric="rr", before=None, cases=[], code="below-floor")
    ]


def test_a_rule_from_outside_that_names_no_metric_is_told_with_the_first_one() -> None:
    own = Finding(level=Level.REGRESSION, code="own", arm="keyword", kind="semantic", text="own rule")
    assert regressed(judged(BASE, BASE, more=[own])) == [entry(kind="semantic", cases=[], code="own")]


def test_any_loss_names_the_metric_of_each_loss() -> None:
    report = after(BASE.answers("keyword", rq_004=LOWER, rq_012=("install", "polish", "queue")))
    comparison = report.suites[0].comparison["keyword"]
    found = any_loss.judge(
        "keyword", comparison, any_loss.Settings(rule="any-loss", metrics=("recall", "rr"))
    )
    assert [(f.kind, f.metric, f.cases, f.text) for f in found] == [
        ("exact_term", "rr", ("rq-004",), "keyword: exact_term lost 1 case on MRR"),
        ("semantic", "recall", ("rq-012",), "keyword: semantic lost 1 case on recall"),
        ("semantic", "rr", ("rq-012",), "keyword: semantic lost 1 case on MRR"),
    ]
    only = any_loss.judge("keyword", comparison, any_loss.Settings(rule="any-loss"))
    assert [(f.kind, f.metric, f.text) for f in only] == [
        ("semantic", "recall", "keyword: semantic lost 1 case")
    ]

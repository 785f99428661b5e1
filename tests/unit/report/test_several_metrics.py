"""With several metrics in the policy every place counts the same: a case is lost when one of them falls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from golden.build import World, judged, measurement
from golden.scenarios import BASE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.model.comparison import DUST, ArmComparison
from gate.model.report import Report
from gate.model.settings import OpenPolicySettings
from gate.report import headline, render
from gate.report.board import board
from gate.report.html_cases import Texts, suite_cases
from gate.report.html_charts import suite_charts
from gate.report.medium import Markdown
from gate.report.provenance import sure

BEFORE = BASE.but(arms=("keyword",))
# The page at rank 2 instead of 1: recall@3 holds, MRR halves.
LOWER = BEFORE.answers("keyword", rq_004=("install", "limits", "paint"))
BOTH = ("recall", "rr")


def told(now: World, before: World, metrics: tuple[str, ...]) -> Report:
    return judged(now, before, policy={"metrics": metrics})


def outcomes(report: Report, before: World) -> Counter[str]:
    """The outcomes in the page's table of all cases."""
    rows = suite_cases(report.suites[0], Texts(measurement(before)), 1_000_000).value["rows"]
    return Counter(row[4] for row in rows)


def test_a_loss_on_the_second_metric_is_a_loss_everywhere() -> None:
    report = told(LOWER, BEFORE, BOTH)
    suite, medium = report.suites[0], Markdown()
    found = suite.comparison["keyword"]
    assert headline.verdict_line(suite, medium) == (
        "regression: exact_term of keyword dropped on MRR, 1 of 3 cases lost"
    )
    assert headline.counts_line(suite, medium) == "keyword: 0 won, 1 lost, 6 tied"
    assert (found.wins, found.losses, found.ties) == (0, 1, 6)
    assert [move.id for move in found.lost] == ["rq-004"]
    assert board(suite, medium).rows[0][-1] == "0/1/6"
    assert outcomes(report, BEFORE) == {"lost": 1, "tie": 6}
    (legend,) = board(suite, medium).notes
    assert (
        "W/L/T = cases won/lost/tied: lost where recall@3 or MRR fell, won where one rose and none fell"
        in legend
    )


def test_the_kinds_count_the_same() -> None:
    report = told(LOWER, BEFORE, BOTH)
    by_kind = report.suites[0].comparison["keyword"].counts_by_kind()
    assert {kind: str(counts) for kind, counts in by_kind.items()} == {
        None: "0/1/6",
        "exact_term": "0/1/2",
        "multi_hop": "0/0/1",
        "semantic": "0/0/3",
    }
    console = render.console(report, colour=False)
    line = next(line for line in console.split("\n") if line.strip().startswith("exact_term"))
    assert line.split()[-1] == "0/1/2"


def test_the_statistics_name_their_one_metric() -> None:
    section = sure(told(LOWER, BEFORE, BOTH).suites[0], Markdown())
    assert "W/L/T on recall@3" in section.head
    assert "On the difference of recall@3" in section.intro
    assert sure(told(LOWER, BEFORE, ("recall",)).suites[0], Markdown()).head[4] == "W/L/T"


def test_the_page_says_which_metric_moved_where_its_column_does_not() -> None:
    report = told(LOWER, BEFORE, BOTH)
    value = suite_cases(report.suites[0], Texts(measurement(BEFORE)), 1_000_000).value
    (row,) = [row for row in value["rows"] if row[4] == "lost"]
    assert (value["metric"], row[2], row[3], row[5]) == ("recall@3", 1.0, 1.0, "MRR 1.00 -> 0.50")


def test_a_bar_of_the_first_metric_is_marked_where_that_one_fell() -> None:
    texts = Texts(measurement(BEFORE))

    def fallen(report: Report) -> list[str]:
        [(_, bars)] = suite_charts(report.suites[0], None, texts).bars
        return [bar.kind for bar in bars if bar.style == "fell"]

    assert fallen(told(LOWER, BEFORE, BOTH)) == []
    assert fallen(told(LOWER, BEFORE, ("rr", "recall"))) == ["exact_term"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            {"rq_004": ("install", "paint", "queue")},
            "exact_term of keyword dropped on recall@3 and MRR, 1 of 3 cases lost",
        ),
        (
            {"rq_004": ("install", "limits"), "rq_012": ("install", "polish", "queue", "paint")},
            "keyword dropped on exact_term (MRR, 1 of 3 cases lost), semantic (recall@3 and MRR, 1 of 3)",
        ),
    ],
)
def test_the_headline_names_the_metrics(answers: Mapping[str, tuple[str, ...]], said: str) -> None:
    suite = told(BEFORE.answers("keyword", **answers), BEFORE, BOTH).suites[0]
    assert headline.verdict_line(suite, Markdown()) == f"regression: {said}"


def test_a_headline_of_a_drop_that_passes_names_the_metric() -> None:
    report = told(LOWER, BEFORE, BOTH)
    suite = report.suites[0].model_copy(update={"findings": (), "verdict": "pass"})
    assert headline._clean(suite, Markdown()) == (
        "7 cases, no drop that the policy fails (MRR of exact_term of keyword lower, 1 case lost)"
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_counts_lists_and_page_never_differ(data: st.DataObject) -> None:
    order = st.permutations(sorted(BASE.pages)).map(lambda names: tuple(names[:6]))
    names = [case[0].replace("-", "_") for case in BASE.cases]
    metrics = data.draw(
        st.lists(st.sampled_from(("recall", "rr", "hit", "ndcg")), min_size=1, max_size=3, unique=True)
    )

    def world() -> World:
        return BEFORE.answers("keyword", **data.draw(st.dictionaries(st.sampled_from(names), order)))

    now, before = world(), world()
    report = told(now, before, tuple(metrics))
    suite = report.suites[0]
    found = suite.comparison["keyword"]
    one, other = measurement(now).arms["keyword"].rows, measurement(before).arms["keyword"].rows
    fell = {n for n in one for m in metrics if one[n].scores[m] - other[n].scores[m] < -DUST}
    rose = {n for n in one for m in metrics if one[n].scores[m] - other[n].scores[m] > DUST}
    assert {move.id for move in found.lost} == fell
    assert {move.id for move in found.won} == rose - fell
    expected = (len(rose - fell), len(fell), len(one) - len(rose | fell))
    assert (found.wins, found.losses, found.ties) == expected
    assert_kinds_sum_up(found)
    assert board(suite, Markdown()).rows[0][-1] == "/".join(map(str, expected))
    counted = outcomes(report, before)
    assert (counted["won"], counted["lost"], counted["tie"]) == expected
    if suite.verdict.value == "regression":
        assert expected[1] > 0
    assert OpenPolicySettings(metrics=tuple(metrics)).metrics == suite.metrics


def assert_kinds_sum_up(found: ArmComparison) -> None:
    counts = found.counts_by_kind()
    kinds = [one for kind, one in counts.items() if kind is not None]
    assert counts[None] == tuple(map(sum, zip(*kinds, strict=True)))
    assert counts[None] == (found.wins, found.losses, found.ties)

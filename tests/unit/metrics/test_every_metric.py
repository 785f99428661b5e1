"""What holds for every metric file, those that a user adds included."""

import doctest
import importlib
import math
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

FOLDER = Path(__file__).parents[3] / "gate" / "metrics"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
METRICS = {name: importlib.import_module(f"gate.metrics.{name}") for name in NAMES}

PAGES = [f"page-{number}" for number in range(30)]
rankings = st.lists(st.sampled_from(PAGES), unique=True)
labels = st.dictionaries(st.sampled_from(PAGES), st.integers(1, 5), min_size=1)
cutoffs = st.integers(1, 35)

each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())


def test_the_six_metrics_are_found_by_file_name() -> None:
    assert {"recall", "mrr", "hit", "precision", "ndcg", "recall_pool"} <= set(NAMES)


def test_row_names_are_distinct() -> None:
    assert len({metric.ROW for metric in METRICS.values()}) == len(METRICS)


@pytest.mark.parametrize(
    ("name", "row", "title"),
    [
        ("recall", "recall", "recall@5"),
        ("mrr", "rr", "MRR"),
        ("hit", "hit", "hit@5"),
        ("precision", "precision", "precision@5"),
        ("ndcg", "ndcg", "nDCG@5"),
        ("recall_pool", "recall_pool", "recall@pool"),
    ],
)
def test_names(name: str, row: str, title: str) -> None:
    metric = METRICS[name]
    assert (metric.ROW, metric.title(5)) == (row, title)


@each_metric
def test_worked_example_in_the_docstring(metric: ModuleType) -> None:
    outcome = doctest.testmod(metric)
    assert outcome.attempted >= 2
    assert outcome.failed == 0


@each_metric
@settings(max_examples=40)
@given(ranked=rankings, grades=labels, k=cutoffs)
def test_scores_are_floats_between_0_and_1(
    metric: ModuleType, ranked: list[str], grades: dict[str, int], k: int
) -> None:
    value = metric.score(ranked, grades, k)
    assert type(value) is float
    assert 0.0 <= value <= 1.0


@each_metric
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
@given(ranked=rankings, grades=labels, k=cutoffs, place=st.integers(0, 29))
def test_moving_a_relevant_page_up_never_lowers_the_score(
    metric: ModuleType, ranked: list[str], grades: dict[str, int], k: int, place: int
) -> None:
    relevant = [position for position, page in enumerate(ranked) if page in grades and position > 0]
    assume(relevant)
    position = relevant[place % len(relevant)]
    above = ranked[position - 1]
    assume(grades.get(above, 0) <= grades[ranked[position]])
    better = [*ranked[: position - 1], ranked[position], above, *ranked[position + 1 :]]
    # The page above may be relevant with an equal or lower grade: a swap of equals is a tie but for rounding.
    assert metric.score(better, grades, k) >= metric.score(ranked, grades, k) - 1e-12


@each_metric
@settings(max_examples=40)
@given(ranked=rankings, grades=labels, k=cutoffs)
def test_irrelevant_pages_at_the_end_change_nothing(
    metric: ModuleType, ranked: list[str], grades: dict[str, int], k: int
) -> None:
    assert metric.score([*ranked, "other-1", "other-2"], grades, k) == metric.score(ranked, grades, k)


@each_metric
@settings(max_examples=40)
@given(ranked=rankings, grades=labels, k=cutoffs)
def test_the_order_of_the_labels_does_not_matter(
    metric: ModuleType, ranked: list[str], grades: dict[str, int], k: int
) -> None:
    backwards = dict(reversed(grades.items()))
    assert metric.score(ranked, backwards, k) == metric.score(ranked, grades, k)


@each_metric
@settings(max_examples=40)
@given(grades=labels, k=cutoffs)
def test_the_ideal_order_scores_the_most_that_is_possible(
    metric: ModuleType, grades: dict[str, int], k: int
) -> None:
    ideal = sorted(grades, key=lambda page: -grades[page])
    most = {"precision": min(k, len(grades)) / k, "recall": min(k, len(grades)) / len(grades)}
    assert metric.score(ideal, grades, k) == most.get(metric.ROW, 1.0)


@each_metric
@pytest.mark.parametrize("ranked", [[], ["d3", "d4"]], ids=["empty", "nothing relevant"])
def test_nothing_found_scores_0(metric: ModuleType, ranked: list[str]) -> None:
    value = metric.score(ranked, {"d1": 1}, 5)
    assert value == 0.0
    assert math.copysign(1, value) == 1


@each_metric
@pytest.mark.parametrize("k", [0, -1])
def test_a_cutoff_below_1_is_refused(metric: ModuleType, k: int) -> None:
    with pytest.raises(ValueError, match=rf"k must be 1 or more \({k}\)"):
        metric.score(["d1"], {"d1": 1}, k)


@each_metric
def test_a_case_without_labels_is_refused(metric: ModuleType) -> None:
    with pytest.raises(ValueError, match="at least one relevant page"):
        metric.score(["d1"], {}, 5)

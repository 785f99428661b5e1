"""The field's own tools are the reference, over random runs."""

import random

import ir_measures
import pytest
import pytrec_eval
from ir_measures import RR, P, R, Success, nDCG

from gate.metrics import hit, mrr, ndcg, precision, recall, recall_pool

PAGES = [f"page-{number}" for number in range(60)]
CUTOFFS = (1, 3, 5, 10, 20)


def random_cases(seed: int) -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    rng = random.Random(seed)
    rankings, labels = {}, {}
    for number in range(60):
        rankings[f"q{number}"] = rng.sample(PAGES, rng.choice((1, 3, 8, 20, 40)))
        labels[f"q{number}"] = {page: rng.randint(1, 4) for page in rng.sample(PAGES, rng.randint(1, 25))}
    return rankings, labels


def as_run(rankings: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {
        case: {page: float(len(ranked) - rank) for rank, page in enumerate(ranked)}
        for case, ranked in rankings.items()
    }


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_pytrec_eval(seed: int) -> None:
    rankings, labels = random_cases(seed)
    cuts = ",".join(map(str, CUTOFFS))
    names = {f"{name}.{cuts}" for name in ("recall", "P", "ndcg_cut", "success")} | {
        "recip_rank",
        "set_recall",
    }
    theirs = pytrec_eval.RelevanceEvaluator(labels, names).evaluate(as_run(rankings))
    assert len(theirs) == len(rankings)
    for case, row in theirs.items():
        ranked, grades = rankings[case], labels[case]
        ours = {
            "recip_rank": mrr.score(ranked, grades, 1),
            "set_recall": recall_pool.score(ranked, grades, 1),
        }
        for k in CUTOFFS:
            ours[f"recall_{k}"] = recall.score(ranked, grades, k)
            ours[f"P_{k}"] = precision.score(ranked, grades, k)
            ours[f"ndcg_cut_{k}"] = ndcg.score(ranked, grades, k)
            ours[f"success_{k}"] = hit.score(ranked, grades, k)
        assert ours == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize("seed", range(5, 8))
def test_equal_to_ir_measures(seed: int) -> None:
    rankings, labels = random_cases(seed)
    pairs = {RR: mrr} | {
        measure @ k: metric
        for k in CUTOFFS
        for measure, metric in ((R, recall), (P, precision), (nDCG, ndcg), (Success, hit))
    }
    compared = 0
    for theirs in ir_measures.iter_calc(list(pairs), labels, as_run(rankings)):
        case = theirs.query_id
        k = theirs.measure.params.get("cutoff", 1)
        ours = pairs[theirs.measure].score(rankings[case], labels[case], k)
        assert ours == pytest.approx(theirs.value, abs=1e-9), (case, theirs.measure)
        compared += 1
    assert compared == len(pairs) * len(rankings)

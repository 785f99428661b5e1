"""An exported run gives every other tool the same numbers: pytrec_eval and ir-measures, every query counted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from small_project import REPOSITORY, Project

SHARED = Path(os.environ.get("GATE_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
COLLECTIONS = ("anthropic-docs", "cranfield", "vaswani-npl")
K = 5

# our mean -> (trec_eval's name, ir-measures' object)
MEASURES: dict[str, tuple[str, Any]] = {
    "recall": ("recall_5", ir_measures.R @ K),
    "precision": ("P_5", ir_measures.P @ K),
    "ndcg": ("ndcg_cut_5", ir_measures.nDCG @ K),
    "hit": ("success_5", ir_measures.Success @ K),
    "mrr": ("recip_rank", ir_measures.RR),
}


def config(collection: str) -> str:
    if collection == "orbit":
        orbit = REPOSITORY / "datasets/orbit"
        corpus, cases = (
            orbit / "docs",
            json.dumps(
                [
                    str(orbit / "eval/retrieval_queries.jsonl"),
                    str(REPOSITORY / "eval/retrieval_queries.local.jsonl"),
                ]
            ),
        )
        split = "all"
    else:
        folder = SHARED / collection
        if not folder.is_dir():
            pytest.skip(f"{folder} is not here (set GATE_SHARED_DATA)")
        corpus, cases, split = folder / "corpus.jsonl", json.dumps(str(folder)), "test"
    return f'[suite.x]\ncorpus = "{corpus}"\ncases = {cases}\nsplit = "{split}"\nk = {K}\n[suite.x.arms.keyword]\ntype = "bm25"\n'


@pytest.mark.parametrize("collection", ["orbit", *COLLECTIONS])
def test_exported_runs_score_the_same_elsewhere(empty_project: Project, collection: str) -> None:
    empty_project.write("gate.toml", config(collection))
    code, suite = empty_project.report("--no-baseline", "--trec", "trec")
    assert code == 0
    ours = suite["arms"]["keyword"]
    qrels_lines = empty_project.read("trec/x.qrels").splitlines()
    run_lines = empty_project.read("trec/x.keyword.run").splitlines()
    qrels: dict[str, dict[str, int]] = {}
    for query, _, page, grade in (line.split() for line in qrels_lines):
        qrels.setdefault(query, {})[page] = int(grade)
    run: dict[str, dict[str, float]] = {query: {} for query in qrels}
    for query, _, page, _, score, _ in (line.split() for line in run_lines):
        run[query][page] = float(score)
    assert len(qrels) == ours["n"]
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"recall.5", "P.5", "ndcg_cut.5", "success.5", "recip_rank"}
    )
    scored = evaluator.evaluate({query: pages for query, pages in run.items() if pages})
    for name, (theirs, _) in MEASURES.items():
        total = sum(scored.get(query, {}).get(theirs, 0.0) for query in qrels) / len(qrels)
        assert ours[name] == pytest.approx(total, abs=1e-9), name
    for name, (_, measure) in MEASURES.items():
        # ir-measures leaves out queries without results: they count as 0 here.
        values = [
            metric.value
            for metric in ir_measures.iter_calc([measure], qrels, {q: p for q, p in run.items() if p})
        ]
        assert len(values) <= len(qrels)
        assert ours[name] == pytest.approx(sum(values) / len(qrels), abs=1e-9), name

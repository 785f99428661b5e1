"""The keyword arm on real judged collections: rankings, scores and metrics that others computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import pytest
import rank_bm25
from unit.arms.keyword_reference import COLLECTIONS, Corpus, Reference, rows, shared_data, words

from gate.arms import _postings, bm25

# shared/data/README.md: pytrec_eval on the formula, pool 20, k = 5.
EXPECTED = {
    "anthropic-docs": (0.667500, 0.785020, 0.890000, 0.250000, 0.649652),
    "cranfield": (0.261949, 0.518442, 0.742222, 0.299556, 0.349782),
    "vaswani-npl": (0.121644, 0.657428, 0.806452, 0.333333, 0.391331),
}


@cache
def texts_of(name: str) -> tuple[list[str], list[str]]:
    """The ids and the texts of the pages."""
    pages = rows(shared_data() / name / "corpus.jsonl")
    return [page["_id"] for page in pages], [f"{page.get('title', '')}\n{page['text']}" for page in pages]


@cache
def arm_of(name: str) -> bm25.KeywordArm:
    return bm25.build(Corpus(texts_of(name)[1]), bm25.Settings(type="bm25"))


def queries_of(name: str) -> dict[str, str]:
    return {row["_id"]: row["text"] for row in rows(shared_data() / name / "queries.jsonl")}


def labels_of(name: str) -> dict[str, dict[str, int]]:
    """query -> page -> grade, for grades above 0."""
    labels: dict[str, dict[str, int]] = {}
    for line in (shared_data() / name / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, page, grade = line.split("\t")
        if int(grade) > 0:
            labels.setdefault(query, {})[page] = int(grade)
    return labels


@pytest.mark.parametrize("name", COLLECTIONS)
def test_rankings_and_scores_are_those_of_the_reference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = Reference(texts_of(name)[1])
    for query in queries_of(name).values():
        expected = [(f"page{position}#0", score) for position, score in reference.search(query, 20)]
        for few in (0, 10**9):
            monkeypatch.setattr(_postings, "_FEW_POSTINGS", few)
            assert [(hit.chunk_id, hit.score) for hit in arm_of(name).search(query, 20)] == expected


@pytest.mark.parametrize("name", COLLECTIONS)
def test_metrics_are_those_that_pytrec_eval_computed(name: str) -> None:
    ids, _ = texts_of(name)
    queries, labels = queries_of(name), labels_of(name)
    scores = []
    for query, relevant in labels.items():
        hits = arm_of(name).search(queries[query], 20)
        scores.append(_metrics([ids[int(hit.doc_id.removeprefix("page"))] for hit in hits], relevant))
    means = [math.fsum(column) / len(scores) for column in zip(*scores, strict=True)]
    assert means == pytest.approx(EXPECTED[name], abs=1e-6)


def _metrics(ranked: Sequence[str], relevant: Mapping[str, int]) -> tuple[float, ...]:
    found = [page in relevant for page in ranked[:5]]
    first = next((1 / rank for rank, page in enumerate(ranked, 1) if page in relevant), 0.0)
    gain = sum(relevant.get(page, 0) / math.log2(rank + 1) for rank, page in enumerate(ranked[:5], 1))
    ideal = sorted(relevant.values(), reverse=True)[:5]
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    return sum(found) / len(relevant), first, float(any(found)), sum(found) / 5, gain / best


@pytest.mark.parametrize("name", ["anthropic-docs", "cranfield"])
def test_rank_bm25_agrees_once_it_is_given_the_idf_of_the_formula(name: str) -> None:
    """The library's own arithmetic (another order of operations, so nearly equal) under our idf."""
    tokens = [words(text) for text in texts_of(name)[1]]
    library = rank_bm25.BM25Okapi(tokens)
    df: dict[str, int] = {}
    for counted in library.doc_freqs:
        for term in counted:
            df[term] = df.get(term, 0) + 1
    library.idf = {term: math.log(1 + (len(tokens) - each + 0.5) / (each + 0.5)) for term, each in df.items()}
    for query in list(queries_of(name).values())[::5]:
        scores = library.get_scores(list(dict.fromkeys(words(query))))
        hits = arm_of(name).search(query, 20)
        assert [hit.score for hit in hits] == pytest.approx(
            sorted(scores, reverse=True)[: len(hits)], rel=1e-12
        )
        assert [hit.score for hit in hits] == pytest.approx(
            [scores[int(hit.doc_id.removeprefix("page"))] for hit in hits], rel=1e-12
        )


@pytest.mark.parametrize("name", COLLECTIONS)
def test_explanations_add_up(name: str) -> None:
    for query in list(queries_of(name).values())[:10]:
        for hit in arm_of(name).search(query, 5):
            total = 0.0
            for term in arm_of(name).explain(query, hit.chunk_id):
                total += term.contribution
            assert total == hit.score

"""The rank-bm25 variants against the library called directly; and where the formula and the library must agree."""

from __future__ import annotations

import math
from typing import Any

import pytest
import rank_bm25
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.arms.keyword_reference import Corpus, words

from gate.arms import bm25

SCORERS = {"okapi": rank_bm25.BM25Okapi, "l": rank_bm25.BM25L, "plus": rank_bm25.BM25Plus}
WORD = st.sampled_from(["a", "b", "c", "d", "e"])
TEXTS = st.lists(st.lists(WORD, max_size=6).map(" ".join), min_size=1, max_size=25).filter(any)
QUERY = st.lists(WORD | st.just("unknown"), max_size=6).map(" ".join)


def arm(texts: list[str], **keys: Any) -> bm25.KeywordArm:
    return bm25.build(Corpus(texts), bm25.Settings(type="bm25", **keys))


@pytest.mark.parametrize("variant", SCORERS)
@settings(max_examples=100, deadline=None)
@given(texts=TEXTS, query=QUERY, k1=st.sampled_from([0.9, 1.5]), b=st.sampled_from([0.4, 0.75]))
def test_ranks_by_the_scores_of_the_library(
    variant: str, texts: list[str], query: str, k1: float, b: float
) -> None:
    scores = SCORERS[variant]([words(text) for text in texts], k1=k1, b=b).get_scores(words(query)).tolist()
    matching = [position for position, text in enumerate(texts) if set(words(text)) & set(words(query))]
    expected = sorted(matching, key=lambda position: (-scores[position], position))[:10]
    hits = arm(texts, variant=variant, k1=k1, b=b).search(query, 10)
    assert [(hit.doc_id, hit.score) for hit in hits] == [(f"page{at}", scores[at]) for at in expected]


@pytest.mark.parametrize("variant", SCORERS)
@settings(max_examples=50, deadline=None)
@given(texts=TEXTS, query=QUERY)
def test_explains_one_token_at_a_time_and_adds_up_to_the_score(
    variant: str, texts: list[str], query: str
) -> None:
    built = arm(texts, variant=variant)
    for hit in built.search(query, 10):
        total = 0.0
        terms = built.explain(query, hit.chunk_id)
        for term in terms:
            total += term.contribution
        assert tuple(term.term for term in terms) == built.tokens(query)
        assert total == hit.score
        assert all(term.tf == words(hit.text).count(term.term) for term in terms)


def test_a_match_that_the_library_scores_at_or_below_zero_is_still_a_hit() -> None:
    assert [(hit.doc_id, hit.score) for hit in arm(["a", "b"], variant="okapi").search("a", 5)] == [
        ("page0", 0.0)
    ]
    hits = arm(["a b", "a b", "a"], variant="okapi").search("a", 5)
    assert len(hits) == 3
    assert all(hit.score < 0 for hit in hits)


def test_chunks_that_only_the_constant_of_plus_lifts_are_no_hits() -> None:
    assert [hit.doc_id for hit in arm(["a", "b", "c"], variant="plus").search("a", 5)] == ["page0"]


def test_the_formula_is_okapi_with_another_idf() -> None:
    """For one term both scorers order alike, and their scores differ by the quotient of the idfs."""
    texts = ["a b", "a a c d", "b c", "d", "c c c", "b d e"]
    library = rank_bm25.BM25Okapi([words(text) for text in texts])
    for term in "abcde":
        scores = library.get_scores([term])
        for hit in arm(texts).search(term, 10):
            [explained] = arm(texts).explain(term, hit.chunk_id)
            position = int(hit.doc_id.removeprefix("page"))
            if library.idf[term]:
                assert math.isclose(
                    hit.score / explained.idf, scores[position] / library.idf[term], rel_tol=1e-12
                )

"""The keyword arm against an independent reading of its formula, and what it promises beside the ranking."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from unit.arms.keyword_reference import Corpus, Reference

from gate.arms import _postings, bm25
from gate.arms._tokens import ascii_tokens

REPO = Path(__file__).resolve().parents[3]
ORBIT = (
    "Rotate keys\nRun orbit-cli keys.rotate --all. Keys rotate every 90 days.",
    "Error codes\nE_4012 means the token expired. E_4013 means it was revoked.",
    "",
    "Install\nInstall orbit-cli 2.4.1 with pip. Then run orbit-cli login.",
    "Rotate keys\nRun orbit-cli keys.rotate --all. Keys rotate every 90 days.",
    "... --- ...",
    "Deploy to edge locations; the deploy takes a minute. Rotate nothing.",
)


def arm(texts: Any, **keys: Any) -> bm25.KeywordArm:
    return bm25.build(Corpus(texts), bm25.Settings(type="bm25", **keys))


def found(built: bm25.KeywordArm, query: str, pool: int = 20) -> list[tuple[int, float]]:
    return [(int(hit.doc_id.removeprefix("page")), hit.score) for hit in built.search(query, pool)]


@pytest.mark.parametrize(
    "query",
    [
        "rotate keys",
        "E_4012",
        "orbit-cli 2.4.1",
        "how do I rotate the keys?",
        "keys keys rotate",
        "the",
        "nothing here",
    ],
)
def test_ranks_and_scores_like_the_formula_by_hand(query: str) -> None:
    assert found(arm(ORBIT), query) == Reference(ORBIT).search(query, 20)


def test_one_score_worked_out_on_paper() -> None:
    # N = 2, avgdl = 1.5; "a": df 1, tf 2, dl 2.
    [(position, score)] = found(arm(["a a", "b"]), "a")
    assert position == 0
    assert score == math.log(1 + 1.5 / 1.5) * (2 * 2.5 / (2 + 1.5 * (1 - 0.75 + 0.75 * 2 / 1.5)))


def test_a_hit_carries_its_chunk() -> None:
    [hit] = arm(ORBIT).search("E_4013", 20)
    assert (hit.chunk_id, hit.doc_id, hit.text, dict(hit.ranks)) == ("page1#0", "page1", ORBIT[1], {})
    assert type(hit.score) is float


def test_ties_stay_in_corpus_order_also_at_the_edge_of_the_pool() -> None:
    texts = ["same words"] * 50 + ["words"] + ["same words"] * 50
    for pool in (1, 7, 51, 101):
        assert found(arm(texts), "same words", pool) == Reference(texts).search("same words", pool)


WORD = st.sampled_from(["a", "b", "c", "d", "a-b", "v1.2"])
TEXT = st.lists(WORD, max_size=6).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(TEXT, min_size=1, max_size=40),
    query=st.lists(WORD | st.just("unknown"), max_size=8).map(" ".join),
    pool=st.integers(1, 12),
    k1=st.sampled_from([0.0, 0.9, 1.5, 2.0]),
    b=st.sampled_from([0.0, 0.3, 0.75, 1.0]),
    pruned=st.booleans(),
    block=st.sampled_from([1, 5, 1 << 15]),
)
def test_equals_the_reference_bit_for_bit_on_any_small_corpus(
    texts: list[str], query: str, pool: int, k1: float, b: float, pruned: bool, block: int
) -> None:
    """Few words over many chunks: most scores are tied. With and without pruning, in one block and in many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_postings, "_FEW_POSTINGS", 0 if pruned else 10**9)
        patch.setattr(_postings, "_BLOCK_TOKENS", block)
        built = arm(texts, k1=k1, b=b)
        assert found(built, query, pool) == Reference(texts, k1, b).search(query, pool)


def test_pruning_gives_what_scoring_everything_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus with common and rare words, where pruning does leave lists out."""
    import numpy as np

    random = np.random.default_rng(5)
    reach = (weights := 1 / np.arange(1, 2001)).cumsum() / weights.sum()

    def text(length: int) -> str:
        return " ".join(f"w{word}" for word in np.searchsorted(reach, random.random(length)))

    texts = [text(int(random.integers(5, 60))) for _ in range(3000)] * 2
    built = arm(texts)
    queries = [text(int(random.integers(1, 12))) for _ in range(150)]
    calls = {"candidates": 0, "all": 0}
    candidates = _postings._candidates

    def counted(lists: Any, size: int, pool: int) -> Any:
        chosen = candidates(lists, size, pool)
        calls["candidates"] += len(chosen)
        calls["all"] += len(np.unique(np.concatenate([each.chunks for each in lists])))
        return chosen

    monkeypatch.setattr(_postings, "_candidates", counted)
    monkeypatch.setattr(_postings, "_FEW_POSTINGS", 0)
    pruned = [found(built, query) for query in queries]
    monkeypatch.setattr(_postings, "_FEW_POSTINGS", 10**9)
    assert pruned == [found(built, query) for query in queries]
    assert calls["candidates"] < calls["all"] / 10
    reference = Reference(texts)
    for query, answer in list(zip(queries, pruned, strict=True))[:5]:
        assert answer == reference.search(query, 20)


@pytest.mark.parametrize("texts", [[], [""], ["", "...", "—"], ["é"]])
@pytest.mark.parametrize("variant", ["formula", "okapi", "l", "plus"])
def test_a_corpus_without_tokens_finds_nothing(texts: list[str], variant: str) -> None:
    built = arm(texts, variant=variant)
    assert list(built.search("anything", 20)) == []
    if texts:
        assert sum(term.contribution for term in built.explain("anything", "page0#0")) == 0


def test_more_empty_chunks_than_a_block_takes() -> None:
    texts = [""] * ((1 << 16) + 3) + ["a b", "a"]
    assert found(arm(texts), "b a") == Reference(texts).search("b a", 20)


def test_a_query_without_tokens_is_told_apart_from_one_without_hits() -> None:
    built = arm(ORBIT)
    assert built.tokens("東京 ... ?") == ()
    assert built.tokens("Unheard-of E_4012 e_4012") == ("unheard-of", "e_4012", "e_4012")
    assert list(built.search("東京 ... ?", 20)) == list(built.search("unheard-of", 20)) == []


class TestExplain:
    def test_names_every_distinct_term_in_query_order_and_adds_up_to_the_score(self) -> None:
        built = arm(ORBIT)
        for query in ("rotate keys every unheard-of orbit-cli rotate days", "keys", "run the deploy"):
            for hit in built.search(query, 20):
                terms = built.explain(query, hit.chunk_id)
                assert [term.term for term in terms] == list(dict.fromkeys(query.split()))
                total = 0.0
                for term in terms:
                    total += term.contribution
                assert total == hit.score

    def test_says_where_a_contribution_comes_from(self) -> None:
        absent, keys = arm(ORBIT).explain("unheard-of keys", "page0#0")
        assert (absent.tf, absent.df, absent.contribution) == (0, 0, 0.0)
        assert (keys.term, keys.tf, keys.df) == ("keys", 2, 2)
        assert keys.idf == math.log(1 + (len(ORBIT) - 2 + 0.5) / 2.5)

    def test_a_chunk_that_holds_no_term_gets_zeros(self) -> None:
        assert [term.contribution for term in arm(ORBIT).explain("rotate keys", "page2#0")] == [0.0, 0.0]

    def test_an_unknown_chunk_is_a_key_error(self) -> None:
        with pytest.raises(KeyError):
            arm(ORBIT).explain("keys", "nowhere#0")


class TestSettings:
    def test_the_chunker_is_handed_on(self) -> None:
        for chunker in (None, "page", {"type": "window", "size": 200}):
            corpus = Corpus(ORBIT)
            bm25.build(corpus, bm25.Settings(type="bm25", chunker=chunker))
            assert corpus.asked == [chunker]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"k1": -0.1},
            {"k1": math.inf},
            {"k1": "1"},
            {"b": 1.01},
            {"b": -0.01},
            {"variant": "bm25+"},
            {"k": 3},
        ],
    )
    def test_wrong_values_and_unknown_keys_are_errors(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            bm25.Settings(type="bm25", **wrong)

    def test_whole_numbers_are_numbers(self) -> None:
        assert bm25.Settings(type="bm25", k1=2, b=1).k1 == 2.0

    def test_the_unicode_tokenizer_is_used_for_chunks_and_queries_alike(self) -> None:
        texts = ["Zürich liegt am See", "Bern liegt an der Aare", "東京都の天気"]
        built = arm(texts, tokenizer="unicode")
        assert [position for position, _ in found(built, "ZÜRICH")] == [0]
        assert [position for position, _ in found(built, "東京")] == [2]
        assert built.tokens("Aare") == ("aare",)
        assert found(arm(texts), "東京") == []


def _python(code: str, seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(REPO)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_settings_are_read_without_numpy() -> None:
    code = "import gate.arms.bm25, sys; print(sorted({'numpy', 'rank_bm25'} & set(sys.modules)))"
    assert _python(code, "0").strip() == "[]"


def test_the_same_bits_in_every_process_and_under_every_hash_seed() -> None:
    texts = [
        f"w{number % 7} w{number % 11} w{number % 3} common-word v{number % 5}.{number}"
        for number in range(500)
    ]
    code = f"""
import json
from gate.arms import bm25
from gate.model.page import Chunk
chunks = [Chunk(f"page{{n}}#0", f"page{{n}}", text) for n, text in enumerate(json.loads({json.dumps(texts)!r}))]
class Corpus:
    def chunks(self, chunker): return chunks
arm = bm25.build(Corpus(), bm25.Settings(type="bm25"))
queries = ["w1 w2 w0 common-word", "common-word w6 w10", "v3.3 w3 w3"]
print(json.dumps([[[hit.chunk_id, hit.score.hex()] for hit in arm.search(query, 50)] for query in queries]))
"""
    first, *others = [_python(code, seed) for seed in ("0", "1", "4242")]
    assert others == [first, first]
    reference = Reference(texts)
    expected = [
        [[f"page{position}#0", score.hex()] for position, score in reference.search(query, 50)]
        for query in ("w1 w2 w0 common-word", "common-word w6 w10", "v3.3 w3 w3")
    ]
    assert json.loads(first) == expected


def test_memory_of_a_build_stays_within_twice_the_index() -> None:
    import tracemalloc

    texts = [" ".join(f"w{(n * step) % 997}" for step in range(1, 90)) for n in range(4000)]
    _postings.Postings(texts[:9], ascii_tokens, k1=1.5, b=0.75)
    tracemalloc.start()
    try:
        index = _postings.Postings(texts, ascii_tokens, k1=1.5, b=0.75)
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert index.size == len(texts)
    assert peak <= 2 * left

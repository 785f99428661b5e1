"""The vector arm over an embedder of counted words: what it asks for, how often, and what it says when it cannot."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from gate.arms.embedding import EmbeddingArm
from gate.arms.rrf import FusedArm
from gate.arms.rrf import Settings as Fusion
from gate.model.cost import Spent
from gate.model.embedding import EmbeddingError, Identity
from gate.model.page import Chunk
from gate.model.ranking import Hit

TEXTS = ("red apple", "green apple", "blue plum", "red red plum", "...", "red apple")
CHUNKS = tuple(Chunk(f"p{at // 2}#{at % 2}", f"p{at // 2}", text) for at, text in enumerate(TEXTS))


class Words:
    """Each word has a place of its own among 97; a vector counts words and is made a unit. It logs what it is asked."""

    identity = Identity("words", "counted")

    def __init__(self, faults: Mapping[str, str] | None = None, broken: Exception | None = None) -> None:
        self.faults = faults or {}
        self.broken = broken
        self.log: list[tuple[str, list[str]]] = []
        self.closed = False

    @property
    def spent(self) -> Spent:
        return Spent(requests=len(self.log))

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.log.append(("passages", list(texts)))
        if self.broken is not None:
            raise self.broken
        return np.stack([self._vector(text) for text in texts])

    def queries(self, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32] | str]:
        self.log.append(("queries", list(texts)))
        return {text: self.faults.get(text, self._vector(text)) for text in texts}

    def close(self) -> None:
        self.closed = True

    def _vector(self, text: str) -> NDArray[np.float32]:
        counts = np.zeros(97)
        for word in text.split():
            if word.isalpha():
                counts[zlib.crc32(word.encode()) % 97] += 1
        return (counts / (np.linalg.norm(counts) or 1.0)).astype(np.float32)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]


def test_the_nearest_chunks_come_first_and_ties_in_corpus_order() -> None:
    arm = EmbeddingArm(CHUNKS, Words())
    hits = arm.search("red apple", 3)
    assert ids(hits) == ["p0#0", "p2#1", "p1#1"]
    assert [(hit.doc_id, hit.text) for hit in hits][1] == ("p2", "red apple")
    assert [hit.score for hit in hits] == pytest.approx([1.0, 1.0, 2 / math.sqrt(10)], abs=1e-6)
    assert hits[0].score == hits[1].score


def test_all_queries_of_a_run_are_embedded_in_one_go_and_answered_from_there() -> None:
    embedder = Words()
    arm = EmbeddingArm(CHUNKS, embedder)
    arm.prepare(["plum", "red apple", "plum", " "], 4)
    assert [what for what, _ in embedder.log] == ["passages", "queries"]
    assert embedder.log[1] == ("queries", ["plum", "red apple"])
    prepared = [arm.search(query, 4) for query in ("plum", "red apple", " ")]
    arm.prepare(["red apple", "plum"], 4)
    assert len(embedder.log) == 2, "nothing is asked twice"
    fresh = EmbeddingArm(CHUNKS, Words())
    assert prepared == [fresh.search(query, 4) for query in ("plum", "red apple", " ")]


def test_a_query_that_was_not_told_is_embedded_on_its_own_and_kept() -> None:
    embedder = Words()
    arm = EmbeddingArm(CHUNKS, embedder)
    assert arm.search("plum", 2) == arm.search("plum", 2)
    assert embedder.log == [("passages", list(TEXTS)), ("queries", ["plum"])]
    assert len(arm.search("plum", 1)) == 1, "another pool is another answer"


def test_nothing_is_embedded_before_it_is_needed() -> None:
    embedder = Words()
    arm = EmbeddingArm(CHUNKS, embedder)
    assert arm.search("", 5) == arm.search(" \n", 5) == ()
    assert embedder.log == []


def test_what_says_nothing_is_not_found_and_finds_nothing() -> None:
    arm = EmbeddingArm(CHUNKS, Words())
    assert "p2#0" not in ids(arm.search("red", 6)), "a chunk of punctuation"
    assert arm.search("???", 6) == ()


def test_a_query_without_a_vector_is_a_fault_of_that_query_alone() -> None:
    embedder = Words({"plum": "HTTP 400: too long"})
    arm = EmbeddingArm(CHUNKS, embedder)
    arm.prepare(["plum", "apple"], 3)
    for _ in range(2):
        with pytest.raises(EmbeddingError, match=r"^HTTP 400: too long$"):
            arm.search("plum", 3)
    assert len(arm.search("apple", 3)) == 3
    assert len(embedder.log) == 2


def test_without_an_index_every_query_fails_with_its_reason_and_it_is_tried_once() -> None:
    embedder = Words(broken=EmbeddingError("2 of 6 texts got no vector (first: no key)"))
    arm = EmbeddingArm(CHUNKS, embedder)
    arm.prepare(["plum", "apple"], 3)
    for query in ("plum", "apple", "red"):
        with pytest.raises(EmbeddingError, match=r"2 of 6 texts got no vector \(first: no key\)"):
            arm.search(query, 3)
    assert [what for what, _ in embedder.log] == ["passages"], "no query is paid for in vain"


def test_vectors_that_do_not_fit_each_other_are_a_fault() -> None:
    class Ragged(Words):
        def queries(self, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32] | str]:
            return {text: vector[:50] for text, vector in super().queries(texts).items()}

    with pytest.raises(ValueError, match="do not fit the rows"):
        EmbeddingArm(CHUNKS, Ragged()).search("plum", 3)


def test_an_empty_corpus_finds_nothing() -> None:
    assert EmbeddingArm((), Words()).search("plum", 3) == ()


def test_a_corpus_that_says_nothing_finds_nothing_and_no_query_is_paid_for() -> None:
    embedder = Words()
    assert EmbeddingArm((Chunk("a#0", "a", "?!"), Chunk("b#0", "b", "")), embedder).search("plum", 3) == ()
    assert [what for what, _ in embedder.log] == ["passages"]


def test_explain_gives_the_cosine() -> None:
    arm = EmbeddingArm(CHUNKS, Words({"bad": "no vector"}))
    for hit in arm.search("red plum", 5):
        assert arm.explain("red plum", hit.chunk_id) == hit.score
    assert arm.explain("plum", "p0#0") == 0.0
    with pytest.raises(KeyError):
        arm.explain("plum", "p9#9")
    with pytest.raises(EmbeddingError, match="no vector"):
        arm.explain("bad", "p0#0")


def test_the_ledger_and_the_end_are_the_embedders() -> None:
    embedder = Words()
    arm = EmbeddingArm(CHUNKS, embedder)
    arm.search("plum", 2)
    assert arm.spent == Spent(requests=2)
    arm.close()
    assert embedder.closed


def test_a_hybrid_over_it_asks_for_nothing_twice() -> None:
    embedder = Words({"bad": "no vector"})
    vector = EmbeddingArm(CHUNKS, embedder)
    hybrid = FusedArm(
        {"vector": vector, "again": vector}, Fusion(type="rrf", of=("vector", "again")), by_chunk=True
    )
    vector.prepare(["plum", "bad"], 3)
    hybrid.prepare(["plum", "bad"], 3)
    assert ids(hybrid.search("plum", 3)) == ids(vector.search("plum", 3))
    with pytest.raises(RuntimeError, match=r"leg 'vector': no vector"):
        hybrid.search("bad", 3)
    assert len(embedder.log) == 2

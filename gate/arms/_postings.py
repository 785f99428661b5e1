"""A postings index of chunks that scores the BM25 formula of DESIGN section 5, exact to the last bit.

For every posting (term, chunk) the index holds the whole contribution of the term to that chunk's score, as float64:

    idf(term) * (tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl)))       operations as Python would do them
    idf(term) = math.log(1 + (N - df + 0.5) / (df + 0.5))

with N chunks, df chunks that hold the term, tf its count in this chunk, dl the chunk's number of tokens and avgdl =
all tokens / N. A score starts at 0.0 and adds the contributions of the distinct query terms in order of first
appearance. Elementwise float64 operations of numpy are those of IEEE 754, so this is what a plain loop computes, with
any numpy and under any hash seed. (The logarithm is the C library's; numpy's own may differ in the last bit.)

Searching adds up the terms that can weigh most first, and stops once the rest together cannot lift an untouched
chunk among the best (max-score pruning). Only then are the few candidates scored in the order above, so pruning
decides who is scored and never how.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gate.arms._tokens import Tokenizer

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_BLOCK_TOKENS = 1 << 15  # tokens that are sorted at once; bounds the extra memory of a build
_CHUNK_BITS = 16  # of a sort key; bounds the chunks of a block
_FEW_POSTINGS = 100_000  # up to here adding everything up is quicker than pruning
_SLACK = 1e-9  # relative; far above what the order of a sum can change, far below what costs speed


class Scored(NamedTuple):
    """One chunk among the best: its position in the corpus, and its score."""

    chunk: int
    score: float


class _List(NamedTuple):
    """The postings of one term: chunks ascending, the term's contribution to each, and the largest of these."""

    chunks: Ints
    weights: Floats
    bound: float


class _Block(NamedTuple):
    """The postings of some consecutive chunks from `first` on, by (term, chunk), as compact as they can wait.

    `terms` and `runs`: each term once, and in how many of these chunks it occurs. `chunks` and `counts` of every
    posting: its chunk, less `first`, and how often the term occurs there.
    """

    first: int
    terms: Ints
    runs: Ints
    chunks: npt.NDArray[np.uint16]
    counts: npt.NDArray[Any]


class Postings:
    """The index over `texts`, in corpus order."""

    def __init__(self, texts: Iterable[str], tokenize: Tokenizer, *, k1: float, b: float) -> None:
        blocks, lengths, self._numbers = _read(texts, tokenize)
        self.size = len(lengths)
        df = np.zeros(len(self._numbers), np.int64)
        for block in blocks:
            df[block.terms] += block.runs
        self._starts = np.concatenate(([0], np.cumsum(df)))
        idfs = {each: self.idf(each) for each in set(df.tolist())}
        idf = np.array([idfs[each] for each in df.tolist()])
        mean = sum(lengths) / self.size if blocks else 1.0  # without a token there is nothing to score
        norm = k1 * (1 - b + b * np.array(lengths, np.float64) / mean)

        self._chunks = np.empty(self._starts[-1], np.int32)
        self._weights = np.empty(self._starts[-1], np.float64)
        free = self._starts[:-1].copy()  # where the next posting of each term goes
        for first, terms, runs, positions, counts in blocks:
            at = np.arange(len(positions)) + np.repeat(free[terms] - (np.cumsum(runs) - runs), runs)
            chunks, tf = positions + np.int32(first), counts.astype(np.float64)
            self._chunks[at] = chunks
            self._weights[at] = np.repeat(idf[terms], runs) * (tf * (k1 + 1) / (tf + norm[chunks]))
            free[terms] += runs
        self._bounds = np.maximum.reduceat(self._weights, self._starts[:-1]) if len(df) else np.empty(0)

    def df(self, term: str) -> int:
        """How many chunks hold `term`."""
        number = self._numbers.get(term)
        return 0 if number is None else int(self._starts[number + 1] - self._starts[number])

    def idf(self, df: int) -> float:
        """The weight of a term that `df` chunks hold."""
        return math.log(1 + (self.size - df + 0.5) / (df + 0.5))

    def contribution(self, term: str, chunk: int) -> float:
        """What `term` adds to the score of the chunk at this position; 0.0 where it does not occur."""
        if not self.df(term):
            return 0.0
        return float(_at(self._list(term), np.array([chunk], np.int32))[0])

    def best(self, tokens: Iterable[str], pool: int) -> list[Scored]:
        """The `pool` chunks of highest score, best first, ties in corpus order; only chunks with a score above 0."""
        lists = [self._list(term) for term in dict.fromkeys(tokens) if term in self._numbers]
        if not lists:
            return []
        if sum(len(each.chunks) for each in lists) <= _FEW_POSTINGS:
            chunks, scores = _everywhere(lists, self.size)
        else:
            chunks = _candidates(lists, self.size, pool)
            scores = np.zeros(len(chunks))
            for each in lists:
                scores += _at(each, chunks)
        if len(scores) > pool:
            kept = np.flatnonzero(scores >= _kth(scores, pool))
            chunks, scores = chunks[kept], scores[kept]
        order = np.argsort(-scores, kind="stable")[:pool]
        return [Scored(*pair) for pair in zip(chunks[order].tolist(), scores[order].tolist(), strict=True)]

    def _list(self, term: str) -> _List:
        number = self._numbers[term]
        span = slice(self._starts[number], self._starts[number + 1])
        return _List(self._chunks[span], self._weights[span], float(self._bounds[number]))


def _read(texts: Iterable[str], tokenize: Tokenizer) -> tuple[list[_Block], array[int], dict[str, int]]:
    """Blocks of postings, the length of every chunk, and the number of every term (in order of first appearance)."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    lengths, ids, blocks, first = array("i"), array("i"), [], 0
    for text in texts:
        tokens = tokenize(text)
        lengths.append(len(tokens))
        ids.extend(map(numbers.__getitem__, tokens))
        if len(ids) >= _BLOCK_TOKENS or len(lengths) - first == 1 << _CHUNK_BITS:
            blocks.append(_block(ids, lengths[first:], first))
            first, ids = len(lengths), array("i")
    blocks.append(_block(ids, lengths[first:], first))
    numbers.default_factory = None
    return [block for block in blocks if len(block.terms)], lengths, numbers


def _block(ids: array[int], lengths: array[int], first: int) -> _Block:
    """Sort the tokens of some chunks by (term, chunk) and count the equal ones."""
    keys = np.array(ids, np.int64) << _CHUNK_BITS
    keys |= np.repeat(np.arange(len(lengths)), lengths)
    keys.sort()
    postings = _changes(keys)
    counts = np.diff(postings, append=len(keys))
    keys = keys[postings]
    terms = keys >> _CHUNK_BITS
    starts = _changes(terms)
    return _Block(
        first,
        terms[starts].astype(np.int32),
        np.diff(starts, append=len(terms)).astype(np.int32),
        (keys & ((1 << _CHUNK_BITS) - 1)).astype(np.uint16),
        counts.astype(np.min_scalar_type(counts.max(initial=0))),
    )


def _changes(values: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Where each run of equal values starts."""
    changed = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return np.flatnonzero(changed)


def _at(postings: _List, chunks: Ints) -> Floats:
    """The weights of one term at `chunks`, 0.0 where it does not occur: adding that changes no bit of a score."""
    places = np.searchsorted(postings.chunks, chunks)
    np.minimum(places, len(postings.chunks) - 1, out=places)
    return np.where(postings.chunks[places] == chunks, postings.weights[places], 0.0)


def _kth(scores: Floats, pool: int) -> float:
    """The score at rank `pool`, where there are that many."""
    return float(np.partition(scores, len(scores) - pool)[len(scores) - pool])


def _everywhere(lists: Sequence[_List], size: int) -> tuple[Ints, Floats]:
    """All chunks that hold a term, ascending, with their scores.

    bincount adds the weights of a chunk one by one, in the order given: that of the query's terms.
    """
    chunks = np.concatenate([each.chunks for each in lists])
    weights = np.concatenate([each.weights for each in lists])
    scores = np.bincount(chunks, weights, size).astype(np.float64, copy=False)  # for the type checker
    found = np.flatnonzero(scores > 0)
    return found.astype(np.int32), scores[found]


def _candidates(lists: Sequence[_List], size: int, pool: int) -> Ints:
    """Chunks, ascending, among which the best `pool` certainly are, ties included.

    `floor` never exceeds the final score at rank `pool`: so many chunks already have sums that reach it. `rest` is
    the most that the lists not yet added can give to any chunk.
    """
    heaviest_first = sorted(lists, key=lambda each: each.bound, reverse=True)
    rests = [math.fsum(each.bound for each in heaviest_first[number + 1 :]) for number in range(len(lists))]
    partial, floor, added = np.zeros(size), 0.0, 0
    for each, rest in zip(heaviest_first, rests, strict=True):
        np.add.at(partial, each.chunks, each.weights)
        added += 1
        sums = partial[each.chunks]
        if len(sums) >= pool and sums.max() > max(rest, floor):
            floor = max(floor, _kth(sums, pool) * (1 - _SLACK))
        if rest < floor:
            break
    # Untouched chunks are out of reach from here on: only candidates need the remaining lists.
    chunks = np.flatnonzero(partial > max(0.0, floor - rests[added - 1]) * (1 - _SLACK)).astype(np.int32)
    sums = partial[chunks]
    for each, rest in zip(heaviest_first[added:], rests[added:], strict=True):
        sums += _at(each, chunks)
        floor = max(floor, _kth(sums, pool) * (1 - _SLACK))
        kept = sums >= floor - rest
        chunks, sums = chunks[kept], sums[kept]
    return chunks

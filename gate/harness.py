"""Cases x arm -> rows. Every evaluated case ends as a row or as a failure with its reason; none disappears.

Pure: the arm is any object with `search(query, pool)`; what it touches is its own affair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.model.case import Case
from gate.model.frozen import EMPTY
from gate.model.measurement import Label, Meaning, Row
from gate.model.metric import Metrics
from gate.model.ranking import Arm, Hit, Ranking, rank_pages

CONTEXT_RECALL = "context_recall"


class Rows(NamedTuple):
    """What one arm did on a list of cases: rows and failures by case id, in case order; together they are all.

    `tied`: the cases where a tie decides which page is the last of the top k, see `decided_by_a_tie`.
    """

    rows: Mapping[str, Row]
    failed: Mapping[str, str] = EMPTY
    tied: tuple[str, ...] = ()


def score_row(ranking: Ranking, grades: Mapping[str, int], meaning: Meaning, metrics: Metrics) -> Row:
    """Score one page ranking under every metric. Scores are raw: nothing here rounds."""
    scores = {metric.ROW: metric.score(ranking.pages, grades, meaning.k) for metric in metrics.values()}
    in_context = set(ranking.within(meaning.context))
    scores[CONTEXT_RECALL] = sum(page in in_context for page in grades) / len(grades)
    return Row(ranked=ranking.pages, at=ranking.at, **scores)


def evaluate(
    arm: Arm,
    cases: Iterable[Case],
    meaning: Meaning,
    metrics: Metrics,
    progress: Callable[[], None] = lambda: None,
) -> Rows:
    """Ask `arm` every query once and score what comes back, cut to `meaning.pool` hits before anything is computed.

    A query whose search raises is recorded in `failed` and in no mean. `progress` is called after each case.
    """
    rows: dict[str, Row] = {}
    failed: dict[str, str] = {}
    tied: list[str] = []
    tolerance = float(getattr(arm, "tolerance", 0.0))
    for case in cases:
        hits = hits_of(arm, case.query, meaning.pool)
        if isinstance(hits, str):
            failed[case.id] = hits
        else:
            ranking = rank_pages(hits, meaning.pool)
            rows[case.id] = score_row(ranking, case.grades, meaning, metrics)
            if decided_by_a_tie(hits, ranking, meaning.k, tolerance):
                tied.append(case.id)
        progress()
    return Rows(rows, failed, tuple(tied))


def ask(arm: Arm, query: str, pool: int) -> Ranking | str:
    """The page ranking of one query, or why there is none."""
    hits = hits_of(arm, query, pool)
    return hits if isinstance(hits, str) else rank_pages(hits, pool)


def hits_of(arm: Arm, query: str, pool: int) -> Sequence[Hit] | str:
    """What the arm returned, or why it returned nothing. The one place where a retriever's fault is caught."""
    try:
        return check_hits(arm.search(query, pool))
    except Exception as fault:
        return told(fault)


def told(fault: Exception) -> str:
    """A retriever's fault in one line: its kind and what it says. What the gate itself raises is a sentence already."""
    reason = " ".join(str(fault).split())
    if reason and type(fault).__module__.startswith("gate."):
        return reason
    return f"{type(fault).__name__}: {reason}" if reason else type(fault).__name__


def decided_by_a_tie(hits: Sequence[Hit], ranking: Ranking, k: int, tolerance: float = 0.0) -> bool:
    """Whether the pages k and k + 1 have scores that say nothing about which of them is the better one.

    The score of a page is that of its best hit; scores that differ by at most `tolerance` are equal.
    """
    if len(ranking.pages) <= k:
        return False
    last, next_one = (hits[position - 1].score for position in ranking.at[k - 1 : k + 1])
    return abs(last - next_one) <= tolerance


def check_hits(hits: object) -> Sequence[Hit]:
    """`hits` as a sequence of hits with page names and finite scores, else a TypeError or ValueError that says why."""
    if isinstance(hits, str | bytes) or not isinstance(hits, Sequence):
        raise TypeError(f"search returned {type(hits).__name__}, not a list of hits")
    for position, hit in enumerate(hits, 1):
        doc_id = getattr(hit, "doc_id", None)
        if not isinstance(doc_id, str) or not doc_id:
            raise TypeError(f"hit {position} has no doc_id ({type(hit).__name__})")
        if not math.isfinite(hit.score):
            raise ValueError(f"hit {position} ({doc_id}) has the score {hit.score}")
    return hits


def missing(row: Row, label: Label, k: int) -> tuple[str, ...]:
    """The relevant pages outside the top k, in label order."""
    top = set(row.ranked[:k])
    return tuple(page for page in label.relevant if page not in top)


def mean(rows: Iterable[Row]) -> dict[str, float]:
    """The mean of every metric over `rows` by row name; summed exactly (math.fsum), so order never matters."""
    kept = list(rows)
    if not kept:
        return {}
    return {name: math.fsum(row.scores[name] for row in kept) / len(kept) for name in kept[0].scores}


def rescore(
    rows: Mapping[str, Row], labels: Mapping[str, Label], meaning: Meaning, metrics: Metrics
) -> dict[str, Row]:
    """Score stored rankings again under `meaning`: another k or context, or a smaller pool.

    A larger pool than the one recorded cannot be had from stored rankings; the caller must not ask for it.
    """
    scored = {}
    for case_id, row in rows.items():
        ranking = row.ranking
        kept = [(page, at) for page, at in zip(ranking.pages, ranking.at, strict=True) if at <= meaning.pool]
        cut = Ranking(tuple(page for page, _ in kept), tuple(at for _, at in kept), meaning.pool)
        scored[case_id] = score_row(cut, labels[case_id].relevant, meaning, metrics)
    return scored

"""Where a QA question broke: retrieval, ranking, generation, or nowhere.

retrieval: no cited page among the pool's hits. ranking: one is in the pool, none in the first `context` chunks.
reached_context: any one cited page is there; questions where only some arrived are flagged as partial.
Where a model answers as well, reached_context splits: ok when its answer cites a page that the gold cites, else generation
(a refusal, no citation, or only other pages).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.harness import hits_of
from gate.model.answer import Trace
from gate.model.case import QaCase
from gate.model.fingerprint import question_digest
from gate.model.frozen import EMPTY
from gate.model.measurement import Bucket, Meaning, Question
from gate.model.ranking import Arm, Hit, Ranking, rank_pages

# From worst to best: a question that moves to an earlier one got worse.
BUCKETS: tuple[Bucket, ...] = ("retrieval", "ranking", "generation", "reached_context", "ok")
OFFLINE: tuple[Bucket, ...] = ("retrieval", "ranking", "reached_context")


class Diagnosis(NamedTuple):
    """The questions by id, those that could not be asked with the reason, and how many are unanswerable.

    `traces`: what the model made of those that reached it.
    """

    questions: Mapping[str, Question] = EMPTY
    failed: Mapping[str, str] = EMPTY
    unanswerable: int = 0
    traces: Mapping[str, Trace] = EMPTY


Answers = Callable[[Sequence[tuple[QaCase, Sequence[Hit]]]], Mapping[str, "Trace | str"]]
"""Questions with their hits -> for each id the trace of its answer, or why there is none."""


def locate(ranking: Ranking, citations: Sequence[str]) -> dict[str, int | None]:
    """For each cited page its first position (1-based) among the hits, or None where it is not in the pool."""
    at = dict(zip(ranking.pages, ranking.at, strict=True))
    return {page: at.get(page) for page in citations}


def bucket(at: Mapping[str, int | None], context: int) -> Bucket:
    """The offline bucket of one question from its located citations."""
    found = [position for position in at.values() if position is not None]
    if not found:
        return "retrieval"
    return "reached_context" if min(found) <= context else "ranking"


def diagnose(
    arm: Arm,
    questions: Iterable[QaCase],
    meaning: Meaning,
    progress: Callable[[], None] = lambda: None,
    answers: Answers | None = None,
) -> Diagnosis:
    """Ask every answerable question once and say where its evidence went. `answers` lets a model go on from there.

    A question whose evidence did not arrive is not put to the model: what it made of other pages would say nothing.
    """
    found: dict[str, Question] = {}
    failed: dict[str, str] = {}
    reached: list[tuple[QaCase, Sequence[Hit]]] = []
    unanswerable = 0
    for question in questions:
        if not question.citations:
            unanswerable += 1
            continue
        hits = hits_of(arm, question.question, meaning.pool)
        if isinstance(hits, str):
            failed[question.id] = hits
        else:
            at = locate(rank_pages(hits, meaning.pool), question.citations)
            found[question.id] = Question(
                bucket=bucket(at, meaning.context), at=at, sha256=question_digest(question)
            )
            if found[question.id].bucket == "reached_context":
                reached.append((question, hits[: meaning.pool]))
        progress()
    traces: dict[str, Trace] = {}
    answered = answers(reached) if answers is not None and reached else {}
    for question, _ in reached if answers is not None else ():
        trace = answered.get(question.id, "the model was not asked")
        if isinstance(trace, str):
            failed[question.id] = trace
            del found[question.id]
        else:
            traces[question.id] = trace
            found[question.id] = found[question.id].model_copy(update={"bucket": judged(trace, question)})
    return Diagnosis(found, failed, unanswerable, traces)


def judged(trace: Trace, question: QaCase) -> Bucket:
    """ok or generation, for a question whose evidence reached the model."""
    answer = trace.answer
    right = answer is not None and answer.answered and set(answer.cited) & set(question.citations)
    return "ok" if right else "generation"


def comparable(one: Bucket, other: Bucket) -> tuple[Bucket, Bucket]:
    """Two buckets of a question as they can be held against each other: offline ones, where one side has no answers."""
    answered = ("generation", "ok")
    if "reached_context" in (one, other):
        return (
            "reached_context" if one in answered else one,
            "reached_context" if other in answered else other,
        )
    return one, other


def at_context(questions: Mapping[str, Question], context: int) -> dict[str, Question]:
    """The same questions at another context size, from their stored positions; no arm is asked."""
    return {
        name: question.model_copy(update={"bucket": bucket(question.at, context)})
        for name, question in questions.items()
    }


def within(questions: Mapping[str, Question], meaning: Meaning) -> dict[str, Question]:
    """The same questions under another pool and context, from their stored positions."""
    cut = {
        name: {
            page: at if at is not None and at <= meaning.pool else None for page, at in question.at.items()
        }
        for name, question in questions.items()
    }
    return {
        name: question.model_copy(update={"at": cut[name], "bucket": bucket(cut[name], meaning.context)})
        if question.bucket in OFFLINE
        else question
        for name, question in questions.items()
    }


def counts(questions: Mapping[str, Question]) -> dict[str, int]:
    """How many questions ended in each bucket; the offline buckets are always listed."""
    tally = Counter(question.bucket for question in questions.values())
    return {name: tally[name] for name in BUCKETS if name in OFFLINE or tally[name]}

"""Where a QA question broke: retrieval, ranking, or it reached the context. The part that needs no model.

retrieval: no cited page among the pool's hits. ranking: one is in the pool, none in the first `context` chunks.
reached_context: any one cited page is there; questions where only some arrived are flagged as partial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.harness import ask
from gate.model.case import QaCase
from gate.model.fingerprint import question_digest
from gate.model.frozen import EMPTY
from gate.model.measurement import Bucket, Meaning, Question
from gate.model.ranking import Arm, Ranking

# From worst to best: a question that moves to an earlier one got worse.
BUCKETS: tuple[Bucket, ...] = ("retrieval", "ranking", "generation", "reached_context", "ok")
OFFLINE: tuple[Bucket, ...] = ("retrieval", "ranking", "reached_context")


class Diagnosis(NamedTuple):
    """The questions by id, those that could not be asked with the reason, and how many are unanswerable."""

    questions: Mapping[str, Question] = EMPTY
    failed: Mapping[str, str] = EMPTY
    unanswerable: int = 0


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
    arm: Arm, questions: Iterable[QaCase], meaning: Meaning, progress: Callable[[], None] = lambda: None
) -> Diagnosis:
    """Ask every answerable question once and say where its evidence went."""
    found: dict[str, Question] = {}
    failed: dict[str, str] = {}
    unanswerable = 0
    for question in questions:
        if not question.citations:
            unanswerable += 1
            continue
        ranking = ask(arm, question.question, meaning.pool)
        if isinstance(ranking, str):
            failed[question.id] = ranking
        else:
            at = locate(ranking, question.citations)
            found[question.id] = Question(
                bucket=bucket(at, meaning.context), at=at, sha256=question_digest(question)
            )
        progress()
    return Diagnosis(found, failed, unanswerable)


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

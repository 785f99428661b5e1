"""Where the QA questions broke, by arm, and which of them moved."""

from __future__ import annotations

from collections import Counter

from gate.model.report import SuiteReport
from gate.model.wording import listed, plural
from gate.report.medium import Medium
from gate.report.numbers import arrow, signed
from gate.report.parts import Cells, Section

_PAGES = 6
_NAMED = 3
_ID = 80
_KNOBS = {
    "retrieval": "Of a question at retrieval: turn the page's own words, the chunker or the embedder first, then the pool.",
    "ranking": "Of a question at ranking: turn the fusion weights, a reranker or the context first.",
    "generation": "Of a question at generation: turn the prompt or the model first; its evidence was in the context.",
}


def diagnosis(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """Where the QA questions broke, by arm; in brackets how the counts moved since the baseline."""
    measured = {
        name: arm.diagnosis
        for name, arm in suite.arms.items()
        if arm.diagnosis is not None and (arm.diagnosis.questions or not arm.failed_questions)
    }
    buckets = list(dict.fromkeys(bucket for found in measured.values() for bucket in found.counts))
    rows = []
    for name, found in measured.items():
        moved: Counter[str] = Counter()
        for move in suite.comparison[name].question_moves if name in suite.comparison else ():
            moved[move.after] += 1
            moved[move.before] -= 1
        cells = [
            f"{found.counts.get(bucket, 0)}{f' ({signed(moved[bucket])})' if moved[bucket] else ''}"
            for bucket in buckets
        ]
        total = len(found.questions)
        rows.append(
            (medium.plain(name, 60), str(total), *cells, str(len(found.partial)), str(found.unanswerable))
        )
    head = ("arm", "questions", *(bucket.replace("_", " ") for bucket in buckets), "partial", "unanswerable")
    return Section(
        "Diagnosis of the QA questions",
        intro=(
            f"retrieval: no cited page in the pool of {suite.pool}. ranking: one is there, but not in the first "
            f"{plural(suite.context, 'chunk')}. partial: only some of the cited pages arrived."
        ),
        head=head,
        align=("left", *["right"] * (len(head) - 1)),
        rows=tuple(rows),
        notes=tuple(
            knob
            for name, knob in _KNOBS.items()
            if any(found.counts.get(name, 0) for found in measured.values())
        ),
    )


def question_moves(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The questions whose bucket changed, the worse ones first."""
    moves = [(arm, move) for arm, found in suite.comparison.items() for move in found.question_moves]
    moves.sort(key=lambda entry: not entry[1].worse)
    rows = tuple(
        (
            medium.plain(arm, 60),
            medium.cell(move.id, _ID),
            arrow(move.before.replace("_", " "), move.after.replace("_", " ")),
            "worse" if move.worse else "better",
            listed([medium.cell(page, _ID) for page in move.pages], _NAMED),
        )
        for arm, move in moves
    )
    worse = sum(move.worse for _, move in moves)
    return Section(
        f"Questions that moved: {len(rows):,}",
        intro=f"{worse:,} worse, {len(rows) - worse:,} better.",
        head=("arm", "question", "before -> now", "worse or better", "cited pages that moved"),
        align=("left",) * 5,
        rows=rows,
    )

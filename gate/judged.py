"""How much of what an arm returned was ever judged, and what the judged pages alone say. Pure.

Only a case that records rejected pages (`not_relevant_doc_ids`) knows what was judged; for any other it is unknown. A second
score is taken on the condensed list: the ranking without the pages that nobody judged (Sakai 2007). The plain score
decides; this stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gate.model.comparison import ArmComparison, CaseMove
from gate.model.measurement import ArmMeasurement, Label, Row
from gate.model.report import JudgedShare

Rejected = Mapping[str, Sequence[str]]
"""case id -> the pages that were judged and rejected; only cases that record some."""


def share(
    rows: Mapping[str, Row], labels: Mapping[str, Label], rejected: Rejected, k: int
) -> JudgedShare | None:
    """judged@k and recall@k, plain and condensed, over the cases that record rejections; None where none does."""
    known = [case for case in rows if rejected.get(case)]
    if not known:
        return None
    judged, plain, condensed = [], [], []
    for case in known:
        relevant = labels[case].relevant
        pages = {*relevant, *rejected[case]}
        ranked = rows[case].ranked
        top = ranked[:k]
        judged.append(sum(page in pages for page in top) / len(top) if top else 1.0)
        plain.append(_recall(top, relevant))
        condensed.append(_recall([page for page in ranked if page in pages][:k], relevant))
    return JudgedShare(
        cases=len(known),
        share=math.fsum(judged) / len(known),
        plain=math.fsum(plain) / len(known),
        condensed=math.fsum(condensed) / len(known),
    )


def _recall(pages: Sequence[str], relevant: Mapping[str, int]) -> float:
    return sum(page in relevant for page in pages) / len(relevant)


def with_unjudged(
    arms: Mapping[str, ArmComparison],
    now: Mapping[str, ArmMeasurement],
    before: Mapping[str, ArmMeasurement],
    labels: Mapping[str, Label],
    rejected: Rejected,
    k: int,
) -> dict[str, ArmComparison]:
    """The comparisons with, for each lost case that records rejections, the pages new in its top k that nobody judged."""
    found = dict(arms)
    for name, comparison in arms.items():
        if name in now and name in before:
            lost = tuple(
                _with_unjudged(move, now[name].rows, before[name].rows, labels, rejected, k)
                for move in comparison.lost
            )
            found[name] = comparison.model_copy(update={"lost": lost})
    return found


def _with_unjudged(
    move: CaseMove,
    now: Mapping[str, Row],
    before: Mapping[str, Row],
    labels: Mapping[str, Label],
    rejected: Rejected,
    k: int,
) -> CaseMove:
    if not rejected.get(move.id) or move.id not in now or move.id not in before or move.id not in labels:
        return move
    judged = {*labels[move.id].relevant, *rejected[move.id]}
    new = [page for page in now[move.id].ranked[:k] if page not in before[move.id].ranked[:k]]
    return move.model_copy(update={"unjudged": tuple(page for page in new if page not in judged)})

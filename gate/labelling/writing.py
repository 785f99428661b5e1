"""Judgements -> cases: labels, rejections, new ids, and splits in which the kinds stay balanced. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gate.labelling.judgements import Judged
from gate.model.case import Case
from gate.model.fingerprint import nfc
from gate.model.pool import Pool, PoolQuery
from gate.store.cases import split_of

_NUMBER = re.compile(r"^(?P<prefix>.*?)-?(?P<number>\d+)$")


class Written(NamedTuple):
    """New rows, rows of existing cases with more judged pages, and what was left out with the reason."""

    rows: list[dict[str, Any]]
    amended: dict[str, dict[str, Any]]
    left_out: list[tuple[str, str]]


def merged(
    judges: Sequence[Mapping[str, Judged]], pool: Pool
) -> tuple[dict[str, Judged], list[tuple[str, str]]]:
    """One state from one, two or three judges: where the first two agree, that; where they differ, the third decides.

    The third saw only what they differ on, so where it says that no page answers, it means none of those. What stays open
    is listed with the reason, as (query, reason).
    """
    if len(judges) == 1:
        return dict(judges[0]), []
    first, second = judges[0], judges[1]
    third = judges[2] if len(judges) > 2 else {}
    final: dict[str, Judged] = {}
    open_ones = []
    for query in pool.queries:
        one, other = first.get(query.id), second.get(query.id)
        if one is None or other is None:
            continue
        last = third.get(query.id, Judged())
        grades, missing = {}, []
        for page in query.candidates:
            pair = (one.grades.get(page), other.grades.get(page))
            agreed = pair[0] == pair[1] is not None
            grade = pair[0] if agreed else last.grades.get(page, 0 if last.none else None)
            if grade is None:
                missing.append(page)
            else:
                grades[page] = grade
        none = (one.none and other.none) or (last.none and not any(grades.values()))
        kind = one.kind if one.kind == other.kind else last.kind
        if missing and not none:
            open_ones.append((query.id, f"the judges differ on {', '.join(missing[:3])}, and nobody decided"))
            continue
        if not kind and not none and any(grades.values()):
            open_ones.append(
                (query.id, f"the judges differ on the kind ({one.kind or '-'}, {other.kind or '-'})")
            )
            continue
        final[query.id] = Judged(grades, kind, none, one.skip or other.skip, one.note or other.note)
    return final, open_ones


def write(
    pool: Pool, judged: Mapping[str, Judged], cases: Sequence[Case], prefix: str, own: Sequence[str]
) -> Written:
    """Rows for what was judged whole. `own`: the ids in the file to which they go; `cases`: all cases of the suite.

    A page graded 2 or 1 is relevant with that grade, one graded 0 is kept as judged and rejected. A query without an
    answering page is no case.
    """
    rows: list[dict[str, Any]] = []
    amended: dict[str, dict[str, Any]] = {}
    left_out: list[tuple[str, str]] = []
    ids = {case.id for case in cases}
    balance = Counter((case.kind, case.split) for case in cases)
    number = _next_number([*own, *ids], prefix)
    by_id = {case.id: case for case in cases}
    asked = {folded(case.query): case.id for case in cases}
    for query in pool.queries:
        state = judged.get(query.id)
        reason = _unfit(query, state)
        if query.case is None and (same := asked.get(folded(query.query))) is not None:
            reason = f"the case '{same}' asks it already"
        if state is None or reason:
            left_out.append((query.id, reason or "not judged"))
            continue
        relevant = {page: grade for page, grade in state.grades.items() if grade > 0}
        rejected = sorted(page for page, grade in state.grades.items() if grade == 0)
        if query.case is not None:
            if query.case in by_id:
                amended[query.case] = _amended(by_id[query.case], relevant, rejected)
            continue
        name = f"{prefix}-{number:03d}"
        asked[folded(query.query)] = name
        number += 1
        rows.append(_row(name, query, state, relevant, rejected, balance))
    return Written(rows, amended, left_out)


def folded(query: str) -> str:
    """What makes two queries the same one: not their case, their spaces or their Unicode form."""
    return " ".join(nfc(query).casefold().split())


def _unfit(query: PoolQuery, state: Judged | None) -> str:
    if not query.candidates:
        return "no system found any page for it"
    if state is None:
        return "not judged"
    if state.skip:
        return "skipped"
    if query.case is not None:
        return "" if all(page in state.grades for page in query.candidates) else "not judged to the end"
    if not state.complete(query.candidates):
        return "not judged to the end"
    if state.none or not any(grade > 0 for grade in state.grades.values()):
        return "no page answers it"
    outside = sorted(set(state.grades) - set(query.candidates))
    return f"labels {outside[0]!r}, which is not in the pool" if outside else ""


def _row(
    name: str,
    query: PoolQuery,
    state: Judged,
    relevant: Mapping[str, int],
    rejected: Sequence[str],
    balance: Counter[tuple[str, str]],
) -> dict[str, Any]:
    """The best pages first. An explicit split only where the id's own would unbalance the kind."""
    pages = sorted(relevant, key=lambda page: (-relevant[page], page))
    row: dict[str, Any] = {"id": name, "query": query.query, "relevant_doc_ids": pages, "kind": state.kind}
    if any(grade != 1 for grade in relevant.values()):
        row["grades"] = {page: relevant[page] for page in pages}
    if rejected:
        row["not_relevant_doc_ids"] = list(rejected)
    natural: str = split_of(name)
    fewer = "test" if balance[state.kind, "test"] <= balance[state.kind, "dev"] else "dev"
    if balance[state.kind, natural] > balance[state.kind, fewer] + 1:
        row["split"] = fewer
        natural = fewer
    balance[state.kind, natural] += 1
    return row


def _amended(case: Case, relevant: Mapping[str, int], rejected: Sequence[str]) -> dict[str, Any]:
    """What an existing case gains: judged pages that it did not have. What it has is never taken back."""
    new = {page: grade for page, grade in relevant.items() if page not in case.grades}
    return {
        "relevant": {page: new[page] for page in sorted(new, key=lambda page: (-new[page], page))},
        "rejected": sorted(set(rejected) - set(case.grades) - set(case.not_relevant)),
    }


def _next_number(names: Sequence[str], prefix: str) -> int:
    taken = [
        int(found["number"]) for name in names if (found := _NUMBER.match(name)) and found["prefix"] == prefix
    ]
    return max(taken, default=0) + 1

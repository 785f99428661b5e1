"""Queries x arms -> a pool: the first pages of every system, merged, with what found them kept apart. Pure but for the arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gate.errors import NotMeasuredError, Problem
from gate.harness import hits_of
from gate.labelling.queries import Leaks, Query, near
from gate.model.case import Case
from gate.model.page import Corpus
from gate.model.pool import Pool, PoolQuery, Systems
from gate.model.ranking import Arm, rank_pages
from gate.model.report import SuiteReport

# So many hits are asked for each wanted page: several chunks of one page come in a row.
_HITS_PER_PAGE = 6


class Pooled(NamedTuple):
    """The pool, and beside it what found what."""

    pool: Pool
    systems: Systems


def make_pool(
    name: str,
    suite: str,
    queries: Sequence[Query],
    arms: Mapping[str, Arm],
    corpus: Corpus,
    cases: Sequence[Case],
    depth: int,
    progress: Callable[[], None] = lambda: None,
) -> Pooled:
    """The first `depth` pages of every arm for each query. An arm that fails on any query is a NotMeasuredError: a pool
    without one of its systems would favour the others, and nobody would see it.
    """
    found = {query.text: _found(query.text, arms, depth, corpus, progress) for query in queries}
    leaks = Leaks({page.doc_id: page.text for page in corpus.pages})
    known = [(case.id, case.query) for case in cases]
    made = []
    for number, query in enumerate(queries, 1):
        one = PoolQuery(
            id=f"q-{number:03d}",
            query=query.text,
            source=query.source,
            candidates=tuple(sorted(found[query.text])),
            near=tuple(near(query.text, known)),
            leaks=leaks.of(query.text),
        )
        known.append((one.id, one.query))
        made.append(one)
    return _pooled(name, suite, depth, tuple(arms), made, {one.id: found[one.query] for one in made}, corpus)


def _found(
    query: str, arms: Mapping[str, Arm], depth: int, corpus: Corpus, progress: Callable[[], None]
) -> dict[str, list[str]]:
    """Page -> the systems that had it among their first `depth`."""
    found: dict[str, list[str]] = {}
    for name, arm in arms.items():
        hits = hits_of(arm, query, depth * _HITS_PER_PAGE)
        if isinstance(hits, str):
            todo = "Mend it, or leave it out with --arm."
            raise NotMeasuredError(Problem(f"arm '{name}'", f"failed on {query!r} ({hits})", todo))
        for page in rank_pages(hits).pages[:depth]:
            if page in corpus.by_id:
                found.setdefault(page, []).append(name)
        progress()
    return found


def pool_of_report(
    name: str, report: SuiteReport, cases: Mapping[str, Case], corpus: Corpus
) -> Pooled | None:
    """Exactly the pages that were never judged among the first k of lost cases; None where there is none."""
    found: dict[str, dict[str, list[str]]] = {}
    for arm, comparison in report.comparison.items():
        rows = {row.id: row for row in report.arms[arm].cases} if arm in report.arms else {}
        for move in comparison.lost:
            case = cases.get(move.id)
            if case is None or move.id not in rows:
                continue
            for page in rows[move.id].ranked[: report.k]:
                if page not in case.grades and page not in case.not_relevant and page in corpus.by_id:
                    found.setdefault(move.id, {}).setdefault(page, []).append(arm)
    if not found:
        return None
    made = [
        PoolQuery(
            id=f"q-{number:03d}",
            query=cases[case].query,
            source=f"report of {report.suite}",
            case=case,
            candidates=tuple(sorted(pages)),
        )
        for number, (case, pages) in enumerate(sorted(found.items()), 1)
    ]
    by_query = {one.id: found[one.case] for one in made if one.case is not None}
    return _pooled(name, report.suite, report.k, tuple(report.arms), made, by_query, corpus)


def _pooled(
    name: str,
    suite: str,
    depth: int,
    systems: tuple[str, ...],
    queries: Sequence[PoolQuery],
    found: Mapping[str, Mapping[str, Sequence[str]]],
    corpus: Corpus,
) -> Pooled:
    candidates = sorted({page for query in queries for page in query.candidates})
    pool = Pool(
        name=name,
        suite=suite,
        depth=depth,
        systems=tuple(sorted(systems)),
        queries=tuple(queries),
        pages={page: corpus.hashes[page] for page in candidates},
    )
    kept = {query: {page: tuple(names) for page, names in pages.items()} for query, pages in found.items()}
    return Pooled(pool, Systems(pool_sha256=pool.sha256(), found=kept))

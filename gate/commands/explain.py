"""gate explain: why one case ranks as it does, before and now."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.commands._load import Project, Suite
    from gate.commands._measure import Workshop
    from gate.model.case import Case
    from gate.model.measurement import Measurement
    from gate.model.ranking import Arm

HELP = "show the pool of one case: ranks, scores, relevant pages, term contributions, before and now"
EXAMPLES = """\
examples:
  gate explain rq-001
  gate explain rq-001 --base origin/main     ranks before from the base's baseline
  gate explain rq-001 --arm keyword --json -

exit codes: 0 explained; 2 no such case or invalid input; 3 the arm failed on it
"""
TERMS_SHOWN = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("case", metavar="CASE", help="the id of a case, of any split")
    _flags.add_config(parser)
    parser.add_argument(
        "--arm", metavar="NAME", action="append", default=None, help="only this arm; repeatable"
    )
    parser.add_argument(
        "--base", metavar="REF", default=None, help="take the ranks before from this commit's baseline"
    )
    parser.add_argument(
        "--against", metavar="REPORT", default=None, help="take them from a report or baseline file"
    )
    parser.add_argument(
        "--json", metavar="FILE", default=None, help="write it as JSON ('-': standard output)"
    )


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gate.commands import _output
    from gate.commands._load import open_project
    from gate.commands._pipeline import load_all, read_against
    from gate.errors import InputError, Problem, did_you_mean
    from gate.model.verdict import Exit
    from gate.store import canonical

    _output.check_targets(args)
    args.no_baseline, args.split = False, None
    project = open_project(args)
    suites, _ = load_all(project, args)
    against = read_against(project, suites, args)
    known = {case.id: (suite, case) for suite in suites.values() for case in suite.cases.all_cases}
    if args.case not in known:
        raise InputError(Problem(f"gate explain {args.case}", "no such case", did_you_mean(args.case, known)))
    suite, case = known[args.case]
    value = explain(project, suite, case, against.get(suite.name) or suite.trusted)
    if args.json:
        text = canonical.dumps(value, sort=False)
        if args.json == "-":
            _output.emit(text)
        else:
            canonical.write_text(Path(args.json), text, args.json)
    if args.json != "-":
        _output.emit("".join(_lines(value)))
    failed = any("failed" in arm for arm in value["arms"].values())
    return int(Exit.NOT_MEASURED if failed else Exit.PASS)


def explain(project: Project, suite: Suite, case: Case, before: Measurement | None) -> dict[str, Any]:
    """The pool of `case` under every arm of the suite, as plain values."""
    from gate.commands._measure import Workshop, build, ids_by_query

    workshop = Workshop(
        suite.corpus,
        suite.arms,
        f"{project.config.shown} [suite.{suite.name}]",
        project.root,
        suite.grants,
        others=suite.others,
        case_ids=ids_by_query(suite.cases.all_cases, suite.questions or ()),
    )
    with closing(workshop):
        return {
            "suite": suite.name,
            "case": case.id,
            "query": case.query,
            "kind": case.kind,
            "split": case.split,
            "k": suite.settings.k,
            "pool": suite.settings.pool,
            "relevant": dict(case.grades),
            "compared_with": before.cases_version if before is not None else None,
            "arms": {
                name: _arm(
                    build(workshop, name),
                    case,
                    suite.settings.pool,
                    _row(before, name, case.id),
                    _chunks_of(workshop, settings),
                    suite.corpus.by_id,
                )
                for name, settings in suite.arms.items()
            },
        }


def _chunks_of(workshop: Workshop, settings: Any) -> Callable[[str], list[str]]:
    """page -> the ids of its chunks as the arm cuts them; none where the arm cuts nothing itself."""

    def of(page: str) -> list[str]:
        if not hasattr(settings, "chunker"):
            return []
        return [chunk.chunk_id for chunk in workshop.chunks(settings.chunker) if chunk.doc_id == page]

    return of


def _row(before: Measurement | None, arm: str, case: str) -> Sequence[str] | None:
    recorded = before.arms.get(arm) if before is not None else None
    row = recorded.rows.get(case) if recorded is not None else None
    return row.ranked if row is not None else None


def _arm(
    arm: Arm,
    case: Case,
    pool: int,
    before: Sequence[str] | None,
    chunks_of: Callable[[str], list[str]],
    corpus_pages: Collection[str],
) -> dict[str, Any]:
    from gate.harness import check_hits
    from gate.model.ranking import rank_pages

    try:
        hits = check_hits(arm.search(case.query, pool))[:pool]
    except Exception as fault:  # whatever a retriever raises is what is to be explained
        return {"failed": f"{type(fault).__name__}: {' '.join(str(fault).split())}"}
    ranking = rank_pages(hits)
    was = {page: rank for rank, page in enumerate(before or (), 1)}
    explain_hit = getattr(arm, "explain", None)
    pages = []
    for rank, (page, position) in enumerate(zip(ranking.pages, ranking.at, strict=True), 1):
        hit = hits[position - 1]
        pages.append(
            {
                "rank": rank,
                "before": was.get(page),
                "page": page,
                "relevant": case.grades.get(page),
                "chunk": hit.chunk_id,
                "score": hit.score,
                "terms": _terms(explain_hit(case.query, hit.chunk_id)) if explain_hit is not None else None,
            }
        )
    return {
        "pages": pages,
        "has_before": before is not None,
        "outside": [
            {
                "page": page,
                "before": was.get(page),
                "there": page in corpus_pages,
                **_best(explain_hit, case.query, chunks_of(page)),
            }
            for page in case.grades
            if page not in ranking.pages
        ],
        "gone_from_pool": [page for page in before or () if page not in ranking.pages],
    }


def _best(explain_hit: Any, query: str, chunk_ids: Sequence[str]) -> dict[str, Any]:
    """The best chunk of a page that is not in the pool: its score and what made it; nulls where that is not known."""
    unknown = {"chunk": None, "score": None, "terms": None}
    if explain_hit is None or not chunk_ids:
        return unknown
    try:
        scored = [(chunk, explain_hit(query, chunk)) for chunk in chunk_ids]
    except Exception:  # a service may fail here although it answered the search; the pool stands all the same
        return unknown
    sums = [
        parts if isinstance(parts, float) else math.fsum(t.contribution for t in parts) for _, parts in scored
    ]
    score = max(sums)
    chunk, parts = scored[sums.index(score)]
    return {"chunk": chunk, "score": score, "terms": _terms(parts)}


def _terms(parts: Any) -> list[dict[str, Any]] | None:
    """What each term gave; None for an arm that explains a score by one number (a cosine is the score itself)."""
    if isinstance(parts, float):
        return None
    return [
        {"term": one.term, "tf": one.tf, "df": one.df, "idf": one.idf, "contribution": one.contribution}
        for one in parts
    ]


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    from gate.report.escape import terminal

    yield f"{terminal(value['case'])} ({terminal(value['kind'])}, {value['split']} split): {terminal(value['query'])}\n"
    yield f"relevant: {terminal(', '.join(value['relevant']))}\n"
    for name, arm in value["arms"].items():
        yield f"\n{terminal(name)}\n"
        if "failed" in arm:
            yield f"  not measured: {terminal(arm['failed'])}\n"
            continue
        yield from _pool(arm, value["k"])
        for page in arm["outside"]:
            was = f", was {page['before']}" if page["before"] else ""
            best = f"; its best chunk scores {page['score']:.4f}" if page["score"] is not None else ""
            there = "" if page["there"] else "; no such page now"
            yield f"*      outside the pool: {terminal(page['page'])}{was}{best}{there}\n"
        yield from _contributions(arm)
    yield "\n"
    yield from _legend(value)


def _pool(arm: Mapping[str, Any], k: int) -> Iterator[str]:
    from gate.report.escape import terminal

    yield f"  {'rank':>4}  {'before':>6}  {'score':>9}  chunk\n"
    for page in arm["pages"]:
        mark = "*" if page["relevant"] else " "
        before = (page["before"] or "-") if arm["has_before"] else "?"
        yield f"{mark} {page['rank']:>5}  {before:>6}  {page['score']:>9.4f}  {terminal(page['chunk'])}\n"
        if page["rank"] == k and len(arm["pages"]) > k:
            yield f"  {'-' * 4}  {'-' * 6}  {'-' * 9}  cut at k = {k}\n"
    if not arm["pages"]:
        yield "  nothing came back\n"


def _contributions(arm: Mapping[str, Any]) -> Iterator[str]:
    """What each query term gave to the relevant pages' best chunks, and to the first chunk beside them."""
    from gate.report.escape import terminal

    shown = [page for page in arm["pages"] if page["terms"] and (page["relevant"] or page["rank"] == 1)]
    shown += [page for page in arm["outside"] if page["terms"] is not None]
    if shown:
        yield "  term contributions\n"
    for page in shown:
        terms = sorted(
            (t for t in page["terms"] if t["contribution"]), key=lambda term: -term["contribution"]
        )
        said = ", ".join(
            f"{t['term']} {t['contribution']:.3f} (tf {t['tf']}, df {t['df']})" for t in terms[:TERMS_SHOWN]
        )
        mark = "*" if page.get("relevant", True) else " "
        lacking = [terminal(t["term"]) for t in page["terms"] if not t["contribution"]]
        without = f"; not in it: {', '.join(lacking)}" if lacking and mark == "*" else ""
        yield f"{mark}   {terminal(page['chunk'])}: {terminal(said) if said else 'no term'}{without}\n"


def _legend(value: Mapping[str, Any]) -> Iterator[str]:
    """What the columns and marks mean; only those that were used."""
    arms = [arm for arm in value["arms"].values() if "failed" not in arm]
    if any(arm["pages"] for arm in arms):
        yield (
            f"* = a relevant page. rank: among the pages of the pool of {value['pool']} chunks, each at its best chunk. "
            "score: that chunk's, of the arm itself.\n"
        )
        unknown = (
            " ?: the baseline has no row of this case." if any(not a["has_before"] for a in arms) else ""
        )
        yield f"before: its rank in what this is compared with. -: not among its pages.{unknown}\n"
    if any(page["terms"] for arm in arms for page in (*arm["pages"], *arm["outside"])):
        yield "tf: how often the chunk has the term. df: how many chunks have it; a rare one weighs more.\n"

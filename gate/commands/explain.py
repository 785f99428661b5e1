"""gate explain: why one case ranks as it does, before and now."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.commands._load import Project, Suite
    from gate.model.case import Case
    from gate.model.measurement import Measurement
    from gate.model.ranking import Arm, Hit

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
            "relevant": dict(case.grades),
            "compared_with": before.cases_version if before is not None else None,
            "arms": {
                name: _arm(build(workshop, name), case, suite.settings.pool, _row(before, name, case.id))
                for name in suite.arms
            },
        }


def _row(before: Measurement | None, arm: str, case: str) -> Sequence[str] | None:
    recorded = before.arms.get(arm) if before is not None else None
    row = recorded.rows.get(case) if recorded is not None else None
    return row.ranked if row is not None else None


def _arm(arm: Arm, case: Case, pool: int, before: Sequence[str] | None) -> dict[str, Any]:
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
                "terms": _terms(explain_hit, case.query, hit) if explain_hit is not None else None,
            }
        )
    return {
        "pages": pages,
        "has_before": before is not None,
        "outside": [
            {"page": page, "before": was.get(page)} for page in case.grades if page not in ranking.pages
        ],
        "gone_from_pool": [page for page in before or () if page not in ranking.pages],
    }


def _terms(explain_hit: Any, query: str, hit: Hit) -> list[dict[str, Any]] | None:
    """What each term gave; None for an arm that explains a score by one number (a cosine is the score itself)."""
    parts = explain_hit(query, hit.chunk_id)
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
            yield f"  *  outside the pool: {terminal(page['page'])}{was}\n"
        yield from _contributions(arm)


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
    if shown:
        yield "  term contributions\n"
    for page in shown:
        terms = sorted(
            (t for t in page["terms"] if t["contribution"]), key=lambda term: -term["contribution"]
        )
        said = ", ".join(
            f"{t['term']} {t['contribution']:.3f} (tf {t['tf']}, df {t['df']})" for t in terms[:TERMS_SHOWN]
        )
        yield f"{'*' if page['relevant'] else ' '}   {terminal(page['chunk'])}: {terminal(said) or 'none'}\n"

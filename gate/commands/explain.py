"""gate explain: why one case ranks as it does, before and now."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.commands._load import Suite
    from gate.commands._measure import Workshop
    from gate.commands._project import Project
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
TEXT_SHOWN = 400
DIFF_SHOWN = 40


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
    from gate.commands._pipeline import load_all, read_against
    from gate.commands._project import open_project
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
            "diff": _diffs(project, suite, case),
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
                "legs": dict(hit.ranks),
            }
        )
    return {
        "pages": pages,
        "texts": _texts(hits, case),
        "has_before": before is not None,
        "pool_before": list(before or ()),
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


def _texts(hits: Sequence[Hit], case: Case) -> list[dict[str, str]]:
    """The text of the chunk that should have won, and of the first one that is not relevant."""
    right = next((hit for hit in hits if hit.doc_id in case.grades), None)
    wrong = next((hit for hit in hits if hit.doc_id not in case.grades), None)
    return [
        {"role": role, "chunk": hit.chunk_id, "text": hit.text}
        for role, hit in (("the first relevant chunk", right), ("the first chunk beside them", wrong))
        if hit is not None
    ]


def _diffs(project: Project, suite: Suite, case: Case) -> dict[str, list[str]]:
    """Relevant page -> what changed in it since the base, as the lines of a unified diff; empty without a base."""
    import difflib
    from pathlib import PurePosixPath

    from gate.commands._project import inside
    from gate.store.text import read_text

    if project.base is None:
        return {}
    found = {}
    for name in case.grades:
        page = suite.corpus.by_id.get(name)
        path = PurePosixPath(suite.settings.corpus, f"{name}.md").as_posix()
        before = project.base.read(path)
        here = inside(project.root, path)
        after = "" if page is None else read_text(here, path) if here.is_file() else None
        if before is None or after is None or before == after:
            continue
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), "before", "now", lineterm="", n=1
        )
        found[name] = list(lines)[2:]
    return found


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
        for one in arm["texts"]:
            yield f"  {one['role']}, {terminal(one['chunk'])}:\n    {terminal(one['text'], TEXT_SHOWN)}\n"
    for page, lines in value["diff"].items():
        yield f"\nchanged in {terminal(page)} since the base\n"
        for line in lines[:DIFF_SHOWN]:
            yield f"  {terminal(line, 160) if line.strip() else ''}\n"
        if len(lines) > DIFF_SHOWN:
            yield f"  ... {len(lines) - DIFF_SHOWN} more lines\n"
    yield "\n"
    yield from _legend(value)


def _pool(arm: Mapping[str, Any], k: int) -> Iterator[str]:
    """Both pools side by side, now on the left; a hybrid's rank in each leg behind the chunk."""
    from gate.report.columns import aligned
    from gate.report.escape import terminal

    if not arm["pages"]:
        yield "  nothing came back\n"
        return
    earlier = arm["pool_before"]
    head = ["", "rank", "before", "score", "chunk", *(["pool before"] if earlier else [])]
    rows = []
    for page in arm["pages"]:
        legs = ", ".join(f"{terminal(leg, 40)} {rank}" for leg, rank in page["legs"].items())
        before = (page["before"] or "-") if arm["has_before"] else "?"
        row = ["*" if page["relevant"] else "", str(page["rank"]), str(before), f"{page['score']:.4f}"]
        row.append(terminal(page["chunk"]) + (f" ({legs})" if legs else ""))
        if earlier:
            row.append(terminal(earlier[page["rank"] - 1]) if page["rank"] <= len(earlier) else "")
        rows.append(row)
        if page["rank"] == k and len(arm["pages"]) > k:
            rows.append(["", "----", "------", "-----", f"cut at k = {k}", *([""] if earlier else [])])
    for line in aligned(head, rows, ["left", "right", "right", "right", "left", "left"][: len(head)]):
        yield f"{line}\n"


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
    if any(page["legs"] for arm in arms for page in arm["pages"]):
        yield "in brackets: the rank in each arm that this one asks.\n"
    if any(page["terms"] for arm in arms for page in (*arm["pages"], *arm["outside"])):
        yield "tf: how often the chunk has the term. df: how many chunks have it; a rare one weighs more.\n"

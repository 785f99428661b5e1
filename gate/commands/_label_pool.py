"""gate label pool, and where pools and judgements lie."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from gate.commands import _output
from gate.commands._flags import wanted_suites
from gate.commands._load import Suite, load_suite
from gate.commands._measure import Workshop, build
from gate.commands._project import Project, open_project, select_suites
from gate.errors import InputError, Problem
from gate.labelling.pooling import Pooled, make_pool, pool_of_report
from gate.labelling.queries import Query, from_issue, read_queries
from gate.model.pool import Pool, Systems
from gate.store import canonical
from gate.store.text import read_text

if TYPE_CHECKING:
    from gate.model.ranking import Arm

POOLS = "eval/pools"
JUDGEMENTS = "eval/judgements"
KEYWORD_PAGES = "keyword_pages"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Place(NamedTuple):
    """A project, its one suite, and where the files of a pool lie."""

    project: Project
    suite: Suite

    def pool(self, name: str) -> Path:
        return self.project.root / POOLS / f"{named('the pool', name)}.json"

    def systems(self, name: str) -> Path:
        return self.project.root / POOLS / f"{named('the pool', name)}.systems.json"

    def journal(self, pool: str, judge: str) -> Path:
        return self.project.root / JUDGEMENTS / f"{pool}.{named('the judge', judge)}.jsonl"


def named(what: str, name: str) -> str:
    """A name that can be part of a file's; InputError else."""
    if not _NAME.fullmatch(name):
        raise InputError(Problem(what, f"cannot be called {name!r}", "Use letters, digits, - and _."))
    return name


def open_place(args: argparse.Namespace) -> Place:
    """The project and the one suite to label."""
    args.no_baseline, args.split = True, None
    project = open_project(args)
    suites = select_suites(project, wanted_suites(args))
    if len(suites) != 1:
        raise InputError(
            Problem("gate label", f"there are several suites ({', '.join(suites)})", "Name one with --suite.")
        )
    return Place(project, load_suite(project, suites[0], args))


def read_pool(place: Place, name: str) -> Pool:
    """A pool, as it was made."""
    path = place.pool(name)
    if not path.is_file():
        there = sorted(one.stem for one in path.parent.glob("*.json") if not one.stem.endswith(".systems"))
        todo = f"There is: {', '.join(there)}." if there else "Make one with 'gate label pool'."
        raise InputError(Problem(f"{POOLS}/{name}.json", "no such pool", todo))
    shown = f"{POOLS}/{name}.json"
    try:
        return Pool.model_validate_json(read_text(path, shown))
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(Problem(shown, f"is no pool ({where}: {first['msg']})", "Make it again.")) from None


def run(args: argparse.Namespace) -> int:
    """Write the pool and, in a file of its own, which systems found what."""
    sources = [bool(args.queries), bool(args.from_report), bool(args.github)]
    if sources.count(True) != 1:
        todo = "Give a FILE, or --github, or --from-report."
        raise InputError(Problem("gate label pool", "needs one source of queries", todo))
    place = open_place(args)
    target = place.pool(args.name)
    if target.exists():
        todo = "Choose another --name: judgements belong to one pool."
        raise InputError(Problem(f"{POOLS}/{args.name}.json", "is there already", todo))
    pooled = _of_report(place, args) if args.from_report else _of_queries(place, args)
    if pooled is None:
        _output.emit(
            "every page among the first k of the lost cases has been judged; there is nothing to pool\n"
        )
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    canonical.write_text(place.systems(args.name), canonical.dumps(pooled.systems.as_json()), str(target))
    canonical.write_text(target, canonical.dumps(pooled.pool.as_json(), sort=False), str(target))
    _output.emit("".join(_told(pooled, args.name)))
    return 0


def _of_report(place: Place, args: argparse.Namespace) -> Pooled | None:
    from gate.store import reports

    report = reports.parse(read_text(Path(args.from_report), args.from_report), args.from_report)
    found = next((one for one in report.suites if one.suite == place.suite.name), None)
    if found is None:
        raise InputError(
            Problem(args.from_report, f"has no suite '{place.suite.name}'", "Name its suite with --suite.")
        )
    cases = {case.id: case for case in place.suite.cases.all_cases}
    return pool_of_report(args.name, found, cases, place.suite.corpus)


def _of_queries(place: Place, args: argparse.Namespace) -> Pooled:
    if args.github:
        queries = _issues(args)
    else:
        queries = read_queries(Path(args.queries), args.queries, with_body=args.with_body)
    project, suite = place.project, place.suite
    names = _arms(suite, args.arm)
    settings: dict[str, Any] = {name: suite.arms[name] for name in names}
    if not args.only_arms and KEYWORD_PAGES not in settings:
        from gate.arms.bm25 import Settings

        settings[KEYWORD_PAGES] = Settings(type="bm25", chunker="page")
    others = {name: one for name, one in suite.arms.items() if name not in settings}
    where = f"{project.config.shown} [suite.{suite.name}]"
    workshop = Workshop(suite.corpus, settings, where, project.root, suite.grants, others=others)
    with closing(workshop):
        arms: Mapping[str, Arm] = {name: build(workshop, name) for name in settings}
        for arm in arms.values():
            prepare = getattr(arm, "prepare", None)
            if prepare is not None:
                prepare([query.text for query in queries], args.depth * 6)
        return make_pool(
            args.name, suite.name, queries, arms, suite.corpus, suite.cases.all_cases, args.depth
        )


def _arms(suite: Suite, wanted: Sequence[str] | None) -> list[str]:
    from gate.errors import did_you_mean, raise_all

    names = list(dict.fromkeys(wanted or suite.arms))
    raise_all(
        [
            Problem("--arm", f"no such arm ({name!r})", did_you_mean(name, suite.arms))
            for name in names
            if name not in suite.arms
        ]
    )
    return names


def _issues(args: argparse.Namespace) -> list[Query]:
    import os

    from gate.github.issues import read_issues

    rows = read_issues(args.github, args.label, os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN"))
    found: dict[str, Query] = {}
    for row in rows:
        text, source = from_issue(row, args.github, args.with_body)
        text = " ".join(text.split())
        if text:
            found.setdefault(text, Query(text, source))
    if not found:
        raise InputError(Problem(f"--github {args.github}", "has no such issue", "Try another --label."))
    return list(found.values())


def _told(pooled: Pooled, name: str) -> list[str]:
    from gate.report.escape import terminal

    pool = pooled.pool
    pages = sum(len(query.candidates) for query in pool.queries)
    lines = [
        f"wrote {POOLS}/{name}.json: {len(pool.queries)} queries, {pages} pages to judge, "
        f"the first {pool.depth} of {', '.join(pool.systems)}\n"
    ]
    for query in pool.queries:
        lines += [
            f"  {query.id} asks nearly the same as {terminal(other.id)}: {terminal(query.query)}\n"
            for other in query.near
        ]
        if query.leaks:
            lines.append(f"  {query.id} stands word for word in {terminal(', '.join(query.leaks))}\n")
    lines.append(f"judge it with: gate label judge {name} --judge YOU\n")
    return lines


def read_systems(place: Place, name: str) -> Systems:
    """Which systems found what; only writing asks."""
    shown = f"{POOLS}/{name}.systems.json"
    try:
        return Systems.model_validate_json(read_text(place.systems(name), shown))
    except ValidationError:
        raise InputError(Problem(shown, "does not say which systems found what", "Restore it.")) from None

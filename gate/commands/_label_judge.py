"""gate label judge, adjudicate, agree."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from gate.commands import _output
from gate.commands._label_pool import Place, open_place, read_pool
from gate.corpus.read import cut
from gate.errors import InputError, Problem
from gate.labelling.agreement import Kappa, ambiguous, differences, kappa, kinds_differ, shared
from gate.labelling.journal import Journal, read
from gate.labelling.judgements import Judged
from gate.labelling.session import Session
from gate.model.frozen import EMPTY
from gate.model.pool import Pool
from gate.report.escape import terminal


def run(args: argparse.Namespace) -> int:
    """Judge a whole pool."""
    place = open_place(args)
    return _judge(place, read_pool(place, args.pool), args, None)


def run_adjudication(args: argparse.Namespace) -> int:
    """Judge what two judges differ on, and what only one of them judged."""
    place = open_place(args)
    pool = read_pool(place, args.pool)
    if args.judge in args.judges:
        raise InputError(Problem(f"--judge {args.judge}", "is one of the two", "Let somebody else decide."))
    first, second = (read(place.journal(args.pool, judge), pool, judge) for judge in args.judges)
    only = _open_pages(pool, first, second)
    if not only:
        _output.emit("the two judges agree on every page; there is nothing to decide\n")
        return 0
    return _judge(place, pool, args, only, _settled(first, second))


def _settled(first: Mapping[str, Judged], second: Mapping[str, Judged]) -> dict[str, str]:
    """Query -> the kind that both judges see in it."""
    return {
        query: one.kind
        for query, one in first.items()
        if one.kind and query in second and second[query].kind == one.kind
    }


def _open_pages(
    pool: Pool, first: Mapping[str, Judged], second: Mapping[str, Judged]
) -> dict[str, list[str]]:
    """Query -> the pages on which there are not two equal grades, of queries that both judged."""
    found = {}
    for query in pool.queries:
        one, other = first.get(query.id), second.get(query.id)
        if one is None or other is None or (one.none and other.none):
            continue
        pages = [
            page
            for page in query.candidates
            if one.grades.get(page) is None or one.grades.get(page) != other.grades.get(page)
        ]
        if one.kind != other.kind and not pages:
            pages = list(query.candidates[:1])
        if pages:
            found[query.id] = pages
    return found


def _judge(
    place: Place,
    pool: Pool,
    args: argparse.Namespace,
    only: Mapping[str, Sequence[str]] | None,
    settled: Mapping[str, str] = EMPTY,
) -> int:
    corpus = place.suite.corpus
    chunks = cut(corpus, None, "gate label", place.project.root)
    kinds = sorted({case.kind for case in place.suite.cases.all_cases})
    with Journal(place.journal(args.pool, args.judge), pool, args.judge) as journal:
        for warning in journal.warnings:
            _output.emit(f"{warning}\n")
        session = Session(pool, journal, corpus, chunks, kinds, only, settled)
        if args.terminal:
            from gate.labelling.terminal import judge

            judge(session, input, _output.emit)
        else:
            _serve(session, args.port)
        state = session.state()
    done = sum(query["done"] for query in state["queries"])
    _output.emit(f"{done} of {len(state['queries'])} queries are judged\n")
    return 0


def _serve(session: Session, port: int) -> None:
    from gate.labelling.render import renderer
    from gate.labelling.server import JudgeServer

    made = renderer()
    try:
        server = JudgeServer(session, made, port)
    except OSError as fault:
        raise InputError(
            Problem(f"--port {port}", f"cannot be used ({fault.strerror})", "Choose another.")
        ) from fault
    # Whoever started us in the background can only ask us to terminate: that is an end like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _output.emit(f"open {server.address}\nevery judgement is saved at once; end with Ctrl-C\n")
    try:
        server.serve()
    except KeyboardInterrupt:
        _output.emit("\n")
    finally:
        server.close()


def run_agreement(args: argparse.Namespace) -> int:
    """Kappa of two judges, and where they differ."""
    place = open_place(args)
    pool = read_pool(place, args.pool)
    names = list(args.judges)
    one, other = (read(place.journal(args.pool, judge), pool, judge) for judge in names)
    value = agreement(pool, names, one, other)
    if args.json:
        from pathlib import Path

        from gate.store import canonical

        text = canonical.dumps(value, sort=False)
        if args.json == "-":
            _output.emit(text)
        else:
            canonical.write_text(Path(args.json), text, args.json)
    if args.json != "-":
        _output.emit("".join(_lines(value, pool)))
    return 0


def agreement(
    pool: Pool, names: Sequence[str], one: Mapping[str, Judged], other: Mapping[str, Judged]
) -> dict[str, Any]:
    """How far two judges agree, as plain values."""
    pairs = shared(one, other)
    grades = [(first, second) for _, _, first, second in pairs]
    relevant = [(int(first > 0), int(second > 0)) for first, second in grades]
    return {
        "pool": pool.name,
        "judges": list(names),
        "pages": len(pairs),
        "kappa": {
            "relevant or not": _kappa(kappa(relevant)),
            "grades, quadratic weights": _kappa(kappa(grades, "quadratic")),
        },
        "differences": [one._asdict() for one in differences(pairs)],
        "ambiguous": ambiguous(one, other, pairs),
        "kinds_differ": kinds_differ(one, other),
    }


def _kappa(found: Kappa) -> dict[str, Any]:
    return found._asdict()


def _lines(value: Mapping[str, Any], pool: Pool) -> list[str]:
    first, second = value["judges"]
    lines = [
        f"{terminal(first)} and {terminal(second)} on {value['pages']} pages of {terminal(value['pool'])}\n"
    ]
    for name, found in value["kappa"].items():
        if found["value"] is None:
            said = "not defined: no shared page, or one grade throughout"
        else:
            said = f"{found['value']:.2f} (95 % {found['low']:.2f} to {found['high']:.2f}), equal on {found['agreed']}/{found['n']}"
        lines.append(f"  kappa, {name}: {said}\n")
    for one in value["differences"]:
        query = terminal(pool.query(one["query"]).query, 60)
        lines.append(
            f"  {one['query']} {terminal(one['page'])}: {one['first']} and {one['second']}  ({query})\n"
        )
    lines += [
        f"  {query} is ambiguous, write it anew or drop it: {terminal(pool.query(query).query)}\n"
        for query in value["ambiguous"]
    ]
    lines += [
        f"  {query}: the kinds differ ({terminal(kinds[0])}, {terminal(kinds[1])}): {terminal(pool.query(query).query)}\n"
        for query, kinds in value["kinds_differ"].items()
    ]
    return lines

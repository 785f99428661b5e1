"""gate label write: judgements into the case file, old lines untouched."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from gate.commands import _output
from gate.commands._label_judge import agreement
from gate.commands._label_pool import KEYWORD_PAGES, Place, open_place, read_pool, read_systems
from gate.errors import InputError, Problem, raise_all
from gate.labelling.journal import read
from gate.labelling.writing import Written, merged, write
from gate.model.pool import Pool
from gate.report.escape import terminal
from gate.store import canonical
from gate.store.cases import split_of
from gate.store.text import read_text


def run(args: argparse.Namespace) -> int:
    """Write new cases (or amend those of a report's pool), and say what was left out and why."""
    place = open_place(args)
    pool = read_pool(place, args.pool)
    names = [name.strip() for name in args.judges.split(",") if name.strip()]
    if not 1 <= len(names) <= 3 or len(set(names)) < len(names):
        raise InputError(
            Problem(
                f"--judges {args.judges}",
                "names not one to three different judges",
                "Name A, or A,B, or A,B,C.",
            )
        )
    _unchanged(place, pool, accept=args.accept_changed)
    judges = [read(place.journal(pool.name, name), pool, name) for name in names]
    judged, open_ones = merged(judges, pool)
    shown = args.to or place.suite.settings.cases[-1]
    path = place.project.root / shown
    lines = read_text(path, shown).splitlines() if path.is_file() else []
    own = [row["id"] for row in map(_object, lines) if row is not None and "id" in row]
    prefix = args.prefix or _prefix(own)
    cases = place.suite.cases.all_cases
    written = write(
        pool,
        {query: state for query, state in judged.items() if query not in dict(open_ones)},
        cases,
        prefix,
        own,
    )
    reasons = dict(open_ones)
    left_out = [(query, reasons.get(query, why)) for query, why in written.left_out]
    if written.amended and not args.amend:
        todo = "Say --amend; cases that change need a refreshed baseline."
        raise InputError(Problem(f"the pool '{pool.name}'", "adds pages to existing cases", todo))
    raise_all(_elsewhere(written, lines, shown))
    header = _header(place, pool, names, judges, lines)
    if written.rows or written.amended:
        text = _text(lines, header, written)
        path.parent.mkdir(parents=True, exist_ok=True)
        canonical.write_text(path, text, shown)
    _output.emit(f"{shown}: {len(written.rows)} new cases, {len(written.amended)} amended\n")
    gated = 0
    for row in written.rows:
        split = row.get("split") or split_of(row["id"])
        gated += split == "test"
        _output.emit(f"  {row['id']} ({terminal(row['kind'])}, {split}): {terminal(row['query'])}\n")
    if written.rows:
        _output.emit(f"  {gated} of {len(written.rows)} are gated (test), the others are for tuning (dev)\n")
    for query, why in left_out:
        _output.emit(f"  left out {query}: {terminal(why)}\n")
    if written.rows or written.amended:
        _output.emit(f"record what is true of them now: gate baseline {place.suite.name}\n")
    return 0


def _unchanged(place: Place, pool: Pool, *, accept: bool) -> None:
    """A page that changed since it was pooled may answer another question now."""
    hashes = place.suite.corpus.hashes
    changed = sorted(page for page, sha in pool.pages.items() if hashes.get(page) != sha)
    if changed and not accept:
        what = f"{len(changed)} of its pages changed since it was made ({', '.join(changed[:5])})"
        raise InputError(
            Problem(
                f"the pool '{pool.name}'", what, "Judge those again in a new pool, or say --accept-changed."
            )
        )


def _object(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _prefix(own: Sequence[str]) -> str:
    """The word before the number of the file's newest id."""
    for name in reversed(own):
        if found := re.fullmatch(r"(.+?)-\d+", name):
            return found[1]
    return "local"


def _header(
    place: Place, pool: Pool, names: Sequence[str], judges: Sequence[Any], lines: Sequence[str]
) -> dict[str, Any]:
    """The header row: the version raised, and how the labels came about. What the old one says of others stays."""
    old = next((row for row in map(_object, lines) if row is not None and "query" not in row), {})
    version = re.fullmatch(r"(.*?)(\d+)", str(old.get("version", "local-v0")))
    systems = read_systems(place, pool.name)
    pooled = sorted({name for found in systems.found.values() for which in found.values() for name in which})
    header = {
        **old,
        "version": f"{version[1]}{int(version[2]) + 1}" if version else "local-v1",
        "labelled_on": datetime.now(UTC).date().isoformat(),
        "pooled_from": sorted({*old.get("pooled_from", ()), *(_system(name) for name in pooled)}),
        "pool_depth": min(pool.depth, old.get("pool_depth", pool.depth)),
        "judges": sorted({*old.get("judges", ()), *names}),
    }
    if len(names) > 1:
        found = agreement(pool, names[:2], judges[0], judges[1])["kappa"]["grades, quadratic weights"]
        header["kappa"] = round(found["value"], 3) if found["value"] is not None else None
        header["kappa_of"] = list(names[:2])
    return header


def _system(name: str) -> str:
    return name if name in (KEYWORD_PAGES,) else f"{name}_chunks" if name == "keyword" else name


def _text(lines: Sequence[str], header: dict[str, Any], written: Written) -> str:
    """The file with its header renewed and new rows at its end. Every other line stays as it was, byte for byte."""
    kept = []
    for line in lines:
        row = _object(line)
        if row is not None and "query" not in row and row:
            continue
        gained = written.amended.get(row.get("id", "")) if row is not None else None
        kept.append(_dumps(_amended(row, gained)) if row is not None and gained is not None else line)
    return "\n".join([_dumps(header), *kept, *map(_dumps, written.rows)]) + "\n"


def _amended(row: dict[str, Any], gained: dict[str, Any]) -> dict[str, Any]:
    new = {**row, "relevant_doc_ids": [*row["relevant_doc_ids"], *gained["relevant"]]}
    grades = {
        **row.get("grades", {}),
        **{page: grade for page, grade in gained["relevant"].items() if grade != 1},
    }
    if grades:
        new["grades"] = grades
    if gained["rejected"]:
        new["not_relevant_doc_ids"] = [*row.get("not_relevant_doc_ids", ()), *gained["rejected"]]
    return new


def _elsewhere(written: Written, lines: Sequence[str], shown: str) -> list[Problem]:
    """Amended cases that are labelled in another file."""
    here = {row.get("id") for row in map(_object, lines) if row is not None}
    todo = "Write them with --to FILE."
    return [
        Problem(shown, f"does not hold the case '{case}', which gains pages", todo)
        for case in written.amended
        if case not in here
    ]


def _dumps(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)

"""Case files: JSONL with header rows, and BEIR folders. All that is wrong is raised together, with file and line."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gate.errors import InputError, Problem, did_you_mean, nearest, raise_all
from gate.model.case import SPLITS, Case, Split
from gate.model.fingerprint import nfc
from gate.store.jsonl import Form, Row, read_rows
from gate.store.text import DOC_ID_LIMIT, Closest, bad_id, read_text, told

GRADE_LIMIT = 1000
MIXED = "mixed"
KEYS = ("id", "query", "relevant_doc_ids", "kind", "grades", "not_relevant_doc_ids", "split", "fields")
NEEDED = ("id", "query", "relevant_doc_ids", "kind")
QUERIES, QRELS = "queries.jsonl", "qrels/test.tsv"

_LAST_DIGIT = re.compile(r"[0-9]\Z")


@dataclass(frozen=True)
class CaseSet:
    """The cases of the evaluated split in file order, all others beside them, and the header rows as written."""

    cases: tuple[Case, ...]
    all_cases: tuple[Case, ...]
    headers: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[str, ...] = ()


def load_cases(
    paths: Sequence[tuple[Path, str]],
    split: Split,
    pages: Collection[str],
    page_fields: Mapping[str, Mapping[str, str]],
    gone: Mapping[str, str] | None = None,
) -> CaseSet:
    """Read and check the case files of one suite.

    Args:
        paths: each file or BEIR folder, with the path that messages show.
        split: which cases become `CaseSet.cases`.
        pages: the doc_ids of the corpus; a label names one of them.
        page_fields: doc_id -> front matter; a case takes over what its relevant pages say.
        gone: doc_ids the base baseline knows and the corpus has no more; a label may name them.

    Raises:
        InputError: with every problem of every file.
    """
    loading = _Loading(
        pages if isinstance(pages, (set, frozenset, dict)) else set(pages), page_fields, gone or {}
    )
    read: dict[str, str] = {}
    for path, shown in paths:
        real = os.path.realpath(path)  # unlike Path.resolve, no fault for a link in a circle
        if real in read:
            loading.problems.append(Problem(shown, "is named twice among the case files", "Name it once."))
            continue
        read[real] = shown
        before = (len(loading.cases), len(loading.problems))
        try:
            (loading.beir if path.is_dir() else loading.jsonl)(path, shown)
        except InputError as fault:
            loading.problems.extend(fault.problems)
        if before == (len(loading.cases), len(loading.problems)):
            loading.problems.append(
                Problem(shown, "has no cases", "Label at least one query, or do not name the file.")
            )
    raise_all(loading.problems)
    every = tuple(loading.cases)
    chosen = every if split == "all" else tuple(case for case in every if case.split == split)
    if not chosen:
        raise InputError(_no_cases(paths, split, len(every)))
    return CaseSet(chosen, every, tuple(loading.headers), tuple(loading.notices))


def split_of(case_id: str) -> Literal["test", "dev"]:
    """The split of a case that names none: the number at the end of the id, even = test; else a stable hash of it."""
    case_id = nfc(case_id)
    last = _LAST_DIGIT.search(case_id)
    number = (
        int(last.group()) if last else hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).digest()[0]
    )
    return "dev" if number % 2 else "test"


def shared_fields(pages: Sequence[str], page_fields: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """For every key in the front matter of `pages`: its value where all of them say the same, else `mixed`."""
    known = [page_fields[page] for page in pages if page in page_fields]
    found = {}
    for key in dict.fromkeys(key for fields in known for key in fields):
        values = {fields.get(key) for fields in known}
        found[key] = (values.pop() or "") if len(values) == 1 else MIXED
    return found


def _no_cases(paths: Sequence[tuple[Path, str]], split: Split, others: int) -> Problem:
    where = ", ".join(shown for _, shown in paths) or "cases"
    if not others:
        return Problem(where, "no case file is named", "Name at least one.")
    other = "dev" if split == "test" else "test"
    verb = "is" if others == 1 else "are"
    return Problem(
        where,
        f"no case is in split '{split}' ({others} {verb} in '{other}')",
        f'Label cases with "split": "{split}", or evaluate another split.',
    )


@dataclass
class _Loading:
    """What has been read so far, over all files."""

    pages: Collection[str]
    page_fields: Mapping[str, Mapping[str, str]]
    gone: Mapping[str, str]
    cases: list[Case] = field(default_factory=list)
    headers: list[Mapping[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.closest = Closest(self.pages)

    def has_page(self, page: str) -> bool:
        return page in self.pages or page in self.gone

    def take(self, form: Form, case_id: str | None) -> None:
        """Note where an id stands; a second one is a problem that names both places."""
        if case_id is None:
            return
        first = self.places.setdefault(case_id, form.where)
        if first != form.where:
            form.add(f" is already in {first}", "Give one of them another id.")

    def jsonl(self, path: Path, shown: str) -> None:
        absent = 0
        for row in read_rows(path, shown, self.problems):
            if _is_header(row.value):
                self.headers.append(row.value)
                self.notices.extend(
                    f"{shown}:{row.line}: '{key}' in a header is not read. Write it on each case."
                    for key in KEYS
                    if key in row.value
                )
            else:
                absent += self.case(row, shown)
        self.rejected_elsewhere(shown, absent)

    def case(self, row: Row, shown: str) -> int:
        """One labelled row; returns how many of its rejected pages the corpus does not have."""
        form = Form(f"{shown}:{row.line}", row.value, "case", self.problems)
        case_id = form.id()
        self.take(form, case_id)
        form.keys(KEYS, NEEDED, 'Values of your own to slice by go into "fields".')
        query = form.text("query")
        relevant = form.page_ids("relevant_doc_ids", "labels", needed=True)
        kind = form.word("kind")
        grades = _grades(form, relevant)
        rejected = form.page_ids("not_relevant_doc_ids", "rejects") or ()
        split = self.split(form, case_id)
        for page in relevant or ():
            if not self.has_page(page):
                form.no_such_page("labels", page, self.closest)
            if page in rejected:
                form.add(f" labels '{page}' both relevant and not relevant")
        if relevant == ():
            form.add(": 'relevant_doc_ids' is empty", "Label at least one page, or remove the case.")
        own = form.fields()
        if not form.failed and case_id and query and relevant and kind:
            fields = {**shared_fields(relevant, self.page_fields), **own}
            labels = {page: grades.get(page, 1) for page in relevant}
            self.cases.append(Case(case_id, query, labels, kind, split, rejected, fields, shown, row.line))
        return sum(not self.has_page(page) for page in rejected)

    def split(self, form: Form, case_id: str | None) -> str:
        if "split" not in form.value:
            return split_of(case_id or "")
        found = form.value["split"]
        if found in ("test", "dev"):
            return str(found)
        known = [name for name in SPLITS if name != "all"]
        near = did_you_mean(found, known) if isinstance(found, str) else "Known: 'test', 'dev'."
        form.add(f": 'split' is {told(found)}, not one a case can have", near)
        return "test"

    def rejected_elsewhere(self, shown: str, absent: int) -> None:
        if absent:
            noun, verb = ("page", "is") if absent == 1 else ("pages", "are")
            self.notices.append(
                f"{shown}: {absent} rejected {noun} {verb} not in the corpus; nothing depends on them."
            )

    def beir(self, folder: Path, shown: str) -> None:
        lacking = [name for name in (QUERIES, QRELS) if not (folder / name).exists()]
        if lacking:
            todo = f"Name a .jsonl file, or a folder with {QUERIES} and {QRELS}."
            self.problems.append(Problem(shown, f"is a folder without {' and '.join(lacking)}", todo))
            return
        queries = self.queries(folder / QUERIES, f"{shown}/{QUERIES}")
        judged = self.qrels(folder / QRELS, f"{shown}/{QRELS}", queries)
        idle = 0
        for query_id, (form, row) in queries.items():
            grades = {page: grade for page, grade in judged.get(query_id, {}).items() if grade > 0}
            rejected = tuple(page for page, grade in judged.get(query_id, {}).items() if grade <= 0)
            if not grades:
                idle += 1
                continue
            self.take(form, query_id)
            query = form.text("text")
            metadata = row.value.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            kind = Form(form.where, {"kind": "all", **metadata, **row.value}, "case", self.problems).word(
                "kind"
            )
            if form.failed or query is None or kind is None:
                continue
            own = {nfc(key): nfc(value) for key, value in _metadata(row).items() if isinstance(value, str)}
            fields = {**shared_fields(tuple(grades), self.page_fields), **own}
            source = f"{shown}/{QUERIES}"
            self.cases.append(Case(query_id, query, grades, kind, "test", rejected, fields, source, row.line))
        if idle:
            verb = "has" if idle == 1 else "have"
            self.notices.append(
                f"{shown}: {idle} of {len(queries)} queries {verb} no positive grade in {QRELS}; no case was made of "
                f"{'it' if idle == 1 else 'them'}."
            )

    def queries(self, path: Path, shown: str) -> dict[str, tuple[Form, Row]]:
        """Query id -> its row, of a BEIR `queries.jsonl`. Other keys than ours are left alone."""
        found: dict[str, tuple[Form, Row]] = {}
        for row in read_rows(path, shown, self.problems):
            value = {"kind": _metadata(row).get("kind", "all"), **row.value}
            form = Form(f"{shown}:{row.line}", value, "case", self.problems)
            query_id = form.id("_id")
            if query_id is None:
                continue
            if query_id in found:
                form.add(f" is already in {found[query_id][0].where}", "Give one of them another id.")
            else:
                found[query_id] = (form, row)
        return found

    def qrels(self, path: Path, shown: str, queries: Collection[str]) -> dict[str, dict[str, int]]:
        """Query id -> page -> grade, of a BEIR `qrels/test.tsv` with or without its header line."""
        judged: dict[str, dict[str, int]] = {}
        closest = Closest(queries)
        first, absent = True, 0
        for number, line in enumerate(read_text(path, shown).split("\n"), 1):
            if not line.strip():
                continue
            where = f"{shown}:{number}"
            parts = [part.strip() for part in line.split("\t")]
            if (
                first
                and len(parts) == 3
                and parts[2].casefold() in {"score", "grade", "relevance", "rel", "label"}
            ):
                first = False
                continue
            first = False
            grade = _grade_of(parts, where, self.problems)
            if grade is None:
                continue
            query_id, page = nfc(parts[0]), nfc(parts[1])
            grades = judged.setdefault(query_id, {})
            if query_id not in queries:
                what = f"judges query '{query_id}', which {QUERIES} does not have"
                self.problems.append(Problem(where, what, closest(query_id)))
            elif page in grades:
                self.problems.append(Problem(where, f"case '{query_id}' labels '{page}' twice"))
            elif grade > 0 and not self.has_page(page):
                what = f"case '{query_id}' labels '{page}', no such page"
                self.problems.append(Problem(where, what, self.closest(page)))
            absent += grade <= 0 and not self.has_page(page)
            grades.setdefault(page, grade)
        self.rejected_elsewhere(shown, absent)
        return judged


def _metadata(row: Row) -> dict[str, Any]:
    found = row.value.get("metadata")
    return found if isinstance(found, dict) else {}


def _is_header(value: Mapping[str, Any]) -> bool:
    """A row about the file: no query and no labels, and nothing that looks like a case with a key misspelt."""
    if "query" in value or "relevant_doc_ids" in value:
        return False
    if "version" in value:
        return True
    if not value or "id" in value:
        return False
    return not any(
        key.casefold() in {"_id", "id", "qid", "case_id", "question", "text"} or nearest(key, NEEDED[1:3])
        for key in value
    )


def _grades(form: Form, relevant: Collection[str] | None) -> dict[str, int]:
    found = form.value.get("grades", {})
    if not isinstance(found, dict):
        form.add(f": 'grades' is not an object ({told(found)})", 'Write it as {"page-id": 2}.')
        return {}
    grades: dict[str, int] = {}
    for name, grade in found.items():
        page = nfc(name)
        if page in grades:
            form.add(f" grades '{page}' twice")
        elif relevant is not None and page not in relevant:
            form.add(
                f" grades '{page}', which is not among its relevant_doc_ids", "Label it, or drop the grade."
            )
        elif type(grade) is not int or not 1 <= grade <= GRADE_LIMIT:
            form.add(
                f": the grade of '{page}' is not a whole number from 1 to {GRADE_LIMIT} ({told(grade)})",
                'A page that is judged and rejected belongs in "not_relevant_doc_ids".' if grade == 0 else "",
            )
        else:
            grades[page] = grade
    return grades


def _grade_of(parts: Sequence[str], where: str, problems: list[Problem]) -> int | None:
    """The grade of one qrels line, or None and what is wrong with the line."""
    todo = "Write query-id, corpus-id and score, with tabs between."
    if len(parts) != 3:
        problems.append(Problem(where, f"does not have 3 columns ({len(parts)})", todo))
        return None
    reason = bad_id(parts[0]) or bad_id(parts[1], DOC_ID_LIMIT)
    if reason:
        problems.append(Problem(where, f"an id {reason}", todo))
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,6}", parts[2]) or int(parts[2]) > GRADE_LIMIT:
        problems.append(
            Problem(where, f"the score is not a whole number up to {GRADE_LIMIT} ({told(parts[2])})", todo)
        )
        return None
    return int(parts[2])

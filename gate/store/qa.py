"""QA gold: questions with their answers and the pages that hold them. All that is wrong is raised together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from gate.errors import Problem, raise_all
from gate.model.case import QaCase
from gate.store.jsonl import Form, Row, read_rows
from gate.store.text import Closest, is_blank, told

KEYS = ("id", "question", "answer", "citations", "applies_to")
NEEDED = ("id", "question", "answer")


def load_qa(
    path: Path, shown: str, pages: Collection[str], gone: Mapping[str, str] | None = None
) -> tuple[QaCase, ...]:
    """Read and check a QA gold file, in file order.

    A question without citations is unanswerable; its answer may be blank or absent. `gone` are pages the base
    baseline knows and the corpus has no more; a citation may name them.

    Raises:
        InputError: with every problem of the file.
    """
    problems: list[Problem] = []
    found: list[QaCase] = []
    places: dict[str, str] = {}
    known = {*pages, *(gone or {})}
    closest = Closest(pages)
    for row in read_rows(path, shown, problems):
        if "version" in row.value and not {"id", "question", "citations"} & row.value.keys():
            continue
        form = Form(f"{shown}:{row.line}", row.value, "question", problems)
        question_id = form.id()
        first = places.setdefault(question_id, form.where) if question_id else form.where
        if first != form.where:
            form.add(f" is already in {first}", "Give one of them another id.")
        question = _question(form, question_id, row, shown, known=known, closest=closest)
        if question is not None:
            found.append(question)
    if not found and not problems:
        problems.append(Problem(shown, "has no questions", "Write at least one, or do not name the file."))
    raise_all(problems)
    return tuple(found)


def _question(
    form: Form, question_id: str | None, row: Row, shown: str, *, known: Collection[str], closest: Closest
) -> QaCase | None:
    form.keys(KEYS, NEEDED)
    question = form.text("question")
    citations = form.page_ids("citations", "cites")
    for page in citations or ():
        if page not in known:
            form.no_such_page("cites", page, closest)
    answer = _answer(form, answerable=bool(row.value.get("citations")))
    applies_to = form.word("applies_to", needed=False) or "all"
    if form.failed or question_id is None or question is None or citations is None or answer is None:
        return None
    return QaCase(question_id, question, answer, citations, applies_to, shown, row.line)


def _answer(form: Form, *, answerable: bool) -> str | None:
    given = form.value.get("answer")
    if not answerable and (given is None or (isinstance(given, str) and is_blank(given))):
        return ""
    if given is not None and not isinstance(given, str):
        form.add(f": 'answer' is not a string ({told(given)})")
        return None
    return form.text("answer")

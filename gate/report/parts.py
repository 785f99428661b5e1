"""What a view is made of: frozen values that hold nothing but strings, ready to print. Templates only loop over them."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

Row = TypeVar("Row")


class Section(NamedTuple, Generic[Row]):
    """A part of a report: a title, a sentence before it, its rows, notes after it.

    Where rows are cells, `head` and `align` (left or right) describe the columns. `left_out` says how many rows do
    not stand here, and where they are.
    """

    title: str = ""
    intro: str = ""
    head: tuple[str, ...] = ()
    align: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: str = ""

    def __bool__(self) -> bool:
        return bool(self.rows or self.left_out)


Cells = tuple[str, ...]


class Note(NamedTuple):
    """A finding: what is so, and what to do about it."""

    text: str
    todo: str = ""


class PageLine(NamedTuple):
    """One relevant page of a moved case: its rank before and now, and why."""

    page: str
    rank: str
    why: str


class Moved(NamedTuple):
    """A lost or won case under one arm. `remark` holds what excuses it: accepted, already lost, shown only."""

    case: str
    query: str
    kind: str
    arm: str
    score: str
    pages: tuple[PageLine, ...]
    remark: str = ""


class Miss(NamedTuple):
    """A case with a relevant page outside the top k, and what came back instead."""

    arm: str
    case: str
    kind: str
    query: str
    missing: str
    instead: str


class Added(NamedTuple):
    """A case that the baseline does not have, and what each arm did with it."""

    case: str
    kind: str
    query: str
    outcome: str


class SuiteView(NamedTuple):
    """One suite for one medium. Every string is escaped for that medium already.

    `brief` stands for the sections that a console leaves out where nothing moved.
    """

    suite: str
    mark: str
    word: str
    verdict: str
    lead: str
    resolved: str = ""
    counts: str = ""
    metric: str = ""
    behind: Section[Note] = Section()
    banners: Section[Note] = Section()
    faults: Section[Note] = Section()
    changes: Section[str] = Section()
    board: Section[Cells] = Section()
    failures: Section[Cells] = Section()
    lost: Section[Moved] = Section()
    picture: Section[Cells] = Section()
    next_step: str = ""
    won: Section[Moved] = Section()
    misses: Section[Miss] = Section()
    added: Section[Added] = Section()
    diagnosis: Section[Cells] = Section()
    question_moves: Section[Cells] = Section()
    sweep: Section[Cells] = Section()
    slices: Section[Cells] = Section()
    sure: Section[Cells] = Section()
    remarks: Section[Note] = Section()
    provenance: Section[Cells] = Section()
    brief: str = ""


class RunView(NamedTuple):
    """The whole run: one line per suite, and the suites."""

    mark: str
    word: str
    suites: tuple[SuiteView, ...]


class SystemsView(NamedTuple):
    """Several systems on the same cases, in one table."""

    title: str
    board: Section[Cells]

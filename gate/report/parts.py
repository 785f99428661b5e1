"""What a view is made of: frozen values that hold nothing but strings, ready to print. Templates only loop over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Section(Generic[Row]):
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


@dataclass(frozen=True, slots=True)
class Note:
    """A finding: what is so, and what to do about it."""

    text: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class PageLine:
    """One relevant page of a moved case: its rank before and now, and why."""

    page: str
    rank: str
    why: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A lost or won case under one arm. `remark` holds what excuses it: accepted, already lost, shown only."""

    case: str
    query: str
    kind: str
    arm: str
    score: str
    pages: tuple[PageLine, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Miss:
    """A case with a relevant page outside the top k, and what came back instead."""

    arm: str
    case: str
    kind: str
    query: str
    missing: str
    instead: str


@dataclass(frozen=True, slots=True)
class Added:
    """A case that the baseline does not have, and what each arm did with it."""

    case: str
    kind: str
    query: str
    outcome: str


@dataclass(frozen=True, slots=True)
class SuiteView:
    """One suite for one medium. Every string is escaped for that medium already."""

    suite: str
    mark: str
    word: str
    verdict: str
    lead: str
    resolved: str = ""
    counts: str = ""
    metric: str = ""
    banners: Section[Note] = field(default_factory=Section)
    faults: Section[Note] = field(default_factory=Section)
    changes: Section[str] = field(default_factory=Section)
    board: Section[Cells] = field(default_factory=Section)
    failures: Section[Cells] = field(default_factory=Section)
    lost: Section[Moved] = field(default_factory=Section)
    next_step: str = ""
    won: Section[Moved] = field(default_factory=Section)
    misses: Section[Miss] = field(default_factory=Section)
    added: Section[Added] = field(default_factory=Section)
    diagnosis: Section[Cells] = field(default_factory=Section)
    question_moves: Section[Cells] = field(default_factory=Section)
    sweep: Section[Cells] = field(default_factory=Section)
    slices: Section[Cells] = field(default_factory=Section)
    sure: Section[Cells] = field(default_factory=Section)
    remarks: Section[Note] = field(default_factory=Section)
    provenance: Section[Cells] = field(default_factory=Section)


@dataclass(frozen=True, slots=True)
class RunView:
    """The whole run: one line per suite, and the suites."""

    mark: str
    word: str
    suites: tuple[SuiteView, ...]


@dataclass(frozen=True, slots=True)
class SystemsView:
    """Several systems on the same cases, in one table."""

    title: str
    board: Section[Cells]

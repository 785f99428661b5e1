"""Edited pages that answer cases and say less than on the base, although nothing was lost: a page can still be found
when the passage that answered is gone, and no ranking tells that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from gate.commands._load import Suite
from gate.commands._project import Project
from gate.corpus.front_matter import split
from gate.corpus.headings import headings
from gate.errors import GateError
from gate.model.comparison import ArmComparison
from gate.model.page import Page
from gate.model.verdict import Finding, Level
from gate.model.wording import listed
from gate.situation import Situation

_NAMED = 3
_IDS = 6
_READ = 10
"""How many pages are looked at. Each costs two questions to git; who edits more of them at once knows that he does."""


class Users(NamedTuple):
    """Who relies on a page: the cases that label it and the questions that cite it."""

    cases: list[str]
    questions: list[str]

    def __str__(self) -> str:
        said = [f"it answers {listed(self.cases, _IDS)}"] if self.cases else []
        if self.questions:
            verb = "cites" if len(self.questions) == 1 else "cite"
            said.append(f"{listed(self.questions, _IDS)} {verb} it")
        return ", and ".join(said)


def shortened(project: Project, suite: Suite, situation: Situation) -> Iterator[Finding]:
    """One notice that names a few of them. Without the base's text of a page nothing is said of it."""
    base, here = project.base, suite.settings.corpus
    if base is None or suite.base is None or suite.corpus.chunker != "heading":
        return
    if suite.base.settings.corpus != here:
        return
    users, told = _users(suite), _lost_pages(situation.arms)
    edited = [page for page in situation.pages.edited if page in users and page not in told]
    found: dict[str, str] = {}
    for name in edited[:_READ]:
        page = suite.corpus.by_id[name]
        with suppress(GateError):
            before = base.read(page.path)
            if before is not None and (how := _less(page, before)):
                found[name] = how
    if found:
        said = listed(
            [f"{name} was edited and {how}; {users[name]}" for name, how in found.items()], _NAMED, "; "
        )
        yield Finding(
            level=Level.NOTICE,
            code="answering-page-shorter",
            text=said,
            todo="Nothing was lost by it; look whether the passage that answers is still there.",
        )


def _users(suite: Suite) -> dict[str, Users]:
    found: dict[str, Users] = {}
    for case in suite.cases.cases:
        for page in case.grades:
            found.setdefault(page, Users([], [])).cases.append(case.id)
    for question in suite.questions or ():
        for page in dict.fromkeys(question.citations):
            found.setdefault(page, Users([], [])).questions.append(question.id)
    return found


def _lost_pages(arms: Mapping[str, ArmComparison]) -> set[str]:
    """The pages that the lost cases name already."""
    return {page.doc_id for arm in arms.values() for move in arm.lost for page in move.pages if page.fell}


def _less(page: Page, before: str) -> str:
    """What it has less of than before: words, or a heading. A word put in the place of another is neither."""
    _, body = split(before, page.path, [])
    if len(page.text.split()) < len(body.split()):
        return "is shorter now"
    gone = {one.title for one in headings(body)} - {one.title for one in headings(page.text)}
    return "lost a heading" if gone else ""

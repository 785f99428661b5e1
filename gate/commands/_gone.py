"""Labelled pages that are not there any more: which lines name them, and what git says became of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from gate.commands._load import Suite
from gate.errors import Problem
from gate.model.case import Case, QaCase
from gate.model.page import Corpus
from gate.model.verdict import Finding, Level
from gate.model.wording import listed, plural
from gate.store import git

_NAMED = 8


class GoneLabel(NamedTuple):
    """One label, of any split or of the QA gold, that names a page which the corpus has no more."""

    where: str
    said: str
    page: str

    def __str__(self) -> str:
        return f"{self.where} {self.said}"


def gone_labels(
    cases: Iterable[Case], questions: Iterable[QaCase], pages: Mapping[str, object]
) -> list[GoneLabel]:
    """Every label and citation that names a page beside `pages`, in file order."""
    found = [
        GoneLabel(_place(case.source, case.line), f"case '{case.id}' labels '{page}'", page)
        for case in cases
        for page in case.grades
        if page not in pages
    ]
    found += [
        GoneLabel(_place(question.source, question.line), f"question '{question.id}' cites '{page}'", page)
        for question in questions
        for page in question.citations
        if page not in pages
    ]
    return found


def gone_labels_of(suite: Suite) -> list[GoneLabel]:
    """Those of a loaded suite."""
    return gone_labels(suite.cases.all_cases, suite.questions or (), suite.corpus.by_id)


def _place(source: str, line: int) -> str:
    return f"{source}:{line}" if line else source


def refused(gone: Sequence[GoneLabel], renamed: Mapping[str, str]) -> list[Problem]:
    """Why no baseline is recorded: without the page in it, no later run could tell that the label ever named one."""
    return [
        Problem(
            label.where,
            f"{label.said}, a page that is gone",
            f"It is '{renamed[label.page]}' now: rename the label."
            if label.page in renamed
            else "Change or remove the label; no baseline is recorded before.",
        )
        for label in gone
    ]


def gone_findings(suite: Suite, recorded: Mapping[str, str] | None) -> Iterator[Finding]:
    """What a run says about labels of gone pages. `recorded`: the pages of the baseline that the change brings."""
    gone = gone_labels_of(suite)
    if not gone:
        return
    pages = list(dict.fromkeys(label.page for label in gone))
    yield Finding(
        level=Level.WARNING,
        code="labelled-page-gone",
        text=f"{len(pages)} labelled page{'s are' if len(pages) > 1 else ' is'} gone ({listed(pages, _NAMED)}): {listed(gone, _NAMED)}",
        todo="They are measured as missing. Change or remove these labels, or bring the pages back.",
    )
    lost = [label for label in gone if recorded is not None and label.page not in recorded]
    if lost:
        yield Finding(
            level=Level.INVALID,
            code="labels-without-page",
            text=f"the new baseline does not have the page of {plural(len(lost), 'label')}: "
            f"{listed(lost, _NAMED)}; once it is merged, no run could start",
            todo=f"Change or remove them, then record again with 'gate baseline {suite.name}'.",
        )


def page_renames(base: git.Base | None, folder: str, corpus: Corpus, known: Iterable[str]) -> dict[str, str]:
    """Old -> new doc_id of the Markdown pages below `folder` that git sees as renamed since `base`.

    `known`: the pages of the baseline; git is only asked where one of them is gone.
    """
    if base is None or corpus.chunker != "heading" or not set(known) - corpus.by_id.keys():
        return {}
    return {_doc_id(old): _doc_id(new) for old, new in base.renames(folder).items()}


def _doc_id(path: str) -> str:
    return PurePosixPath(path).with_suffix("").as_posix()

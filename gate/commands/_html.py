"""The run as an HTML page: what the report lacks for it (rankings before, texts, history) is gathered here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gate.commands._load import Suite
    from gate.commands._measure import Workshop
    from gate.commands._pipeline import Outcome
    from gate.model.history import History
    from gate.model.measurement import Measurement
    from gate.report.html_cases import Texts

VERSIONS = 30
_WORDS = re.compile(r"\w+")


def write_page(target: str, outcome: Outcome, before: dict[str, Measurement] | None = None) -> None:
    """Write the page to the file `target`. `before` stands in for the suites' baselines (--against)."""
    from pathlib import Path

    from gate.report.html import page
    from gate.store import canonical

    texts = {
        name: suite_texts(
            suite,
            outcome.workshops[name],
            _as_compared((before or {}).get(name) or suite.trusted, suite, outcome),
        )
        for name, suite in outcome.suites.items()
        if name in outcome.workshops
    }
    history = {}
    for name in outcome.suites:
        if (found := _history(outcome, name)) is not None:
            history[name] = found
    canonical.write_text(Path(target), page(outcome.report, texts, history), target)


def _as_compared(before: Measurement | None, suite: Suite, outcome: Outcome) -> Measurement | None:
    """`before` under the settings of this run, as the comparison beside it: a k of its own would make other numbers."""
    from gate.rescoring import under

    if before is None:
        return None
    return under(before, suite.settings.meaning, outcome.project.metrics) or before


def suite_texts(suite: Suite, workshop: Workshop, before: Measurement | None) -> Texts:
    """The rankings before, the pages' titles, and the texts of the chunks."""
    from gate.report.html_cases import Texts

    titles = {page.doc_id: page.title for page in suite.corpus.pages}
    return Texts(before, excerpts(suite, workshop), titles)


def excerpts(suite: Suite, workshop: Workshop) -> Callable[[str, str, str], str]:
    """(arm, case, page) -> the chunk of that page that shares most words with the query, the first of equals.

    A report keeps where a page's best chunk ranked, not which one it was; this is the one a reader looks for.
    """
    queries = {case.id: case.query for case in suite.cases.cases}
    by_page: dict[str, dict[str, list[tuple[str, frozenset[str]]]]] = {}

    def pages_of(arm: str) -> dict[str, list[tuple[str, frozenset[str]]]]:
        if arm not in by_page:
            cut = by_page[arm] = {}
            for chunk in workshop.chunks(getattr(workshop.settings.get(arm), "chunker", None)):
                cut.setdefault(chunk.doc_id, []).append((chunk.text, frozenset(_words(chunk.text))))
        return by_page[arm]

    def excerpt(arm: str, case: str, page: str) -> str:
        chunks = pages_of(arm).get(page, [])
        wanted = frozenset(_words(queries.get(case, "")))
        return max(chunks, key=lambda one: len(wanted & one[1]), default=("", frozenset[str]()))[0]

    return excerpt


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _history(outcome: Outcome, suite: str) -> History | None:
    """The committed baselines, where this is a repository that has some."""
    from gate.commands.history import read_history
    from gate.errors import InputError

    try:
        base = outcome.project.base
        ref = base.commit if base is not None else "HEAD"
        metric = outcome.suites[suite].settings.policy.metrics[0]
        return read_history(outcome.project, suite, ref, VERSIONS, metric)
    except InputError:
        return None  # no repository, or no baseline in it yet

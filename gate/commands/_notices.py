"""What a reader has to know of a suite beside the comparison: gone pages, odd queries, thin labels, ties, doubt."""

from __future__ import annotations

from collections.abc import Iterator

from gate.commands._gone import gone_findings
from gate.commands._load import Suite
from gate.commands._measure import Measured
from gate.labelling.lint import shallow
from gate.model.run import Run
from gate.model.verdict import Finding, Level
from gate.model.wording import listed
from gate.noise import flaky_pairs, moved_questions, unstable_findings
from gate.report.flaky import tie_findings
from gate.situation import Situation


def notices(suite: Suite, measured: Measured, run: Run, situation: Situation) -> Iterator[Finding]:
    """All of them, for a run that compares and for one that only measures."""
    yield from gone_findings(suite, run.brings.pages if run.brings is not None else None)
    for text in suite.cases.notices:
        yield Finding(level=Level.NOTICE, code="cases", text=text)
    for text in shallow(suite.cases.headers, suite.settings.k):
        yield Finding(level=Level.NOTICE, code="pool-depth", text=text)
    yield from unstable_findings(run.now, flaky_pairs(situation.arms))
    for other in measured.again:
        yield from moved_questions(measured.now, other.now)
    yield from _query_notices(measured)
    yield from tie_findings(measured.tied, run.now.settings.k)


def _query_notices(measured: Measured) -> Iterator[Finding]:
    """Queries in which an arm finds no word to search for score 0; say so, since nobody would guess it."""
    for name, empty in measured.without_tokens.items():
        yield Finding(
            level=Level.NOTICE,
            code="query-without-tokens",
            arm=name,
            cases=empty,
            text=f"{name}: {len(empty)} quer{'y has' if len(empty) == 1 else 'ies have'} no token and score 0 "
            f"({listed(empty, 8)})",
            todo="The unicode tokenizer reads other scripts.",
        )
    for name, pages in measured.unknown_pages.items():
        yield Finding(
            level=Level.WARNING,
            code="unknown-pages",
            arm=name,
            text=f"{name}: {len(pages)} returned page{'s are' if len(pages) > 1 else ' is'} not in the corpus "
            f"({listed(pages, 8)})",
            todo="They count as not relevant. Is its index of another corpus?",
        )
    k = measured.now.settings.k
    for name, arm in measured.now.arms.items():
        short = [case for case, row in arm.rows.items() if len(row.ranked) < k]
        if short:
            yield Finding(
                level=Level.NOTICE,
                code="fewer-pages-than-k",
                arm=name,
                cases=tuple(short),
                text=f"{name}: {len(short)} quer{'y' if len(short) == 1 else 'ies'} found fewer than {k} pages "
                f"({listed(short, 8)})",
            )

"""The table of all cases as plain values for the page's script, made smaller until they fit.

`value` of a suite: `pages` are (doc_id, title, what became of it); `cases` are (id, kind, query, source, relevant); `rows`
are [arm, case, before, now, outcome, note, pool now, pool before, texts]. Pools hold positions in `pages`; texts hold, for
each page of the pool now, a position in `texts` or -1. What a row lacks is left off its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gate.model.comparison import DUST, ArmComparison, CaseMove
from gate.model.measurement import Measurement
from gate.model.report import CaseRow, SuiteReport
from gate.report import escape
from gate.report.numbers import arrow, pair
from gate.report.titles import of_row

EXCERPT = 240
_QUERY = 300
_TEXTS_BEYOND_K = 3


class Texts(NamedTuple):
    """What a report alone does not hold. `before`: the baseline that decided. `excerpt(arm, case, page)`: the text of
    the chunk for which a page was returned, empty where it is not known. `titles`: doc_id -> title.
    """

    before: Measurement | None = None
    excerpt: Callable[[str, str, str], str] | None = None
    titles: Mapping[str, str] | None = None


class Cases(NamedTuple):
    """The values, and what was left out of them in words; empty where nothing was."""

    value: dict[str, Any]
    shortened: str = ""


# What is left out first. Each step keeps what the one before it left out.
_STEPS = (
    "",
    "only cases that were lost, won or missed carry texts",
    "only lost and won cases carry texts",
    "unchanged cases carry no pools",
    "unchanged cases carry ids only",
    "unchanged cases carry ids only, and no case carries texts",
)


def suite_cases(suite: SuiteReport, texts: Texts | None, budget: int) -> Cases:
    """The cases of a suite in at most `budget` bytes of JSON, as far as leaving things out goes."""
    made = Cases({})
    for step, said in enumerate(_STEPS):
        made = Cases(_Builder(suite, texts or Texts(), step).value(), said)
        if len(json.dumps(made.value, ensure_ascii=False, separators=(",", ":")).encode()) <= budget:
            break
    return made


class _Builder:
    def __init__(self, suite: SuiteReport, texts: Texts, step: int) -> None:
        self._suite, self._texts, self._step = suite, texts, step
        self._pages: dict[str, int] = {}
        self._snippets: dict[str, int] = {}
        self._seen: dict[str, int] = {}

    def value(self) -> dict[str, Any]:
        suite = self._suite
        arms = list(suite.arms)
        ids = {name: position for position, name in enumerate(suite.labels)}
        rows: list[list[Any]] = []
        told = set()
        for position, name in enumerate(arms):
            moves = _moves(suite.comparison.get(name))
            for row in suite.arms[name].cases:
                made = self._row(name, row, moves)
                rows.append([position, ids[row.id], *made])
                if len(made) > 4 or made[2] != "tie":
                    told.add(row.id)
            for case, reason in suite.arms[name].failed.items():
                if case in ids:
                    rows.append([position, ids[case], None, None, "unmeasured", escape.terminal(reason, 200)])
                    told.add(case)
        kinds = list(dict.fromkeys(label.kind for label in suite.labels.values()))
        cases = []
        for name, label in suite.labels.items():
            full = self._step < 4 or name in told
            source = suite.sources.get(name)
            cases.append(
                [
                    escape.terminal(name, 120),
                    kinds.index(label.kind),
                    escape.terminal(label.query, _QUERY) if full else "",
                    f"{source.file}:{source.line}" if source is not None and full else "",
                    [[self._page(page), grade] for page, grade in label.relevant.items()] if full else [],
                ]
            )
        return {
            "k": suite.k,
            "pool": suite.pool,
            "metric": of_row(suite.metrics[0], suite.k).title,
            "arms": [escape.terminal(name, 80) for name in arms],
            "kinds": [escape.terminal(kind, 80) for kind in kinds],
            "cases": cases,
            "rows": rows,
            "texts": list(self._snippets),
            "pages": self._page_rows(),
        }

    def _page(self, name: str) -> int:
        return self._pages.setdefault(name, len(self._pages))

    def _page_rows(self) -> list[list[str]]:
        changes = self._suite.page_changes
        states = dict.fromkeys(changes.edited, "edited") | dict.fromkeys(changes.added, "new")
        states |= dict.fromkeys(changes.removed, "deleted") | dict.fromkeys(changes.renamed, "renamed away")
        states |= {new: f"renamed from {escape.terminal(old, 80)}" for old, new in changes.renamed.items()}
        titles = self._texts.titles or {}
        return [
            [
                escape.terminal(name, 120),
                escape.terminal(titles.get(name, ""), 120) if titles.get(name) else "",
                states.get(name, ""),
            ]
            for name in self._pages
        ]

    def _row(self, arm: str, row: CaseRow, moves: Mapping[str, CaseMove]) -> list[Any]:
        """[before, now, outcome, note, pool now, pool before, texts] without what is left out at the end."""
        metric = self._suite.metrics[0]
        now = row.scores.get(metric)
        recorded = self._before(arm, row.id)
        before = recorded[0].get(metric) if recorded is not None else None
        move = moves.get(row.id)
        outcome = self._outcome(arm, row, recorded[0] if recorded is not None else None, move)
        note = ", ".join([*self._other_metrics(move), *_remarks(move, row)])
        made: list[Any] = [before, now, outcome, note]
        moved = outcome in ("lost", "won") or move is not None
        if self._step >= 3 and not moved:
            return made
        pool = [self._page(page) for page in row.ranked]
        made.append(pool)
        earlier = [self._page(page) for page in recorded[1]] if recorded is not None else None
        made.append(0 if earlier == pool else earlier)
        wanted = moved or (self._step < 2 and bool(row.missing)) or self._step < 1
        if wanted and self._step < 5 and self._texts.excerpt is not None:
            made.append(
                [self._snippet(arm, row.id, page) for page in row.ranked[: self._suite.k + _TEXTS_BEYOND_K]]
            )
        return made

    def _outcome(
        self, arm: str, row: CaseRow, before: Mapping[str, float] | None, move: CaseMove | None
    ) -> str:
        """What the comparison says of a case; where the arm was not compared, what its scores say."""
        if move is not None:
            return "lost" if move.lost else "won"
        if self._suite.metrics[0] not in row.scores:
            return "unmeasured"
        if before is None:
            return "new"
        if arm in self._suite.comparison:
            return "tie"
        pairs = {
            metric: (before[metric], row.scores[metric])
            for metric in self._suite.metrics
            if metric in before and metric in row.scores
        }
        alone = CaseMove(id=row.id, kind=row.kind, query=row.query, scores=pairs)
        return "lost" if alone.lost else "won" if alone.won else "tie"

    def _other_metrics(self, move: CaseMove | None) -> list[str]:
        """What moved on the metrics for which the table has no column."""
        scores = move.scores if move is not None else {}
        pairs = {row: scores[row] for row in self._suite.metrics[1:] if row in scores}
        return [
            f"{escape.terminal(of_row(row, self._suite.k).title, 40)} {arrow(*pair(was, now))}"
            for row, (was, now) in pairs.items()
            if abs(now - was) > DUST
        ]

    def _before(self, arm: str, case: str) -> tuple[Mapping[str, float], Sequence[str]] | None:
        """(scores, ranking) in the baseline, for a case that it has under the same label."""
        before = self._texts.before
        if before is None or arm not in before.arms or case not in before.cases:
            return None
        if before.cases[case].sha256 != self._suite.labels[case].sha256 or case not in before.arms[arm].rows:
            return None
        row = before.arms[arm].rows[case]
        return row.scores, row.ranked

    def _snippet(self, arm: str, case: str, page: str) -> int:
        assert self._texts.excerpt is not None
        text = self._texts.excerpt(arm, case, page)[: EXCERPT + 1]
        if text not in self._seen:  # escaping a text costs far more than looking it up
            shown = escape.terminal(text, EXCERPT)
            new = self._snippets.setdefault(shown, len(self._snippets)) if text.strip() else -1
            self._seen[text] = new
        return self._seen[text]


def _moves(comparison: ArmComparison | None) -> dict[str, CaseMove]:
    if comparison is None:
        return {}
    return {move.id: move for move in (*comparison.lost, *comparison.won)}


def _remarks(move: CaseMove | None, row: CaseRow) -> list[str]:
    """What else is to be said of a row, in a word or two each."""
    said = []
    if move is not None and move.accepted:
        said.append("accepted")
    if move is not None and move.flaky:
        said.append("flaky")
    if move is not None and move.already_lost:
        said.append("already lost on the base")
    if row.missing:
        said.append("miss")
    return said

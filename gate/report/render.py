"""Views through templates: the pull-request comment, the job summary, the console, and several systems side by side.

The only module beside `loading` that imports jinja2; import it where something is rendered. The head of a report
(marker, verdict, counts, banners) is rendered by itself from the built-in template and checked afterwards, so that no
override can change it. Rendering the same report gives the same bytes.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, TemplateError

from gate.errors import InputError, Problem
from gate.model.report import Report, SuiteReport
from gate.model.verdict import Verdict
from gate.model.wording import plural
from gate.report.loading import environment
from gate.report.medium import MARKDOWN, TERMINAL, Medium
from gate.report.parts import Section, SuiteView
from gate.report.systems import System, systems_view
from gate.report.view import in_brief, run_view, suite_view

BUDGET = 65_000
SUMMARY_BUDGET = 1_000_000

# What is shortened first when a report is over its budget, and how many rows of it always stay.
_SHRINK = (
    ("slices", 0),
    ("sweep", 0),
    ("misses", 0),
    ("won", 0),
    ("question_moves", 0),
    ("diagnosis", 0),
    ("sure", 0),
    ("picture", 0),
    ("provenance", 8),
    ("remarks", 3),
    ("added", 3),
    ("failures", 3),
    ("lost", 10),
    ("changes", 3),
    ("board", 20),
    ("lost", 3),
    ("banners", 3),
    ("faults", 3),
)
_SCREEN = 24
_PAINT = {"pass": "green", "partial": "yellow", "unjudged": "yellow"}
# A console shows the top of each list; the files have all of it.
_CONSOLE = {"lost": 40, "won": 10, "misses": 20, "question_moves": 20, "added": 20, "failures": 20}


def marker(suite: str, key: str = "") -> str:
    """The hidden first line by which a comment is found again; `key` tells several gates on one repository apart."""
    named = f" key={_quoted(key)}" if key else ""
    return f"<!-- retrieval-gate suite={_quoted(suite)}{named} -->"


_marker = marker


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="backslashreplace").replace("-", "%2D")


_VERDICT = re.compile(r"^<!-- retrieval-gate verdict=([a-z_]+) -->$", re.MULTILINE)


def verdict_of(body: str) -> Verdict | None:
    """The verdict that an earlier comment showed, from its second line."""
    found = _VERDICT.search(body[:2000])
    return Verdict(found.group(1)) if found is not None and found.group(1) in set(Verdict) else None


def comment(
    report: Report,
    suite: SuiteReport | str,
    *,
    marker: str | None = None,
    overrides: Path | None = None,
    budget: int = BUDGET,
    previous: Verdict | None = None,
) -> str:
    """The pull-request comment of one suite: at most `budget` bytes of UTF-8.

    `marker` is its first line (default: `marker` of the suite). `previous` is the verdict of the comment that this one
    replaces; it makes a regression that is gone read as resolved. Faults of an override are InputErrors.
    """
    found = _suite(report, suite) if isinstance(suite, str) else suite
    first = _marker(found.suite) if marker is None else marker
    if not re.fullmatch(r"<!--(?:(?!--)[^\r\n])*-->", first):
        raise ValueError(f"marker must be an HTML comment on one line ({first!r}).")
    view = suite_view(report, found, MARKDOWN, previous)
    return _Page("comment.md.j2", "_head.md.j2", overrides, MARKDOWN, {"marker": first}).fitted(view, budget)


def summary(report: Report, *, overrides: Path | None = None, budget: int = SUMMARY_BUDGET) -> str:
    """The job summary of the whole run: less than 1 MB."""
    run = run_view(report, MARKDOWN)
    top = _environment(None).get_template("gate/_run.md.j2").render(view=run) if len(run.suites) > 1 else ""
    each = (budget - len(top.encode())) // max(len(run.suites), 1) - 2
    page = _Page("summary.md.j2", "_head.md.j2", overrides, MARKDOWN, {"marker": ""})
    return _tidy("\n\n".join([top, *(page.fitted(view, each) for view in run.suites)]))


def console(report: Report, *, colour: bool, overrides: Path | None = None, details: bool = False) -> str:
    """The whole run for a terminal or a log. Without `details` a suite that passed and in which nothing moved is short."""
    page = _Page("console.txt.j2", "_head.txt.j2", overrides, TERMINAL, {}, colour=colour)
    whole = run_view(report, TERMINAL).suites
    if not details:
        whole = tuple(
            in_brief(view, suite, TERMINAL) for view, suite in zip(whole, report.suites, strict=True)
        )
    views = [_cut(view, _CONSOLE, TERMINAL) for view in whole]
    text = _tidy("\n\n".join(page.shown(view) for view in views))
    if text.count("\n") <= _SCREEN:
        return text
    # The first lines have left the screen: the verdicts once more, where the eye is.
    named = len(views) > 1
    last = [f"{view.suite}: {view.verdict}" if named else view.verdict for view in views]
    painted = [page.painted(line, view) for line, view in zip(last, views, strict=True)]
    return text + "\n" + "\n".join(painted) + "\n"


def compare_markdown(
    systems: Sequence[tuple[str, System]],
    *,
    k: int,
    title: str = "Systems side by side",
    overrides: Path | None = None,
) -> str:
    """Several systems in one table, in Markdown. `k` is the cutoff that the titles name."""
    view = systems_view(systems, k=k, medium=MARKDOWN, title=MARKDOWN.plain(title))
    return _tidy(_rendered(_environment(overrides), "compare.md.j2", overrides, {"view": view}))


def compare_console(
    systems: Sequence[tuple[str, System]],
    *,
    k: int,
    colour: bool,
    title: str = "Systems side by side",
    overrides: Path | None = None,
) -> str:
    """The same for a terminal."""
    view = systems_view(systems, k=k, medium=TERMINAL, title=TERMINAL.plain(title))
    return _tidy(
        _rendered(_environment(overrides, colour=colour), "compare.txt.j2", overrides, {"view": view})
    )


def scaffold(template: str, values: Mapping[str, object]) -> str:
    """A file that `gate init` writes, from `templates/init`. What is written is not Markdown: nothing is escaped."""
    return _environment(None).get_template(f"gate/init/{template}").render(values)


def _suite(report: Report, name: str) -> SuiteReport:
    found = next((suite for suite in report.suites if suite.suite == name), None)
    if found is None:
        raise ValueError(f"the report has no suite {name!r}.")
    return found


@cache
def _built_in(colour: bool) -> Environment:
    return environment(None, colour=colour)


def _environment(overrides: Path | None, *, colour: bool = False) -> Environment:
    return _built_in(colour) if overrides is None else environment(overrides, colour=colour)


class _Page:
    """One template with its head, ready to show views."""

    def __init__(
        self,
        template: str,
        head: str,
        overrides: Path | None,
        medium: Medium,
        words: Mapping[str, object],
        *,
        colour: bool = False,
    ) -> None:
        self._template, self._overrides, self._medium, self._words = (
            template,
            overrides,
            medium,
            {"colours": _PAINT, **words},
        )
        self._made = _environment(overrides, colour=colour)
        self._head = _environment(None, colour=colour).get_template(f"gate/{head}")

    def head(self, view: SuiteView) -> str:
        return self._head.render(view=view, **self._words)

    def painted(self, text: str, view: SuiteView) -> str:
        """`text` in the colour of the verdict, where colour was asked for."""
        return str(self._made.filters["paint"](text, _PAINT.get(view.word, "red")))

    def shown(self, view: SuiteView) -> str:
        """The head, and everything that stands in blocks under it."""
        head = self.head(view)
        text = _rendered(self._made, self._template, self._overrides, {"view": view, "head": head})
        if not text.startswith(head):
            where = str((self._overrides or Path()) / self._template)
            raise InputError(Problem(where, "changes what stands outside the blocks", "Replace blocks only."))
        return _tidy(text)

    def fitted(self, view: SuiteView, budget: int) -> str:
        """The whole page, or as much of it as `budget` bytes hold: the least important rows go first."""
        text = self.shown(view)
        limits: dict[str, int] = {}
        for name, fewest in _SHRINK:
            if _size(text) <= budget:
                return text
            most = limits.get(name, len(getattr(view, name).rows))
            if most <= fewest:
                continue
            text = self.shown(_cut(view, {**limits, name: fewest}, self._medium))
            if _size(text) > budget:
                limits[name] = fewest
                continue
            keep = fewest
            while most - keep > 1:
                middle = (keep + most) // 2
                attempt = self.shown(_cut(view, {**limits, name: middle}, self._medium))
                if _size(attempt) <= budget:
                    keep, text = middle, attempt
                else:
                    most = middle
        return text if _size(text) <= budget else self._least(_cut(view, limits, self._medium), budget)

    def _least(self, view: SuiteView, budget: int) -> str:
        """The verdict alone, where not even the shortest page fits."""
        pointer = f"\nThe evidence is too long to stand here; {self._medium.more}.\n"
        text = _tidy(self.head(view) + pointer)
        if _size(text) > budget:
            bare = view._replace(behind=Section(), banners=Section(), faults=Section(), counts="", lead="")
            text = _tidy(self.head(bare) + pointer)
        return text


def _cut(view: SuiteView, most: Mapping[str, int], medium: Medium) -> SuiteView:
    """`view` with at most that many rows in the named sections; they say what was left out."""
    changed: dict[str, Any] = {}
    for name, keep in most.items():
        section: Section[Any] = getattr(view, name)
        left = len(section.rows) - keep
        if left > 0:
            said = f"{plural(left, 'more row')} left out here; {medium.more}."
            changed[name] = section._replace(rows=section.rows[:keep], left_out=said)
    return view._replace(**changed) if changed else view


def _size(text: str) -> int:
    return len(text.encode())


def _tidy(text: str) -> str:
    """No run of blank lines, no space before a line's end, one newline at the end."""
    lines = "\n".join(line.rstrip(" ") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"


def _rendered(made: Environment, name: str, overrides: Path | None, context: Mapping[str, object]) -> str:
    if overrides is None:
        return made.get_template(name).render(context)
    try:
        return made.get_template(name).render(context)
    except TemplateError as fault:
        raise InputError(_fault(fault, overrides, name)) from fault
    except Exception as fault:  # the user's own expressions may raise anything
        raise InputError(_fault(fault, overrides, name)) from fault


def _fault(fault: Exception, overrides: Path, name: str) -> Problem:
    """The innermost line of the user's templates that was running."""
    root = str(overrides.resolve())
    frames = [frame for frame in traceback.extract_tb(fault.__traceback__) if frame.filename.startswith(root)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(overrides / name)
    said = " ".join(str(fault).split())[:300]
    return Problem(
        where, f"{type(fault).__name__}: {said}" if said else type(fault).__name__, "Mend the template."
    )

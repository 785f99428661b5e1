"""The whole run as one HTML file: nothing is fetched, nothing of the corpus is markup, and it works from a zip.

What a reader sees first (verdict, table, charts, lost cases) stands in the HTML itself. The table of all cases is made by
the script from one block of JSON. The content security policy names the hashes of this page's own style sheet and
script and allows nothing else, so that a text that got out of its quotes would still do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape as html_escape
from pathlib import Path
from typing import Any, NamedTuple

from gate.model.history import History
from gate.model.report import Report, SuiteReport
from gate.report import escape, html_charts
from gate.report.folder import template_folder
from gate.report.html_cases import Cases, Texts, suite_cases
from gate.report.loading import environment
from gate.report.parts import SuiteView
from gate.report.view import suite_view

SMALL_CASES = 1_000
SMALL_BUDGET, LARGE_BUDGET = 1_950_000, 9_800_000
_STATIC_ROWS = 200


class Html:
    """The medium of this page: escaped text, in elements where the style sheet sets data apart."""

    failing = "▼"
    lower = "▽"
    flaky = "≈"
    small = "*"
    more = "the table of all cases below has them"
    wide = True

    def code(self, text: str, limit: int = escape.CODE_LIMIT) -> str:
        return f"<code>{html_escape(escape.terminal(text, limit))}</code>"

    def cell(self, text: str, limit: int = escape.CODE_LIMIT) -> str:
        return self.code(text, limit)

    def plain(self, text: str, limit: int = escape.PLAIN_LIMIT) -> str:
        return html_escape(escape.terminal(text, limit))

    def command(self, text: str) -> str:
        return self.code(text)

    def strong(self, text: str) -> str:
        return f"<strong>{text}</strong>"

    def beside(self, text: str) -> str:
        return f"<br><small>{text}</small>"


class _Suite(NamedTuple):
    """What the template loops over for one suite. `anchor` is a name for ids; `cases` is its block of JSON."""

    anchor: str
    view: SuiteView
    charts: html_charts.Charts
    cases: str
    shortened: str
    lost_more: int


def page(
    report: Report,
    texts: Mapping[str, Texts] | None = None,
    history: Mapping[str, History] | None = None,
    budget: int | None = None,
) -> str:
    """The page of a whole run. `texts`: per suite the rankings before and the texts of chunks, where they are known.

    `budget` is in bytes (default: 2 MB up to 1,000 cases, 10 MB above); over it unchanged cases lose their pools and
    queries first, and the page says so.
    """
    medium = Html()
    number = sum(len(suite.labels) for suite in report.suites)
    room = budget or (SMALL_BUDGET if number <= SMALL_CASES else LARGE_BUDGET)
    suites = []
    for position, suite in enumerate(report.suites):
        view = suite_view(report, suite, medium)
        charts = html_charts.suite_charts(
            suite, (history or {}).get(suite.suite), (texts or {}).get(suite.suite)
        )
        share = (room - 200_000) * max(len(suite.labels), 1) // max(number, 1)
        cases = suite_cases(suite, (texts or {}).get(suite.suite), share)
        cut = view._replace(
            lost=view.lost._replace(rows=view.lost.rows[:_STATIC_ROWS]),
            misses=view.misses._replace(rows=()),
        )
        more = max(len(view.lost.rows) - _STATIC_ROWS, 0)
        suites.append(_Suite(f"s{position}", cut, charts, _block(cases), cases.shortened, more))
    style, script = _part("report.css"), _part("report.js")
    template = environment(None).get_template("gate/report.html.j2")
    return template.render(
        title=_title(report.suites),
        suites=suites,
        mark=suites[0].view.mark if len(suites) == 1 else "",
        style=style,
        script=script,
        policy=(
            f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
    )


def _title(suites: Sequence[SuiteReport]) -> str:
    said = ", ".join(f"{suite.suite}: {suite.verdict.value.replace('_', ' ')}" for suite in suites[:3])
    return html_escape(escape.terminal(f"{said} · retrieval gate", 120))


def _part(name: str) -> str:
    """A file that stands in the page as it is. It holds nothing of the report."""
    return (Path(template_folder()) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _block(cases: Cases) -> str:
    """JSON that cannot end its script element: every `<`, `>` and `&` is written as an escape."""
    return dumps(cases.value)


def dumps(value: Any) -> str:
    """Compact JSON for a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf-8", "backslashreplace").decode()

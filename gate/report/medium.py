"""Where a view will be read. A view is built once for each medium, and every data string in it is escaped for that one."""

from __future__ import annotations

from typing import Protocol

from gate.report import escape


class Medium(Protocol):
    """How one medium shows data (`code`, `cell`, `plain`) and our own words around it (`strong`, `beside`).

    `failing` marks a kind that fails the check, `lower` one that is below the baseline without failing it, `flaky` one
    with a loss that a second measurement does not confirm, `small` a small sample; `more` says where the rows are that do not stand in a report.
    """

    @property
    def failing(self) -> str: ...

    @property
    def lower(self) -> str: ...

    @property
    def flaky(self) -> str: ...

    @property
    def small(self) -> str: ...

    @property
    def more(self) -> str: ...

    @property
    def wide(self) -> bool:
        """Whether a table may have one column for each kind."""
        ...

    def code(self, text: str, limit: int = ...) -> str:
        """An id, a query, a page name, in a line of text."""
        ...

    def cell(self, text: str, limit: int = ...) -> str:
        """The same in a table."""
        ...

    def plain(self, text: str, limit: int = ...) -> str:
        """A sentence or a word that quotes data."""
        ...

    def command(self, text: str) -> str:
        """Something to type, in a line of text."""
        ...

    def strong(self, text: str) -> str:
        """Escaped text that must be seen."""
        ...

    def beside(self, text: str) -> str:
        """Escaped text in small print beside a number."""
        ...


class Markdown:
    """GitHub's Markdown."""

    failing = "▼"
    lower = "▽"
    flaky = "≈"
    small = r"\*"
    more = "the full report is in the artifact"
    wide = True

    def code(self, text: str, limit: int = escape.CODE_LIMIT) -> str:
        return escape.code(text, limit)

    def cell(self, text: str, limit: int = escape.CODE_LIMIT) -> str:
        return escape.code(text, limit, cell=True)

    def plain(self, text: str, limit: int = escape.PLAIN_LIMIT) -> str:
        return escape.plain(text, limit)

    def command(self, text: str) -> str:
        return escape.code(text)

    def strong(self, text: str) -> str:
        return f"**{text}**"

    def beside(self, text: str) -> str:
        return f"<br><sub>{text}</sub>"


class Terminal:
    """A console or a plain log."""

    failing = "dropped"
    lower = "lower"
    flaky = "flaky"
    small = "*"
    more = "--json and --markdown have all of them"
    wide = False

    def code(self, text: str, limit: int = escape.CODE_LIMIT) -> str:
        return escape.terminal(text, limit)

    def cell(self, text: str, limit: int = escape.CODE_LIMIT) -> str:
        return escape.terminal(text, limit)

    def plain(self, text: str, limit: int = escape.PLAIN_LIMIT) -> str:
        return escape.terminal(text, limit)

    def command(self, text: str) -> str:
        return f"'{escape.terminal(text)}'"

    def strong(self, text: str) -> str:
        return text

    def beside(self, text: str) -> str:
        return f" ({text})"


MARKDOWN: Medium = Markdown()
TERMINAL: Medium = Terminal()

"""Hostile strings through GitHub's dialect of Markdown, rendered by comrak: nothing in them does anything."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import comrak
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gate.report.escape import CODE_LIMIT, EMPTY, PLAIN_LIMIT, code, plain, terminal, visible

ZERO_WIDTH = "\u200b"
PIECES = (
    "|", "\\|", "\\\\|", "\\", "`", "``", "```", "@octocat", "@org/team", "#1", "octo/repo#12", "GH-7", "gh-7", "CVE-2024-1",
    "https://evil.example/x", "http://a.b", "ftp://a.b", "www.evil.example", "_www.evil.example", "me@evil.example",
    "mailto:me@evil.example", "<b>", "</details>", "<script>", "<!--", "-->", "<https://a.b>", "[x](https://a.b)", "![i](u)",
    "[^1]", "[x]: https://a.b", "**b**", "*i*", "_i_", "__b__", "snake_case", "~~s~~", ":tada:", "&amp;", "&#64;", "$x$",
    "$$", "- [ ] ", "- ", "+ ", "* ", "1. ", "12) ", "# ", "## ", "> ", "---", "===", ":--", "    ", "\t", "\n", "\r\n",
    "\n\n", "\x00", "\x1b[31m", "\x85", "\u2028", "\u202e", "\u200b", "\u00ad", "\ufeff", "\u3164", "\U000e0041", "\ud800",
    "a", "é", "日本", "🎉", " ", "0", "deadbeefcafe", "deadbeef",
)  # fmt: skip
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=14).map("".join)


def rendered(markdown: str) -> str:
    extensions = comrak.ExtensionOptions()
    for name in ("table", "autolink", "strikethrough", "tasklist", "tagfilter", "footnotes", "shortcodes"):
        setattr(extensions, name, True)
    render = comrak.RenderOptions()
    render.unsafe_ = True  # raw HTML would come through, and be seen
    text: str = comrak.render_markdown(markdown, extension_options=extensions, render_options=render)
    return text


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def page(markdown: str) -> _Page:
    parsed = _Page()
    parsed.feed(rendered(markdown))
    parsed.close()
    return parsed


def text_of(fragment: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", fragment))


@settings(max_examples=400)
@given(hostile)
@example("a\\|b")
@example("\\\\|")
@example("` ` `")
@example(" x ")
def test_code_in_a_line(text: str) -> None:
    shown = visible(text, CODE_LIMIT)
    out = rendered(f"before {code(text)} after")
    assert page(f"before {code(text)} after").tags in (["p"], ["p", "code"])
    expected = shown if shown.strip() else EMPTY
    assert text_of(out) == f"before {expected} after\n"


@settings(max_examples=400)
@given(hostile, hostile)
@example("a\\|b", "x|")
@example("`|`", "\\")
def test_code_in_a_table(one: str, two: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {code(one, cell=True)} | {code(two, cell=True)} |\n"
    found = page(table)
    assert set(found.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert len(found.cells) == 4
    for text, cell in ((one, found.cells[2]), (two, found.cells[3])):
        shown = visible(text, CODE_LIMIT).replace("\\|", "\\x5c|")
        assert cell.strip() == (shown.strip() if shown.strip() else EMPTY)


@settings(max_examples=600)
@given(hostile)
@example("1. one")
@example("- [ ] task")
@example("#1")
@example("x ##")
@example("##")
@example("_www.evil.example")
@example("a_b_ _c_ __d__")
@example("&copy; &#64;x")
def test_plain_does_nothing_anywhere(text: str) -> None:
    shown = visible(text, PLAIN_LIMIT).strip() or EMPTY
    for before in ("", "- ", "> ", "### Heading: "):
        markdown = before + plain(text)
        out = rendered(markdown)
        assert not set(page(markdown).tags) - {"p", "ul", "li", "blockquote", "h3"}, out
        said = (
            text_of(out)
            .strip("\n")
            .removeprefix("Heading: " if before.startswith("#") else "")
            .replace(ZERO_WIDTH, "")
            .strip()
        )
        assert re.sub(r" +", " ", said) == re.sub(r" +", " ", shown)


@settings(max_examples=300)
@given(hostile, hostile)
def test_plain_in_a_table(one: str, two: str) -> None:
    found = page(f"| a | b |\n| --- | --- |\n| {plain(one)} | {plain(two)} |\n")
    assert set(found.tags) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert len(found.cells) == 4


# What GitHub does to the text of a rendered comment, after the Markdown.
LIVE = re.compile(
    r"(?<![\w`])@[a-z0-9]|(?<!\w)#\d|\bgh-\d|\w/\w+#\d|https?://|www\.\w|:[a-z0-9+_-]+:", re.IGNORECASE
)


@given(hostile)
def test_nothing_is_left_for_githubs_own_filters(text: str) -> None:
    assert not LIVE.search(text_of(rendered(plain(text))))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", EMPTY),
        ("  \n", EMPTY),
        ("a\tb\r\nc", "`a b c`"),
        ("\x1b[31m", "`\\x1b[31m`"),
        ("\u202etxt", "`\\u202etxt`"),
        ("\U000e0041", "`\\U000e0041`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("a|b", "`a|b`"),
        ("x" * 200, f"`{'x' * 119}…`"),
    ],
)
def test_code(text: str, shown: str) -> None:
    assert code(text) == shown


def test_code_in_a_cell_escapes_pipes() -> None:
    assert code("a|b", cell=True) == "`a\\|b`"
    assert code("a\\|b", cell=True) == "`a\\x5c\\|b`"


def test_plain_leaves_ordinary_prose_alone() -> None:
    said = "arm 'vector': 3 of 20 queries failed (first 'rq-014': timeout after 30 s), see snake_case and C# here"
    assert plain(said) == said


def test_a_fingerprint_stays_copyable_and_a_commit_does_not_link() -> None:
    assert plain("22 cases · sha256 1a2b3c4d") == "22 cases · sha256 1a2b3c4d"
    assert ZERO_WIDTH in plain("see 1a2b3c4d5e6f")


@given(hostile)
def test_a_console_gets_no_control_character(text: str) -> None:
    shown = terminal(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode()


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_limit_is_kept(text: str, limit: int) -> None:
    assert len(visible(text, limit)) <= limit


def test_a_very_long_text_costs_nothing() -> None:
    assert len(plain("|" * 10_000_000)) < PLAIN_LIMIT * 7

"""Data -> text that does nothing. Queries, ids, page names and whatever a finding quotes are never markup here.

`code` and `plain` are for GitHub's Markdown, `terminal` is for consoles. All of them first make visible what a reader
could not see: control, bidirectional, zero-width and other unseen characters are shown as `\\x1b` or `\\u202e`.
"""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"
EMPTY = "(empty)"
CODE_LIMIT = 120
PLAIN_LIMIT = 400

_SPACES = {"\n": " ", "\r": " ", "\t": " "}
# Letters, marks and symbols by category, yet nothing a reader sees.
_UNSEEN = frozenset(
    chr(point)
    for start, stop in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for point in range(start, stop + 1)
)
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str, limit: int) -> str:
    """`text` on one line, unseen characters as escapes, cut to `limit` characters with an ellipsis."""
    cut = text[: limit + 1].replace("\r\n", " ")
    if not (cut.isascii() and cut.isprintable()):
        cut = "".join(map(_seen, cut))
    whole = len(text) <= limit and len(cut) <= limit
    return cut if whole else cut[: max(limit - 1, 0)] + ELLIPSIS


def _seen(char: str) -> str:
    if char in _SPACES:
        return " "
    if unicodedata.category(char) not in _HIDDEN_CATEGORIES and char not in _UNSEEN:
        return char
    point = ord(char)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def terminal(text: str, limit: int = PLAIN_LIMIT) -> str:
    """`text` for a console: one line, no control characters."""
    shown = visible(text, limit)
    return shown if shown.strip() else EMPTY


def code(text: str, limit: int = CODE_LIMIT, *, cell: bool = False) -> str:
    """`text` as a code span. With `cell` it may stand in a table, where GitHub reads pipes before anything else."""
    shown = visible(text, limit)
    if not shown.strip():
        return EMPTY
    if cell and "|" in shown:
        # A backslash right before a pipe cannot be written in a table's code span; it is shown as an escape.
        shown = shown.replace("\\|", "\\x5c|").replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padded = shown[0] == "`" or shown[-1] == "`" or (shown[0] == " " and shown[-1] == " ")
    return f"{fence} {shown} {fence}" if padded else f"{fence}{shown}{fence}"


_ENTITIES = {char: f"&#{ord(char)};" for char in "*`[]\\|~$"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ZERO_WIDTH = "\u200b"
# Each match is a place where GitHub would link, notify or substitute; a zero-width space goes in at the mark.
_LIVE = re.compile(
    r"(?P<after>@|\#(?=\w)|:(?=//)|:(?=[\w+-]+:)|(?<![0-9A-Za-z])(?:GH|GHSA|CVE)-(?=\w))"
    r"|(?P<www>www)(?=\.)"
    r"|(?<!sha256[ ])(?<![0-9A-Za-z])(?P<sha>[0-9a-f]{6})(?=[0-9a-f]{1,34}(?![0-9A-Za-z]))",
    re.IGNORECASE,
)
_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z_])_|_(?![0-9A-Za-z_])|(?<=_)_|_(?=_)")
# What is a mark at the start of a line, or at the end of a heading.
_EDGE = re.compile(r"^(?:[-+=#:]|[0-9]{1,9}(?=[.)]))|#+$")


def plain(text: str, limit: int = PLAIN_LIMIT) -> str:
    """A sentence that quotes data, as prose that does nothing wherever it stands: line start, list, table cell.

    No mention, no issue or commit reference, no link, no HTML, no emphasis, no emoji code, no table or list mark.
    """
    shown = visible(text, limit).strip()
    if not shown:
        return EMPTY
    live = _LIVE.sub(lambda match: match.group() + _ZERO_WIDTH, shown)
    escaped = "".join(_ENTITIES.get(char, char) for char in live)
    return _EDGE.sub(_inert, _UNDERSCORE.sub("&#95;", escaped))


def _inert(match: re.Match[str]) -> str:
    text = match.group()
    if text.isdecimal():
        return f"&#{ord(text[0])};{text[1:]}"
    return f"&#{ord(text[0])};" * len(text)

"""Where the headings of a Markdown text are. What stands inside a code fence is text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?\Z")
# A fence may open behind the marks of a list item; its column then says where the item's text begins.
_FENCE = re.compile(r"( {0,3}(?:(?:[-*+]|[0-9]{1,9}[.)]) {1,4})*)(`{3,}(?=[^`]*\Z)|~{3,})")


@dataclass(frozen=True, slots=True)
class Heading:
    """An ATX heading: its level, its text, and where its line starts and ends (with its line break)."""

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Fence:
    mark: str
    column: int
    in_list: bool

    def closes(self, line: str) -> bool:
        """The same mark, at least as long, nothing behind it, and not indented into code."""
        bare = line.strip(" \t")
        indent = len(line) - len(line.lstrip(" "))
        return len(bare) >= len(self.mark) and not bare.strip(self.mark[0]) and indent <= self.column + 3

    def left_by(self, line: str) -> bool:
        """A line to the left of the list item's text ends the item, and the fence with it."""
        return self.in_list and bool(line.strip()) and len(line) - len(line.lstrip(" ")) < self.column


def headings(text: str) -> Iterator[Heading]:
    """The ATX headings of `text` outside code fences, in order. Setext headings are not looked for."""
    if "#" not in text:
        return
    fence: _Fence | None = None
    start = 0
    for line in text.split("\n"):
        end = min(start + len(line) + 1, len(text))
        if fence is not None and fence.left_by(line):
            fence = None
        if fence is not None:
            if fence.closes(line):
                fence = None
        elif opened := _FENCE.match(line):
            lead = opened.group(1)
            fence = _Fence(opened.group(2), len(lead), in_list=bool(lead.strip()))
        elif found := _HEADING.match(line):
            yield Heading(len(found.group(1)), _title(found.group(2) or ""), start, end)
        start = end


def _title(text: str) -> str:
    """A heading's text without the closing marks it may have."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def pieces(text: str, level: int) -> list[str]:
    """`text` cut in front of every heading of level 2 up to `level` (of level 1 where `level` is 1).

    The first piece is what stands before the first of them and may be empty. Joined, the pieces are `text` again.
    """
    cuts = [found.start for found in headings(text) if min(2, level) <= found.level <= level]
    edges = [0, *cuts, len(text)]
    return [text[start:end] for start, end in pairwise(edges)]

"""Aligned columns for a console, by the width that characters take there."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

GAP = "  "


def width(text: str) -> int:
    """The columns `text` takes: wide East Asian characters and emoji two, combining marks none.

    >>> width("abc"), width("日本"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_width(char) for char in text)


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def pad(text: str, columns: int, align: str = "left") -> str:
    """`text` filled with spaces to `columns`."""
    fill = " " * max(columns - width(text), 0)
    return fill + text if align == "right" else text + fill


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[str]) -> list[str]:
    """One line per row, the head first; no line ends with spaces."""
    lines = [head, *rows] if any(head) else list(rows)
    widths = [max(map(width, cells)) for cells in zip(*lines, strict=True)]
    sides = [*align, *["left"] * (len(widths) - len(align))]
    return [
        GAP.join(
            pad(cell, columns, side) for cell, columns, side in zip(line, widths, sides, strict=True)
        ).rstrip()
        for line in lines
    ]

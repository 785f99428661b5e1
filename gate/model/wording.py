"""Counts and lists as every message writes them. Here, since the pure layers word their findings too."""

from __future__ import annotations

from collections.abc import Iterable


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "case"), plural(2000, "case"), plural(3, "query")
    ('1 case', '2,000 cases', '3 queries')
    """
    if count == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {many}"


def listed(names: Iterable[object], most: int, separator: str = ", ") -> str:
    """The first `most` names, and how many more there are. A name with commas in it wants another separator, which
    then stands before the rest as well.

    >>> listed(["a", "b", "c"], 2), listed(["a: x, y", "b", "c"], 2, "; ")
    ('a, b and 1 more', 'a: x, y; b; and 1 more')
    """
    every = [str(name) for name in names]
    shown = separator.join(every[:most])
    if len(every) <= most:
        return shown
    return f"{shown}{' ' if separator == ', ' else separator}and {len(every) - most:,} more"


def joined(names: Iterable[str], word: str = "and") -> str:
    """All names in a sentence.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last

"""The text of a chunk as an arm indexes it."""

from __future__ import annotations


def indexed(title: str, piece: str) -> str:
    """Title, line break, piece; the other alone where one of them is empty."""
    return f"{title}\n{piece}" if title and piece else title or piece

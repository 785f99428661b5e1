"""A page of the corpus as HTML that does nothing: no raw HTML, no link that leads anywhere, no image that loads."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from gate.errors import InputError, Problem
from gate.labelling.queries import words
from gate.model.page import Chunk, Page

# A page beyond this is cut for reading; nobody judges by megabytes.
LONGEST = 200_000


def renderer() -> Any:
    """A Markdown renderer for `rendered`. Raw HTML is shown as text; links and images keep their words only."""
    try:
        from markdown_it import MarkdownIt
    except ImportError as fault:
        todo = "From a checkout of retrieval-gate: pip install '.[label]', or judge with --terminal."
        raise InputError(
            Problem("gate label judge", "the package markdown-it-py is not installed", todo)
        ) from fault
    made = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    made.add_render_rule("link_open", _link_open)
    made.add_render_rule("link_close", lambda *_: "</span>")
    made.add_render_rule("image", _image)
    return made


def _link_open(_: Any, tokens: Sequence[Any], position: int, *__: Any) -> str:
    return f'<span class="link" title="{escape(str(tokens[position].attrGet("href") or ""))[:300]}">'


def _image(_: Any, tokens: Sequence[Any], position: int, *__: Any) -> str:
    return f'<span class="image">[image: {escape(tokens[position].content)}]</span>'


def rendered(page: Page, made: Any) -> str:
    """The page as HTML, cut where it is very long."""
    text = (
        page.text if len(page.text) <= LONGEST else page.text[:LONGEST] + "\n\n(cut here: the page is longer)"
    )
    html: str = made.render(text)
    return html


def best_chunk(query: str, chunks: Sequence[Chunk]) -> Chunk | None:
    """The chunk that shares most different words with the query, the first of equals; None where none shares any."""
    wanted = set(words(query))
    scored = [(len(wanted & set(words(chunk.text))), -position) for position, chunk in enumerate(chunks)]
    if not scored or max(scored)[0] == 0:
        return None
    return chunks[-max(scored)[1]]

"""One chunk per section: a page is cut in front of every `## ` heading that is not inside a code fence."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gate.corpus.headings import headings, pieces
from gate.corpus.indexed import indexed
from gate.model.frozen import Frozen
from gate.model.page import Page
from gate.store.text import is_blank


class Settings(Frozen):
    """`level`: the deepest heading that begins a chunk; 3 cuts at `##` and `###`, 1 at `#` alone."""

    type: str = "heading"
    level: Annotated[int, Field(ge=1, le=6)] = 2


def chunk(page: Page, settings: Settings) -> list[str]:
    """Each section under the page's title. What stands before the first is a chunk if it has text of its own."""
    intro, *sections = pieces(page.text, settings.level)
    if settings.level == 1 and sections and is_blank(intro):  # the title's own section is the intro
        intro, *sections = sections
    intro = _without_title(intro, page.title)
    kept = sections if sections and is_blank(intro) else [intro, *sections]
    return [indexed(page.title, piece.strip("\n").rstrip()) for piece in kept]


def _without_title(text: str, title: str) -> str:
    """`text` without the line of its first `# ` heading, where that is the page's title again."""
    first = next((found for found in headings(text) if found.level == 1), None)
    return text[: first.start] + text[first.end :] if first is not None and first.title == title else text

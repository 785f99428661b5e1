"""One chunk per page: title, line break, text."""

from __future__ import annotations

from gate.corpus.indexed import indexed
from gate.model.frozen import Frozen
from gate.model.page import Page


class Settings(Frozen):
    type: str = "page"


def chunk(page: Page, settings: Settings) -> list[str]:  # noqa: ARG001
    """The whole page. An empty page is one chunk of its title, or of nothing."""
    return [indexed(page.title, page.text)]

"""Windows of a fixed number of words that overlap. Each is a stretch of the page as written."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, model_validator

from gate.corpus.indexed import indexed
from gate.model.frozen import Frozen
from gate.model.page import Page

_WORD = re.compile(r"\S+")


class Settings(Frozen):
    """`words` in a window, and how many of them the next window repeats (`overlap`)."""

    type: str = "window"
    words: Annotated[int, Field(ge=1)] = 200
    overlap: Annotated[int, Field(ge=0)] = 40

    @model_validator(mode="after")
    def _moves_on(self) -> Settings:
        if self.overlap >= self.words:
            raise ValueError(f"'overlap' ({self.overlap}) is not below 'words' ({self.words})")
        return self


def chunk(page: Page, settings: Settings) -> list[str]:
    """The windows in order, the last one as short as it comes; an empty page is one chunk of its title."""
    words = [found.span() for found in _WORD.finditer(page.text)]
    texts = []
    start = 0
    while True:
        window = words[start : start + settings.words]
        texts.append(page.text[window[0][0] : window[-1][1]] if window else "")
        if start + settings.words >= len(words):
            return [indexed(page.title, text) for text in texts]
        start += settings.words - settings.overlap

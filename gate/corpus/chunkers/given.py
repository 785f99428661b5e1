"""The chunks that came with the corpus (pre-chunked JSONL), with their own ids."""

from __future__ import annotations

from gate.errors import InputError, Problem
from gate.model.frozen import Frozen
from gate.model.page import Chunk, Page


class Settings(Frozen):
    type: str = "given"


def chunk(page: Page, settings: Settings) -> tuple[Chunk, ...]:
    """The page's own chunks; an InputError where the corpus did not come chunked."""
    if page.chunks is None:
        todo = "Name the chunker 'heading', 'page' or 'window', or give the corpus as chunks (chunk_id, doc_id, text)."
        raise InputError(
            Problem(f"chunker '{settings.type}'", f"page '{page.doc_id}' came without chunks", todo)
        )
    return page.chunks

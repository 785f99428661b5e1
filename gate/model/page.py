"""A page of the corpus, its chunks, and the corpus as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

PAGE_HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page. `chunk_id` is `doc_id#position`; `text` is what an arm indexes."""

    chunk_id: str
    doc_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One document. `text` is the body without front matter; `fields` are its front matter as strings.

    `chunks` is set only for a corpus that came already chunked. `path` is where the page was read, for messages.
    """

    doc_id: str
    title: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] | None = None
    path: str = ""

    def content_hash(self) -> str:
        """16 hex digits over all that can reach an index: title, text, given chunks."""
        digest = hashlib.sha256()
        parts = [self.title, self.text, *(f"{chunk.chunk_id}\n{chunk.text}" for chunk in self.chunks or ())]
        for part in parts:
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big"))
            digest.update(encoded)
        return digest.hexdigest()[:PAGE_HASH_DIGITS]


@dataclass(frozen=True)
class Corpus:
    """Pages in corpus order: sorted by doc_id for a folder, file order for JSONL. Ids are unique.

    `chunker` names how this kind of corpus is chunked when an arm does not say: heading, page or given.
    """

    pages: tuple[Page, ...]
    chunker: str = "heading"

    @cached_property
    def by_id(self) -> Mapping[str, Page]:
        return {page.doc_id: page for page in self.pages}

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """doc_id -> content hash, sorted by doc_id."""
        return {page.doc_id: page.content_hash() for page in sorted(self.pages, key=lambda page: page.doc_id)}

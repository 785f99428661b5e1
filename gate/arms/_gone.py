"""An arm over a corpus from which labelled pages have gone: an index that still returns one of them has not found it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gate.model.ranking import Arm, Hit


class WithoutGone:
    """The same arm; a hit of a page in `gone` keeps its place under a name that no label has."""

    def __init__(self, arm: Arm, gone: frozenset[str]) -> None:
        self._arm, self._gone = arm, gone

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        found: Any = self._arm.search(query, pool)
        # What is no list of hits, whoever asked says so.
        return [self._marked(hit) for hit in found] if isinstance(found, list | tuple) else found

    def _marked(self, hit: Hit) -> Hit:
        return (
            replace(hit, doc_id=f"{hit.doc_id} (gone)") if getattr(hit, "doc_id", None) in self._gone else hit
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arm, name)

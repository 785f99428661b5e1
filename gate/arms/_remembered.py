"""An arm that other arms fuse, asked once per query: its answer serves its own row and every arm over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gate.model.ranking import Arm, Hit


class Remembered:
    """`arm`, with every answer kept, and every fault too: a query that failed is not paid for again, nor answered
    differently to the arm above. All else that the arm has is reached through this as it is.
    """

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self._answers: dict[tuple[str, int], Sequence[Hit] | Exception] = {}
        self._told: set[tuple[str, int]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arm, name)

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        """Pass on the queries that the arm has not been told yet, where it wants to know them."""
        told = getattr(self._arm, "prepare", None)
        new = [query for query in dict.fromkeys(queries) if (query, pool) not in self._told]
        if told is not None and new:
            self._told.update((query, pool) for query in new)
            told(new, pool)

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        """As the arm's own, asked at most once per query and pool."""
        if (query, pool) not in self._answers:
            try:
                self._answers[query, pool] = self._arm.search(query, pool)
            except Exception as fault:
                self._answers[query, pool] = fault
        answer = self._answers[query, pool]
        if isinstance(answer, Exception):
            raise answer
        return answer

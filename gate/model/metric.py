"""What a metric's file offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Metric(Protocol):
    """One file of `gate/metrics`: the file's name is the mean's name, `ROW` the name in a case's row."""

    @property
    def ROW(self) -> str: ...  # noqa: N802 - a module constant

    def score(self, ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
        """The score of one page ranking (best first, each page once) in 0..1; 0 for an empty one."""
        ...

    def title(self, k: int) -> str:
        """How a reader sees it: `recall@5`."""
        ...


Metrics = Mapping[str, Metric]

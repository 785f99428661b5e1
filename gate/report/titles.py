"""How a reader sees a metric's name. The titles come from the metrics' own files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gate import registry
from gate.harness import CONTEXT_RECALL
from gate.report.medium import Medium


@dataclass(frozen=True, slots=True)
class Names:
    """`row`: the name in a case's row; `mean`: the name of its mean; `title`: for a reader; `cut`: k changes it.

    `ours`: the title is a word of this project, not data.
    """

    row: str
    mean: str
    title: str
    cut: bool
    ours: bool = True

    def shown(self, medium: Medium) -> str:
        """The title in one medium. In `recall@5` nothing has to be escaped: GitHub reads a mention only after a space."""
        return self.title if self.ours else medium.plain(self.title, 40)


@cache
def known(k: int) -> Mapping[str, Names]:
    """Row name -> names, for every metric of the registry."""
    found = {}
    for name in registry.names("metrics"):
        metric = registry.load("metrics", name, "report")
        cut = metric.title(k) != metric.title(k + 1)
        found[metric.ROW] = Names(metric.ROW, name.replace("-", "_"), metric.title(k), cut)
    return found


def of_row(row: str, k: int) -> Names:
    """The names of the metric whose row name is `row`; a metric from outside keeps its own."""
    if row == CONTEXT_RECALL:
        return Names(row, row, "context recall", cut=False)
    return known(k).get(row, Names(row, row, row, cut=False, ours=False))


def of_mean(mean: str, k: int) -> Names:
    """The same by the name of the mean."""
    return next((names for names in known(k).values() if names.mean == mean), of_row(mean, k))

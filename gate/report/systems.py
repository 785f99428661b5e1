"""Several systems on the same cases, side by side in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from gate.model.comparison import DUST
from gate.model.report import SMALL_SAMPLE
from gate.report.board import FIRST, NONE
from gate.report.medium import Medium
from gate.report.numbers import column
from gate.report.parts import Section, SystemsView
from gate.report.titles import of_mean, of_row


class Measured(Protocol):
    """Means with a count: of an arm, a kind, a slice."""

    @property
    def n(self) -> int: ...

    @property
    def means(self) -> Mapping[str, float]: ...


class System(Measured, Protocol):
    """What one system scored, as a whole and by kind. An ArmReport is one."""

    @property
    def by_kind(self) -> Mapping[str, Measured]: ...


def systems_view(
    systems: Sequence[tuple[str, System]], *, k: int, medium: Medium, title: str = "Systems side by side"
) -> SystemsView:
    """Several systems in one table; the best of each column is marked. `k` is only for the titles."""
    means = dict.fromkeys(mean for _, system in systems for mean in system.means)
    order = [mean for row in FIRST if (mean := of_row(row, k).mean) in means]
    order += [mean for mean in means if mean not in order]
    kinds = sorted({kind for _, system in systems for kind in system.by_kind})
    columns: list[tuple[str, list[float | None]]] = [
        (of_mean(mean, k).shown(medium), [system.means.get(mean) for _, system in systems]) for mean in order
    ]
    small = False
    for kind in kinds:
        groups = [system.by_kind.get(kind) for _, system in systems]
        n = max(group.n for group in groups if group is not None)
        small = small or n < SMALL_SAMPLE
        columns.append(
            (
                f"{medium.plain(kind, 40)} ({n}){medium.small if n < SMALL_SAMPLE else ''}",
                [group.means.get("recall") if group is not None else None for group in groups],
            )
        )
    shown = [(head, _best(values, medium)) for head, values in columns]
    rows = tuple(
        (medium.plain(name, 80), str(system.n), *(texts[position] for _, texts in shown))
        for position, (name, system) in enumerate(systems)
    )
    notes = ["the best of each column is bold" if medium.wide else "+ marks the best of each column"]
    if kinds:
        notes.append(f"the columns of the kinds show {of_row('recall', k).title}")
    if small:
        notes.append(f"{medium.small} = fewer than {SMALL_SAMPLE} cases")
    if len({system.n for _, system in systems}) > 1:
        notes.append("n differs: these systems did not answer the same cases")
    return SystemsView(
        title,
        Section(
            title,
            head=("system", "n", *(head for head, _ in shown)),
            align=("left", *["right"] * (len(shown) + 1)),
            rows=rows,
            notes=("; ".join(notes) + ".",),
        ),
    )


def _best(values: Iterable[float | None], medium: Medium) -> list[str]:
    """The texts of one column, the highest marked; nothing is marked where all are equal."""
    every = list(values)
    present = [value for value in every if value is not None]
    texts = iter(column(present))
    top, bottom = max(present, default=0.0), min(present, default=0.0)
    shown = []
    for value in every:
        text = NONE if value is None else next(texts)
        best = value is not None and top - bottom > DUST and top - value <= DUST
        if medium.wide:
            shown.append(medium.strong(text) if best else text)
        else:
            shown.append(f"{text}{'+' if best else ' '}")
    return shown

"""The table: every arm with its numbers before and now, one column (or one row) for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gate.model.comparison import DUST, ArmComparison, GroupComparison
from gate.model.report import SMALL_SAMPLE, ArmReport, SuiteReport
from gate.model.verdict import Level
from gate.model.wording import joined, plural
from gate.report.medium import Medium
from gate.report.numbers import arrow, column, count_pair, counted, first_sentence, pair, single
from gate.report.parts import Cells, Section
from gate.report.titles import Names, of_mean, of_row

NONE = "-"
_MOST_COLUMNS = 6
FIRST = ("recall", "rr", "hit")


@dataclass(frozen=True, slots=True)
class _Group:
    """One arm, or one kind of it: (before, now) by metric row name; before is None where nothing was compared."""

    n: int
    values: Mapping[str, tuple[float | None, float]]
    moved: str
    pages: str


@dataclass(slots=True)
class _Tally:
    """Relevant pages of a group of cases: all, those in the top k now, and how many more those are than before."""

    relevant: int = 0
    now: int = 0
    gained: int = 0


def _tally(suite: SuiteReport, name: str) -> dict[str | None, _Tally]:
    """The tallies of one arm by kind; None is the whole arm."""
    tallies: dict[str | None, _Tally] = {None: _Tally()}
    for row in suite.arms[name].cases:
        relevant = len(suite.labels[row.id].relevant)
        for tally in (tallies[None], tallies.setdefault(row.kind, _Tally())):
            tally.relevant += relevant
            tally.now += relevant - len(row.missing)
    found = suite.comparison.get(name)
    for move in (*found.lost, *found.won) if found is not None else ():
        gained = sum(_inside(page.after, suite.k) - _inside(page.before, suite.k) for page in move.pages)
        for tally in (tallies[None], tallies.setdefault(move.kind, _Tally())):
            tally.gained += gained
    return tallies


def _inside(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k


def board(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The table of a suite with its legend."""
    table = _Board(suite, medium)
    return table.wide() if medium.wide and len(table.kinds) <= _MOST_COLUMNS else table.long()


class _Board:
    def __init__(self, suite: SuiteReport, medium: Medium) -> None:
        self.suite, self.medium = suite, medium
        self.kinds = sorted(
            {label.kind for label in suite.labels.values()}
            | {kind for arm in suite.arms.values() for kind in arm.by_kind}
            | {kind for found in suite.comparison.values() for kind in found.kinds}
        )
        self.failing = {(f.arm, f.kind) for f in suite.findings if f.level is Level.REGRESSION}
        named = [of_row(row, suite.k) for row in dict.fromkeys((*FIRST, *suite.metrics))]
        self.metrics = [
            names for names in named if any(names.mean in arm.means for arm in suite.arms.values())
        ]
        self.tallies = {name: _tally(suite, name) for name in suite.arms}
        self.counts = {name: found.counts_by_kind() for name, found in suite.comparison.items()}
        self.used: dict[str, None] = {}

    def arms(self) -> Iterator[tuple[str, ArmReport, ArmComparison | None]]:
        for name, arm in self.suite.arms.items():
            found = self.suite.comparison.get(name)
            yield name, arm, found if found is not None and found.n else None

    def group(self, name: str, found: ArmComparison | None, kind: str | None) -> _Group:
        """The whole arm (`kind` None) or one kind of it."""
        arm = self.suite.arms[name]
        compared: GroupComparison | None = found
        if found is not None and kind is not None:
            compared = found.kinds.get(kind)
        if compared is None:
            now = arm if kind is None else arm.by_kind.get(kind)
            values = {
                names.row: (None, now.means[names.mean])
                for names in self.metrics
                if now is not None and names.mean in now.means
            }
            return _Group(now.n if now is not None else 0, values, NONE, self._pages(name, None, kind))
        return _Group(
            compared.n,
            {row: (change.before, change.after) for row, change in compared.metrics.items()},
            str(self.counts[name][kind]),
            self._pages(name, found, kind),
        )

    def _pages(self, name: str, found: ArmComparison | None, kind: str | None) -> str:
        """Relevant pages in the top k before and now, of all; empty where the stored rows do not tell."""
        arm, tally = self.suite.arms[name], self.tallies[name].get(kind)
        if tally is None or not tally.relevant:
            return ""
        if found is None:
            return f"{tally.now}/{tally.relevant}"
        told = found.n == arm.n and "recall" in self.suite.metrics and not self.suite.case_changes
        return count_pair(tally.now - tally.gained, tally.now, tally.relevant) if told else ""

    def number(self, group: _Group, names: Names) -> tuple[str, str]:
        """`0.83 -> 0.79`, and the counts behind it in small print."""
        if names.row not in group.values:
            return NONE, ""
        before, now = group.values[names.row]
        text = single(now) if before is None else arrow(*pair(before, now))
        counts = ""
        if names.row == "recall":
            counts = group.pages
        elif names.row == "hit":
            whole = counted(now, group.n), counted(now if before is None else before, group.n)
            if whole[0] is not None and whole[1] is not None:
                counts = count_pair(whole[1], whole[0], group.n)
        return text, self.medium.beside(counts) if counts else ""

    def mark(self, arm: str, kind: str, found: ArmComparison | None, text: str) -> str:
        """`text` with a mark where the kind fails the check, or is lower without failing it, or has a flaky loss."""
        if found is not None and any(move.flaky and move.kind == kind for move in found.lost):
            self.used["flaky"] = None
            text = f"{text} {self.medium.flaky}"
        if (arm, kind) in self.failing:
            self.used["failing"] = None
            return self.medium.strong(f"{text} {self.medium.failing}")
        if found is not None and kind in found.lowered_kinds:
            self.used["lower"] = None
            return f"{text} {self.medium.lower}"
        return text

    def small(self, n: int) -> str:
        if n >= SMALL_SAMPLE:
            return ""
        self.used["small"] = None
        return self.medium.small

    def name(self, name: str, arm: ArmReport) -> str:
        """The arm's name with what is special about it. Why it was not measured stands below: here it would widen each row."""
        whole = bool(arm.reason)
        said = [
            "shown only" if not arm.gate else "",
            "new" if name not in self.suite.comparison and self.suite.comparison else "",
            f"{len(arm.failed):,} not measured" if arm.failed and not whole else "",
            "not measured" if whole else "",
        ]
        marks = ", ".join(filter(None, said))
        return self.medium.plain(name, 60) + (f" ({marks})" if marks else "")

    def wide(self) -> Section[Cells]:
        """One row per arm, one column per kind."""
        sizes = dict.fromkeys(self.kinds, 0)
        for label in self.suite.labels.values():
            sizes[label.kind] = sizes.get(label.kind, 0) + 1
        rows = []
        for name, arm, found in self.arms():
            whole = self.group(name, found, None)
            cells = [self.name(name, arm), str(whole.n)]
            cells += ["".join(self.number(whole, names)) for names in self.metrics]
            cells += [self._kind_cell(name, found, kind, sizes) for kind in self.kinds]
            rows.append((*cells, whole.moved))
        head = ["arm", "n", *(names.shown(self.medium) for names in self.metrics)]
        head += [
            f"{self.medium.plain(kind, 40)} ({sizes[kind]}){self.small(sizes[kind])}" for kind in self.kinds
        ]
        align = ("left", "right", *["left"] * (len(head) - 1))
        return Section("", head=(*head, "W/L/T"), align=align, rows=tuple(rows), notes=tuple(self.legend()))

    def _kind_cell(self, name: str, found: ArmComparison | None, kind: str, sizes: Mapping[str, int]) -> str:
        group = self.group(name, found, kind)
        number, small_print = self.number(group, of_row(self.suite.metrics[0], self.suite.k))
        for row in self.suite.metrics[1:]:
            before, now = group.values.get(row, (None, 0.0))
            if before is not None and now - before < -DUST:
                title = of_row(row, self.suite.k).shown(self.medium)
                small_print += self.medium.beside(f"{title} {arrow(*pair(before, now))}")
        if group.n and group.n != sizes[kind]:
            small_print += self.medium.beside(f"n = {group.n}")
        return self.mark(name, kind, found, number) + small_print

    def long(self) -> Section[Cells]:
        """One row per arm and kind: for consoles, and for many kinds. The arms as a whole stand first where it is long."""
        blocks: list[list[Cells]] = []
        for name, arm, found in self.arms():
            whole = self.group(name, found, None)
            label = self.name(name, arm)
            blocks.append([self._long_row(label, "all", whole, self.small(whole.n))])
            dropped = [kind for kind in self.kinds if found is not None and kind in found.lowered_kinds]
            for kind in (*dropped, *(kind for kind in self.kinds if kind not in dropped)):
                group = self.group(name, found, kind)
                shown = self.mark(name, kind, found, self.medium.plain(kind, 40))
                if group.n:
                    repeated = label if self.medium.wide else ""
                    blocks[-1].append(self._long_row(repeated, shown, group, self.small(group.n)))
        long = self.medium.wide and sum(map(len, blocks)) > 40
        ordered = (
            row
            for rows in (
                *((block[:1] for block in blocks) if long else ()),
                *((block[1:] for block in blocks) if long else blocks),
            )
            for row in rows
        )
        head = ["arm", "kind", "n", *(names.shown(self.medium) for names in self.metrics), "W/L/T"]
        align = ("left", "left", "right", *["left"] * (len(head) - 3))
        return Section("", head=tuple(head), align=align, rows=tuple(ordered), notes=tuple(self.legend()))

    def _long_row(self, label: str, kind: str, group: _Group, small: str) -> Cells:
        return (
            label,
            kind,
            f"{group.n}{small}",
            *("".join(self.number(group, names)) for names in self.metrics),
            group.moved,
        )

    def legend(self) -> Iterator[str]:
        """What the marks in the table mean, and what the numbers count."""
        suite, medium = self.suite, self.medium
        first = of_row(suite.metrics[0], suite.k)
        title = first.shown(medium)
        marks = {
            "failing": f"{medium.failing} = below the baseline, fails the check",
            "lower": f"{medium.lower} = below the baseline, does not fail the check",
            "flaky": f"{medium.flaky} = with a loss that was not confirmed when measured again, which is not gated",
            "small": f"{medium.small} = fewer than {SMALL_SAMPLE} cases",
        }
        said = [f"before -> now; W/L/T = cases {counted_on(suite, medium)}"] if suite.comparison else []
        if medium.wide and self.kinds and len(self.kinds) <= _MOST_COLUMNS:
            said.append(f"the columns of the kinds show {title}")
        if "recall" in (names.row for names in self.metrics):
            said.append("counts beside recall are relevant pages found")
        said += [text for mark, text in marks.items() if mark in self.used]
        if said:
            yield "; ".join(said) + "."
        for name, arm, found in self.arms():
            if arm.reason:
                yield f"{medium.plain(name, 60)} was not measured: {medium.plain(first_sentence(arm.reason), 160)}."
            if found is not None and found.n != arm.n:
                yield (
                    f"{medium.plain(name, 60)} is compared on {plural(found.n, 'case')} of the baseline; "
                    f"this run measured {arm.n:,}."
                )


def counted_on(suite: SuiteReport, medium: Medium) -> str:
    """What makes a case lost or won, with the metrics of the policy."""
    titles = [of_row(row, suite.k).shown(medium) for row in suite.metrics]
    if len(titles) == 1:
        return f"won/lost/tied on {titles[0]}"
    return f"won/lost/tied: lost where {joined(titles, 'or')} fell, won where one rose and none fell"


def sweep(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The metrics that a cutoff changes, at several k."""
    ks = sorted({int(k) for arm in suite.arms.values() for k in arm.sweep})
    rows = []
    for name, arm in suite.arms.items():
        for mean in dict.fromkeys(mean for means in arm.sweep.values() for mean in means.means):
            names = of_mean(mean, suite.k)
            if not names.cut:
                continue
            texts = iter(column([arm.sweep[str(k)].means[mean] for k in ks if str(k) in arm.sweep]))
            values = [next(texts) if str(k) in arm.sweep else NONE for k in ks]
            rows.append((medium.plain(name, 60), names.title.partition("@")[0], *values))
    head = ("arm", "metric", *(f"k = {k}" for k in ks))
    return Section("Other cutoffs", head=head, align=("left", "left", *["right"] * len(ks)), rows=tuple(rows))


def slices(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The means of each slice, by arm."""
    means = [of_row(row, suite.k) for row in FIRST]
    rows = tuple(
        (
            medium.plain(name, 60),
            medium.plain(slice_name, 40),
            medium.cell(value, 60),
            f"{group.n}{medium.small if group.small else ''}",
            *(single(group.means[names.mean]) if names.mean in group.means else NONE for names in means),
        )
        for name, arm in suite.arms.items()
        for slice_name, groups in arm.by_slice.items()
        for value, group in groups.items()
    )
    head = ("arm", "slice", "value", "n", *(names.title for names in means))
    return Section(
        f"Slices: {len(rows)}",
        intro=f"{medium.small} = fewer than {SMALL_SAMPLE} cases.",
        head=head,
        align=("left", "left", "left", "right", "right", "right", "right"),
        rows=rows,
    )

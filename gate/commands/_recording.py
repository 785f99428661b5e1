"""Recording one suite's baseline: what it is held against, what goes with it, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gate.commands._gone import gone_labels, page_renames, refused
from gate.commands._load import Suite
from gate.commands._lowered import NOTHING_LOWERED, Lowered, Reference, explained, lowered, would_lower
from gate.commands._project import Project, inside
from gate.compare import case_changes
from gate.errors import InputError, Problem
from gate.model.accepted import Entry
from gate.model.fingerprint import shown as shown_version
from gate.model.measurement import Measurement
from gate.model.settings import SuiteSettings
from gate.model.wording import listed, plural
from gate.noise import carried
from gate.store import accepted, baselines, canonical, git
from gate.store.text import is_there, read_text

_NAMED = 8


class Held(NamedTuple):
    """What one suite's new baseline is held against: the last one, its accepted losses, and the rules beside it.

    `entries` name the last baseline, `others` another one. `asked`: --base named it.
    """

    before: Measurement | None = None
    entries: tuple[Entry, ...] = ()
    others: tuple[Entry, ...] = ()
    base: git.Base | None = None
    rules: SuiteSettings | None = None
    asked: bool = False

    def renames(self, suite: Suite) -> dict[str, str]:
        """Old -> new doc_id of the pages that git sees as renamed since."""
        known = self.before.pages if self.before is not None else ()
        return page_renames(self.base, suite.settings.corpus, suite.corpus, known)


NOTHING = Held()


def reference_of(
    project: Project, name: str, reference: str | None
) -> tuple[Measurement | None, tuple[Entry, ...], tuple[Entry, ...]]:
    """The baseline that lowered cases are told from, the entries already written against it, and the others.

    The others were written against another baseline, such as the base branch's once a first refresh is committed
    here. They are kept: only a run against that base can tell whether they still count.

    --base, else the commit that is checked out, else the file: a second refresh on one branch must not forget what
    the first one lowered. A file that cannot be read any more is no reference; it is about to be replaced.
    """
    shown = project.config.settings.suite[name].baseline
    base = git.open_base(project.root, reference) if reference else git.head(project.root)
    try:
        text = base.read(shown) if base is not None else None
        if text is None and is_there(project.root / shown):
            text = read_text(inside(project.root, shown), shown)
        before = baselines.parse(text, shown, name, project.metrics) if text is not None else None
    except InputError:
        if reference:
            raise
        before = None
    beside = accepted.path_beside(shown)
    entries: tuple[Entry, ...] = ()
    if is_there(project.root / beside):
        entries = accepted.parse(read_text(inside(project.root, beside), beside), beside)
    digest = before.sha256() if before is not None else ""
    valid = tuple(entry for entry in entries if entry.baseline_sha256 == digest)
    return before, valid, tuple(entry for entry in entries if entry not in valid)


class Write:
    """One suite's files, ready to be written, or the problems that forbid it."""

    def __init__(self, project: Project, name: str, now: Measurement) -> None:
        self.problems: list[Problem] = []
        self.said = ""
        self.entries: tuple[Entry, ...] | None = None
        self._project, self._name, self._now = project, name, now

    @property
    def settings(self) -> SuiteSettings:
        return self._project.config.settings.suite[self._name]

    def commit(self) -> None:
        root, shown = self._project.root, self.settings.baseline
        baselines.write(inside(root, shown), self._now, shown)
        if self.entries is not None:
            beside = accepted.path_beside(shown)
            path = inside(root, beside)
            if self.entries:
                canonical.write_text(path, accepted.dumps(self.entries), beside)
            else:
                path.unlink(missing_ok=True)


def prepare(
    project: Project,
    suite: Suite,
    now: Measurement,
    over_base: Measurement | None,
    held: Held,
    reason: str | None,
    *,
    once: bool,
) -> Write:
    """`over_base`: the same over the cases of the last baseline. `once`: the suite was measured a single time, which
    cannot tell what is unstable.
    """
    name, before = suite.name, held.before
    if once and before is not None:
        now = carried(now, before)
    write = Write(project, name, now)
    shown = write.settings.baseline
    renames = held.renames(suite)
    write.problems += refused(gone_labels(suite.cases.all_cases, suite.questions or (), now.pages), renames)
    found = NOTHING_LOWERED
    if before is not None:
        sides = [write.settings, *([held.rules] if held.rules is not None else [])]
        found = lowered(now, Reference(before, sides, over_base, renames), project.metrics)
    entries, unexplained = explained(found, before, held.entries, reason)
    if unexplained:
        todo = f'Say why: gate baseline {name} --reason "..."'
        write.problems.append(would_lower(shown, unexplained, todo))
    if write.problems:
        return write
    # With --base it is known what a run will be held against: this baseline, or the base's.
    kept = [e for e in held.others if not held.asked or e.baseline_sha256 == now.sha256()]
    beside = accepted.path_beside(shown)
    said = [f"wrote {shown}: {_summary(now, before)}", _split(suite), *_unstable(now, once)]
    said += _about(found, entries, reason)
    if entries or held.entries or len(kept) < len(held.others):
        # Written anew: an entry against this very baseline whose loss was undone must not excuse a later one.
        write.entries = (*entries, *kept)
        counts = [
            plural(len(some), noun)
            for some, noun in (
                ([e for e in entries if e.what == "case"], "accepted loss"),
                ([e for e in entries if e.what != "case"], "accepted absence"),
            )
            if some
        ]
        said.append(
            f"{'wrote' if write.entries else 'removed'} {beside}: {', '.join(counts) or 'nothing accepted'}"
        )
    if dropped := [e for e in held.others if e not in kept]:
        said.append(f"  dropped {_stale(dropped)}")
    elif kept and not held.asked:
        said.append(
            f"  kept {_stale(kept)}; 'gate baseline {name} --base REF' drops those that REF does not need"
        )
    write.said = "".join(f"{line}\n" for line in said if line)
    return write


def _stale(entries: Sequence[Entry]) -> str:
    named = listed([f"{e.name} ({e.arm or e.what})" for e in entries], _NAMED)
    return f"{len(entries)} accepted entr{'y' if len(entries) == 1 else 'ies'} of another baseline: {named}"


def _about(found: Lowered, entries: Sequence[Entry], reason: str | None) -> Iterator[str]:
    """What became of cases whose loss nobody would guess, and of a reason that nothing needed."""
    if found.followed:
        yield f"  no loss, since the labels were renamed with their pages: {listed(found.followed, _NAMED)}"
    if found.unknown:
        yield (
            f"  not measured, so nothing is accepted for them: {listed(found.unknown, _NAMED)} of the last baseline; "
            "'gate run --base REF' still gates them"
        )
    if reason is not None and not any(entry.reason == reason for entry in entries):
        yield "  --reason: nothing new is lowered, so it was not needed and is not recorded"


def _split(suite: Suite) -> str:
    """How many cases are gated, and how many are not."""
    gated, split = len(suite.cases.cases), suite.settings.split
    others = len(suite.cases.all_cases) - gated
    if not others:
        return ""
    return f"  {plural(gated, 'case')} in {split} gated; {plural(others, 'case')} in {other_split(split)} not gated"


def other_split(split: str) -> str:
    """Where the cases lie that are not evaluated."""
    return "dev" if split == "test" else "test"


def _summary(now: Measurement, before: Measurement | None) -> str:
    text = f"{shown_version(now.cases_version)}, {plural(len(now.arms), 'arm')}"
    changes = case_changes(now.cases, before.cases) if before is not None else None
    return f"{text} ({changes})" if changes else text


def _unstable(now: Measurement, once: bool) -> Iterator[str]:
    """What the baseline records as unstable, a line for each arm."""
    for name, arm in now.arms.items():
        if arm.unstable:
            known = ", known from the last one ('--repeat 3' finds out anew)" if once else ""
            yield f"  {name}: {len(arm.unstable)} unstable{known}: {listed(arm.unstable, _NAMED)}"

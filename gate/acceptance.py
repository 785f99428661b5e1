"""Which accepted losses count, and which are stale or not listened to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.compare import Excuse
from gate.model.accepted import Entry
from gate.model.comparison import ArmComparison, Pair
from gate.model.measurement import Measurement
from gate.model.run import Run
from gate.model.verdict import Finding, Level, banner
from gate.model.wording import listed

# A regression that an approving review of the head commit lifts (gate.github reads the reviews live).
APPROVAL_NEEDED = "approval-needed"
_NAMED = 8


def valid_entries(run: Run, trusted: Measurement) -> list[Entry]:
    """The entries that count: written against this base baseline, about the case as it is labelled there."""
    digest = trusted.sha256()
    return [entry for entry in _listened_to(run) if not _stale(entry, digest, trusted)]


def _listened_to(run: Run) -> list[Entry]:
    if run.base is None:
        return list(run.head.accepted)
    entries = list(run.base.accepted)
    if run.base.settings.policy.accept == "head":
        entries += [entry for entry in run.head.accepted if entry not in entries]
    return entries


def _stale(entry: Entry, digest: str, trusted: Measurement) -> bool:
    if entry.baseline_sha256 != digest:
        return True
    label = trusted.cases.get(entry.name)
    return entry.what == "case" and (label is None or label.sha256 != entry.case_sha256)


def _own(run: Run, valid: Sequence[Entry]) -> list[Entry]:
    """The entries that the change itself brings."""
    return [entry for entry in valid if run.base is not None and entry not in run.base.accepted]


def accepted_losses(run: Run, trusted: Measurement) -> tuple[dict[Pair, Excuse], list[Finding]]:
    """What excuses a loss, by (arm, case), and what there is to say about the entries before anything is compared."""
    digest = trusted.sha256()
    listened = _listened_to(run)
    valid = [entry for entry in listened if not _stale(entry, digest, trusted)]
    findings = []
    stale = [entry for entry in listened if entry not in valid]
    if stale:
        findings.append(
            Finding(
                level=Level.WARNING,
                code="accepted-stale",
                cases=tuple(entry.name for entry in stale if entry.what == "case"),
                text=f"{len(stale)} accepted entr{'y is' if len(stale) == 1 else 'ies are'} stale and ignored "
                f"({listed((entry.name for entry in stale), _NAMED)})",
                todo="They name another baseline or another labelling. "
                f"'gate baseline {run.suite} --base REF' drops those that REF does not need.",
            )
        )
    ignored = [entry for entry in run.head.accepted if entry not in listened]
    if ignored:
        findings.append(
            banner(
                "accepted-ignored",
                f"the policy of the base takes no accepted losses from a change ({listed((entry.name for entry in ignored), _NAMED)})",
            )
        )
    own = _own(run, valid)
    if own and run.rules.policy.approval:
        findings.append(
            Finding(
                level=Level.REGRESSION,
                code=APPROVAL_NEEDED,
                cases=tuple(entry.name for entry in own if entry.what == "case"),
                text=f"{len(own)} losses that this change accepts await an approving review of its head commit",
                todo="Somebody with write access approves it, then this check runs again.",
            )
        )
    excuses = {
        (entry.arm or "", entry.name): Excuse(entry.reason, entry.down_to)
        for entry in valid
        if entry.what == "case"
    }
    return excuses, findings


def accepted_here(
    run: Run, trusted: Measurement, compared: Sequence[Mapping[str, ArmComparison]]
) -> Iterator[Finding]:
    """Banners of the entries that the change itself brings: those that excuse a loss here, and those that excuse none.

    What is absent and accepted (a kind, an arm, the QA set) has a banner of its own in `gate.edits`.
    """
    own = _own(run, valid_entries(run, trusted))
    lost = {(arm, move.id): move for arms in compared for arm, found in arms.items() for move in found.lost}
    rules = {**run.head.settings.arms, **run.rules.arms}
    excusing, idle = [], []
    for entry in own:
        pair = (entry.arm or "", entry.name)
        decides = pair[0] not in rules or rules[pair[0]].gate
        if entry.what == "case" and pair in lost and decides:
            # One that is lost deeper than was accepted is a loss like any other.
            excusing += [entry] if lost[pair].accepted else []
        elif entry.what == "case" or not _is_absent(entry, run, trusted):
            idle.append(entry)
    if excusing:
        said = listed((f"{_named(entry)}: {entry.reason}" for entry in excusing), _NAMED, "; ")
        yield banner("accepted-here", f"this change accepts {len(excusing)} of its own losses: {said}")
    if idle:
        yield Finding(
            level=Level.BANNER,
            code="accepted-in-advance",
            text=f"this change accepts what it does not lose ({listed(map(_named, idle), _NAMED)})",
            todo="A later change could lose it unseen: remove these entries.",
        )


def _is_absent(entry: Entry, run: Run, trusted: Measurement) -> bool:
    """Whether what an entry about a kind, an arm or the QA set accepts is so."""
    if entry.what == "kind":
        return entry.name not in run.now.kinds
    if entry.what == "arm":
        return entry.name not in run.now.arms
    return entry.what == "qa" and run.now.qa_version != trusted.qa_version


def _named(entry: Entry) -> str:
    return f"{entry.name} ({entry.arm or entry.what})"

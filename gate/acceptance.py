"""Which accepted losses count, and which are stale or not listened to."""

from __future__ import annotations

from gate.compare import Excuse
from gate.model.accepted import Entry
from gate.model.comparison import Pair
from gate.model.measurement import Measurement
from gate.model.run import Run
from gate.model.verdict import Finding, Level, banner

# A regression that an approving review of the head commit lifts (gate.github reads the reviews live).
APPROVAL_NEEDED = "approval-needed"


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


def accepted_losses(run: Run, trusted: Measurement) -> tuple[dict[Pair, Excuse], list[Finding]]:
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
                f"({', '.join(entry.name for entry in stale[:8])})",
                todo="They name another baseline or another labelling; remove them.",
            )
        )
    ignored = [entry for entry in run.head.accepted if entry not in listened]
    if ignored:
        findings.append(
            banner(
                "accepted-ignored",
                f"the policy of the base takes no accepted losses from a change ({', '.join(e.name for e in ignored[:8])})",
            )
        )
    own = [entry for entry in valid if run.base is not None and entry not in run.base.accepted]
    if own:
        said = "; ".join(
            f"{entry.name}{f' ({entry.arm})' if entry.arm else ''}: {entry.reason}" for entry in own[:8]
        )
        more = f"; and {len(own) - 8} more" if len(own) > 8 else ""
        findings.append(
            banner("accepted-here", f"this change accepts {len(own)} of its own losses: {said}{more}")
        )
        if run.rules.policy.approval:
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

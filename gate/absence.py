"""A suite that the base has and the change has not: what is said about it, and a report that holds nothing else.

One place for a branch's own run and for what a fork's run left: the same removal has the same verdict in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gate.acceptance import APPROVAL_NEEDED
from gate.model.accepted import Entry
from gate.model.fingerprint import corpus_version, labels_version, shown
from gate.model.report import SuiteReport, Versions
from gate.model.run import Side
from gate.model.settings import SuiteSettings
from gate.model.verdict import Finding, Level, banner, decide

CODE = "suite-absent"


def absence(name: str, base: Side, brought: Sequence[Entry]) -> Iterator[Finding]:
    """What the absence of a suite means. `brought`: the accepted losses of the change, which the base may not listen to.

    A suite without a baseline guarded nothing, so nothing is lost with it.
    """
    if base.baseline is None:
        yield banner(
            CODE, f"the suite '{name}' is gone; the base had no baseline of it, so it guarded nothing"
        )
        return
    digest = base.baseline.sha256()
    reason = _reason(name, base.accepted, digest)
    own = _reason(name, brought, digest) if base.settings.policy.accept == "head" else None
    if reason is None and own is None:
        yield Finding(
            level=Level.INVALID,
            code=CODE,
            text=f"the suite '{name}' of the base is absent here",
            todo="Bring it back, or accept its absence with a reason in the accepted file.",
        )
        return
    yield banner(CODE, f"the suite '{name}' is gone, accepted: {own if reason is None else reason}")
    if reason is None and base.settings.policy.approval:
        yield Finding(
            level=Level.REGRESSION,
            code=APPROVAL_NEEDED,
            text=f"that this change drops the suite '{name}' awaits an approving review of its head commit",
            todo="Somebody with write access approves it, then this check runs again.",
        )


def _reason(name: str, entries: Sequence[Entry], digest: str) -> str | None:
    return next(
        (e.reason for e in entries if (e.what, e.name, e.baseline_sha256) == ("suite", name, digest)), None
    )


def empty_report(name: str, settings: SuiteSettings, findings: Sequence[Finding]) -> SuiteReport:
    """The report of a suite of which nothing was measured: what was found, and the verdict that follows from it."""
    meaning = settings.meaning
    # True fingerprints of nothing: whoever reads the report checks them like any other.
    versions = Versions(cases=labels_version(()), corpus=corpus_version({}))
    return SuiteReport(
        suite=name,
        split=meaning.split,
        k=meaning.k,
        pool=meaning.pool,
        context=meaning.context,
        verdict=decide(findings, judged=True),
        cases_version=shown(versions.cases),
        versions=versions,
        findings=tuple(findings),
        arms={},
        labels={},
        pages={},
    )

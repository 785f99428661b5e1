"""The report of a suite that the base has and the change has not."""

from __future__ import annotations

from gate.commands._project import Project
from gate.commands._sides import read_absent
from gate.model.report import SuiteReport, Versions
from gate.model.verdict import Finding, Level, decide


def absent_suite(project: Project, name: str) -> SuiteReport:
    """The report of a suite that the base has and the change has not."""
    assert project.base is not None
    assert project.base_settings is not None
    settings = project.base_settings.suite[name]
    base, entries = read_absent(project, name, settings)
    trusted = base.baseline
    digest = trusted.sha256() if trusted is not None else ""
    reason = next(
        (e.reason for e in entries if e.what == "suite" and e.name == name and e.baseline_sha256 == digest),
        None,
    )
    if trusted is None:
        finding = Finding(
            level=Level.BANNER,
            code="suite-absent",
            text=f"the suite '{name}' is gone; the base had no baseline of it, so it guarded nothing",
        )
    elif reason is None:
        finding = Finding(
            level=Level.INVALID,
            code="suite-absent",
            text=f"the suite '{name}' of the base is absent here",
            todo="Bring it back, or accept its absence with a reason in the accepted file.",
        )
    else:
        finding = Finding(
            level=Level.BANNER, code="suite-absent", text=f"the suite '{name}' is gone, accepted: {reason}"
        )
    meaning = settings.meaning
    return SuiteReport(
        suite=name,
        split=meaning.split,
        k=meaning.k,
        pool=meaning.pool,
        context=meaning.context,
        verdict=decide([finding], judged=True),
        cases_version="0 cases",
        versions=Versions(cases="0 cases", corpus="0 pages"),
        findings=(finding,),
        arms={},
        labels={},
        pages={},
    )

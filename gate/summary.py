"""A measurement with its judgement -> the report's values, and back. Pure: only sums, counts and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.diagnosis import counts
from gate.harness import mean, missing, rescore
from gate.judged import share
from gate.model.answer import Trace
from gate.model.comparison import CaseChanges, PageChanges, Pair
from gate.model.fingerprint import shown
from gate.model.frozen import EMPTY
from gate.model.measurement import ArmMeasurement, Label, Meaning, Measurement, Row
from gate.model.metric import Metrics
from gate.model.report import (
    ArmReport,
    BaselineRef,
    CaseRow,
    DiagnosisReport,
    Means,
    Report,
    Source,
    SuiteReport,
    Versions,
)
from gate.model.settings import ArmSettings, SuiteSettings
from gate.model.verdict import Finding, Verdict, worst
from gate.situation import Situation

Fields = Mapping[str, Mapping[str, str]]
"""case id -> slice field -> value"""


class Extras(NamedTuple):
    """What a report shows beside what a baseline needs."""

    fields: Fields = EMPTY
    slices: Sequence[str] = ()
    sweep: Sequence[int] = ()
    unanswerable: int = 0
    sources: Mapping[str, Source] = EMPTY
    tied: Mapping[str, tuple[str, ...]] = EMPTY
    traces: Mapping[str, Mapping[str, Trace]] = EMPTY
    rejected: Mapping[str, Sequence[str]] = EMPTY
    again: Mapping[Pair, Row] = EMPTY
    not_gated: Mapping[str, int] = EMPTY


def mean_names(metrics: Metrics) -> dict[str, str]:
    """Row name -> the mean's name: `rr` -> `mrr`; others keep theirs."""
    return {metric.ROW: name.replace("-", "_") for name, metric in metrics.items()}


def means(rows: Iterable[Row], names: Mapping[str, str]) -> Means:
    """The means of `rows` under the means' own names."""
    kept = list(rows)
    return Means(n=len(kept), **{names.get(row, row): value for row, value in mean(kept).items()})


def suite_report(
    now: Measurement,
    settings: SuiteSettings,
    situation: Situation,
    verdict: Verdict,
    findings: Sequence[Finding],
    baseline: BaselineRef | None,
    metrics: Metrics,
    extras: Extras,
) -> SuiteReport:
    """Everything about one suite as report values."""
    return SuiteReport(
        suite=now.suite,
        split=now.settings.split,
        k=now.settings.k,
        pool=now.settings.pool,
        context=now.settings.context,
        verdict=verdict,
        cases_version=shown(now.cases_version),
        qa_version=shown(now.qa_version) if now.qa_version else None,
        versions=Versions(cases=now.cases_version, qa=now.qa_version, corpus=now.corpus_version),
        metrics=situation.metrics,
        baseline=baseline,
        findings=tuple(findings),
        case_changes=situation.cases,
        page_changes=situation.pages,
        comparison=dict(situation.arms),
        arms={
            name: _with_extras(
                name,
                arm_report(arm, settings.arms[name], now.cases, now.settings, metrics, extras),
                extras,
                now,
            )
            for name, arm in now.arms.items()
        },
        labels=now.cases,
        sources=dict(extras.sources),
        not_gated=dict(extras.not_gated),
        pages=now.pages,
    )


def _with_extras(name: str, arm: ArmReport, extras: Extras, now: Measurement) -> ArmReport:
    """What a run knows of an arm beside its measurement."""
    judged = share(now.arms[name].rows, now.cases, extras.rejected, now.settings.k)
    diagnosis = arm.diagnosis
    if diagnosis is not None and name in extras.traces:
        answers = {
            question: trace.answer
            for question, trace in extras.traces[name].items()
            if trace.answer is not None
        }
        diagnosis = diagnosis.model_copy(update={"answers": answers})
    return arm.model_copy(
        update={
            "tied": extras.tied.get(name, ()),
            "again": {case: row for (of, case), row in extras.again.items() if of == name},
            "diagnosis": diagnosis,
            "judged": judged,
        }
    )


def arm_report(
    arm: ArmMeasurement,
    rules: ArmSettings,
    labels: Mapping[str, Label],
    meaning: Meaning,
    metrics: Metrics,
    extras: Extras,
) -> ArmReport:
    """Means over all measured cases, by kind and by slice; every row; the k sweep; the diagnosis."""
    names = mean_names(metrics)
    ids = [name for name in labels if name in arm.rows]
    whole = means((arm.rows[name] for name in ids), names)
    diagnosis = None
    if arm.questions or arm.failed_questions:
        diagnosis = DiagnosisReport(
            counts=counts(arm.questions),
            questions={name: question.bucket for name, question in arm.questions.items()},
            partial=tuple(name for name, q in arm.questions.items() if q.partial(meaning.context)),
            unanswerable=extras.unanswerable,
            detail=arm.questions,
        )
    return ArmReport(
        n=whole.n,
        settings=arm.settings,
        gate=rules.gate,
        required=rules.required,
        by_kind=_by(ids, {name: labels[name].kind for name in ids}, arm.rows, names),
        by_slice={
            slice_name: _by(
                ids, {n: extras.fields.get(n, {}).get(slice_name, "none") for n in ids}, arm.rows, names
            )
            for slice_name in extras.slices
        },
        sweep={str(k): _at_k(arm, labels, meaning, k, metrics, names) for k in extras.sweep},
        cases=tuple(_case_row(name, labels[name], arm.rows[name], meaning.k) for name in ids),
        diagnosis=diagnosis,
        failed=arm.failed,
        failed_questions=arm.failed_questions,
        unstable=arm.unstable,
        tied=(),
        again={},
        judged=None,
        **whole.means,
    )


def _by(
    ids: Sequence[str], value_of: Mapping[str, str], rows: Mapping[str, Row], names: Mapping[str, str]
) -> dict[str, Means]:
    groups: dict[str, list[Row]] = {}
    for name in ids:
        groups.setdefault(value_of[name], []).append(rows[name])
    return {value: means(group, names) for value, group in sorted(groups.items())}


def _at_k(
    arm: ArmMeasurement,
    labels: Mapping[str, Label],
    meaning: Meaning,
    k: int,
    metrics: Metrics,
    names: Mapping[str, str],
) -> Means:
    rows = rescore(arm.rows, labels, meaning.model_copy(update={"k": k}), metrics)
    return means(rows.values(), names)


def _case_row(name: str, label: Label, row: Row, k: int) -> CaseRow:
    return CaseRow(
        id=name,
        kind=label.kind,
        query=label.query,
        ranked=row.ranked,
        at=row.at,
        missing=missing(row, label, k),
        **row.scores,
    )


def whole_report(suites: Sequence[SuiteReport]) -> Report:
    """The run: its suites and the worst of their verdicts."""
    return Report(verdict=worst(suite.verdict for suite in suites), suites=tuple(suites))


def measurement_of(suite: SuiteReport) -> Measurement:
    """The measurement inside a report, so that a report can stand where a baseline does."""
    return Measurement(
        suite=suite.suite,
        settings=Meaning(split=suite.split, k=suite.k, pool=suite.pool, context=suite.context),
        cases_version=suite.versions.cases,
        qa_version=suite.versions.qa,
        corpus_version=suite.versions.corpus,
        cases=suite.labels,
        pages=suite.pages,
        arms={
            name: ArmMeasurement(
                settings=arm.settings,
                rows={row.id: Row(ranked=row.ranked, at=row.at, **row.scores) for row in arm.cases},
                questions=dict(arm.diagnosis.detail) if arm.diagnosis is not None else {},
                unstable=arm.unstable,
                failed=arm.failed,
                failed_questions=arm.failed_questions,
            )
            for name, arm in suite.arms.items()
        },
    )


NO_SITUATION = Situation((), {}, CaseChanges(), PageChanges())

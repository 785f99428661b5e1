"""What one run measured, compared and decided: the file that `--json` writes and that other programs read.

`environment` holds what may differ from machine to machine; everything else is the same bytes for the same inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, JsonValue

from gate.model.answer import Answer
from gate.model.case import Split
from gate.model.comparison import ArmComparison, CaseChanges, PageChanges
from gate.model.cost import Spent
from gate.model.frozen import Frozen
from gate.model.measurement import Bucket, Label, Positive, Question, Row
from gate.model.verdict import Finding, Verdict

REPORT_SCHEMA: Final = "retrieval-gate/report/1"

# A kind or a slice with fewer cases carries a small-sample mark.
SMALL_SAMPLE = 10

Score = Annotated[float, Field(ge=0.0)]
_FLAT = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)


class Means(Frozen):
    """The means of a group of cases, each metric as a further key (`recall`, `mrr`, `hit`, ...); n may be 0."""

    model_config = _FLAT
    __pydantic_extra__: dict[str, Score]

    n: int

    @property
    def means(self) -> Mapping[str, float]:
        return self.__pydantic_extra__

    @property
    def small(self) -> bool:
        """Too few cases to read much into."""
        return self.n < SMALL_SAMPLE


class CaseRow(Frozen):
    """One case under one arm, each metric as a further key (`recall`, `rr`, `hit`, ...).

    `ranked`: every page of the pool in order; `at`: the chunk position of each; `missing`: relevant pages outside
    the top k.
    """

    model_config = _FLAT
    __pydantic_extra__: dict[str, Score]

    id: str
    kind: str
    query: str
    ranked: tuple[str, ...]
    at: tuple[Positive, ...]
    missing: tuple[str, ...]

    @property
    def scores(self) -> Mapping[str, float]:
        return self.__pydantic_extra__


class DiagnosisReport(Frozen):
    """The QA questions of one arm. `partial`: some cited pages arrived in the context and some did not.

    `answers`: what a model made of those that reached it, where one was asked.
    """

    counts: dict[str, int]
    questions: dict[str, Bucket]
    partial: tuple[str, ...] = ()
    unanswerable: int = 0
    detail: dict[str, Question] = Field(default_factory=dict)
    answers: dict[str, Answer] = Field(default_factory=dict)


class JudgedShare(Frozen):
    """Over the `cases` that record rejected pages: the mean share of the top k that was ever judged, and recall@k over the
    whole ranking (`plain`) and over the judged pages alone (`condensed`).
    """

    cases: int
    share: float
    plain: float
    condensed: float


class ArmReport(Means):
    """One arm. `n` counts the cases in the means; `failed` are the cases that were not measured, with the reason.

    `unstable`: cases that scored differently when measured again. `tied`: cases where a tie decides the top k.
    `again`: lost cases in a second measurement.
    """

    model_config = _FLAT
    __pydantic_extra__: dict[str, Score]

    settings: dict[str, JsonValue]
    gate: bool = True
    required: bool = True
    by_kind: dict[str, Means]
    by_slice: dict[str, dict[str, Means]] = Field(default_factory=dict)
    sweep: dict[str, Means] = Field(default_factory=dict)
    cases: tuple[CaseRow, ...]
    diagnosis: DiagnosisReport | None = None
    failed: dict[str, str] = Field(default_factory=dict)
    failed_questions: dict[str, str] = Field(default_factory=dict)
    unstable: tuple[str, ...] = ()
    judged: JudgedShare | None = None
    tied: tuple[str, ...] = ()
    again: dict[str, Row] = Field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why nothing of this arm was measured, where one reason holds for all of it; else empty."""
        reasons = {*self.failed.values(), *self.failed_questions.values()}
        return reasons.pop() if not self.cases and len(reasons) == 1 else ""


class BaselineRef(Frozen):
    """What the run was compared with. `commit` is set where the baseline was read through git; `committed` is false
    for a file that was named by hand, which no refresh replaces.
    """

    path: str
    commit: str | None = None
    sha256: str
    cases_version: str
    committed: bool = True


class Versions(Frozen):
    """The full fingerprints; the short forms beside them are for people."""

    cases: str
    qa: str | None = None
    corpus: str


class Source(Frozen):
    """Where a case is labelled: the file as gate.toml names it, and the line."""

    file: str
    line: int


class SuiteReport(Frozen):
    """One suite: what was measured, what it was compared with, what was found.

    `cases_version` and `qa_version` show eight digits of their digests; `versions` has all of them. `not_gated`: how
    many labelled cases lie in another split than the measured one, by split.
    """

    suite: str
    split: Split
    k: Positive
    pool: Positive
    context: Positive
    verdict: Verdict
    cases_version: str
    qa_version: str | None = None
    versions: Versions
    metrics: tuple[str, ...] = ("recall",)
    baseline: BaselineRef | None = None
    findings: tuple[Finding, ...] = ()
    case_changes: CaseChanges = Field(default_factory=CaseChanges)
    page_changes: PageChanges = Field(default_factory=PageChanges)
    comparison: dict[str, ArmComparison] = Field(default_factory=dict)
    arms: dict[str, ArmReport]
    labels: dict[str, Label]
    sources: dict[str, Source] = Field(default_factory=dict)
    not_gated: dict[str, int] = Field(default_factory=dict)
    pages: dict[str, str]


class Environment(Frozen):
    """Versions and cost: shown, never compared. No timings: the same run twice is the same bytes.

    `spent`: suite -> arm -> what the arm used of a service, all measurements of the run together.
    """

    gate: str = ""
    python: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
    spent: dict[str, dict[str, Spent]] = Field(default_factory=dict)


class Report(Frozen):
    """The whole run; the worst verdict of its suites is the run's."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
    )

    schema_name: Literal["retrieval-gate/report/1"] = Field(default=REPORT_SCHEMA, alias="schema")
    verdict: Verdict
    suites: tuple[SuiteReport, ...]
    environment: Environment = Field(default_factory=Environment)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        value: dict[str, Any] = self.model_dump(mode="json")
        return value

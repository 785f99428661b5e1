"""What one suite's run measured. A baseline file is a committed measurement; comparing is between two of them.

The file is canonical JSON with one case per line (`gate.store.canonical`); nothing in it depends on the clock or the
machine. Means are not stored: they follow from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, JsonValue

from gate.model.case import Split
from gate.model.fingerprint import LabelKey, digest
from gate.model.frozen import Frozen
from gate.model.ranking import Ranking

BASELINE_SCHEMA: Final = "retrieval-gate/baseline/1"

Positive = Annotated[int, Field(ge=1)]
Score = Annotated[float, Field(ge=0.0)]


class Meaning(Frozen):
    """The settings that give the numbers their meaning: a change of one makes two measurements incomparable."""

    split: Split = "test"
    k: Positive = 5
    pool: Positive = 20
    context: Positive = 6


class Label(Frozen):
    """What was asked of one case, with its fingerprint over (id, query, labels with grades, kind)."""

    kind: str
    query: str
    relevant: dict[str, Positive] = Field(min_length=1)
    sha256: str

    def key(self, case_id: str) -> LabelKey:
        """What the fingerprint of this case covers."""
        return (case_id, self.query, self.relevant, self.kind)


class Row(Frozen):
    """One case under one arm: the page ranking, and every metric as a further key (`recall`, `rr`, `hit`, ...).

    `at[i]` is the 1-based position, among the returned chunks, of the best chunk of `ranked[i]`. With it the row can
    be scored again under another k, a smaller pool or another context.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, Score]

    FIXED: ClassVar[frozenset[str]] = frozenset({"ranked", "at"})

    ranked: tuple[str, ...]
    at: tuple[Positive, ...]

    @property
    def scores(self) -> Mapping[str, float]:
        """Metric row name -> score of this case."""
        return self.__pydantic_extra__

    @property
    def ranking(self) -> Ranking:
        return Ranking(self.ranked, self.at, max(self.at, default=0))


Bucket = Literal["retrieval", "ranking", "generation", "ok", "reached_context"]


class Question(Frozen):
    """Where one QA question stood: `at` maps each cited page to its first position among the hits, or null."""

    bucket: Bucket
    at: dict[str, Positive | None]
    sha256: str

    def partial(self, context: int) -> bool:
        """Some cited pages reached the context and some did not."""
        arrived = [position is not None and position <= context for position in self.at.values()]
        return any(arrived) and not all(arrived)


class ArmMeasurement(Frozen):
    """All rows of one arm. `failed` holds the cases that were not measured, with the reason; a baseline has none."""

    settings: dict[str, JsonValue]
    rows: dict[str, Row]
    questions: dict[str, Question] = Field(default_factory=dict)
    unstable: tuple[str, ...] = ()
    failed: dict[str, str] = Field(default_factory=dict)
    failed_questions: dict[str, str] = Field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.failed and not self.failed_questions


class Measurement(Frozen):
    """One suite, measured: the settings, the cases with their fingerprints, the pages with their hashes, the arms."""

    schema_name: Literal["retrieval-gate/baseline/1"] = Field(default=BASELINE_SCHEMA, alias="schema")
    suite: str
    settings: Meaning
    cases_version: str
    qa_version: str | None = None
    corpus_version: str
    cases: dict[str, Label]
    pages: dict[str, str]
    arms: dict[str, ArmMeasurement]

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        serialize_by_alias=True,
    )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind among the cases, sorted."""
        return tuple(sorted({label.kind for label in self.cases.values()}))

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values as a baseline file holds them: what is empty by default is left out of an arm."""
        value: dict[str, Any] = self.model_dump(mode="json")
        for arm in value["arms"].values():
            for key in ("failed", "failed_questions", "unstable", "questions"):
                if not arm[key]:
                    del arm[key]
        if value["qa_version"] is None:
            del value["qa_version"]
        return value

    def sha256(self) -> str:
        """The digest an accepted loss names: over the canonical JSON of the whole measurement."""
        return digest(self.as_json())

"""gate.toml as typed values. Unknown keys are errors; what an arm or a policy adds is checked by its own file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from gate.model.case import Split
from gate.model.frozen import Frozen
from gate.model.measurement import Meaning, Positive

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]


def _printable(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    if not text.isprintable():
        raise ValueError("has a control character")
    return text


Text = Annotated[str, AfterValidator(_printable)]


class ArmSettings(Frozen):
    """What every arm has. An arm's file derives its own settings from this; here further keys are kept as given."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    type: Text
    gate: bool = True
    required: bool = True


class OpenArmSettings(ArmSettings):
    """An arm as it stands in gate.toml, before its own file has read the rest."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, Any]

    def raw(self) -> dict[str, Any]:
        """All keys that were written down, in order."""
        return self.model_dump(exclude_unset=True)


class PolicySettings(Frozen):
    """What every policy has. A policy's file derives its own settings from this.

    `metrics`: row names that decide. `kinds`: the kinds that decide, all when absent. `diagnosis`: whether a QA
    question that falls back a bucket warns or fails. `accept`: `head` honours accepted losses that the change
    itself brings (shown in a banner), `base` only those that are already on the base. `approval`: the ones a change
    brings count only once somebody with write access has approved its head commit. `already_lost`: what a loss
    weighs that the base tree has as well.
    """

    rule: Text = "any-drop"
    metrics: tuple[str, ...] = Field(default=("recall",), min_length=1)
    kinds: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    diagnosis: Literal["warn", "fail"] = "warn"
    approval: bool = False
    accept: Literal["head", "base"] = "head"
    already_lost: Literal["warn", "fail"] = "fail"


class OpenPolicySettings(PolicySettings):
    """A policy as it stands in gate.toml, before its own file has read the rest."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, Any]

    def raw(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class SuiteSettings(Frozen):
    """One suite: corpus + cases + arms + policy + baseline. Paths are relative to the file they stand in."""

    corpus: Text
    reader: Text | None = None
    cases: tuple[Text, ...] = Field(min_length=1)
    qa: Text | None = None
    baseline: Text
    split: Split = "test"
    k: Positive = 5
    pool: Positive = 20
    context: Positive = 6
    slices: tuple[Text, ...] = ()
    templates: Text | None = None
    arms: dict[Name, OpenArmSettings] = Field(min_length=1)
    generate: dict[str, Any] | None = None
    policy: OpenPolicySettings = Field(default_factory=lambda: OpenPolicySettings())  # noqa: PLW0108 - mypy wants the call

    @property
    def meaning(self) -> Meaning:
        return Meaning(split=self.split, k=self.k, pool=self.pool, context=self.context)


class Settings(Frozen):
    """The whole file: the suites by name."""

    suite: dict[Name, SuiteSettings] = Field(min_length=1)

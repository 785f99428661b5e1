"""An accepted loss: what a reviewed file names, with a reason."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gate.model.frozen import Frozen

Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\n\r]*\S[^\n\r]*$")]


class Entry(Frozen):
    """One entry of `baselines/<suite>.accepted.toml`.

    `what` = case accepts the loss of one case under one arm, and names the case's fingerprint. The others accept
    that something of the base is absent here: a kind, an arm, the QA set, or the whole suite.
    """

    what: Literal["case", "kind", "arm", "qa", "suite"] = "case"
    name: str
    arm: str | None = None
    reason: Reason
    case_sha256: Sha | None = None
    baseline_sha256: Sha

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.what == "case" and (self.arm is None or self.case_sha256 is None):
            raise ValueError("an accepted case needs 'arm' and 'case_sha256'")
        return self


class AcceptedFile(Frozen):
    """The whole file."""

    accepted: tuple[Entry, ...] = Field(default=())

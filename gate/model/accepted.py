"""An accepted loss: what a reviewed file names, with a reason."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gate.model.frozen import Frozen

REASON_LIMIT = 500

_SHA = re.compile(r"[0-9a-f]{64}")


def one_line(text: str) -> str:
    """A reason as it is: one line of visible text; a ValueError says what it is instead."""
    if not text.strip():
        raise ValueError("is empty")
    if not text.isprintable():
        raise ValueError("is not one line of plain text")
    if len(text) > REASON_LIMIT:
        raise ValueError(f"has {len(text)} characters, over {REASON_LIMIT}")
    return text


def _sha(text: str) -> str:
    if not _SHA.fullmatch(text):
        raise ValueError("is not a sha256 of 64 hex digits")
    return text


Sha = Annotated[str, AfterValidator(_sha)]
Reason = Annotated[str, AfterValidator(one_line)]


class Entry(Frozen):
    """One entry of `baselines/<suite>.accepted.toml`.

    `what` = case accepts the loss of one case under one arm, and names the case's fingerprint. The others accept
    that something of the base is absent here: a kind, an arm, the QA set, or the whole suite.
    `down_to`: for each metric (row name) the score that was accepted; a later, deeper loss is not covered. Without it
    the case may score anything.
    """

    what: Literal["case", "kind", "arm", "qa", "suite"] = "case"
    name: str
    arm: str | None = None
    reason: Reason
    case_sha256: Sha | None = None
    baseline_sha256: Sha
    down_to: dict[str, Annotated[float, Field(ge=0.0)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.what == "case" and (self.arm is None or self.case_sha256 is None):
            raise ValueError("accepts a case without its 'arm' and 'case_sha256'")
        return self


class AcceptedFile(Frozen):
    """The whole file."""

    accepted: tuple[Entry, ...] = Field(default=())

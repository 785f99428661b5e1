"""The base of every pydantic model here: frozen, and unknown keys are errors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict

# The default of a mapping that nobody may write to.
EMPTY: Mapping[Any, Any] = MappingProxyType({})


class Frozen(BaseModel):
    """Immutable; an unknown key is rejected; numbers are never read from strings; NaN is not a number here.

    Validators are built on first use: a run uses a third of the models, and start-up is most of a small run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

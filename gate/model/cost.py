"""What an arm used of a service that counts. Shown in the report's environment block, never compared."""

from __future__ import annotations

from pydantic import Field

from gate.model.frozen import Frozen


class Spent(Frozen):
    """`requests` sent, `texts` embedded (or pairs scored), `cached` of them without asking, `tokens` as billed.

    `cost_usd` is None where a price is not known; 0.0 says that nothing was spent. `price` is what was assumed, with
    its date, for example `0.02 USD per 1M tokens (2026-11-30)`.
    """

    requests: int = Field(default=0, ge=0)
    texts: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=0.0, ge=0.0)
    price: str = ""

"""What an arm used of a service that counts. Shown in the report's environment block, never compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from pydantic import Field

from gate.model.frozen import Frozen


class Spent(Frozen):
    """`requests` sent, `texts` processed (embedded, scored, answered), `cached` of them without asking, `tokens` as billed.

    `cost_usd` is None where a price is not known; 0.0 says that nothing was spent. `price` is what was assumed, with
    its date, for example `0.02 USD per 1M tokens (2026-11-30)`.
    """

    requests: int = Field(default=0, ge=0)
    texts: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=0.0, ge=0.0)
    price: str = ""


def summed(parts: Iterable[Spent]) -> Spent:
    """All of it together. One unknown cost makes the whole unknown: what is not known is not nothing."""
    every = list(parts)
    costs = [part.cost_usd for part in every]
    known = [cost for cost in costs if cost is not None]
    return Spent(
        requests=sum(part.requests for part in every),
        texts=sum(part.texts for part in every),
        cached=sum(part.cached for part in every),
        tokens=sum(part.tokens for part in every),
        cost_usd=math.fsum(known) if len(known) == len(costs) else None,
        price="; ".join(dict.fromkeys(part.price for part in every if part.price)),
    )


def summed_by_arm(parts: Iterable[Mapping[str, Spent]]) -> dict[str, Spent]:
    """The same for each arm."""
    found: dict[str, list[Spent]] = {}
    for part in parts:
        for arm, spent in part.items():
            found.setdefault(arm, []).append(spent)
    return {arm: summed(every) for arm, every in found.items()}

"""The table [suite.NAME.generate]: which model answers the QA questions, under which cap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from gate.embedders._endpoint import Endpoint
from gate.model.settings import Name, Text

Price = Annotated[float, Field(ge=0.0)]


class Settings(Endpoint):
    """`arm`: whose context is answered from (default: the first that decides). `always`: also without --generate.

    `api`: `chat` or `responses`. `structured`: `auto` asks for the schema and falls back to plain JSON where the endpoint
    refuses that, `schema` and `json` are one of the two only. `prompt`: a file that replaces the built-in instructions.
    Prices are per million tokens, yours to give with the day they were read.
    """

    model: Text
    arm: Name | None = None
    always: bool = False
    api: Literal["chat", "responses"] = "chat"
    structured: Literal["auto", "schema", "json"] = "auto"
    prompt: Text | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    max_tokens: Annotated[int, Field(ge=16, le=100_000)] = 800
    concurrency: Annotated[int, Field(ge=1, le=32)] = 4
    max_cost_usd: Price | None = None
    price_in_per_million: Price | None = None
    price_out_per_million: Price | None = None
    price_date: Text | None = None

    @model_validator(mode="after")
    def _priced(self) -> Settings:
        prices = (self.price_in_per_million, self.price_out_per_million)
        if self.max_cost_usd is not None and None in prices:
            raise ValueError(
                "max_cost_usd needs price_in_per_million and price_out_per_million: "
                "a cap on an unknown price holds nothing back"
            )
        if prices.count(None) == 1:
            raise ValueError("needs both price_in_per_million and price_out_per_million, or neither")
        if None not in prices and self.price_date is None:
            raise ValueError("a price needs price_date, the day on which it was read")
        return self


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, address) of what it sends."""
    return settings.credentials()

"""Queries with the pages that some system found for them, to be judged by people who do not see which system it was."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from gate.model.fingerprint import digest
from gate.model.frozen import Frozen

POOL_SCHEMA: Final = "retrieval-gate/pool/1"
SYSTEMS_SCHEMA: Final = "retrieval-gate/pool-systems/1"


class Near(Frozen):
    """A case, or an earlier query of the pool, that asks nearly the same."""

    id: str
    query: str


class PoolQuery(Frozen):
    """One query. `candidates` are sorted by name, so that their order tells nothing.

    `source`: where it comes from. `case`: the existing case whose pages are judged, where the pool is of a report. `near`:
    what it duplicates. `leaks`: pages that hold the query word for word.
    """

    id: str
    query: str
    source: str = ""
    case: str | None = None
    candidates: tuple[str, ...]
    near: tuple[Near, ...] = ()
    leaks: tuple[str, ...] = ()


class Pool(Frozen):
    """`depth`: how many pages of each system went in. `pages`: the content hash of every candidate when it was made."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, populate_by_name=True, serialize_by_alias=True
    )

    schema_name: Literal["retrieval-gate/pool/1"] = Field(default=POOL_SCHEMA, alias="schema")
    name: str
    suite: str
    depth: int = Field(ge=1)
    systems: tuple[str, ...]
    queries: tuple[PoolQuery, ...]
    pages: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        value: dict[str, Any] = self.model_dump(mode="json")
        return value

    def sha256(self) -> str:
        """What a judgement says it is of."""
        return digest(self.as_json())

    def query(self, name: str) -> PoolQuery:
        """The query of that id; KeyError else."""
        for one in self.queries:
            if one.id == name:
                return one
        raise KeyError(name)


class Systems(Frozen):
    """Which systems found what: query -> page -> systems. In a file of its own, which judging never opens."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, populate_by_name=True, serialize_by_alias=True
    )

    schema_name: Literal["retrieval-gate/pool-systems/1"] = Field(default=SYSTEMS_SCHEMA, alias="schema")
    pool_sha256: str
    found: dict[str, dict[str, tuple[str, ...]]]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        value: dict[str, Any] = self.model_dump(mode="json")
        return value

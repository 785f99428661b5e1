"""Labelled queries and QA gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SPLITS = ("test", "dev", "all")
Split = Literal["test", "dev", "all"]


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled query.

    `grades`: relevant page -> grade >= 1, never empty. `fields`: other values to slice by. `source` and `line` say
    where the label stands; they do not enter the fingerprint.
    """

    id: str
    query: str
    grades: Mapping[str, int]
    kind: str
    split: str = "test"
    not_relevant: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class QaCase:
    """One question with its gold answer. Without citations it is unanswerable: counted, never diagnosed."""

    id: str
    question: str
    answer: str
    citations: tuple[str, ...]
    applies_to: str = "all"
    source: str = ""
    line: int = 0

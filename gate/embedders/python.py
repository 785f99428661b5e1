"""Vectors from the user's own function: `embedder = "package.module:embed"`.

The function takes a list of texts, or texts and a mode (`query` or `passage`), and returns one list of numbers for each.
It runs in the user's interpreter, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from gate.arms._bridge import Target
from gate.embedders._bridged import Bridged, BridgedEmbedder, embedder
from gate.embedders._host import Host


class Settings(Bridged):
    """`target`: `package.module:function`, or a class with `embed`, made with `options`."""

    type: Literal["python"]
    target: Target
    options: dict[str, Any] = Field(default_factory=dict)


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, "") for what the code is handed."""
    return settings.credentials()


def build(settings: Settings, host: Host) -> BridgedEmbedder:
    """The process starts with the first text."""
    return embedder(settings, host, settings.target, settings.options, settings.target)

"""The user's own embedder: `package.module:embed`, texts to one vector each, in the user's own interpreter.

It takes (texts), or (texts, mode) with `mode` named so, which is `query` or `passage`. A class is made once with `options`
and has `embed`. Sync or async; lists, numpy or torch. It never runs in the gate's process.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gate.arms._bridge import Target
from gate.embedders._bridged import Bridged, BridgedEmbedder, own
from gate.embedders._host import Host


class Settings(Bridged):
    """`target`: `package.module:function`. `options`: what a class is made with."""

    type: Literal["python"]
    target: Target
    options: dict[str, Any] = Field(default_factory=dict)


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, "") for what the code is handed."""
    return settings.credentials()


def lacking(settings: Settings, root: Path | None) -> Iterable[str]:
    """The interpreter, where it is not there. What is installed in it, only it could tell."""
    return settings.lacking(root)


def build(settings: Settings, host: Host) -> BridgedEmbedder:
    """Nothing is started before the first text."""
    return own(settings.target, settings.options, settings, host)

"""A model of the user's fastembed package, in the user's interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from gate.embedders._bridged import BridgedEmbedder, BridgedModel, named
from gate.embedders._host import Host


class Settings(BridgedModel):
    """`model`: one that fastembed supports. Unset prefixes leave it to what fastembed does for that model."""

    type: Literal["fastembed"]


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, "") for what the package is handed, such as HF_HOME."""
    return settings.credentials()


def lacking(settings: Settings, root: Path | None) -> Iterable[str]:
    """The interpreter, where it is not there. What is installed in it, only it could tell."""
    return settings.lacking(root)


def build(settings: Settings, host: Host) -> BridgedEmbedder:
    """Nothing is started before the first text."""
    return named("fastembed", "FastEmbed", settings, host)

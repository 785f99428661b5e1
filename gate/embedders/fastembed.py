"""A model of the package fastembed, in the interpreter that has it (`python` of gate.toml, or the Action's input)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gate.embedders._bridged import THEIR_MODELS, Bridged, BridgedEmbedder, embedder
from gate.embedders._host import Host
from gate.model.settings import Text


class Settings(Bridged):
    """`model`: its name or folder. `options`: further arguments for the package's own class."""

    type: Literal["fastembed"]
    model: Text
    options: dict[str, Any] = Field(default_factory=dict)


def build(settings: Settings, host: Host) -> BridgedEmbedder:
    """The process starts, and the model is loaded, with the first text."""
    options = {"model": settings.model, **settings.options}
    return embedder(settings, host, "FastEmbed", options, f"fastembed {settings.model}", THEIR_MODELS)

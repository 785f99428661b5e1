"""What an embedder is given beside its settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Host(NamedTuple):
    """The run that an embedder works for.

    `secret(name, url)` is that of `gate.model.ranking.Materials`. `root`: the folder of gate.toml, None where there is none.
    `paid_usd`: what the same arm has cost already, in earlier measurements of the run.
    """

    secret: Callable[[str, str], str | None]
    root: Path | None = None
    paid_usd: float = 0.0

"""An arm's `embedder` setting -> the embedder behind its cache.

`"local"` is a name in gate/embedders; `"package.module:embed"` is short for `{type = "python", target = ...}`; a table has
`type` and the options of that embedder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gate import registry
from gate.embedders._cache import Cache, cache_folder, skipped_caches
from gate.embedders._cached import CachedEmbedder
from gate.embedders._host import Host
from gate.errors import InputError, Problem
from gate.model.ranking import Materials
from gate.store import config

Setting = str | Mapping[str, Any]


def resolve(embedder: Setting, materials: Materials, where: str) -> CachedEmbedder:
    """The embedder of one arm. Nothing is loaded, opened or asked before the first text that needs it."""
    host = Host(materials.secret, getattr(materials, "root", None), getattr(materials, "paid_usd", 0.0))
    module, settings = _typed(embedder, where, host.root)
    skip = skipped_caches()
    made = module.build(settings, host)
    keeps = skip != "1" and getattr(made, "cacheable", True)
    cache = Cache(cache_folder()) if keeps else None
    return CachedEmbedder(made, cache, skip_queries=skip == "queries")


def check(embedder: Setting, where: str, root: Path | None) -> None:
    """Raise the InputError that `resolve` would raise; nothing is made."""
    _typed(embedder, where, root)


def credentials(embedder: Setting, where: str, root: Path | None) -> Iterable[tuple[str, str]]:
    """(environment variable, address) for every secret that this embedder sends, by its settings."""
    module, settings = _typed(embedder, where, root)
    told = getattr(module, "credentials", None)
    return tuple(told(settings)) if told is not None else ()


def lacking(embedder: Setting, where: str, root: Path | None) -> Iterable[str]:
    """What the machine does not have and this embedder needs, where its file tells."""
    module, settings = _typed(embedder, where, root)
    told = getattr(module, "lacking", None)
    return tuple(told(settings, root)) if told is not None else ()


def is_local(embedder: Setting, where: str, root: Path | None) -> bool:
    """Whether it runs in this process, costs nothing and gives the same vectors again: its file says `LOCAL = True`."""
    module, _ = _typed(embedder, where, root)
    return getattr(module, "LOCAL", False) is True


def _typed(embedder: Setting, where: str, root: Path | None) -> tuple[Any, Any]:
    raw: dict[str, Any]
    if isinstance(embedder, str):
        raw = {"type": "python", "target": embedder} if ":" in embedder else {"type": embedder}
    else:
        raw = dict(embedder)
    name = raw.get("type")
    if not isinstance(name, str) or ":" in name:
        todo = 'Write a table with type, such as { type = "openai", model = "..." }.'
        raise InputError(Problem(f"{where} embedder", "has no type that is a name", todo))
    module = registry.load("embedders", name, f"{where} embedder", root)
    return module, config.typed(module.Settings, raw, f"{where} embedder")

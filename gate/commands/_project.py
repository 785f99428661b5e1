"""From flags to a project: its config, the base it is held against, its metrics, and the suites that are wanted."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gate import registry
from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.model.metric import Metrics
from gate.model.settings import Settings
from gate.store import config, git
from gate.store.text import leaks


class Project(NamedTuple):
    """The config, the base it is held against, and the metrics. `searched_from`: the folder from which the config was
    looked for, upwards; None where it was named.
    """

    config: config.Config
    base: git.Base | None
    base_settings: Settings | None
    metrics: Metrics
    searched_from: Path | None = None

    @property
    def root(self) -> Path:
        return self.config.root


def open_project(args: argparse.Namespace) -> Project:
    """Find and read the config, and the base's with --base."""
    if getattr(args, "base", None) and getattr(args, "against", None):
        raise InputError(
            Problem(
                "--base, --against",
                "both name what to compare with",
                "Give one of them; the base decides in a pull request.",
            )
        )
    here = None if args.config else Path.cwd()
    path = config.find(here) if here is not None else Path(args.config)
    loaded = config.load(path)
    base = git.open_base(loaded.root, args.base) if getattr(args, "base", None) else None
    if base is not None:
        _refuse_links(path, base.top)
    return Project(loaded, base, _base_settings(base, loaded.shown), load_metrics(), here)


def _refuse_links(path: Path, top: Path) -> None:
    """The base's rules stand where this config stands. Behind a link of the change that would be somewhere else."""
    lexical = Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps '..'
    for part in (lexical, *lexical.parents):
        if part.is_symlink() and part.parent.resolve().is_relative_to(top.resolve()):
            what = "is a link, so the base's settings would be looked for in another place"
            raise InputError(Problem(str(path), what, f"Make {part.name} a plain file or folder."))


def load_metrics() -> Metrics:
    """Every metric file, by name; the order of the files is the order of the columns."""
    return {name: registry.load("metrics", name, "metrics") for name in registry.names("metrics")}


def _base_settings(base: git.Base | None, own_name: str) -> Settings | None:
    """The base's rules, from its file of the same name, else from either usual one; None where the base has none."""
    if base is None:
        return None
    for name in dict.fromkeys((own_name, config.GATE_TOML, config.PYPROJECT)):
        text = base.read(name)
        where = f"{name} at {base.short}"
        if text is not None and (name != config.PYPROJECT or config.has_tool_table(text, where)):
            return config.parse(text, name, where)
    return None


def select_suites(project: Project, wanted: Sequence[str] | None) -> list[str]:
    """The suites of the change and of the base, or the wanted ones among them."""
    known = dict.fromkeys(project.config.settings.suite)
    if project.base_settings is not None:
        known |= dict.fromkeys(project.base_settings.suite)
    if not wanted:
        return list(known)
    raise_all(
        [
            Problem("--suite", f"no such suite ({name!r})", did_you_mean(name, known))
            for name in wanted
            if name not in known
        ]
    )
    return list(dict.fromkeys(wanted))


def inside(root: Path, configured: str) -> Path:
    """A configured path. In the Action it and all below it must resolve inside the repository, and be plain files;
    on a person's own machine it is theirs.
    """
    path = root / configured
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if os.environ.get("GITHUB_ACTIONS") == "true" and workspace:
        raise_all(leaks(path, configured, Path(workspace)))
    return path

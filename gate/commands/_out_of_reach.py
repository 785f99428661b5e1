"""What the base has and git cannot show where it is looked for: its config in another folder, its baseline outside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gate.commands._load import Suite
from gate.commands._project import Project
from gate.model.verdict import Finding, Level
from gate.store import config, git
from gate.store.text import is_there, read_text


def config_moved(project: Project) -> Iterator[Finding]:
    """The base's own run would have read another config than this one: with that file every rule of the base would go.

    Where nobody named a config, the nearest one decides, on the base as here. A named one is a project of its own beside
    others, unless the one above it that the base has is gone.
    """
    if project.base is None:
        return
    if project.searched_from is None and project.base_settings is not None:
        return
    for folder in _folders(project):
        path = _on_base(project.base, folder)
        if path is None:
            continue
        if folder == ".":
            return
        there = _configures(project.root / path, path)
        if project.searched_from is not None or not there:
            here = "this change reads another one" if there else "this change has none"
            yield Finding(
                level=Level.INVALID,
                code="config-moved",
                text=f"the base's settings stand in {path}, where {here}: nothing of them would decide",
                todo="Leave the file where it is, and what is read too. A further config is named with --config, or the "
                "input 'config'.",
            )
            return


def _folders(project: Project) -> Iterator[str]:
    """Where a config is looked for, the nearest first, relative to the folder of the one that was found."""
    assert project.base is not None
    root, top = project.root.resolve(), project.base.top.resolve()
    folder = (project.searched_from or root).resolve()
    while folder.is_relative_to(top):
        yield PurePosixPath(os.path.relpath(folder, root)).as_posix()
        folder = folder.parent


def _on_base(base: git.Base, folder: str) -> str | None:
    """The file in a folder of the base that configures the gate there."""
    for name in (config.GATE_TOML, config.PYPROJECT):
        path = name if folder == "." else f"{folder}/{name}"
        text = base.read(path)
        if text is not None and (
            name != config.PYPROJECT or config.has_tool_table(text, f"{path} at {base.short}")
        ):
            return path
    return None


def baseline_outside(project: Project, suite: Suite) -> Iterator[Finding]:
    """A baseline that no commit holds: every change would bring the first one."""
    if project.base is None or suite.base is None:
        return
    path = suite.base.settings.baseline
    if project.base.inside(path) is None:
        yield Finding(
            level=Level.INVALID,
            code="baseline-outside",
            text=f"the baseline {path} lies outside the repository, so the base's cannot be told from the change's",
            todo="Keep it inside, and commit it.",
        )


def _configures(path: Path, shown: str) -> bool:
    """Whether the file still configures the gate here."""
    if not is_there(path):
        return False
    return path.name != config.PYPROJECT or config.has_tool_table(read_text(path, shown), shown)

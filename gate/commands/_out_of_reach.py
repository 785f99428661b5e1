"""What the base has and git cannot show where it is looked for: its config in another folder, its baseline outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gate.commands._load import Suite
from gate.commands._project import Project
from gate.model.verdict import Finding, Level
from gate.store import config
from gate.store.text import is_there, read_text


def config_moved(project: Project) -> Iterator[Finding]:
    """The base's config stood in a folder above and is gone: with it every rule of the base would be."""
    if project.base is None or project.base_settings is not None:
        return
    for up in range(1, len(PurePosixPath(project.base.prefix).parts) + 1):
        for name in (config.GATE_TOML, config.PYPROJECT):
            path = f"{'../' * up}{name}"
            text = project.base.read(path)
            where = f"{path} at {project.base.short}"
            if text is None or (name == config.PYPROJECT and not config.has_tool_table(text, where)):
                continue
            if not _configures(project.root / path, path):
                yield Finding(
                    level=Level.INVALID,
                    code="config-moved",
                    text=f"the base's settings stand in {path}, where this change has none: nothing of them would decide",
                    todo="Leave the file where it is.",
                )
                return


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

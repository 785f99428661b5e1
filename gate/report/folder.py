"""Where the templates are: in the installed package, else in our own checkout. Never in the current folder."""

from __future__ import annotations

import tomllib
from pathlib import Path

import gate
from gate.errors import GateError, Problem


def template_folder() -> Path:
    """The folder of the built-in templates."""
    home = Path(gate.__file__ or "").resolve().parent
    packaged = home / "templates"
    if packaged.is_dir():
        return packaged
    checkout = home.parent
    if _is_ours(checkout / "pyproject.toml") and (checkout / "templates").is_dir():
        return checkout / "templates"
    raise GateError(
        Problem(str(packaged), "the templates are missing from this installation", "Install it again.")
    )


def _is_ours(pyproject: Path) -> bool:
    try:
        project = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and project.get("name") == "retrieval-gate"

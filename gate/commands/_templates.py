"""The user's template overrides: from the base where there is one, since a pull request must not word its own verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._project import inside
from gate.errors import InputError, Problem

if TYPE_CHECKING:
    from gate.commands._load import Suite
    from gate.commands._project import Project


@contextmanager
def overrides(project: Project, suites: Mapping[str, Suite]) -> Iterator[dict[str, Path]]:
    """Suite -> folder of overrides, for the suites that name one; the base's are laid out for the time of the block."""
    with ExitStack() as stack:
        yield {
            name: folder
            for name, suite in suites.items()
            if (folder := _folder(project, suite, stack)) is not None
        }


def _folder(project: Project, suite: Suite, stack: ExitStack) -> Path | None:
    rules = (suite.base or suite.head).settings
    if rules.templates is None:
        return None
    if project.base is None:
        return inside(project.root, rules.templates)
    if project.base_settings is None or suite.name not in project.base_settings.suite:
        return None  # a suite that is new in this change: it does not word what the bot says of it
    import tempfile

    into = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-templates-")))
    folder = project.base.extract(rules.templates, into)
    if folder is None:
        raise InputError(
            Problem(
                f"{rules.templates} at {project.base.short}",
                "no such folder of templates",
                "Add it to the base first.",
            )
        )
    return folder

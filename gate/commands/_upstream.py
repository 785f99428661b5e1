"""What the repository's own people say while a fork's comment is written: reviews of its head, templates of the default branch.

Both are read now, through the API; a fault in either is told and costs no comment.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._remote import find_settings
from gate.errors import InputError
from gate.github import fork
from gate.github.client import GitHubError, PullState
from gate.github.post import approved
from gate.github.tree import Tree, path_inside
from gate.github.workflow import command
from gate.report.escape import terminal
from gate.store.text import decode

if TYPE_CHECKING:
    from gate.commands._remote import Found
    from gate.github.inputs import Inputs
    from gate.model.accepted import Entry

LARGEST_ACCEPTED = 1_000_000


def approved_losses(
    client: Tree, pull: PullState, found: Found, base: fork.Base
) -> dict[str, tuple[Entry, ...]]:
    """The accepted losses that the pull request brings, once somebody with write access has approved this very commit.

    Without such a review the change's own words excuse nothing here. The reviews are read now; of the head one file
    is read for each suite, as data.
    """
    from gate.store import accepted

    brought: dict[str, tuple[Entry, ...]] = {}
    try:
        if not approved(client, pull.number, pull.head_sha):
            return {}
        for name, side in base.sides.items():
            beside = accepted.path_beside(side.settings.baseline)
            data = client.file(pull.head_sha, path_inside(found.folder, beside))
            if data is not None and len(data) <= LARGEST_ACCEPTED:
                brought[name] = accepted.parse(decode(data, beside), beside)
    except GitHubError as fault:
        print(command("warning", f"the reviews could not be read, so nothing is approved ({fault})"), end="")
        return {}
    except InputError as fault:
        said = terminal(str(fault.problems[0])[:1000])
        print(command("warning", f"the change's accepted losses cannot be read: {said}"), end="")
    return brought


def template_folders(client: Tree, inputs: Inputs, into: Path) -> Path | None:
    """The template overrides of the default branch, below `into` by suite; None where they cannot be read.

    They are the repository's own words, so a fault in them is told and costs no comment.
    """
    try:
        default = client.default_branch()
        trunk = client.branch(default)
        if trunk is not None:
            _lay_out(client, trunk.sha, find_settings(client, trunk.sha, inputs, default), into)
    except (GitHubError, InputError) as fault:
        said = terminal(str(fault)[:1000])
        print(command("warning", f"the templates of the default branch are not used: {said}"), end="")
        return None
    return into


def _lay_out(client: Tree, commit: str, found: Found, into: Path) -> None:
    for name, suite in found.settings.suite.items():
        if suite.templates is None:
            continue
        folder = path_inside(found.folder, suite.templates)
        for file in client.names(commit, folder, ".j2"):
            data = client.file(commit, f"{folder}/{file}" if folder != "." else file)
            target = into / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(decode(data or b"", file), encoding="utf-8")

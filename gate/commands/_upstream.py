"""What the repository's own people say while a fork's comment is written: reviews of its head, templates of the default branch.

Both are read now, through the API; a fault in either is told and costs no comment.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._remote import find_settings
from gate.errors import InputError, Problem
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
"""In bytes. A file that a stranger wrote is parsed only up to here; an entry has some 300."""


def approved_losses(
    client: Tree, pull: PullState, found: Found, base: fork.Base
) -> dict[str, tuple[Entry, ...]]:
    """The accepted losses that the pull request brings, once somebody with write access has approved this very commit.

    Without such a review the change's own words excuse nothing here. The reviews are read now; of the head one file
    is read for each suite, as data.
    """
    brought: dict[str, tuple[Entry, ...]] = {}
    try:
        if not approved(client, pull.number, pull.head_sha):
            return {}
        for name, side in base.sides.items():
            try:
                brought[name] = _brought(
                    client, pull.head_sha, path_inside(found.folder, side.settings.baseline)
                )
            except InputError as fault:
                said = f"{name}: what the change accepts is not read, so it excuses no loss here: {fault.problems[0]}"
                print(command("warning", terminal(said, 1000)), end="")
    except GitHubError as fault:
        print(command("warning", f"the reviews could not be read, so nothing is approved ({fault})"), end="")
        return {}
    return brought


def _brought(client: Tree, commit: str, baseline: str) -> tuple[Entry, ...]:
    """The accepted losses beside a baseline of a commit. What is too large, or cannot be read, is an InputError."""
    from gate.store import accepted

    beside = accepted.path_beside(baseline)
    data = client.file(commit, beside)
    if data is None:
        return ()
    if len(data) > LARGEST_ACCEPTED:
        what = f"has {len(data):,} bytes, more than the {LARGEST_ACCEPTED:,} that are read"
        raise InputError(Problem(beside, what, "Drop the entries that are stale."))
    return accepted.parse(decode(data, beside), beside)


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

"""The first step of action.yml: what this event asks for, and which commit it is held against. Needs no token."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gate.commands._step import Outputs, event_of
from gate.errors import InputError, Problem
from gate.github.base import Found, find_base
from gate.github.event import Activity, Event, Plan, plan
from gate.github.inputs import read_inputs, refuse_absolute
from gate.github.workflow import command
from gate.model.verdict import Exit, Verdict


class Checkout:
    """What the checkout and the public API know of the history (gate.github.base.History). Uses no token."""

    def __init__(self, folder: Path, event: Event) -> None:
        self._folder, self._event = folder, event

    def parents(self, commit: str) -> list[str]:
        from gate.store import git

        return git.parents(self._folder, commit) if commit else []

    def parents_by_api(self, commit: str) -> list[str]:
        from gate.github.client import GitHubClient, GitHubError
        from gate.store import git

        # Asked only where the checkout is the merge and shallow. A workflow that checked out the head alone measures no
        # merge, and main may have gone on without it.
        found = git.head(self._folder)
        if found is None or found.commit != commit or self.parents(commit) or not self._event.repository:
            return []
        try:
            return GitHubClient("", self._event.repository, self._event.api_url).parents(commit)
        except GitHubError:
            return []

    def merge_base(self, one: str, other: str) -> str | None:
        from gate.store import git

        found = git.merge_base(self._folder, one, other)
        if found is None and git.is_shallow(self._folder):
            for depth in (50, 1000):
                git.fetch(self._folder, one, depth)
                git.fetch(self._folder, other, depth)
                found = git.merge_base(self._folder, one, other)
                if found is not None:
                    break
        return found


def run_plan(environment: Mapping[str, str]) -> int:
    """Decide what this run does and what it is held against; fetch the base commit where the checkout lacks it."""
    from gate.store import git

    outputs = Outputs(environment)
    inputs, event = read_inputs(environment), event_of(environment)
    refuse_absolute(inputs.working_directory)
    decided = plan(event, inputs.mode)
    found = Found(None, "no base")
    folder = Path(inputs.working_directory)
    if decided.activity in (Activity.MEASURE, Activity.REFRESH) and not folder.is_dir():
        what = f"no such folder in the checkout ({inputs.working_directory!r})"
        raise InputError(Problem("input 'working-directory'", what, "Check out the repository first."))
    if decided.activity is Activity.MEASURE:
        found = find_base(event, Checkout(folder, event))
        if (
            found.commit is not None
            and not git.has(folder, found.commit)
            and not git.fetch(folder, found.commit, 1)
        ):
            raise InputError(
                Problem(
                    f"base {found.commit[:10]}",
                    "is not in the checkout and cannot be fetched",
                    "Check out with fetch-depth: 2 (pull_request) or 0.",
                )
            )
        if found.commit is None and event.name in ("pull_request", "merge_group"):
            raise InputError(
                Problem(event.name, "has no base commit in its event", "Report this with the event file.")
            )
    print(f"{decided.activity.value}: {decided.why}")
    if found.commit is not None:
        print(f"base {found.commit}: {found.how}")
    if found.warning:
        print(command("warning", found.warning), end="")
    if decided.activity is Activity.REFUSE:
        print(command("error", decided.why), end="")
        _invalid(outputs, decided)
    outputs.set("activity", decided.activity.value)
    outputs.set("base", found.commit or "")
    outputs.set("comments", "true" if decided.comments and inputs.comment.value != "never" else "false")
    outputs.set("seeds-cache", "true" if decided.seeds_cache else "false")
    return 0


def _invalid(outputs: Outputs, decided: Plan) -> None:
    outputs.set("verdict", Verdict.INVALID.value)
    outputs.set("exit-code", str(int(Exit.INVALID)))
    outputs.set("why", decided.why)

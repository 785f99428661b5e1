"""The first step of action.yml: what this event asks for, and which commit it is held against. Needs no token."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gate.commands._step import FAULT, Outputs, event_of, faulty, folder_of
from gate.errors import GateError, InputError, NotMeasuredError, Problem
from gate.github.base import find_base
from gate.github.event import PULL_EVENTS, Activity, Event, Plan, plan
from gate.github.inputs import Inputs, read_inputs, refuse_absolute
from gate.github.workflow import command


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
    """Decide what this run does and what it is held against; fetch the base commit where the checkout lacks it.

    What keeps it from that is a verdict of its own, in outputs, comment and summary, as a fault in the measuring is.
    """
    outputs, folder, event = Outputs(environment), folder_of(environment), event_of(environment)
    (folder / FAULT).unlink(missing_ok=True)  # of an earlier use of the action in this job
    comments, activity, base = False, Activity.REFUSE, ""
    try:
        inputs = read_inputs(environment)
        decided = plan(event, inputs.mode)
        comments = decided.comments and inputs.comment.value != "never"
        print(f"{decided.activity.value}: {decided.why}")
        if decided.activity is Activity.REFUSE:
            raise InputError(Problem(event.name or "no event", decided.why, ""))
        if decided.warning:
            print(command("warning", decided.warning), end="")
        base = _base(inputs, event, decided)
        activity = decided.activity
    except GateError as fault:
        faulty(fault, outputs, folder, spent="0")
    outputs.set("activity", activity.value)
    outputs.set("base", base)
    outputs.set("comments", "true" if comments else "false")
    return 0


def _base(inputs: Inputs, event: Event, decided: Plan) -> str:
    """The commit that this run is held against, which is then here; "" where there is none."""
    from gate.store import git

    refuse_absolute(inputs.working_directory)
    folder = Path(inputs.working_directory)
    if decided.activity in (Activity.MEASURE, Activity.REFRESH) and not folder.is_dir():
        what = f"no such folder in the checkout ({inputs.working_directory!r})"
        raise InputError(Problem("input 'working-directory'", what, "Check out the repository first."))
    if decided.activity is not Activity.MEASURE:
        return ""
    found = find_base(event, Checkout(folder, event))
    if found.commit is None:
        if event.name in (*PULL_EVENTS, "merge_group"):
            todo = "Report this with the event file."
            raise InputError(Problem(event.name, "has no base commit in its event", todo))
        return ""
    print(f"base {found.commit}: {found.how}")
    if found.warning:
        print(command("warning", found.warning), end="")
    if not git.has(folder, found.commit) and not git.fetch(folder, found.commit, 1):
        what = "is not in the checkout and cannot be fetched"
        todo = "Check out with fetch-depth: 2 (pull_request) or 0."
        raise NotMeasuredError(Problem(f"base {found.commit[:10]}", what, todo))
    return found.commit

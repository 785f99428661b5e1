"""The first step of action.yml: what this event asks for, and which commit it is held against. Needs no token."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gate.commands._step import FAULT, Outputs, event_of, faulty, folder_of
from gate.errors import GateError, InputError, NotMeasuredError, Problem
from gate.github.base import find_base
from gate.github.event import PULL_EVENTS, Activity, Event, Plan, plan
from gate.github.inputs import Inputs, read_inputs, working_folder
from gate.github.workflow import command


class Checkout:
    """What the checkout knows of the history (gate.github.base.History), deepened where it must be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def parents(self, commit: str) -> list[str]:
        from gate.store import git

        return git.parents(self._folder, commit) if commit else []

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

    if decided.activity not in (Activity.MEASURE, Activity.REFRESH):
        return ""
    folder = working_folder(inputs.working_directory)
    if decided.activity is Activity.REFRESH:
        return ""
    found = find_base(event, Checkout(folder))
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

"""Which event this is and what to do about it: environment + event file -> typed values, as a pure function.

Nothing in a payload is trusted beyond what GitHub itself fills in: names, titles and branches are data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from gate.model.frozen import Frozen

DEPENDABOT = "dependabot[bot]"


PULL_EVENTS = ("pull_request", "pull_request_review")
"""Events about a pull request that run without its head's say; both check out GitHub's merge commit."""

TREE_EVENTS = ("push", "schedule", "workflow_dispatch", "repository_dispatch", "")
"""Events without a base: what stands in the tree is all. The last is no GitHub at all."""


class Mode(StrEnum):
    """The action's `mode` input."""

    GATE = "gate"
    COMMENT = "comment"
    REFRESH = "refresh"
    PROPOSE = "propose"


class Pull(Frozen):
    """The pull request of an event. `head_sha` is the author's commit, never the merge commit."""

    number: int
    head_sha: str
    head_ref: str
    head_repo: str | None
    base_sha: str
    base_ref: str
    fork: bool


class Finished(Frozen):
    """A workflow run that has ended, as `workflow_run` tells of it."""

    id: int
    event: str
    path: str
    head_sha: str
    head_branch: str
    head_owner: str
    head_repo: str
    actor: str = ""


class Event(Frozen):
    """What GitHub said. `repository` is "owner/name"; all of it is empty outside GitHub.

    `queued`: the number of the pull request that a merge queue's entry is for.
    """

    name: str = ""
    repository: str = ""
    sha: str = ""
    ref: str = ""
    default_branch: str = ""
    actor: str = ""
    run_id: int = 0
    attempt: int = 1
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    pull: Pull | None = None
    merge_base_sha: str | None = None
    queued: int | None = None
    finished: Finished | None = None

    @property
    def run_url(self) -> str:
        """The page of this run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"

    @property
    def untrusted(self) -> bool:
        """Whether the code of this event comes from somebody without write access: a fork, or Dependabot."""
        return self.pull is not None and (self.pull.fork or self.actor == DEPENDABOT)

    @property
    def commented_itself(self) -> bool:
        """Whether the run that has ended had a token that writes, and so has commented by itself."""
        run = self.finished
        return (
            run is not None
            and run.head_repo.lower() == self.repository.lower()
            and run.actor.lower() != DEPENDABOT
        )

    @property
    def head_sha(self) -> str:
        """The commit that statuses and links are about."""
        if self.pull is not None:
            return self.pull.head_sha
        return self.finished.head_sha if self.finished is not None else self.sha


class Activity(StrEnum):
    """What a run is going to do."""

    MEASURE = "measure"
    COMMENT = "comment"
    REFRESH = "refresh"
    PROPOSE = "propose"
    REFUSE = "refuse"


class Plan(Frozen):
    """What to do: the activity, whether a comment is wanted, and why, in a sentence for the log. `warning` is said louder."""

    activity: Activity
    comments: bool = False
    why: str
    warning: str = ""


def read_event(environment: Mapping[str, str], payload: Mapping[str, Any]) -> Event:
    """The typed event. A payload that lacks what its event promises gives an event without it, never an exception."""
    repository = _object(payload, "repository")
    return Event(
        name=_text(environment, "GITHUB_EVENT_NAME"),
        repository=_text(environment, "GITHUB_REPOSITORY") or _text(repository, "full_name"),
        sha=_text(environment, "GITHUB_SHA"),
        ref=_text(environment, "GITHUB_REF"),
        default_branch=_text(repository, "default_branch"),
        actor=_text(environment, "GITHUB_ACTOR"),
        run_id=_number(_text(environment, "GITHUB_RUN_ID")),
        attempt=_number(_text(environment, "GITHUB_RUN_ATTEMPT")) or 1,
        api_url=_text(environment, "GITHUB_API_URL") or "https://api.github.com",
        server_url=_text(environment, "GITHUB_SERVER_URL") or "https://github.com",
        pull=_pull(_object(payload, "pull_request"), _text(repository, "full_name")),
        merge_base_sha=_text(_object(payload, "merge_group"), "base_sha") or None,
        queued=_queued(_text(_object(payload, "merge_group"), "head_ref")),
        finished=_finished(_object(payload, "workflow_run")),
    )


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return _clean(found) if isinstance(found, str) else ""


def _clean(text: str) -> str:
    """Text that can be written as UTF-8; half a surrogate pair is a replacement character."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _id(value: Mapping[str, Any], key: str) -> int | None:
    """A number that GitHub counts with; true and false are none in Python's eyes only."""
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 10**18 else None


def _pull(value: Mapping[str, Any], repository: str) -> Pull | None:
    number = _id(value, "number")
    if number is None:
        return None
    head, base = _object(value, "head"), _object(value, "base")
    head_repo = _text(_object(head, "repo"), "full_name") or None
    base_repo = _text(_object(base, "repo"), "full_name") or repository
    return Pull(
        number=number,
        head_sha=_text(head, "sha"),
        head_ref=_text(head, "ref"),
        head_repo=head_repo,
        base_sha=_text(base, "sha"),
        base_ref=_text(base, "ref"),
        # A head whose repository was deleted is a fork that nobody can look at any more.
        fork=head_repo is None or head_repo.lower() != base_repo.lower(),
    )


_QUEUE = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-([0-9]{1,12})-[0-9a-f]{40,64}")


def _queued(ref: str) -> int | None:
    """The pull request in the name of a merge queue's branch, which GitHub itself gives."""
    found = _QUEUE.fullmatch(ref)
    return int(found[1]) if found is not None else None


def _finished(value: Mapping[str, Any]) -> Finished | None:
    number = _id(value, "id")
    if number is None:
        return None
    head = _object(value, "head_repository")
    return Finished(
        id=number,
        event=_text(value, "event"),
        path=_text(value, "path").partition("@")[0],
        head_sha=_text(value, "head_sha"),
        head_branch=_text(value, "head_branch"),
        head_owner=_text(_object(head, "owner"), "login"),
        head_repo=_text(head, "full_name"),
        actor=_text(_object(value, "actor"), "login"),
    )


def plan(event: Event, mode: Mode) -> Plan:
    """What to do about an event under a mode; every pair has an answer, and a refusal says why."""
    if mode is Mode.COMMENT:
        return _comment(event)
    if mode in (Mode.REFRESH, Mode.PROPOSE):
        if event.name not in ("workflow_dispatch", "schedule"):
            return _refused(
                f"mode '{mode.value}' belongs to workflow_dispatch, not to {event.name or 'a run outside GitHub'}"
            )
        if mode is Mode.PROPOSE:
            return Plan(activity=Activity.PROPOSE, why="proposes the baseline that the other job measured")
        return Plan(activity=Activity.REFRESH, why="measures twice and writes a baseline to propose")
    if event.name in PULL_EVENTS:
        if event.pull is None:
            return _refused(f"the event file of {event.name} names no pull request")
        return Plan(activity=Activity.MEASURE, comments=not event.untrusted, why=_pull_why(event))
    if event.name == "pull_request_target":
        return _refused(
            "pull_request_target runs with this repository's secrets; the gate would run the pull request's files "
            "with them. Use pull_request, and 'mode: comment' on workflow_run for forks"
        )
    if event.name == "workflow_run":
        return _refused("on workflow_run only 'mode: comment' works: it checks nothing of the head out")
    if event.name == "merge_group":
        return Plan(activity=Activity.MEASURE, why="a merge queue entry is held against the queue's base")
    if event.name not in TREE_EVENTS:
        return _refused(
            f"{event.name} has no base, so a pull request would be held against its own baseline. "
            f"Start the gate on {', '.join(PULL_EVENTS)}, merge_group or push"
        )
    warning = ""
    if event.name == "push" and event.ref != f"refs/heads/{event.default_branch}":
        warning = (
            f"a push to {event.ref.removeprefix('refs/heads/')} is held against that branch's own baseline, which it may "
            "have changed; what is to be merged is judged on pull_request"
        )
    return Plan(
        activity=Activity.MEASURE, why="the work tree is held against its own baseline", warning=warning
    )


def _pull_why(event: Event) -> str:
    if event.untrusted:
        return "a fork's (or Dependabot's) token is read-only: measured here, posted by 'mode: comment' on workflow_run"
    return "a pull request is held against its base branch's baseline"


def _comment(event: Event) -> Plan:
    if event.name != "workflow_run" or event.finished is None:
        return _refused(
            f"mode 'comment' belongs to workflow_run, not to {event.name or 'a run outside GitHub'}"
        )
    if event.finished.event != "pull_request":
        return _refused(f"the finished run was not for a pull request but for {event.finished.event}")
    return Plan(
        activity=Activity.COMMENT, comments=True, why="posts what a fork's own run measured, not verified"
    )


def _refused(why: str) -> Plan:
    return Plan(activity=Activity.REFUSE, why=why)

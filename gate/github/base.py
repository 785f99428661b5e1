"""Which commit a run is compared with (DESIGN section 6): pure over a view of the repository's history.

For pull_request and pull_request_review the first parent of the event's merge commit, only if it has two parents and the second is the pull
request's head; else the merge base of head and base; else the event's base commit with a warning. (A shallow checkout
has the merge commit too, and that names its parents, so the API need not be asked. A checkout of the head alone measures
no merge: main may have gone on without it.) For merge_group the event's base. Everything else: no base, the work tree is all.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from gate.github.event import PULL_EVENTS, Event, Pull


class History(Protocol):
    """What is known about commits. Each answers None (or an empty list) where it cannot tell."""

    def parents(self, commit: str) -> list[str]:
        """The parents that the commit itself names; empty where it is not known."""
        ...

    def merge_base(self, one: str, other: str) -> str | None: ...


class Found(NamedTuple):
    """The base commit, how it was found, and a warning where it is only the next best."""

    commit: str | None
    how: str
    warning: str = ""


def find_base(event: Event, history: History) -> Found:
    """The base of a run; `commit` is None where the work tree itself is compared."""
    if event.name == "merge_group" and event.merge_base_sha:
        return Found(event.merge_base_sha, "the merge group's base")
    if event.pull is None or event.name not in PULL_EVENTS:
        return Found(None, "no base: the work tree is held against its own baseline")
    pull = event.pull
    parents = history.parents(event.sha)
    if _is_merge_of(parents, pull):
        return Found(parents[0], "first parent of the merge commit")
    found = history.merge_base(pull.head_sha, pull.base_sha)
    if found is not None:
        return Found(found, "merge base of head and base")
    return Found(
        pull.base_sha or None,
        "the event's base commit",
        "the merge commit's parents and the merge base are unknown; the base commit of the event may have moved on. "
        "Check out with fetch-depth: 2 or more",
    )


def _is_merge_of(parents: list[str], pull: Pull) -> bool:
    """Whether these are the parents of GitHub's own merge of this head; a head that merged main is not one."""
    return len(parents) == 2 and parents[1] == pull.head_sha

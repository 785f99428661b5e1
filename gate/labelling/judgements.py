"""What one judge said, as a list of actions, and the state that follows from them. Pure.

An action is a small table; the first fitting key says what it does: `page` with `grade` (0 not, 1 related, 2 answers it, None
takes it back), `kind`, `none` (no page answers this), `skip`, `note`, `undo` (the number of an action). Every action but undo names its
`query`. Numbers count from 1 in the order of the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.model.pool import Pool, PoolQuery

GRADES = (0, 1, 2)
KINDS = ("exact_term", "semantic", "multi_hop")
_NOTE = 2000
_KIND = 60


@dataclass(frozen=True, slots=True)
class Judged:
    """The state of one query. `rev` is the number of the last action that concerned it."""

    grades: Mapping[str, int] = field(default_factory=dict)
    kind: str = ""
    none: bool = False
    skip: bool = False
    note: str = ""
    rev: int = 0

    def complete(self, candidates: Sequence[str]) -> bool:
        """Whether nothing is left to say: a kind, and a grade for every candidate, or that no page answers it."""
        if self.none:
            return True
        return bool(self.kind) and all(page in self.grades for page in candidates)


class WrongActionError(ValueError):
    """An action that fits no query, page or grade of the pool."""


def checked(action: Mapping[str, Any], pool: Pool) -> dict[str, Any]:
    """The action with nothing in it but what it means; WrongActionError says what is wrong."""
    if "undo" in action:
        number = action["undo"]
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise WrongActionError("undo names no action")
        return {"undo": number}
    try:
        query = pool.query(action.get("query") or "")
    except KeyError:
        raise WrongActionError("no such query") from None
    if "page" in action:
        return {"query": query.id, "page": action["page"], "grade": _grade(action, query)}
    for flag in ("none", "skip"):
        if flag in action:
            if not isinstance(action[flag], bool):
                raise WrongActionError(f"{flag} is true or false")
            return {"query": query.id, flag: action[flag]}
    for name, most in (("kind", _KIND), ("note", _NOTE)):
        if name in action:
            text = action[name]
            if not isinstance(text, str) or len(text) > most or (name == "kind" and not text.isprintable()):
                raise WrongActionError(f"a {name} is a text of at most {most} characters")
            return {"query": query.id, name: text.strip()}
    raise WrongActionError("it says nothing")


def _grade(action: Mapping[str, Any], query: PoolQuery) -> int | None:
    grade = action.get("grade")
    if action["page"] not in query.candidates:
        raise WrongActionError("this page is not in the pool of that query")
    if grade is not None and (isinstance(grade, bool) or grade not in GRADES):
        raise WrongActionError("a grade is 0, 1 or 2")
    return grade


def fold(actions: Sequence[Mapping[str, Any]]) -> dict[str, Judged]:
    """Query -> its state after all actions. An undone action never happened; undoing an undo is not a thing."""
    undone = {action["undo"] for action in actions if "undo" in action}
    state: dict[str, Judged] = {}
    concerned: dict[int, str] = {}
    for number, action in enumerate(actions, 1):
        if "undo" in action:
            query = concerned.get(action["undo"])
            if query is not None:
                state[query] = _with(state.get(query, Judged()), {}, number)
            continue
        query = str(action["query"])
        concerned[number] = query
        said = {} if number in undone else action
        state[query] = _with(state.get(query, Judged()), said, number)
    return state


def _with(before: Judged, action: Mapping[str, Any], rev: int) -> Judged:
    grades = dict(before.grades)
    if "page" in action:
        if action["grade"] is None:
            grades.pop(action["page"], None)
        else:
            grades[action["page"]] = action["grade"]
    return Judged(
        grades=grades,
        kind=action.get("kind", before.kind),
        none=action.get("none", before.none),
        skip=action.get("skip", before.skip),
        note=action.get("note", before.note),
        rev=rev,
    )


def last_action(actions: Sequence[Mapping[str, Any]]) -> int | None:
    """The number of the newest action that can be undone."""
    undone = {action["undo"] for action in actions if "undo" in action}
    for number in range(len(actions), 0, -1):
        if "undo" not in actions[number - 1] and number not in undone:
            return number
    return None

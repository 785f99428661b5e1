"""The expected faults of a run, each with its exit code and a text a person can act on.

Every message reads *where: what is wrong (value). What to do.* All problems of one kind are raised together, so
that a user mends a file once. `gate.cli` is the only place that catches them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: where it stands, what is wrong, and what to do about it."""

    where: str
    what: str
    todo: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}."
        return f"{text} {self.todo}" if self.todo else text


class GateError(Exception):
    """A fault the user can mend. `exit_code` is what the process ends with."""

    exit_code = 2

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InputError(GateError):
    """Wrong input, settings or fingerprint: exit code 2. Nothing was measured and nothing was written."""

    exit_code = 2


class NotMeasuredError(GateError):
    """A retriever, engine or service failed, or time ran out: exit code 3."""

    exit_code = 3


def raise_all(problems: Sequence[Problem]) -> None:
    """Raise one InputError with all `problems`; do nothing when there are none."""
    if problems:
        raise InputError(problems)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name` (difflib ratio of at least 0.6), or None."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown name: the nearest one, or the list of all when nothing is near."""
    names = sorted(known)
    near = nearest(name, names)
    if near is not None:
        return f"Did you mean '{near}'?"
    if not names:
        return "There is none."
    shown = ", ".join(f"'{known_name}'" for known_name in names[:12])
    return f"Known: {shown}, ..." if len(names) > 12 else f"Known: {shown}."

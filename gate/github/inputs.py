"""The action's inputs: environment variables in, one typed object out. action.yml binds each input to `INPUT_<NAME>`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.github.comment import When
from gate.github.event import Mode
from gate.model.frozen import Frozen

# What requirements/ has a lock for, beside that of a run: action.yml chooses the lock by these names.
EXTRAS = ("local", "minilm")

# GitHub refuses other signs in the name of an artifact (slashes, quotes, ...) or of a cache (commas).
_KEY = re.compile(r"[\w .+@=-]*")
LONGEST_KEY = 100


class Inputs(Frozen):
    """What the workflow asked for. An input that is left empty has its default."""

    config: str = ""
    suite: tuple[str, ...] = ()
    mode: Mode = Mode.GATE
    comment: When = When.ALWAYS
    comment_layout: Literal["suite", "combined"] = "suite"
    comment_key: str = ""
    comment_author: str = ""
    timeout_minutes: float = 0.0
    working_directory: str = "."
    expected_workflow: str = ""
    reason: str = ""
    pull_request: int = 0
    extras: tuple[str, ...] = ()


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """The inputs; all that is wrong with them is one InputError."""
    problems: list[Problem] = []

    def text(name: str) -> str:
        return environment.get(f"INPUT_{name}", "").encode("utf-8", "replace").decode().strip()

    def one_of(name: str, known: tuple[str, ...]) -> str:
        value = text(name) or known[0]
        if value not in known:
            problems.append(Problem(_shown(name), f"no such value ({value!r})", did_you_mean(value, known)))
            return known[0]
        return value

    def names(name: str) -> tuple[str, ...]:
        return tuple(one for one in re.split(r"[\s,]+", text(name)) if one)

    def number(name: str) -> float:
        value = text(name)
        try:
            found = float(value) if value else 0.0
        except ValueError:
            found = -1.0
        if not 0.0 <= found < 1e6:
            problems.append(Problem(_shown(name), f"not a number from 0 on ({value!r})", "Give a number."))
            return 0.0
        return found

    def whole(name: str) -> int:
        value = text(name).removeprefix("#")
        if value and not (value.isascii() and value.isdecimal() and len(value) < 10):
            problems.append(Problem(_shown(name), f"not a whole number ({value!r})", "Give a number."))
            return 0
        return int(value or 0)

    key = text("COMMENT_KEY")
    if len(key) > LONGEST_KEY or not _KEY.fullmatch(key):
        what = f"cannot be a part of the names of an artifact and a cache ({key[:LONGEST_KEY]!r})"
        todo = f"Take at most {LONGEST_KEY} letters, digits, spaces and . _ - + @ ="
        problems.append(Problem("input 'comment-key'", what, f"{todo}."))
        key = ""
    reason = text("REASON")
    if len(reason.splitlines()) > 1:
        problems.append(Problem("input 'reason'", "has a line break", "Give one line."))
    extras = names("EXTRAS")
    problems += [
        Problem("input 'extras'", f"no such extra ({one!r})", did_you_mean(one, EXTRAS))
        for one in extras
        if one not in EXTRAS
    ]
    inputs = {
        "config": text("CONFIG"),
        "suite": names("SUITE"),
        "mode": one_of("MODE", tuple(Mode)),
        "comment": one_of("COMMENT", tuple(When)),
        "comment_layout": one_of("COMMENT_LAYOUT", ("suite", "combined")),
        "comment_key": key,
        "comment_author": text("COMMENT_AUTHOR"),
        "timeout_minutes": number("TIMEOUT_MINUTES"),
        "working_directory": text("WORKING_DIRECTORY") or ".",
        "expected_workflow": text("WORKFLOW") or ".github/workflows/gate.yml",
        "reason": reason,
        "pull_request": whole("PULL_REQUEST"),
        "extras": extras,
    }
    raise_all(problems)
    return Inputs.model_validate(
        {**inputs, "mode": Mode(str(inputs["mode"])), "comment": When(str(inputs["comment"]))}
    )


def _shown(name: str) -> str:
    return f"input '{name.lower().replace('_', '-')}'"


def refuse_absolute(path: str) -> None:
    """A working directory or config of the Action lies inside the repository."""
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        raise InputError(Problem(path, "leads out of the repository", "Name a path inside it."))

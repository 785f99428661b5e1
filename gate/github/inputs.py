"""The action's inputs: environment variables in, one typed object out. action.yml binds each input to `INPUT_<NAME>`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.github.comment import When
from gate.github.event import Mode
from gate.model.frozen import Frozen

LAYOUTS = ("suite", "combined")

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

    @property
    def home(self) -> str:
        """Where this job's gate.toml is looked for: jobs with another one tell of other suites."""
        return posixpath.normpath(posixpath.join(self.working_directory, self.config))


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """The inputs; all that is wrong with them is one InputError."""
    read = _Reader(environment)
    inputs = Inputs(
        config=read.text("CONFIG"),
        suite=read.names("SUITE"),
        mode=Mode(read.one_of("MODE", tuple(Mode))),
        comment=When(read.one_of("COMMENT", tuple(When))),
        comment_layout="combined" if read.one_of("COMMENT_LAYOUT", LAYOUTS) == "combined" else "suite",
        comment_key=read.key("COMMENT_KEY"),
        comment_author=read.text("COMMENT_AUTHOR"),
        timeout_minutes=read.number("TIMEOUT_MINUTES"),
        working_directory=read.text("WORKING_DIRECTORY") or ".",
        expected_workflow=read.text("WORKFLOW") or ".github/workflows/gate.yml",
        reason=read.line("REASON"),
        pull_request=read.whole("PULL_REQUEST"),
        extras=read.names("EXTRAS", EXTRAS),
    )
    raise_all(read.problems)
    return inputs


class _Reader:
    """Reads single inputs and gathers what is wrong with them in `problems`; a wrong one has its default meanwhile."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[Problem] = []

    def _wrong(self, name: str, what: str, todo: str) -> None:
        self.problems.append(Problem(f"input '{name.lower().replace('_', '-')}'", what, todo))

    def text(self, name: str) -> str:
        return self._environment.get(f"INPUT_{name}", "").encode("utf-8", "replace").decode().strip()

    def line(self, name: str) -> str:
        value = self.text(name)
        if len(value.splitlines()) > 1:
            self._wrong(name, "has a line break", "Give one line.")
        return value

    def one_of(self, name: str, known: tuple[str, ...]) -> str:
        value = self.text(name) or known[0]
        if value not in known:
            self._wrong(name, f"no such value ({value!r})", did_you_mean(value, known))
            return known[0]
        return value

    def names(self, name: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
        found = tuple(one for one in re.split(r"[\s,]+", self.text(name)) if one)
        for one in found:
            if known and one not in known:
                self._wrong(name, f"there is no {one!r}", did_you_mean(one, known))
        return found

    def number(self, name: str) -> float:
        value = self.text(name)
        try:
            found = float(value) if value else 0.0
        except ValueError:
            found = -1.0
        if not 0.0 <= found < 1e6:
            self._wrong(name, f"not a number from 0 on ({value!r})", "Give a number.")
            return 0.0
        return found

    def whole(self, name: str) -> int:
        value = self.text(name).removeprefix("#")
        if value and not (value.isascii() and value.isdecimal() and len(value) < 10):
            self._wrong(name, f"not a whole number ({value!r})", "Give a number.")
            return 0
        return int(value or 0)

    def key(self, name: str) -> str:
        value = self.text(name)
        if len(value) > LONGEST_KEY or not _KEY.fullmatch(value):
            what = f"cannot be a part of the names of an artifact and a cache ({value[:LONGEST_KEY]!r})"
            self._wrong(name, what, f"Take at most {LONGEST_KEY} letters, digits, spaces and . _ - + @ =.")
            return ""
        return value


def working_folder(path: str) -> Path:
    """The working directory of the Action: inside the checkout, and no link of a pull request's to some other place in it."""
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        raise InputError(Problem(path, "leads out of the repository", "Name a path inside it."))
    folder = Path(path)
    if not folder.is_dir():
        what = f"no such folder in the checkout ({path!r})"
        raise InputError(Problem("input 'working-directory'", what, "Check out the repository first."))
    if any(part.is_symlink() for part in (folder, *folder.parents)):
        what = f"leads through a link ({path!r}), so the base's settings would be looked for in another place"
        raise InputError(Problem("input 'working-directory'", what, "Name the folder itself."))
    return folder

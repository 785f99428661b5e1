"""The command arm: a retriever in any language, as a process that is asked in lines of JSON.

The process starts in the folder of gate.toml and may print what it likes to standard error, of which the last lines stand in
the message about a fault. On standard output it first greets, then answers every line with one line, in order:

    <- {"protocol": 1}
    -> {"id": 1, "query": "how do I retry", "pool": 20}
    <- {"id": 1, "hits": [{"id": "retries#2", "score": 12.5, "text": "..."}]}, or {"id": 1, "error": "index is gone"}

A hit is an object (its page in `doc_id`, `page` or `id`, its chunk in `chunk_id`, `score` and `text` where there are some), an
`[id, score]` pair, or an id. An end of its input asks it to end. A query without an answer in time, or during which the
process ends, is *not measured*; the process is started again, three times at most.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from gate.arms._answers import AnswerError, Pages, from_json
from gate.arms._bridge import Seconds, Variable, find_program, on_the_path
from gate.arms._conversation import Conversation
from gate.arms._process import Process, ProcessError, environment, quiet
from gate.errors import Problem
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings, Text

PROTOCOL = 1


class Settings(ArmSettings):
    """`command`: the program (by its name on the path, or its path from the folder of gate.toml) and its arguments."""

    command: tuple[Text, ...] = Field(min_length=1)
    timeout_seconds: Seconds = 30.0
    startup_seconds: Seconds = 120.0
    env: tuple[Variable, ...] = ()


class CommandError(RuntimeError):
    """The program said that it failed, or answered what is no list of hits."""


def problems(settings: Settings, where: str, root: Path | None) -> Iterable[Problem]:
    """In the Action the program is one of the path, or lies in the repository."""
    name = settings.command[0]
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if os.environ.get("GITHUB_ACTIONS") != "true" or not workspace or on_the_path(name):
        return ()
    # Of the program only its folder: in a virtual environment the program itself is a link, and leads away.
    folder = (root or Path.cwd()) / Path(os.path.expanduser(name)).parent  # noqa: PTH111 - Path raises without a home
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(workspace)):
        return ()
    todo = "In the Action name a program of the path, or one in the repository."
    return (Problem(where, f"command leads out of the repository ({name!r})", todo),)


def lacking(settings: Settings, root: Path | None) -> Iterable[str]:
    """What is not on this machine."""
    name = settings.command[0]
    if find_program(name, root or Path.cwd(), os.environ) is None:
        yield f"no such program ({name!r})"


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, "") for what the program is handed."""
    return ((name, "") for name in settings.env)


def build(materials: Materials, settings: Settings) -> CommandArm:
    """Start the program. What is wrong with it is a reason why the arm is not measured."""
    root: Path = getattr(materials, "root", None) or Path.cwd()
    arm = CommandArm(materials, settings, root)
    arm.start()
    return arm


class CommandArm:
    """See the module."""

    def __init__(self, materials: Materials, settings: Settings, root: Path) -> None:
        self._settings = settings
        self._root = root
        self._secret = materials.secret
        self._pages = Pages(materials, root)
        self._talk = Conversation(self._start, settings.timeout_seconds)

    @property
    def unknown(self) -> Counter[str]:
        """Pages it named that the corpus does not have, with how often."""
        return self._pages.unknown

    def start(self) -> None:
        """Start the program and wait for its greeting."""
        self._talk.open()

    def _start(self) -> Process:
        settings = self._settings
        name = settings.command[0]
        program = find_program(name, self._root, os.environ)
        if program is None:
            raise ProcessError(
                f"command {quiet(name, 200)!r}: no such program. Install it, or name its path."
            )
        handed = {name: value for name in settings.env if (value := self._secret(name, "")) is not None}
        process = Process(
            (program, *settings.command[1:]),
            environment(os.environ) | handed,
            self._root,
            list(handed.values()),
        )
        try:
            hello = process.receive(time.monotonic() + settings.startup_seconds)
            if hello.get("protocol") != PROTOCOL:
                raise process.broken(f'its first line is not {{"protocol": {PROTOCOL}}}')
        except TimeoutError:
            process.kill()
            waited = f"took over {settings.startup_seconds:g} s (does it flush its first line?)"
            what = f"starting {quiet(name, 200)} {waited}{process.tail()}"
            raise TimeoutError(what) from None
        except ProcessError as fault:
            process.kill()
            raise ProcessError(f"starting {quiet(name, 200)}: {fault}") from fault
        except BaseException:
            process.kill()
            raise
        return process

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        answer, process = self._talk.ask({"query": query, "pool": pool}, _form)
        if answer.get("error") is not None:
            raise CommandError(process.quoted(str(answer["error"])))
        try:
            return self._pages.hits(from_json(answer.get("hits"), pool))
        except AnswerError as fault:
            raise CommandError(process.quoted(str(fault))) from None

    def close(self) -> None:
        """Close its input, wait a little, then end it."""
        self._talk.close()


def _form(answer: Mapping[str, Any]) -> str:
    return "" if "hits" in answer or "error" in answer else "its answer has neither 'hits' nor 'error'"

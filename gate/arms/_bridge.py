"""The user's own Python behind a process: started, asked, restarted within bounds, ended. Never in the gate's process.

`_bridge_python.py` runs in the user's interpreter and says what a message looks like. What the code is asked for is its
`kind`: `search` (a retriever), `embed` (texts to vectors) or `score` (pairs to numbers).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from gate.arms._conversation import Conversation
from gate.arms._process import NEVER, Process, ProcessError, environment, quiet
from gate.model.frozen import Frozen
from gate.model.settings import Text

PROTOCOL = 1
FILE = Path(__file__).with_name("_bridge_python.py")
_TARGET = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Kind = Literal["search", "embed", "score"]
Secret = Callable[[str, str], str | None]
Seconds = Annotated[float, Field(ge=0.1, le=86400.0)]


def _target(text: str) -> str:
    if not _TARGET.fullmatch(text):
        raise ValueError("does not read 'package.module:function'")
    return text


def passable(name: str) -> str:
    """A name of an environment variable that user code may be given; ValueError else."""
    if not _VARIABLE.fullmatch(name):
        raise ValueError("is no name of an environment variable")
    if NEVER.fullmatch(name):
        raise ValueError("is never passed on to the code under test")
    return name


Target = Annotated[Text, AfterValidator(_target)]
Variable = Annotated[str, AfterValidator(passable)]


class Runtime(Frozen):
    """Where and how user code runs. `env`: names of environment variables that it needs."""

    python: Text | None = None
    timeout_seconds: Seconds = 30.0
    startup_seconds: Seconds = 120.0
    env: tuple[Variable, ...] = ()

    def credentials(self) -> tuple[tuple[str, str], ...]:
        """(variable, "") for all that the code is handed: it goes to a process, not to an address."""
        return tuple((name, "") for name in self.env)

    def lacking(self, root: Path | None) -> Iterator[str]:
        """What is not on this machine: the interpreter."""
        try:
            find_interpreter(self.python, os.environ, root or Path.cwd())
        except ProcessError as fault:
            yield str(fault)


class UserCodeError(RuntimeError):
    """The user's code raised, or returned what it may not."""


class Bridge:
    """One target of the user's in one process. `where`: None for code beside gate.toml, else a file of the gate's own
    that runs there.
    """

    def __init__(
        self,
        kind: Kind,
        target: str,
        options: Mapping[str, Any],
        runtime: Runtime,
        root: Path,
        secret: Secret,
        where: Path | None = None,
    ) -> None:
        self._order = {"protocol": PROTOCOL, "kind": kind, "target": target, "options": dict(options)}
        if where is not None:
            self._order["file"] = str(where)
        self._target = target
        self._runtime = runtime
        self._root = root
        self._secret = secret
        self._talk = Conversation(self._start, runtime.timeout_seconds)

    def start(self) -> None:
        """Start the interpreter and load the target; the handshake says that both worked."""
        self._talk.open()

    def _start(self) -> Process:
        runtime = self._runtime
        interpreter = find_interpreter(runtime.python, os.environ, self._root)
        handed = {name: value for name in runtime.env if (value := self._secret(name, "")) is not None}
        process = Process(
            (interpreter, str(FILE)), environment(os.environ) | handed, self._root, list(handed.values())
        )
        deadline = time.monotonic() + runtime.startup_seconds
        step = f"starting {quiet(interpreter, 200)}"
        try:
            hello = process.receive(deadline)
            if hello.get("protocol") != PROTOCOL:
                raise process.broken(f"{quiet(interpreter, 200)} did not greet with version {PROTOCOL}")
            step = f"loading '{self._target}'"
            process.send(self._order, deadline)
            ready = process.receive(deadline)
            if "error" in ready:
                said = process.quoted(str(ready["error"]))
                raise UserCodeError(f"cannot load '{self._target}': {said}")
            if ready.get("ready") is not True:
                raise process.broken("it did not say that it is ready")
        except TimeoutError:
            process.kill()
            what = f"{step} took over {runtime.startup_seconds:g} s{process.tail()}"
            raise TimeoutError(what) from None
        except ProcessError as fault:
            process.kill()
            raise ProcessError(f"{step}: {fault}") from fault
        except BaseException:
            process.kill()
            raise
        return process

    def ask(self, message: Mapping[str, Any], check: Callable[[Mapping[str, Any]], str]) -> dict[str, Any]:
        """As `Conversation.ask`; UserCodeError where the code raised."""
        answer, process = self._talk.ask(message, lambda one: "" if "error" in one else check(one))
        if "error" in answer:
            raise UserCodeError(process.quoted(str(answer["error"])))
        return answer

    def close(self) -> None:
        """End the process."""
        self._talk.close()


def find_interpreter(configured: str | None, ours: Mapping[str, str], root: Path) -> str:
    """The interpreter for the user's code.

    `python` of gate.toml (relative to its folder), else GATE_PYTHON, else in the Action `python` on the path, else
    the interpreter that runs the gate. A symbolic link stays one: in a virtual environment it is what makes it one.
    """
    if configured is not None:
        return _executable(configured, root, "python =", ours)
    if ours.get("GATE_PYTHON"):
        return _executable(ours["GATE_PYTHON"], Path.cwd(), "GATE_PYTHON =", ours)
    if ours.get("GITHUB_ACTIONS") == "true":  # the gate's own environment is not the user's
        return _executable("python", root, "no 'python' is set, and none is on the path:", ours)
    return sys.executable


def _executable(name: str, folder: Path, where: str, ours: Mapping[str, str]) -> str:
    found = find_program(name, folder, ours)
    if found is None:
        raise ProcessError(f"{where} {name!r}: no such interpreter. Make it, or name another one.")
    return found


def on_the_path(name: str) -> bool:
    """Whether this is a name, to be looked for on the path, and no path itself."""
    return os.path.basename(name) == name  # noqa: PTH119


def find_program(name: str, folder: Path, ours: Mapping[str, str]) -> str | None:
    """A program by its name on the path, or by its path from `folder`; None where there is none that can be run."""
    expanded = os.path.expanduser(name)  # noqa: PTH111 - Path raises where there is no home
    if on_the_path(expanded):
        return shutil.which(expanded, path=ours.get("PATH"))
    path = os.path.join(folder, expanded)  # noqa: PTH118
    return path if os.access(path, os.X_OK) and not os.path.isdir(path) else None  # noqa: PTH112

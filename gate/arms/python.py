"""The python arm: the user's own function or class, in the user's own interpreter, never in the gate's process.

It runs through `_bridge_python.py` and sees a fixed few of our environment variables, and those that `env` names. A
query that gets no answer in time, or during which the process ends, is *not measured*; the process is started again,
three times at most.

A hit counts for the page that it names: by its id, by a chunk's id (`page#3`), or by the path of the page's file. One
that names no page of the corpus is kept, counts as not relevant, and is counted in `unknown`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from gate.arms._process import NEVER, Process, ProcessError, environment, quiet
from gate.model.fingerprint import nfc
from gate.model.page import Chunk
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings, Text
from gate.store.text import DOC_ID_LIMIT, bad_id

PROTOCOL = 1
BRIDGE = Path(__file__).with_name("_bridge_python.py")
RESTARTS = 3
_TARGET = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_UNKNOWN = 1000

Seconds = Annotated[float, Field(ge=0.1, le=86400.0)]


def _target(text: str) -> str:
    if not _TARGET.fullmatch(text):
        raise ValueError("does not read 'package.module:function'")
    return text


def _passable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("is no name of an environment variable")
    if NEVER.fullmatch(name):
        raise ValueError("is never passed on to the code under test")
    return name


class Settings(ArmSettings):
    """`env`: names of environment variables that the code needs. `options`: what a class is made with."""

    target: Annotated[Text, AfterValidator(_target)]
    python: Text | None = None
    timeout_seconds: Seconds = 30.0
    startup_seconds: Seconds = 120.0
    env: tuple[Annotated[str, AfterValidator(_passable)], ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)


class UserCodeError(RuntimeError):
    """The user's code raised, or returned what is no list of hits."""


def build(materials: Materials, settings: Settings) -> PythonArm:
    """Start the user's code. What is wrong with it is a reason why the arm is not measured."""
    root: Path = getattr(materials, "root", None) or Path.cwd()
    arm = PythonArm(settings, root, Pages(materials, root))
    arm.start()
    return arm


class PythonArm:
    """The user's retriever behind a process. `unknown`: pages it named that the corpus does not have, with how often."""

    def __init__(self, settings: Settings, root: Path, pages: Pages) -> None:
        self._settings = settings
        self._root = root
        self._pages = pages
        self._process: Process | None = None
        self._asked = 0
        self._restarts = 0
        self._last_fault = ""
        self.unknown: Counter[str] = Counter()

    def start(self) -> None:
        """Start the interpreter and load the target; the handshake says that both worked."""
        settings = self._settings
        interpreter = find_interpreter(settings.python, os.environ, self._root)
        process = Process(
            (interpreter, str(BRIDGE)),
            environment(os.environ, settings.env),
            self._root,
            [os.environ[name] for name in settings.env if name in os.environ],
        )
        deadline = time.monotonic() + settings.startup_seconds
        step = f"starting {quiet(interpreter, 200)}"
        try:
            hello = process.receive(deadline)
            if hello.get("protocol") != PROTOCOL:
                raise process.broken(f"{quiet(interpreter, 200)} did not greet with version {PROTOCOL}")
            step = f"loading '{settings.target}'"
            order = {"protocol": PROTOCOL, "target": settings.target, "options": settings.options}
            process.send(order, deadline)
            ready = process.receive(deadline)
            if "error" in ready:
                said = process.quoted(str(ready["error"]))
                raise UserCodeError(f"cannot load '{settings.target}': {said}")
            if ready.get("ready") is not True:
                raise process.broken("it did not say that it is ready")
        except TimeoutError:
            process.kill()
            what = f"{step} took over {settings.startup_seconds:g} s{process.tail()}"
            raise TimeoutError(what) from None
        except ProcessError as fault:
            process.kill()
            raise ProcessError(f"{step}: {fault}") from fault
        except BaseException:
            process.kill()
            raise
        self._process = process

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        answer = self._answer(query, pool)
        if "error" in answer:
            raise UserCodeError(str(answer["error"]))
        found = answer["hits"][:pool]
        scores = [hit["score"] for hit in found]
        if any(score is None for score in scores):  # without scores the order is all there is
            scores = [float(len(found) - rank) for rank in range(len(found))]
        return [
            self._hit(hit, score, rank)
            for rank, (hit, score) in enumerate(zip(found, scores, strict=True), 1)
        ]

    def _hit(self, hit: Mapping[str, Any], score: float, rank: int) -> Hit:
        doc_id, known = self._pages.find(hit["ids"])
        chunk_id = doc_id if hit["chunk"] is None else nfc(hit["chunk"])
        for name, value in (("page", doc_id), ("chunk", chunk_id)):
            if reason := bad_id(value, DOC_ID_LIMIT):
                raise UserCodeError(f"hit {rank}: the id of its {name} {quiet(reason)}")
        if not known and (doc_id in self.unknown or len(self.unknown) < _MAX_UNKNOWN):
            self.unknown[doc_id] += 1
        text = hit["text"].encode("utf-8", "replace").decode() or self._pages.text(chunk_id)
        return Hit(chunk_id, doc_id, text, score)

    def _answer(self, query: str, pool: int) -> dict[str, Any]:
        """One exchange with the process: a checked answer, or an error that it told."""
        process = self._running()
        self._asked += 1
        deadline = time.monotonic() + self._settings.timeout_seconds
        try:
            process.send({"id": self._asked, "query": query, "pool": pool}, deadline)
            answer = process.receive(deadline)
            if answer.get("id") != self._asked:
                raise process.broken("it answered a query that was not asked")
            if "error" in answer:
                return {"error": process.quoted(str(answer["error"]))}
            if not is_answer(answer.get("hits")):
                raise process.broken("its answer is no list of hits")
        except TimeoutError:
            process.kill()
            what = f"no answer within {self._settings.timeout_seconds:g} s"
            raise self._lost(TimeoutError(f"{what}{process.tail()}"), what) from None
        except ProcessError as fault:
            process.kill()
            raise self._lost(fault, str(fault)) from None
        except BaseException:  # an interrupt: what it was about to answer belongs to no later query
            self._process = None
            process.kill()
            raise
        return answer

    def _lost(self, fault: Exception, what: str) -> Exception:
        self._process = None
        self._last_fault = what
        return fault

    def _running(self) -> Process:
        """The process, started again where the last query ended it."""
        if self._process is None:
            if self._restarts == RESTARTS:
                raise ProcessError(
                    f"not asked: started again {RESTARTS} times, and failed each time (last: {self._last_fault})"
                )
            self._restarts += 1
            try:
                self.start()
            except Exception as fault:
                self._last_fault = str(fault)
                raise
        assert self._process is not None
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()


class Pages:
    """The pages that a hit may name, and under which names."""

    def __init__(self, materials: Materials, root: Path) -> None:
        self._root = root
        self._chunks: dict[str, Chunk] = {chunk.chunk_id: chunk for chunk in materials.chunks(None)}
        self._pages = {chunk.doc_id for chunk in self._chunks.values()}
        corpus = getattr(materials, "corpus", None)
        self._paths = {
            self._whole(page.path): page.doc_id
            for page in (corpus.pages if corpus is not None else ())
            if page.path
        }

    def find(self, names: Sequence[str]) -> tuple[str, bool]:
        """(the page that the first name of a known one means, True), or (the first name, False)."""
        for name in map(nfc, names):
            page = self._page(name) or self._page(name.rpartition("#")[0])
            if page is not None:
                return page, True
        return nfc(names[0]), False

    def _page(self, name: str) -> str | None:
        if name in self._pages:
            return name
        if name in self._chunks:
            return self._chunks[name].doc_id
        return self._paths.get(self._whole(name)) if name and "\0" not in name else None

    def _whole(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._root, path))  # noqa: PTH118 - of names, not of files

    def text(self, chunk_id: str) -> str:
        """The text of a chunk that the corpus has under this id, else nothing."""
        chunk = self._chunks.get(chunk_id)
        return chunk.text if chunk is not None else ""


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
    expanded = os.path.expanduser(name)  # noqa: PTH111 - Path raises where there is no home
    if os.path.basename(expanded) == expanded:  # noqa: PTH119 - a name, to be looked for on the path
        found = shutil.which(expanded, path=ours.get("PATH"))
    else:
        path = os.path.join(folder, expanded)  # noqa: PTH118
        found = path if os.access(path, os.X_OK) and not os.path.isdir(path) else None  # noqa: PTH112
    if found is None:
        raise ProcessError(f"{where} {name!r}: no such interpreter. Make it, or name another one.")
    return found


def is_answer(hits: object) -> bool:
    """Whether this is a list of hits as the bridge writes them."""
    return isinstance(hits, list) and all(map(_is_hit, hits))


def _is_hit(hit: object) -> bool:
    if not isinstance(hit, dict):
        return False
    ids, chunk, text, score = (hit.get(key) for key in ("ids", "chunk", "text", "score"))
    return (
        isinstance(ids, list)
        and len(ids) > 0
        and all(isinstance(name, str) for name in ids)
        and (chunk is None or isinstance(chunk, str))
        and isinstance(text, str)
        and (score is None or (isinstance(score, float) and abs(score) < float("inf")))
    )

"""Runs a user's retriever, embedder or scorer in the user's own interpreter. Only the standard library, and only what Python 3.8 reads.

The gate starts this file in the folder of gate.toml and speaks with it in lines of JSON, over the standard input and
output that the process was started with. Both are moved away before any code of the user is loaded: what that code
prints goes to standard error, and what it reads is empty.

    <- {"protocol": 1, "python": "3.8.18"}                      as soon as the interpreter runs
    -> {"protocol": 1, "kind": "search", "target": "mine:search", "options": {}}
    <- {"ready": true}, or {"error": "..."} and the end
    -> {"id": 1, "query": "...", "pool": 20}
    <- {"id": 1, "hits": [{"ids": [...], "chunk": "...", "text": "...", "score": 0.5}]}, or {"id": 1, "error": "..."}

`ids` are all names under which a hit may be known, the likeliest first: only the gate knows which of them is a page.
The kind `embed` is asked {"id": 1, "texts": [...], "mode": "query"} and answers {"id": 1, "vectors": ["..."]}, each the
base64 of little-endian float32; the kind `score` is asked {"id": 1, "query": "...", "texts": [...]} and answers
{"id": 1, "scores": [...]}. With `file` in the order, the target is a name in that file.
"""

from __future__ import annotations

import os
import sys

# The interpreter puts this file's folder in front of the import path. Its other files are not the user's modules.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):  # noqa: PTH120
    del sys.path[0]

# All of the standard library that is used below, before a file beside gate.toml can stand in for any of it.
import array
import asyncio
import base64
import importlib
import importlib.util
import inspect
import itertools
import json
import math
import operator
import queue
import signal
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

PROTOCOL = 1
# A process whose gate is gone ends after this long, whatever the user's code is doing.
ORPHANED_SECONDS = 3.0
FRAMES = 8

# Where a hit's page may be named, in this order, when it says neither `doc_id` nor `page`.
METADATA_KEYS = ("doc_id", "source", "id", "page_id", "document_id", "file_path")
KEYS = "doc_id, page, chunk_id, id or metadata with doc_id or source"


class RefusedError(Exception):
    """What the user's code returned is no list of hits."""


class Channel:
    """The lines to and from the gate."""

    def __init__(self) -> None:
        self._incoming = os.dup(0)
        self._outgoing = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="gate-bridge", daemon=True).start()

    def _read(self) -> None:
        with os.fdopen(self._incoming, "rb") as stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)
        time.sleep(ORPHANED_SECONDS)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(1)

    def receive(self) -> Any:
        """The next message, or None when the gate has closed its side."""
        line = self._lines.get()
        return None if line is None else json.loads(line)

    def send(self, message: Any) -> None:
        left = memoryview(json.dumps(message, allow_nan=False).encode("ascii") + b"\n")
        while left:
            left = left[os.write(self._outgoing, left) :]


# --- The user's retriever -----------------------------------------------------------------------------------------


class UserCode:
    """The user's function, or the method of that name of the user's class."""

    method = ""
    arguments = ("", "")

    def __init__(self, target: str, options: Mapping[str, Any], file: str | None = None) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._instance: Any = None
        found = imported(target) if file is None else loaded(file, target)
        if inspect.isclass(found):
            found = self._instance = found(**options)
        named = getattr(found, self.method, None)
        self._call: Any = named if callable(named) else found
        if not callable(self._call):
            raise TypeError(
                f"{target!r} is {type(found).__name__}: no function, and without a {self.method!r}"
            )
        self._takes_both = self._reads_both(target)

    def _reads_both(self, target: str) -> bool:
        return takes_both(self._call, target, self.arguments)

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _wait(self, coroutine: Any) -> Any:
        if (
            self._loop is None
        ):  # one loop for all queries: clients are bound to the loop that they were first used in
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(coroutine)

    def _waited(self, answer: Any) -> Any:
        return self._wait(awaited(answer)) if inspect.isawaitable(answer) else answer

    def close(self) -> None:
        """Let an object that we made end itself."""
        close = getattr(self._instance, "close", None)
        if callable(close):
            self._waited(close())
        if self._loop is not None:
            self._loop.close()


class Retriever(UserCode):
    """A query to hits. It takes (query), or (query, pool)."""

    method = "search"
    arguments = ("query", "pool")

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The first `pool` hits for the query, as they go to the gate."""
        query, pool = message["query"], message["pool"]
        answer = self._waited(self._call(query, pool) if self._takes_both else self._call(query))
        if hasattr(answer, "__aiter__"):
            answer = self._wait(gathered(answer, pool))
        return {"hits": read_answer(answer, pool)}


class Embedder(UserCode):
    """Texts to vectors. It takes (texts), and the mode, `query` or `passage`, where an argument is called `mode`."""

    method = "embed"

    def _reads_both(self, target: str) -> bool:
        return takes_named(self._call, target, "texts", "mode")

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """One vector for each text."""
        texts = message["texts"]
        named = {"mode": message["mode"]} if self._takes_both else {}
        rows = as_list(self._waited(self._call(texts, **named)), "embed", "vectors")
        if len(rows) != len(texts):
            raise RefusedError(f"embed returned {len(rows)} vectors for {len(texts)} texts")
        return {"vectors": [as_vector(row, position) for position, row in enumerate(rows, 1)]}


class Scorer(UserCode):
    """A query and texts to numbers. It takes (query, texts), or one list of (query, text) pairs."""

    method = "score"
    arguments = ("query", "texts")

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """One number for each text."""
        query, texts = message["query"], message["texts"]
        pairs = [(query, text) for text in texts]
        answer = self._waited(self._call(query, texts) if self._takes_both else self._call(pairs))
        scores = as_list(answer, "score", "numbers")
        if len(scores) != len(texts):
            raise RefusedError(f"score returned {len(scores)} numbers for {len(texts)} texts")
        found = [as_score(score, f"text {position}", position) for position, score in enumerate(scores, 1)]
        if None in found:
            raise RefusedError(f"text {found.index(None) + 1} has no score")
        return {"scores": found}


KINDS: dict[str, type[UserCode]] = {"search": Retriever, "embed": Embedder, "score": Scorer}


def loaded(file: str, name: str) -> Any:
    """`name` in a file that is no module of anybody's."""
    spec = importlib.util.spec_from_file_location("gate_user_models", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def imported(target: str) -> Any:
    """What `package.module:name` names."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    module_name, _, names = target.partition(":")
    found: Any = importlib.import_module(module_name)
    for name in names.split("."):
        if not hasattr(found, name):
            where = getattr(found, "__file__", None) or type(found).__name__
            raise AttributeError(f"no {name!r} in {module_name!r} ({where})")
        found = getattr(found, name)
    return found


def takes_both(call: Callable[..., Any], target: str, names: tuple[str, str]) -> bool:
    """Whether `call` takes two or more positional arguments; a TypeError when it cannot be called as we call it."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return False
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    positional = sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)  # fmt: skip
    both = positional >= 2 or inspect.Parameter.VAR_POSITIONAL in kinds
    try:
        signature.bind(*((names[0], 1) if both else (names[0],)))
    except TypeError as fault:
        called = f"({names[0]}, {names[1]})" if both else f"({names[0]})"
        raise TypeError(f"{target!r} cannot be called with {called}: {fault}") from None
    return both


def takes_named(call: Callable[..., Any], target: str, first: str, name: str) -> bool:
    """Whether `call` takes one argument, and another by this name; a TypeError when it cannot be called so."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return False
    parameter = signature.parameters.get(name)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = parameter is not None and parameter.kind in by_name
    try:
        signature.bind(first, **({name: ""} if named else {}))
    except TypeError as fault:
        called = f"({first}, {name}=)" if named else f"({first})"
        raise TypeError(f"{target!r} cannot be called with {called}: {fault}") from None
    return named


async def awaited(answer: Any) -> Any:
    return await answer


async def gathered(answer: Any, pool: int) -> list[Any]:
    found: list[Any] = []
    async for item in answer:
        found.append(item)
        if len(found) == pool:
            break
    return found


# --- From what it returned to hits --------------------------------------------------------------------------------


def read_answer(answer: Any, pool: int) -> list[dict[str, Any]]:
    """The first `pool` hits of what the user's code returned, in its order."""
    if isinstance(answer, Mapping) and isinstance(answer.get("documents"), (list, tuple)):
        answer = answer["documents"]
    if answer is None:
        raise RefusedError("search returned None, not a list of hits")
    if isinstance(answer, (str, bytes, Mapping, set, frozenset)):
        raise RefusedError(f"search returned {type(answer).__name__}, not a list of hits")
    try:
        items: Iterator[Any] = iter(answer)
    except TypeError:
        raise RefusedError(f"search returned {type(answer).__name__}, not a list of hits") from None
    return [read_hit(item, position) for position, item in enumerate(itertools.islice(items, pool), 1)]


def read_hit(item: Any, position: int) -> dict[str, Any]:
    """One hit: ours, a pair, an id, a table, or a document or node of LangChain, LlamaIndex or Haystack."""
    score = None
    if isinstance(item, (tuple, list)) and not (hasattr(item, "doc_id") or hasattr(item, "chunk_id")):
        if len(item) != 2 or isinstance(item[0], (tuple, list, float)):
            raise RefusedError(f"hit {position} is no (id, score) pair ({brief(item)})")
        item, score = item
    plain = as_id(item)
    if plain is not None:
        return hit([plain], plain, "", score, position)
    if score is None:
        score = field(item, "score")
    item = field(item, "node") or item
    page = field(item, "doc_id")
    if page is None:  # a number there is the page of a PDF
        page = as_text(field(item, "page"))
    chunk = field(item, "chunk_id", "node_id", "id_", "id")
    metadata = field(item, "metadata", "meta")
    known = [metadata.get(key) for key in METADATA_KEYS] if isinstance(metadata, Mapping) else []
    named = (
        [page] if page is not None else [field(item, "chunk_id"), *known, field(item, "ref_doc_id"), chunk]
    )
    ids = [name for name in map(as_id, named) if name]
    if not ids:
        raise RefusedError(f"hit {position} has no id ({brief(item)}); looked for {KEYS}")
    text = as_text(field(item, "text", "content", "page_content")) or ""
    return hit(list(dict.fromkeys(ids)), as_id(chunk), text, score, position)


def hit(ids: list[str], chunk: str | None, text: str, score: Any, position: int) -> dict[str, Any]:
    return {"ids": ids, "chunk": chunk, "text": text, "score": as_score(score, ids[0], position)}


def field(item: Any, *names: str) -> Any:
    """The first of these keys or attributes that holds something."""
    for name in names:
        value = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if value is not None and not (isinstance(value, str) and not value) and not inspect.isroutine(value):
            return value
    return None


def as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def as_id(value: Any) -> str | None:
    """An id as a string: a string, a whole number (numpy's too) or a UUID; else None."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    try:
        return str(operator.index(value))
    except TypeError:
        return None


def as_score(value: Any, name: str, position: int) -> float | None:
    """A finite number (numpy's and torch's too), or None where the hit has no score."""
    if value is None:
        return None
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RefusedError(
            f"hit {position} ({name!r}) has a score that is no number ({brief(value)})"
        ) from None
    if not math.isfinite(number):
        raise RefusedError(f"hit {position} ({name!r}) has the score {number}")
    return number


def brief(value: Any) -> str:
    """What a value is, short enough for a message."""
    if not isinstance(value, (str, int, float, tuple, list)):
        return type(value).__name__
    try:
        text = repr(value)
    except Exception:
        return type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."


def as_list(answer: Any, method: str, what: str) -> list[Any]:
    """A list, tuple, generator, or array of numpy or torch as a list."""
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    try:
        if isinstance(answer, (str, bytes, Mapping, set, frozenset)):
            raise TypeError
        return list(answer)
    except TypeError:
        raise RefusedError(f"{method} returned {type(answer).__name__}, not a list of {what}") from None


def as_vector(row: Any, position: int) -> str:
    """Finite numbers as the base64 of little-endian float32."""
    try:
        numbers = [float(number) for number in as_list(row, f"vector {position}: embed", "numbers")]
        packed = array.array("f", numbers)
    except (TypeError, ValueError, OverflowError):
        raise RefusedError(f"vector {position} has a value that is no number") from None
    if not numbers or not all(map(math.isfinite, packed)):
        raise RefusedError(f"vector {position} is empty, or has a value that is no finite number")
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode("ascii")


# --- Faults of the user's code ------------------------------------------------------------------------------------


def told(fault: BaseException) -> str:
    """Type and text of a fault, and the user's own lines that led to it, the innermost first."""
    if isinstance(fault, RefusedError) or getattr(fault, "plain", False) is True:
        return str(fault)
    try:
        said = " ".join(str(fault).split())
    except Exception:
        said = ""
    kind = type(fault).__name__
    frames = [
        f"{shown(frame.filename)}:{frame.lineno}"
        for frame in reversed(traceback.extract_tb(fault.__traceback__))
        if frame.filename not in (__file__, importlib.__file__) and not frame.filename.startswith("<frozen")
    ]
    where = f" ({' < '.join(frames[:FRAMES])})" if frames else ""
    return (f"{kind}: {said}" if said else kind) + where


def shown(path: str) -> str:
    """A path below the current folder without that folder."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
    return path[len(here) :] if path.startswith(here) else path


def main() -> int:
    channel = Channel()
    channel.send({"protocol": PROTOCOL, "python": "{}.{}.{}".format(*sys.version_info[:3])})
    order = channel.receive()
    if order is None:
        return 0
    try:
        code = KINDS[order["kind"]](order["target"], order["options"], order.get("file"))
    except BaseException as fault:  # SystemExit too: loading runs the user's code
        channel.send({"error": told(fault)})
        return 1
    channel.send({"ready": True})
    while True:
        message = channel.receive()
        if message is None:
            break
        try:
            answer = {"id": message["id"], **code.ask(message)}
        except BaseException as fault:  # a query that fails, or exits, fails alone
            answer = {"id": message["id"], "error": told(fault)}
        channel.send(answer)
    code.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

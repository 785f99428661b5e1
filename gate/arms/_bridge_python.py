"""Runs a user's retriever in the user's own interpreter. Only the standard library, and only what Python 3.8 reads.

The gate starts this file in the folder of gate.toml and speaks with it in lines of JSON, over the standard input and
output that the process was started with. Both are moved away before any code of the user is loaded: what that code
prints goes to standard error, and what it reads is empty.

    <- {"protocol": 1, "python": "3.8.18"}                      as soon as the interpreter runs
    -> {"protocol": 1, "target": "mine:search", "options": {}}
    <- {"ready": true}, or {"error": "..."} and the end
    -> {"id": 1, "query": "...", "pool": 20}
    <- {"id": 1, "hits": [{"ids": [...], "chunk": "...", "text": "...", "score": 0.5}]}, or {"id": 1, "error": "..."}

`ids` are all names under which a hit may be known, the likeliest first: only the gate knows which of them is a page.
"""

from __future__ import annotations

import os
import sys

# The interpreter puts this file's folder in front of the import path. Its other files are not the user's modules.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):  # noqa: PTH120
    del sys.path[0]

# All of the standard library that is used below, before a file beside gate.toml can stand in for any of it.
import asyncio
import importlib
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


class Retriever:
    """The user's function, or the `search` of the user's class."""

    def __init__(self, target: str, options: Mapping[str, Any]) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._instance: Any = None
        found = imported(target)
        if inspect.isclass(found):
            found = self._instance = found(**options)
        search = getattr(found, "search", None)
        self._search: Any = search if callable(search) else found
        if not callable(self._search):
            raise TypeError(f"{target!r} is {type(found).__name__}: no function, and without a 'search'")
        self._takes_pool = takes_pool(self._search, target)

    def ask(self, query: str, pool: int) -> list[dict[str, Any]]:
        """The first `pool` hits for `query`, as they go to the gate."""
        answer = self._search(query, pool) if self._takes_pool else self._search(query)
        if inspect.isawaitable(answer):
            answer = self._wait(awaited(answer))
        if hasattr(answer, "__aiter__"):
            answer = self._wait(gathered(answer, pool))
        return read_answer(answer, pool)

    def _wait(self, coroutine: Any) -> Any:
        if (
            self._loop is None
        ):  # one loop for all queries: clients are bound to the loop that they were first used in
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(coroutine)

    def close(self) -> None:
        """Let an object that we made end itself."""
        close = getattr(self._instance, "close", None)
        if callable(close):
            closed = close()
            if inspect.isawaitable(closed):
                self._wait(awaited(closed))
        if self._loop is not None:
            self._loop.close()


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


def takes_pool(search: Callable[..., Any], target: str) -> bool:
    """Whether `search` takes two or more positional arguments; a TypeError when it cannot be called as we call it."""
    try:
        signature = inspect.signature(search)
    except (TypeError, ValueError):
        return False
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    positional = sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)  # fmt: skip
    both = positional >= 2 or inspect.Parameter.VAR_POSITIONAL in kinds
    try:
        signature.bind(*(("query", 1) if both else ("query",)))
    except TypeError as fault:
        called = "(query, pool)" if both else "(query)"
        raise TypeError(f"{target!r} cannot be called with {called}: {fault}") from None
    return both


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


# --- Faults of the user's code ------------------------------------------------------------------------------------


def told(fault: BaseException) -> str:
    """Type and text of a fault, and the user's own lines that led to it, the innermost first."""
    if isinstance(fault, RefusedError):
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
        retriever = Retriever(order["target"], order["options"])
    except BaseException as fault:  # SystemExit too: loading runs the user's code
        channel.send({"error": told(fault)})
        return 1
    channel.send({"ready": True})
    while True:
        message = channel.receive()
        if message is None:
            break
        try:
            answer = {"id": message["id"], "hits": retriever.ask(message["query"], message["pool"])}
        except BaseException as fault:  # a query that fails, or exits, fails alone
            answer = {"id": message["id"], "error": told(fault)}
        channel.send(answer)
    retriever.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

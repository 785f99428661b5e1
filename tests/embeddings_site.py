"""A real HTTP server that speaks the embeddings API, with faults on demand and a log of what it was asked.

A vector is made of the text's words, each in a place of its own, so that texts that share words are near each other and the
same text always has the same vector. Faults are a list that the test fills: the first of them that fits a request is used.
"""

from __future__ import annotations

import base64
import json
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 64


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Not of unit length: that is for the client to see to."""
    found = [0.001] * dimensions
    for word in text.lower().split():
        found[zlib.crc32(word.encode()) % dimensions] += 1.0
    return found


@dataclass
class Fault:
    """What goes wrong: `status` (with `headers`), or `how`: drop, half, dimensions, shorter (all of a batch), nan, huge,
    endless, tiny, zero, twice, junk, slow.

    It is used `times` times, on requests in which a text contains `text`.
    """

    how: str = "status"
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    text: str = ""
    seconds: float = 0.0


@dataclass
class Site:
    """The running server. `requests`: every request's texts, answered or not; `headers`: theirs."""

    url: str = ""
    requests: list[list[str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    usage: bool = True
    pause: float = 0.0
    most_at_once: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for, in order."""
        return [text for request in self.requests for text in request]

    def forget(self) -> None:
        self.requests.clear()
        self.headers.clear()
        self.paths.clear()

    def _fault(self, texts: list[str]) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.times > 0 and any(fault.text in text for text in texts):
                    fault.times -= 1
                    return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20
    site: Site

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Not on standard error."""

    def do_POST(self) -> None:
        site = self.site
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
        with site._lock:
            site.requests.append(texts)
            site.headers.append({name.lower(): value for name, value in self.headers.items()})
            site.paths.append(self.path)
            site._now += 1
            site.most_at_once = max(site.most_at_once, site._now)
        try:
            time.sleep(site.pause)
            self._answer(body, texts, site._fault(texts))
        finally:
            with site._lock:
                site._now -= 1

    def _answer(self, body: dict[str, Any], texts: list[str], fault: Fault | None) -> None:
        how = fault.how if fault is not None else ""
        if fault is not None and how == "status":
            said = {"error": {"message": f"no: {self.headers.get('Authorization', '')}"}}
            self._send(fault.status, json.dumps(said), fault.headers)
            return
        if how == "drop":
            self.close_connection = True
            self.connection.close()
            return
        if fault is not None and how == "slow":
            time.sleep(fault.seconds)
        dimensions = body.get("dimensions") or DIMENSIONS
        vectors = [vector(text, dimensions) for text in texts]
        rows = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
        if how == "half":
            rows = rows[: len(rows) // 2]
        if how == "dimensions":
            rows[-1]["embedding"] = vectors[-1][:-1]
        if how == "shorter":
            for row in rows:
                row["embedding"] = vectors[0][:-1]
        values: dict[str, Any] = {"nan": float("nan"), "huge": 1e200, "endless": 10**400}
        if how in values:
            rows[-1]["embedding"] = [values[how], *vectors[-1][1:]]
        if how == "tiny":
            rows[-1]["embedding"] = [1e-200] * dimensions
        if how == "zero":
            rows[-1]["embedding"] = [0.0] * dimensions
        if how == "twice":
            rows[-1]["index"] = 0 if len(rows) > 1 else 7
        if body.get("encoding_format") == "base64":
            for row in rows:
                floats: Any = row["embedding"]
                row["embedding"] = base64.b64encode(struct.pack(f"<{len(floats)}f", *floats)).decode()
        answer: dict[str, Any] = {"object": "list", "model": body["model"], "data": rows[::-1]}
        if self.site.usage:
            tokens = sum(len(text.split()) for text in texts)
            answer["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
        self._send(200, "<html>busy</html>" if how == "junk" else json.dumps(answer), {})

    def _send(self, status: int, text: str, headers: dict[str, str]) -> None:
        raw = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)
        except ConnectionError:
            self.close_connection = True


@contextmanager
def embeddings_site() -> Iterator[Site]:
    """A server on loopback until the test is done with it."""
    site = Site()
    handler = type("Handler", (_Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)

"""The HTTP underneath: threads, keep-alive, broken connections on demand, the log."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local_github.faults import Fault
from local_github.wire import Answer, Request


@dataclass
class Exchange:
    """One request and its answer."""

    method: str
    path: str
    """Without the API prefix and the query."""
    query: dict[str, str]
    headers: dict[str, str]
    """The request's, names in lower case."""
    body: Any = None
    fault: Fault | None = None
    template: str | None = None
    """The route's path in the OpenAPI description; None where none matched or a fault answered."""
    login: str = ""
    token: str = ""
    status: int | None = None
    """None: the connection was closed before anything was done."""
    answer: Any = None
    answer_headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request, path: str, fault: Fault | None) -> Exchange:
        return cls(
            request.method, path, dict(request.query), dict(request.headers), _readable(request.raw), fault
        )

    def finish(self, answer: Answer) -> None:
        self.status = answer.status
        self.answer = answer.body if answer.raw is None else _readable(answer.raw)
        self.answer_headers = dict(answer.headers)

    def fits(self, method: str | None, path: str) -> bool:
        return method in (None, self.method) and fnmatchcase(self.path, path)


def _readable(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


@dataclass
class Reply:
    """A step of an answer: wait, then send (half of) it or close the connection."""

    answer: Answer | None = None
    delay: float = 0.0
    drop: bool = False
    half: bool = False


class HttpServer:
    """A server on a loopback port; `answer` yields replies until one is sent or the connection is dropped."""

    def __init__(self, answer: Callable[[Request], Iterator[Reply]], port: int = 0) -> None:
        class Handler(_Handler):
            pass

        Handler.reply_to = staticmethod(answer)
        self._server = _Server(("127.0.0.1", port), Handler)
        self._thread: threading.Thread | None = None
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        if self._thread:
            self._server.shutdown()
            self._thread.join(5)
        self._server.stopping.set()
        self._server.hang_up()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.stopping = threading.Event()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
        super().__init__(address, handler)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open[request] = threading.current_thread()
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._guard:
                self._open.pop(request, None)

    def hang_up(self) -> None:
        """Close the connections that clients keep open, and wait for their threads."""
        with self._guard:
            left = list(self._open.items())
        for connection, _ in left:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for _, thread in left:
            thread.join(5)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news; anything else is printed by the base class."""
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "LocalGitHub"
    sys_version = ""
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    timeout = 60
    reply_to: Callable[[Request], Iterator[Reply]]
    server: _Server

    def _any(self) -> None:
        where = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(where.query, keep_blank_values=True))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, urllib.parse.unquote(where.path), query, headers, self._body(headers))
        for reply in type(self).reply_to(request):
            if reply.delay:
                self._wait(reply.delay)
            if reply.drop:
                self._hang_up()
                return
            if reply.answer:
                self._send(reply.answer, half=reply.half)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = _any  # noqa: N815

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0) or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.server.stopping.is_set():
            self.server.stopping.wait(min(left, 0.05))

    def _hang_up(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _send(self, answer: Answer, *, half: bool) -> None:
        data = answer.data()
        empty = answer.status in (204, 304)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if not empty:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if not empty and self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if half else data)
        self.wfile.flush()
        if half:
            self._hang_up()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """The exchanges are the log."""

"""A real HTTP server whose answers a test writes: each is a function from a request to (status, headers, body)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """What was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Reply = tuple[int, dict[str, str], Any]


@dataclass
class Site:
    """`answer` makes the reply; a reply of status 0 drops the connection. A body that is bytes goes out as it is."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Reply] = lambda request: (200, {}, {"hits": []})
    most_at_once: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20
    site: Site

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Not on standard error."""

    def _serve(self) -> None:
        site = self.site
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, json.loads(raw) if raw else None)
        with site._lock:
            site.requests.append(request)
            site._now += 1
            site.most_at_once = max(site.most_at_once, site._now)
        try:
            status, more, body = site.answer(request)
        finally:
            with site._lock:
                site._now -= 1
        if status == 0:
            self.close_connection = True
            self.connection.close()
            return
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in more.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except ConnectionError:
            self.close_connection = True

    do_GET = do_POST = _serve  # noqa: N815 - names of the base class


@contextmanager
def search_site() -> Iterator[Site]:
    """A server on loopback until the test is done with it."""
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)

"""The judging page's server: one judge, loopback only, nothing from anywhere else.

The address holds a random token, which is exchanged for a cookie that no other site can make the browser send. Every request
must name this host; every write must come from this origin and be JSON. What cannot be judged here cannot be read here.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gate.labelling.journal import StaleError
from gate.labelling.judgements import WrongActionError
from gate.labelling.session import Session
from gate.report.folder import template_folder

COOKIE = "gate-judge"
_LARGEST = 100_000
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {
    "/judge.css": ("judge.css", "text/css; charset=utf-8"),
    "/judge.js": ("judge.js", "text/javascript; charset=utf-8"),
}


class JudgeServer:
    """Serves one session until `close`. `address` is what to open."""

    def __init__(self, session: Session, renderer: Any, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        handler = type("Handler", (_Handler,), {"app": _App(session, renderer, self.token)})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def serve(self) -> None:
        """Until interrupted, or closed from another thread."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _App:
    """What the requests share. One lock: judgements are written one after the other."""

    def __init__(self, session: Session, renderer: Any, token: str) -> None:
        self.session, self.renderer, self.token = session, renderer, token
        self.lock = threading.Lock()

    def knows(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())


class _Handler(BaseHTTPRequestHandler):
    app: _App
    protocol_version = "HTTP/1.1"
    server_version = "gate"
    sys_version = ""
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """The terminal belongs to the judge."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if not self._is_ours():
            return
        asked = parse_qs(url.query)
        if url.path == "/" and "token" in asked:
            self._enter(asked["token"][0])
            return
        if not self._may():
            return
        if url.path == "/":
            self._file("judge.html", "text/html; charset=utf-8")
        elif url.path in _STATIC:
            self._file(*_STATIC[url.path])
        elif url.path == "/state":
            with self.app.lock:
                self._json(200, self.app.session.state())
        elif url.path == "/page":
            self._page(asked.get("query", [""])[0], asked.get("page", [""])[0])
        else:
            self._json(404, {"error": "there is nothing here"})

    def do_POST(self) -> None:
        if not self._is_ours() or not self._may() or not self._is_same_origin():
            return
        if self.path != "/judge":
            self._json(404, {"error": "there is nothing here"})
            return
        action = self._body()
        if action is None:
            return
        seen = action.pop("seen", None)
        if "undo" not in action and (isinstance(seen, bool) or not isinstance(seen, int)):
            self._json(400, {"error": "seen is missing: the revision of the query that was looked at"})
            return
        with self.app.lock:
            try:
                self.app.session.act(action, seen)
            except WrongActionError as fault:
                self._json(400, {"error": str(fault)})
                return
            except StaleError:
                state = self.app.session.state()
                self._json(409, {"error": "changed in another window", "state": state})
                return
            except OSError as fault:
                self._json(500, {"error": f"the judgement could not be written ({fault.strerror})"})
                return
            self._json(200, self.app.session.state())

    def _enter(self, token: str) -> None:
        """The token of the address for a cookie; the address without it from then on."""
        if not self.app.knows(token):
            self._json(403, {"error": "wrong token"})
            return
        cookie = f"{COOKIE}={self.app.token}; HttpOnly; SameSite=Strict; Path=/"
        self._send(303, b"", "text/plain", {"Location": "/", "Set-Cookie": cookie})

    def _is_ours(self) -> bool:
        """Whether the request names this host: a name that leads here by trick does not."""
        port = self.server.server_address[1]  # type: ignore[index]
        if self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return True
        self._json(403, {"error": "wrong host"})
        return False

    def _may(self) -> bool:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            cookie = SimpleCookie()
        if COOKIE in cookie and self.app.knows(cookie[COOKIE].value):
            return True
        self._json(403, {"error": "open the address that the terminal shows"})
        return False

    def _is_same_origin(self) -> bool:
        good = self.headers.get("Origin") == f"http://{self.headers.get('Host')}"
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip()
        if good and kind == "application/json":
            return True
        self._json(403, {"error": "writes come from this page only"})
        return False

    def _body(self) -> dict[str, Any] | None:
        try:
            length = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            length = -1
        if not 0 < length <= _LARGEST:
            self.close_connection = True
            self._json(413, {"error": "too large, or empty"})
            return None
        try:
            value = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self._json(400, {"error": "no JSON object"})
            return None
        return value

    def _page(self, query: str, page: str) -> None:
        try:
            self._json(200, self.app.session.page(query, page, self.app.renderer))
        except KeyError:
            self._json(404, {"error": "the pool has no such page"})

    def _file(self, name: str, kind: str) -> None:
        self._send(200, (template_folder() / name).read_bytes(), kind)

    def _json(self, status: int, value: Mapping[str, Any]) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            **_HEADERS,
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **(more or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

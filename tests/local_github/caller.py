"""A plain HTTP client for tests: no library between the test and the wire."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Heard:
    """What came back."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None


@dataclass(frozen=True)
class Caller:
    """`api` is the API's root; `token` empty: anonymous."""

    api: str
    token: str = ""

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Heard:
        """`path` below the API's root, or a whole address. Header names are written with underscores."""
        where = urllib.parse.urlsplit(path if path.startswith("http") else self.api + path)
        sent = {"User-Agent": "test", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
        try:
            connection.request(
                method, f"{where.path}?{where.query}" if where.query else where.path, data, sent
            )
            answer = connection.getresponse()
            return Heard(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

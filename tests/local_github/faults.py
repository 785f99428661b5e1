"""Faults that tests put in the way of requests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from local_github.wire import DOCS, Answer

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID 1A2B:3C4D."
)


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong. Several may be combined (slow and then a 502)."""

    status: int | None = None
    """Answered instead of the real answer; the request is not carried out."""
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before anything is answered."""
    drop: str = ""
    """before: closed without carrying it out; after: carried out, then closed; partial: half of the answer."""

    def answer(self) -> Answer | None:
        if self.status is None:
            return None
        kind = (
            "application/json; charset=utf-8"
            if self.body.startswith(("{", "["))
            else "text/html; charset=utf-8"
        )
        return Answer(
            status=self.status, raw=self.body.encode(), headers={"Content-Type": kind, **self.headers}
        )


def server_error(status: int = 502) -> Fault:
    """5xx as GitHub's front end gives it: JSON for 500, a page of HTML for the others."""
    if status == 500:
        return Fault(500, json.dumps({"message": "Server Error", "documentation_url": DOCS, "status": "500"}))
    return Fault(status, "<html><body><h1>Whoa there! Unicorn!</h1></body></html>")


def secondary_limit(status: int = 403, retry_after: int | None = 1) -> Fault:
    body = {
        "message": SECONDARY,
        "documentation_url": f"{DOCS}/overview/rate-limits-for-the-rest-api",
        "status": str(status),
    }
    return Fault(status, json.dumps(body), {} if retry_after is None else {"Retry-After": str(retry_after)})


def primary_limit(reset_in: int = 1, status: int = 403) -> Fault:
    body = {
        "message": "API rate limit exceeded for installation ID 12345.",
        "documentation_url": DOCS,
        "status": str(status),
    }
    headers = {
        "x-ratelimit-limit": "1000",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-used": "1000",
        "x-ratelimit-reset": str(int(time.time()) + reset_in),
        "x-ratelimit-resource": "core",
    }
    return Fault(status, json.dumps(body), headers)


def refused(status: int, message: str) -> Fault:
    """Any other answer in GitHub's error shape."""
    return Fault(status, json.dumps({"message": message, "documentation_url": DOCS, "status": str(status)}))


def slow(seconds: float) -> Fault:
    return Fault(delay=seconds)


def dropped() -> Fault:
    """The connection closes; nothing was done."""
    return Fault(drop="before")


def lost_answer() -> Fault:
    """The request is carried out, but the answer never arrives (what makes retries double a comment)."""
    return Fault(drop="after")


def cut_short() -> Fault:
    """Half of the answer, then the connection closes."""
    return Fault(drop="partial")


@dataclass
class Planned:
    method: str
    path: str
    fault: Fault | None
    call: Callable[[], object] | None
    times: int
    skip: int


class FaultQueue:
    """Planned faults, in the order they were planned; a request meets the first that fits."""

    def __init__(self) -> None:
        self.planned: list[Planned] = []

    def add(self, planned: Planned) -> None:
        self.planned.append(planned)

    def meet(self, method: str, path: str) -> Planned | None:
        for planned in self.planned:
            if planned.times > 0 and planned.method in ("*", method) and fnmatchcase(path, planned.path):
                if planned.skip > 0:
                    planned.skip -= 1
                    continue
                planned.times -= 1
                return planned
        return None

    def left(self) -> list[dict[str, Any]]:
        """What was planned and not met."""
        return [
            {
                "method": one.method,
                "path": one.path,
                "times": one.times,
                "fault": one.fault and asdict(one.fault),
            }
            for one in self.planned
            if one.times > 0
        ]

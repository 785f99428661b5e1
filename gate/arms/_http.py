"""One kind of request to a service of the user's: patient, bounded, and to no other address than the named one."""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from gate.arms._process import quiet
from gate.arms._threads import side_by_side
from gate.model.frozen import Frozen
from gate.model.grants import origin
from gate.model.settings import Text

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
# A query that ends so says that the next one would, too.
_ALIKE = frozenset({0, 401, 403, 404, 408, 429, 502, 503, 504})
_LOST = 4
_LONGEST_WAIT = 90.0
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SAID = 300
_OURS = ("host", "content-length", "transfer-encoding", "connection")


def _address(url: str) -> str:
    if not origin(url):
        raise ValueError("is no http(s) address")
    if urlsplit(url).username or urlsplit(url).password:
        raise ValueError("holds a user or password; send them in 'headers' from an environment variable")
    if _VARIABLE.search(url):
        raise ValueError("holds a variable, which only 'headers' may: addresses are shown in reports")
    return url


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        # Behind a shared front, Host chooses whose service it is: a secret would reach another than the granted one.
        if name.lower() in _OURS:
            raise ValueError(f"sets {name}, which follows from url and body")
        if not _NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise ValueError("holds what no header can hold, such as a line break or a letter outside ASCII")
    return headers


Address = Annotated[Text, AfterValidator(_address)]
Headers = Annotated[dict[str, str], AfterValidator(_headers)]


class Service(Frozen):
    """Where it is and how patient to be. `headers` may hold `${NAME}`: an environment variable that the base sends there."""

    url: Address
    headers: Headers = Field(default_factory=dict)
    timeout_seconds: Annotated[float, Field(ge=0.1, le=3600.0)] = 30.0
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    max_bytes: Annotated[int, Field(ge=1000, le=1_000_000_000)] = 20_000_000

    def credentials(self) -> Iterable[tuple[str, str]]:
        """(variable, address) of what the headers send."""
        return tuple((name, self.url) for value in self.headers.values() for name in _VARIABLE.findall(value))

    def lacking(self) -> Iterator[str]:
        """What the headers need and the environment does not have."""
        names = dict.fromkeys(name for name, _ in self.credentials())
        return (f"{name} is not set" for name in names if not os.environ.get(name, "").strip())


class ServiceError(RuntimeError):
    """The service gave no answer that can be used. `alike`: it would give none to the next query either."""

    def __init__(self, said: str, *, alike: bool = False) -> None:
        super().__init__(said)
        self.alike = alike


class Client:
    """Asks one service. Used from several threads.

    A service that leaves a few queries in a row without any answer is not asked the rest: an arm that lacks one answer is
    not measured in any case, and a run over a dead service ends in minutes.
    """

    def __init__(
        self,
        service: Service,
        secret: Callable[[str, str], str | None],
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._service = service
        self._secret = secret
        self._ended = threading.Event()
        self._wait = wait or self._ended.wait
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._last_fault = ""
        self._pool: PoolManager | None = None
        self._headers: dict[str, str] = {}
        self._hidden: list[str] = []
        self.requests = 0

    def open(self) -> PoolManager:
        """The connections. ServiceError where a variable is unset, SecretRefusedError where it may not go there."""
        with self._lock:
            if self._pool is None:
                import urllib3

                self._headers = {name: self._filled(value) for name, value in self._service.headers.items()}
                self._pool = urllib3.PoolManager(maxsize=self._service.concurrency, retries=False)
            return self._pool

    def _filled(self, value: str) -> str:
        def replace(match: re.Match[str]) -> str:
            found = self._secret(match[1], self._service.url)
            found = (found or "").strip()  # a line break at the end of a secret is a common slip
            if not found:
                raise ServiceError(
                    f"{match[1]} is not set. Set it, in the Action through the job's env and allowed-header-env; a pull "
                    "request from a fork never gets it"
                )
            if not (found.isascii() and found.isprintable()):
                raise ServiceError(
                    f"{match[1]} holds what no header can hold, such as a line break or a letter outside ASCII. Set it anew"
                )
            self._hidden.append(found)
            return found

        return _VARIABLE.sub(replace, value)

    def ask(self, method: str, url: str, body: Any = None) -> Any:
        """The JSON that the service answers; ServiceError says what came instead."""
        with self._lock:
            if self._in_a_row >= _LOST:
                said = f"not asked: {_LOST} queries in a row got no answer (last: {self._last_fault})"
                raise ServiceError(said)
        try:
            answer = self._patiently(method, url, body)
        except ServiceError as fault:
            with self._lock:
                self._in_a_row = self._in_a_row + 1 if fault.alike else 0
                self._last_fault = str(fault)
            raise
        with self._lock:
            self._in_a_row = 0
        return answer

    def side_by_side(self, work: Callable[[str], object], asked: Iterable[str]) -> None:
        """`work` for each, `concurrency` at a time; what it raises is lost. An interrupt waits for nothing in flight."""
        side_by_side(work, asked, self._service.concurrency, self._ended, "gate-http")

    def _patiently(self, method: str, url: str, body: Any) -> Any:
        self.open()
        headers = {"Accept": "application/json", **self._headers}
        raw = None
        if body is not None:
            raw = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        for attempt in range(self._service.retries + 1):
            last = attempt == self._service.retries or self._ended.is_set()
            with self._lock:
                self.requests += 1
            status, said, pause = self._once(method, url, raw, headers, attempt)
            if status == 200:
                return said
            again = status == 0 or status in _AGAIN
            if last or not again or pause > _LONGEST_WAIT:
                tried = f" after {attempt + 1} attempts" if attempt else ""
                raise ServiceError(f"{said}{tried}", alike=status in _ALIKE)
            self._wait(pause)
        raise AssertionError("the last attempt returns or raises")

    def _once(
        self, method: str, url: str, raw: bytes | None, headers: Mapping[str, str], attempt: int
    ) -> tuple[int, Any, float]:
        """(200, the JSON, 0) or (the status, or 0 without one; what to say; seconds to wait before asking again)."""
        import urllib3

        service = self._service
        pool = self.open()
        where = origin(service.url)
        pause = min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        try:
            answer = pool.request(
                method, url, body=raw, headers=headers, redirect=False, preload_content=False,
                timeout=urllib3.Timeout(service.timeout_seconds),
            )  # fmt: skip
            try:
                content = _read(answer, service)
            finally:
                answer.release_conn()
        except urllib3.exceptions.TimeoutError:
            return 0, f"{where} gave no answer within {service.timeout_seconds:g} s", pause
        except urllib3.exceptions.HTTPError as fault:
            return 0, f"cannot reach {where} ({self.told(f'{type(fault).__name__}: {fault}')})", pause
        except (ValueError, OSError) as fault:  # what http.client minds shows the header in its message
            raise ServiceError(
                f"cannot ask {where} ({self.told(f'{type(fault).__name__}: {fault}')})"
            ) from None
        if 300 <= answer.status < 400:
            return answer.status, f"{where} answered {answer.status}, a redirect; none is followed", pause
        if not 200 <= answer.status < 300:
            asked = _retry_after(answer.headers.get("Retry-After"))
            said = f"{where} answered {answer.status}: {self.told(content.decode('utf-8', 'replace'))}"
            return answer.status, said, pause if asked is None else asked
        try:
            return 200, self._without(json.loads(content)), 0.0
        except (ValueError, RecursionError):
            said = self.told(content[:200].decode("utf-8", "replace"))
            return 422, f"{where} answered what is no JSON: {said!r}", pause

    def told(self, text: str) -> str:
        """What the service said, harmless and without what it was sent in secret."""
        return quiet(" ".join(self._bare(text).split()), _SAID)

    def _bare(self, text: str) -> str:
        for value in self._hidden:
            if len(value) >= 4:
                text = text.replace(value, "***")
        return text

    def _without(self, value: Any) -> Any:
        """An answer without the secrets: a service that echoes a header as an id would put it into the report."""
        if not self._hidden:
            return value
        if isinstance(value, str):
            return self._bare(value)
        if isinstance(value, list):
            return [self._without(one) for one in value]
        if isinstance(value, dict):
            return {self._bare(name): self._without(one) for name, one in value.items()}
        return value

    def close(self) -> None:
        """Close the connections. Who waits to ask again does not."""
        self._ended.set()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.clear()


def _read(answer: BaseHTTPResponse, service: Service) -> bytes:
    """The body, bounded in size and, as a whole, in time."""
    deadline = time.monotonic() + service.timeout_seconds
    parts: list[bytes] = []
    size = 0
    for part in answer.stream(65536):
        parts.append(part)
        size += len(part)
        if size > service.max_bytes:
            answer.close()
            raise ServiceError(f"{origin(service.url)} answered more than max_bytes = {service.max_bytes}")
        if time.monotonic() > deadline:
            answer.close()
            said = f"{origin(service.url)} was not done within {service.timeout_seconds:g} s"
            raise ServiceError(said, alike=True)
    return b"".join(parts)


def _retry_after(value: str | None) -> float | None:
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        try:
            return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
        except ValueError:
            return None

"""An OpenAI-compatible endpoint: its settings, one client, and patience. Shared by embedding and generating.

The openai SDK speaks the protocol; retrying is done here, so that one place knows how often, how long, and what to say. No
redirect is followed: a key goes to the address that was granted and to no other. What else the SDK finds in the environment
(a token, an organisation, headers) was granted to nobody and is taken off each request. No message holds the key.
"""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, TypeVar

from pydantic import Field

from gate.arms._process import quiet
from gate.embedders._host import Host
from gate.model.frozen import Frozen
from gate.model.grants import PROVIDER, origin
from gate.model.settings import Text

T = TypeVar("T")

_AGAIN = frozenset({408, 409, 425, 429})
_LONGEST_WAIT = 90.0
_FIRST_WAIT, _MOST_WAIT = 0.5, 20.0
_SAID = 300
# All that a request needs beside the key. The SDK's own x-stainless headers say which SDK it is.
_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
)
_OF_THE_SDK = "x-stainless-"
# Which account at the provider pays: for the provider alone.
_OF_THE_PROVIDER = frozenset({"openai-organization", "openai-project"})


class Endpoint(Frozen):
    """Where a model is served, and how patient to be with it.

    `base_url`: default OPENAI_BASE_URL, else the provider's own. `api_key_env`: the variable that holds the key;
    `needs_key = false` is for servers without one. `api_version` (with `base_url` as the resource's address) speaks to
    Azure; `deployment` is the name there, by default the model's.
    """

    base_url: Text | None = None
    api_key_env: Text = "OPENAI_API_KEY"
    needs_key: bool = True
    api_version: Text | None = None
    deployment: Text | None = None
    timeout_seconds: Annotated[float, Field(ge=0.1, le=3600.0)] = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 5

    @property
    def address(self) -> str:
        """The address that the requests go to."""
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or PROVIDER

    def credentials(self) -> Iterable[tuple[str, str]]:
        """(variable, address) of the key it sends."""
        return ((self.api_key_env, self.address),) if self.needs_key else ()


class EndpointError(RuntimeError):
    """The endpoint gave no answer: `status` is its HTTP status, None where there was none."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class Client:
    """One endpoint, opened on the first call. Used from several threads."""

    def __init__(self, endpoint: Endpoint, host: Host, wait: Callable[[float], None] = time.sleep) -> None:
        self._endpoint = endpoint
        self._host = host
        self._wait = wait
        self._lock = threading.Lock()
        self._client: Any = None
        self._key: str | None = None
        self.requests = 0

    def open(self) -> Any:
        """The SDK's client. EndpointError where there is no key, SecretRefusedError where it may not be sent there."""
        with self._lock:
            if self._client is None:
                self._client = self._connect(self._granted())
            return self._client

    def _granted(self) -> str | None:
        """The key, where the endpoint needs one."""
        endpoint = self._endpoint
        if not origin(endpoint.address):
            raise EndpointError(f"base_url is no http(s) address ({quiet(endpoint.address, 200)!r})")
        if not endpoint.needs_key:
            return None
        # Secrets are often stored with the line end of the file that they were copied from.
        self._key = (self._host.secret(endpoint.api_key_env, endpoint.address) or "").strip()
        if not self._key:
            raise EndpointError(without_key(endpoint.api_key_env))
        if not (self._key.isascii() and self._key.isprintable()):
            raise EndpointError(
                f"{endpoint.api_key_env} holds what no key can hold, such as a line break or a letter outside ASCII. "
                "Set it anew"
            )
        return self._key

    def _connect(self, key: str | None) -> Any:
        import openai

        endpoint = self._endpoint
        shared: dict[str, Any] = {
            "api_key": key or "none",
            "max_retries": 0,
            "timeout": endpoint.timeout_seconds,
            "http_client": openai.DefaultHttpxClient(
                follow_redirects=False, event_hooks={"request": [self._only_ours]}
            ),
        }
        if endpoint.api_version is not None:
            return openai.AzureOpenAI(
                azure_endpoint=endpoint.address,
                api_version=endpoint.api_version,
                azure_deployment=endpoint.deployment,
                **shared,
            )
        return openai.OpenAI(base_url=endpoint.address, **shared)

    def _only_ours(self, request: Any) -> None:
        """Leave on a request what it needs and the key that was granted, whatever the SDK added by itself."""
        headers = request.headers
        allowed = _HEADERS
        if origin(self._endpoint.address) == origin(PROVIDER):
            allowed = _HEADERS | _OF_THE_PROVIDER
        for name in list(headers):
            if name.lower() not in allowed and not name.lower().startswith(_OF_THE_SDK):
                del headers[name]
        if self._key is not None:
            azure = self._endpoint.api_version is not None
            headers["api-key" if azure else "authorization"] = self._key if azure else f"Bearer {self._key}"

    def call(self, request: Callable[[Any], T]) -> T:
        """`request(client)`, asked again while the endpoint says that it may come right; else EndpointError."""
        import openai

        client = self.open()
        for attempt in range(self._endpoint.retries + 1):
            last = attempt == self._endpoint.retries
            with self._lock:
                self.requests += 1
            try:
                return request(client)
            except openai.APIStatusError as fault:
                again = fault.status_code in _AGAIN or fault.status_code >= 500
                pause = _pause(attempt, fault.response.headers)
                if last or not again or pause > _LONGEST_WAIT:
                    raise EndpointError(self._refused(fault, attempt + 1, pause), fault.status_code) from None
            except openai.APITimeoutError:
                if last:
                    what = f"no answer within {self._endpoint.timeout_seconds:g} s{_tried(attempt + 1)}"
                    raise EndpointError(what) from None
                pause = _pause(attempt, {})
            except openai.APIConnectionError as fault:
                if last:
                    cause = fault.__cause__ or fault
                    what = f"{self.told(f'{type(cause).__name__}: {cause}')}{_tried(attempt + 1)}"
                    raise EndpointError(f"cannot reach {origin(self._endpoint.address)} ({what})") from None
                pause = _pause(attempt, {})
            except openai.OpenAIError as fault:
                raise EndpointError(self.told(f"{type(fault).__name__}: {fault}")) from None
            self._wait(pause)
        raise AssertionError("the last attempt returns or raises")

    def _refused(self, fault: Any, attempts: int, pause: float) -> str:
        status = fault.status_code
        where = origin(self._endpoint.address)
        if 300 <= status < 400:
            return f"{where} answered {status}, a redirect; the key is sent to no other address. Name the final one in base_url."
        hint = " Is the key right?" if status == 401 else ""
        slow = f"; it wants {pause:.0f} s of patience" if pause > _LONGEST_WAIT else ""
        return f"{where} answered {status}{slow}{_tried(attempts)}: {self.told(_body(fault))}{hint}"

    def told(self, text: str) -> str:
        """What the endpoint or the SDK said, harmless and without the key."""
        if self._key and len(self._key) >= 4:
            text = text.replace(self._key, "***")
        return quiet(" ".join(text.split()), _SAID)

    def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def without_key(name: str) -> str:
    """What to say where the key is missing: also why on a fork, and who can do what."""
    return (
        f"{name} is not set. Set it, in the Action through its input; a pull request from a fork never gets it: "
        "a maintainer can push the branch to this repository to have it measured"
    )


def _body(fault: Any) -> str:
    try:
        body = fault.response.json()
        error = body.get("error", body) if isinstance(body, dict) else body
        return str(error.get("message", error) if isinstance(error, dict) else error)
    except ValueError:
        return str(fault.response.text)


def _tried(attempts: int) -> str:
    return f" after {attempts} attempts" if attempts > 1 else ""


def _pause(attempt: int, headers: Any) -> float:
    """Seconds: what Retry-After asks for, else twice as long each time, spread so that clients do not march in step."""
    asked = _seconds(headers.get("retry-after-ms"), 1000.0)  # in milliseconds: the provider's, and Azure's
    asked = asked if asked is not None else _seconds(headers.get("retry-after"))
    if asked is not None:
        return asked
    return min(_FIRST_WAIT * 2.0**attempt, _MOST_WAIT) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def _seconds(asked: str | None, per_second: float = 1.0) -> float | None:
    """A number, or a date from now, as seconds from 0 on; None for what is neither."""
    if not asked:
        return None
    try:
        seconds = float(asked) / per_second
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(seconds, 0.0)

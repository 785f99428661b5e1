"""The http arm: a search service that answers with JSON.

`url`, and the texts in `body`, may hold `{query}` and `{pool}`. In the address they are percent-encoded; in the body a text that is
nothing but a placeholder becomes the value itself, so that `size = "{pool}"` sends a number. `hits` is a JSON pointer to the
list in the answer; `id`, `score`, `text` and `chunk` point inside each of its entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import model_validator

from gate.arms._answers import AnswerError, Pages, as_score
from gate.arms._http import Client, Service, ServiceError
from gate.arms._pointer import Pointer, pointed
from gate.model.cost import Spent
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings

_PLACEHOLDERS = ("{query}", "{pool}")


class Settings(ArmSettings, Service):
    """`id` names the page or chunk of an entry, which may also be a plain text or number; the others are optional."""

    method: Literal["GET", "POST"] = "POST"
    body: dict[str, Any] | None = None
    hits: Pointer = "/hits"
    id: Pointer = "/id"
    score: Pointer | None = None
    text: Pointer | None = None
    chunk: Pointer | None = None

    @model_validator(mode="after")
    def _asks(self) -> Settings:
        if "{query}" not in self.url and "{query}" not in repr(self.body):
            raise ValueError("holds {query} in neither url nor body: every query would be asked alike")
        if self.method == "GET" and self.body is not None:
            raise ValueError("is a GET, which has no body: put {query} into the url")
        if any(mark in self.url.partition("?")[0].split("/", 3)[2] for mark in _PLACEHOLDERS):
            raise ValueError("holds a placeholder in the host of url")
        return self


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, address) of what the headers send."""
    return settings.credentials()


def lacking(settings: Settings, _root: Path | None) -> Iterable[str]:
    """What is not on this machine."""
    return settings.lacking()


def build(materials: Materials, settings: Settings) -> HttpArm:
    """Nothing is asked before the first query."""
    root: Path = getattr(materials, "root", None) or Path.cwd()
    return HttpArm(settings, Client(settings, materials.secret), Pages(materials, root))


class HttpArm:
    """See the module. Told all queries at once, it asks several at a time."""

    def __init__(self, settings: Settings, client: Client, pages: Pages) -> None:
        self._settings = settings
        self._client = client
        self._pages = pages
        self._answers: dict[tuple[str, int], list[dict[str, Any]] | Exception] = {}

    @property
    def unknown(self) -> Counter[str]:
        """Pages it named that the corpus does not have, with how often."""
        return self._pages.unknown

    @property
    def spent(self) -> Spent:
        """How many requests were made."""
        return Spent(requests=self._client.requests)

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        """Ask them all, `concurrency` at a time; what fails is kept for `search` to raise."""
        asked = [query for query in dict.fromkeys(queries) if (query, pool) not in self._answers]
        self._client.side_by_side(lambda query: self._keep(query, pool), asked)

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        """The hits of one query. ServiceError where there are none to be had."""
        if (query, pool) not in self._answers:
            self._keep(query, pool)
        answer = self._answers[query, pool]
        if isinstance(answer, Exception):
            raise answer
        return self._pages.hits(answer)

    def _keep(self, query: str, pool: int) -> None:
        try:
            self._answers[query, pool] = self._read(self._ask(query, pool), pool)
        except Exception as fault:
            self._answers[query, pool] = fault

    def _ask(self, query: str, pool: int) -> Any:
        settings = self._settings
        url = settings.url.replace("{query}", quote(query, safe="", errors="replace"))
        body = _filled(settings.body, query, pool) if settings.body is not None else None
        return self._client.ask(settings.method, url.replace("{pool}", str(pool)), body)

    def _read(self, answer: Any, pool: int) -> list[dict[str, Any]]:
        settings = self._settings
        try:
            found = pointed(answer, settings.hits)
        except LookupError as fault:
            had = f"; it has {', '.join(sorted(answer)[:8])}" if isinstance(answer, dict) and answer else ""
            said = self._client.told(
                f"hits = {settings.hits!r} leads nowhere in the answer (no {fault}{had})"
            )
            raise ServiceError(said) from None
        if not isinstance(found, list):
            raise ServiceError(f"hits = {settings.hits!r} leads to what is no list")
        try:
            return [self._hit(entry, position) for position, entry in enumerate(found[:pool], 1)]
        except AnswerError as fault:
            raise ServiceError(self._client.told(str(fault))) from None

    def _hit(self, entry: Any, position: int) -> dict[str, Any]:
        settings = self._settings
        name = self._named(entry, settings.id if isinstance(entry, dict | list) else "")
        if name is None:
            raise AnswerError(f"hit {position} has no id at {settings.id!r}")
        chunk = self._named(entry, settings.chunk) if settings.chunk is not None else None
        text = _at(entry, settings.text)
        score = as_score(_at(entry, settings.score), name, position)
        return {
            "ids": [name] if chunk is None else [name, chunk],
            "chunk": chunk or name,
            "text": text if isinstance(text, str) else "",
            "score": score,
        }

    def _named(self, entry: Any, pointer: str) -> str | None:
        value = _at(entry, pointer)
        return str(value) or None if isinstance(value, str | int) and not isinstance(value, bool) else None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _at(entry: Any, pointer: str | None) -> Any:
    """What stands there; None where nothing does."""
    if pointer is None:
        return None
    try:
        return pointed(entry, pointer)
    except LookupError:
        return None


def _filled(value: Any, query: str, pool: int) -> Any:
    """A template with its placeholders filled in; the parts of a query are never read as a template again."""
    if isinstance(value, dict):
        return {key: _filled(one, query, pool) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, query, pool) for one in value]
    if value == "{query}":
        return query
    if value == "{pool}":
        return pool
    if isinstance(value, str):
        return query.join(part.replace("{pool}", str(pool)) for part in value.split("{query}"))
    return value

"""Vectors from any endpoint that speaks OpenAI's embeddings API.

Texts go in batches, by number and by size, over a few connections at once. Every answer is checked whole before a vector of
it is believed: as many as were asked for, each index once, one length throughout, finite, not zero. A batch that the
endpoint refuses as a whole is halved until the text that it minds stands alone. Before each batch the cap on cost is
held against what was spent, what every open batch could cost at most, and what an answer that was lost may have cost.
An endpoint that refuses the key, or fails batch after batch, is not asked for the rest.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gate.embedders._answer import read
from gate.embedders._endpoint import Client, Endpoint, EndpointError
from gate.embedders._host import Host
from gate.model.cost import Spent
from gate.model.embedding import Batch, Identity, Mode
from gate.model.grants import origin
from gate.model.settings import Text

_HALVED = frozenset({400, 413, 422})
# Of a wrong key, address or model: the next batch would be refused alike.
_FINAL = frozenset({401, 402, 403, 404, 405, 410})
_IN_A_ROW = 3
_REFUSED_IN_A_ROW = 8  # single texts; a long page has several neighbours that are as long


class Settings(Endpoint):
    """See docs/embedders.md. Prices are yours to give, with the day they were read: the gate knows none."""

    type: Literal["openai"]
    model: Text
    dimensions: Annotated[int, Field(ge=1, le=65536)] | None = None
    encoding: Literal["float", "base64"] = "float"
    batch_texts: Annotated[int, Field(ge=1, le=2048)] = 128
    batch_bytes: Annotated[int, Field(ge=100, le=10_000_000)] = 200_000
    concurrency: Annotated[int, Field(ge=1, le=32)] = 4
    query_prefix: str = ""
    passage_prefix: str = ""
    revision: str = ""
    max_cost_usd: Annotated[float, Field(ge=0.0)] | None = None
    price_per_million: Annotated[float, Field(ge=0.0)] | None = None
    price_date: Text | None = None

    @model_validator(mode="after")
    def _priced(self) -> Settings:
        if self.max_cost_usd is not None and self.price_per_million is None:
            raise ValueError(
                "max_cost_usd needs price_per_million: a cap on an unknown price holds nothing back"
            )
        if self.price_per_million is not None and self.price_date is None:
            raise ValueError("price_per_million needs price_date, the day on which it was read")
        return self


def credentials(settings: Settings) -> Sequence[tuple[str, str]]:
    """(variable, address) of what it sends."""
    return tuple(settings.credentials())


def build(settings: Settings, host: Host) -> OpenAiEmbedder:
    """Nothing is opened before the first text."""
    return OpenAiEmbedder(settings, Client(settings, host), host.paid_usd)


class OpenAiEmbedder:
    """See the module."""

    def __init__(self, settings: Settings, client: Client, paid_usd: float = 0.0) -> None:
        self._settings = settings
        self._client = client
        self._paid = paid_usd
        self._lock = threading.Lock()
        self._tokens = 0
        self._billed = 0.0
        self._unknown = False
        self._open_cost = 0.0
        self._lost_cost = 0.0
        self._failed = 0
        self._hopeless = ""

    @property
    def identity(self) -> Identity:
        settings = self._settings
        kind = "azure" if settings.api_version is not None else "openai"
        prefixes = [settings.query_prefix, settings.passage_prefix, settings.revision]
        revision = repr(prefixes) if any(prefixes) else ""
        model = settings.deployment or settings.model if kind == "azure" else settings.model
        return Identity(kind, model, settings.dimensions, settings.address.rstrip("/"), revision)

    @property
    def spent(self) -> Spent:
        price = self._settings.price_per_million
        known = price is not None and not self._unknown
        asked = self._client.requests > 0
        return Spent(
            requests=self._client.requests,
            tokens=self._tokens,
            cost_usd=self._billed if known or not asked else None,
            price=f"{price:g} USD per 1M tokens ({self._settings.price_date})" if price is not None else "",
        )

    def embed(self, texts: Sequence[str], mode: Mode) -> Iterator[Batch]:
        """As gate.model.embedding.Embedder. Batches come back in the order in which they are done."""
        settings = self._settings
        prefix = settings.query_prefix if mode == "query" else settings.passage_prefix
        sent = [prefix + text for text in texts]
        try:
            self._client.open()
        except RuntimeError as fault:  # no key, or none for this address
            yield Batch(range(len(texts)), None, str(fault))
            return
        self._failed, self._hopeless = 0, ""
        batches = list(_batches(sent, settings.batch_texts, settings.batch_bytes))
        yield from self._concurrently(batches, sent)

    def _concurrently(self, batches: Sequence[Sequence[int]], texts: Sequence[str]) -> Iterator[Batch]:
        """At most `concurrency` batches are out, or answered and not yet taken, at any moment.

        The threads are daemons: whoever interrupts the run does not wait for an endpoint.
        """
        asked: queue.SimpleQueue[Sequence[int] | None] = queue.SimpleQueue()
        answered: queue.SimpleQueue[list[Batch]] = queue.SimpleQueue()

        def work() -> None:
            while (batch := asked.get()) is not None:
                answered.put(self._ask(batch, texts))

        at_once = min(self._settings.concurrency, len(batches))
        for batch in batches[:at_once]:
            asked.put(batch)
        for number in range(at_once):
            threading.Thread(target=work, name=f"gate-embed-{number}", daemon=True).start()
        try:
            for position in range(len(batches)):
                yield from answered.get()
                if position + at_once < len(batches):
                    asked.put(batches[position + at_once])
        finally:
            for _ in range(at_once):
                asked.put(None)

    def _ask(self, positions: Sequence[int], texts: Sequence[str]) -> list[Batch]:
        """One batch, or its halves where the endpoint refuses the whole."""
        asked = [texts[position] for position in positions]
        if self._hopeless:
            return [Batch(positions, None, self._hopeless)]
        most = self._reserve(asked)
        if most is None:
            return [Batch(positions, None, self._over())]
        answer: Any = None
        status: int | None = None
        try:
            answer = self._client.call(lambda client: self._request(client, asked, most))
            vectors = read(answer, len(positions), self._settings.dimensions)
        except EndpointError as fault:
            self._release(most)
            if fault.status in _HALVED and len(positions) > 1:
                half = len(positions) // 2
                return [*self._ask(positions[:half], texts), *self._ask(positions[half:], texts)]
            status, why = fault.status, str(fault)
        except ValueError as fault:
            # It answered, so it may well count; without a usage that can be read, the most it can be is taken.
            self._settle(most, answer)
            why = f"{origin(self._settings.address)} answered badly: {fault}"
        except Exception as fault:  # an address or a text that the SDK cannot even send
            self._release(most)
            why = f"cannot ask {origin(self._settings.address)}: {self._client.told(f'{type(fault).__name__}: {fault}')}"
        else:
            self._settle(most, answer)
            self._failed = 0
            return [Batch(positions, vectors)]
        self._despair(status, why)
        return [Batch(positions, None, why)]

    def _despair(self, status: int | None, why: str) -> None:
        """After a fault that every batch would meet, or some in a row, nothing more is asked for in this call."""
        final = status is not None and (status in _FINAL or 300 <= status < 400)
        enough = _REFUSED_IN_A_ROW if status in _HALVED else _IN_A_ROW
        with self._lock:
            self._failed += 1
            if self._hopeless or not (final or self._failed >= enough):
                return
            row = "" if final else f" after {self._failed} failures in a row"
            self._hopeless = f"not asked any more{row}: {why}"

    def _request(self, client: Any, texts: Sequence[str], most: float) -> Any:
        import json

        import openai

        settings = self._settings
        with self._lock:
            if self._beyond(self._open_cost):  # an answer was lost since this batch was let through
                raise EndpointError(self._over())
        more = {"dimensions": settings.dimensions} if settings.dimensions is not None else {}
        try:
            answered = client.embeddings.with_raw_response.create(
                model=settings.model, input=list(texts), encoding_format=settings.encoding, **more
            )
        except openai.APIConnectionError as fault:  # time-outs too: it was asked, and may have done its work
            if "Connect" not in type(fault.__cause__).__name__:
                with self._lock:
                    self._lost_cost += most
            raise
        try:
            return json.loads(answered.content)
        except (ValueError, RecursionError):
            return None

    def _reserve(self, texts: Sequence[str]) -> float | None:
        """What this batch can cost at most, held against the cap; None where it could go over it.

        A token stands for at least one byte in every tokenizer that reads bytes, so bytes bound tokens from above.
        """
        price = self._settings.price_per_million
        if price is None:
            return 0.0
        most = price * sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in texts) / 1e6
        with self._lock:
            if self._beyond(self._open_cost + most):
                return None
            self._open_cost += most
        return most

    def _beyond(self, more: float) -> bool:
        """Whether `more` USD on top of all that was, or may have been, spent could pass the cap."""
        cap = self._settings.max_cost_usd
        return cap is not None and self._paid + self._billed + self._lost_cost + more > cap

    def _release(self, most: float) -> None:
        with self._lock:
            self._open_cost -= most

    def _settle(self, most: float, answer: Any) -> None:
        """Write down what a batch took: by the endpoint's own count, else at most."""
        usage = answer.get("usage") if isinstance(answer, dict) else None
        told = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        tokens = told if isinstance(told, int) and told >= 0 else None
        price = self._settings.price_per_million
        with self._lock:
            self._open_cost -= most
            if tokens is not None:
                self._tokens += tokens
                self._billed += (price or 0.0) * tokens / 1e6
            else:
                self._billed += most
                self._unknown = self._unknown or price is None

    def _over(self) -> str:
        lost = f", up to {self._lost_cost:.6g} for answers that were lost" if self._lost_cost else ""
        return (
            f"not asked: max_cost_usd = {self._settings.max_cost_usd:g} could be passed ({self._paid + self._billed:.6g} USD "
            f"spent{lost} at {self._settings.price_per_million:g} USD per 1M tokens)"
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _batches(texts: Sequence[str], most_texts: int, most_bytes: int) -> Iterator[list[int]]:
    """Positions of texts that go together. A text over the size goes alone."""
    batch: list[int] = []
    size = 0
    for position, text in enumerate(texts):
        length = len(text.encode("utf-8", "surrogatepass"))
        if batch and (len(batch) == most_texts or size + length > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(position)
        size += length
    if batch:
        yield batch

"""Vectors from any endpoint that speaks OpenAI's embeddings API.

Texts go in batches, by number and by size, over a few connections at once. Every answer is checked whole before a vector of
it is believed: as many as were asked for, each index once, one length throughout, finite, not zero. A batch that the
endpoint refuses as a whole is halved until the text that it minds stands alone. Before each batch the cap on cost is
held against what was spent and what every open batch could cost at most.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gate.embedders._endpoint import Client, Endpoint, EndpointError
from gate.embedders._host import Host
from gate.model.cost import Spent
from gate.model.embedding import Batch, Identity, Mode
from gate.model.grants import origin
from gate.model.settings import Text

_HALVED = frozenset({400, 413, 422})


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
        from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

        settings = self._settings
        prefix = settings.query_prefix if mode == "query" else settings.passage_prefix
        sent = [prefix + text for text in texts]
        try:
            self._client.open()
        except RuntimeError as fault:  # no key, or none for this address
            yield Batch(range(len(texts)), None, str(fault))
            return
        waiting = list(_batches(sent, settings.batch_texts, settings.batch_bytes))[::-1]
        running: set[Future[list[Batch]]] = set()
        with ThreadPoolExecutor(settings.concurrency, thread_name_prefix="gate-embed") as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < settings.concurrency:
                        running.add(pool.submit(self._ask, waiting.pop(), sent))
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for one in done:
                        yield from one.result()
            finally:
                for one in running:
                    one.cancel()

    def _ask(self, positions: Sequence[int], texts: Sequence[str]) -> list[Batch]:
        """One batch, or its halves where the endpoint refuses the whole."""
        asked = [texts[position] for position in positions]
        most = self._reserve(asked)
        if most is None:
            return [Batch(positions, None, self._over())]
        answer: Any = None
        try:
            answer = self._client.call(lambda client: self._request(client, asked))
            vectors = read(answer, len(positions), self._settings.dimensions)
            self._settle(most, answer)
        except EndpointError as fault:
            self._release(most)
            if fault.status in _HALVED and len(positions) > 1:
                half = len(positions) // 2
                return [*self._ask(positions[:half], texts), *self._ask(positions[half:], texts)]
            return [Batch(positions, None, str(fault))]
        except ValueError as fault:
            # It answered, so it may well count; without a usage that can be read, the most it can be is taken.
            self._settle(most, answer)
            return [Batch(positions, None, f"{origin(self._settings.address)} answered badly: {fault}")]
        return [Batch(positions, vectors)]

    def _request(self, client: Any, texts: Sequence[str]) -> Any:
        import json

        settings = self._settings
        more = {"dimensions": settings.dimensions} if settings.dimensions is not None else {}
        answered = client.embeddings.with_raw_response.create(
            model=settings.model, input=list(texts), encoding_format=settings.encoding, **more
        )
        try:
            return json.loads(answered.content)
        except ValueError:
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
            cap = self._settings.max_cost_usd
            if cap is not None and self._paid + self._billed + self._open_cost + most > cap:
                return None
            self._open_cost += most
        return most

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
        return (
            f"not asked: max_cost_usd = {self._settings.max_cost_usd:g} could be passed "
            f"({self._paid + self._billed:.6g} USD spent at {self._settings.price_per_million:g} USD per 1M tokens)"
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


def read(answer: Any, number: int, dimensions: int | None) -> Any:
    """The unit vectors (number x d, float32) of an answer in the order asked; ValueError says what is wrong with it."""
    import numpy as np

    from gate.embedders._cached import unit

    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise ValueError("it is no JSON object with a list 'data'")
    if len(rows) != number:
        raise ValueError(f"{len(rows)} vectors for {number} texts")
    order = [row.get("index") if isinstance(row, dict) else None for row in rows]
    if any(index is not None for index in order):
        if sorted(map(str, order)) != sorted(map(str, range(number))):
            raise ValueError("its indexes are not those of the texts")
    else:
        order = list(range(number))  # some servers leave the index out; the order is then all there is
    vectors: list[Any] = [None] * number
    for index, row in zip(order, rows, strict=True):
        vectors[int(index or 0)] = _vector(row.get("embedding") if isinstance(row, dict) else None)
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise ValueError(f"vectors of different lengths ({', '.join(map(str, sorted(lengths)))})")
    if dimensions is not None and lengths != {dimensions}:
        raise ValueError(f"vectors of {lengths.pop()} dimensions where {dimensions} were asked for")
    found = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a vector has a value that is no finite number")
    if not found.any(axis=1).all():
        raise ValueError("a vector is all zeros")
    return unit(found)


def _vector(value: Any) -> Any:
    """One embedding as numbers: a list, or base64 of little-endian float32."""
    import numpy as np

    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("a vector is no base64") from None
        if not raw or len(raw) % 4:
            raise ValueError("a vector's base64 is no list of float32")
        return np.frombuffer(raw, dtype="<f4").astype(np.float64)
    numbers = isinstance(value, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value
    )
    if not numbers or not value:
        raise ValueError("a vector is no list of numbers")
    return np.asarray(value, dtype=np.float64)

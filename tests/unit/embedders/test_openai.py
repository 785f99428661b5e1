"""The openai embedder against a real server: what it sends, what it believes, what it pays, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embeddings_site import DIMENSIONS, Fault, Site, embeddings_site, vector

from gate.embedders._cache import Cache
from gate.embedders._cached import CachedEmbedder
from gate.embedders._endpoint import Client
from gate.embedders._host import Host
from gate.embedders.openai import OpenAiEmbedder, Settings, build
from gate.errors import InputError
from gate.model.embedding import EmbeddingError
from gate.model.ranking import SecretRefusedError
from gate.store import config

KEY = "sk-very-secret-key"
TEXTS = [f"text number {number} about widgets" for number in range(10)]


@pytest.fixture
def site() -> Iterator[Site]:
    with embeddings_site() as running:
        yield running


def embedder(site: Site, key: str | None = KEY, **options: Any) -> OpenAiEmbedder:
    """One that does not wait between attempts; what it would have waited is in `.waits`."""
    settings = Settings.model_validate(
        {"type": "openai", "model": "m", "base_url": site.url, **options}, strict=False
    )
    waits: list[float] = []
    made = OpenAiEmbedder(settings, Client(settings, Host(lambda name, url: key), waits.append))
    made.waits = waits  # type: ignore[attr-defined]
    return made


def all_of(made: OpenAiEmbedder, texts: list[str]) -> tuple[dict[int, Any], dict[int, str]]:
    """(position -> vector, position -> fault); every position exactly once."""
    vectors: dict[int, Any] = {}
    faults: dict[int, str] = {}
    for batch in made.embed(texts, "passage"):
        for row, position in enumerate(batch.positions):
            assert position not in vectors
            assert position not in faults
            if batch.vectors is None:
                faults[position] = batch.fault
            else:
                vectors[position] = batch.vectors[row]
    made.close()
    assert sorted([*vectors, *faults]) == list(range(len(texts)))
    assert KEY not in str(faults)
    return vectors, faults


def right(text: str) -> Any:
    found = np.asarray(vector(text))
    return (found / np.linalg.norm(found)).astype(np.float32)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_batches_come_back_as_unit_vectors_in_order(site: Site, encoding: str) -> None:
    vectors, faults = all_of(embedder(site, encoding=encoding, batch_texts=3), TEXTS)
    assert faults == {}
    for position, text in enumerate(TEXTS):
        assert np.allclose(vectors[position], right(text), atol=1e-6)
        assert vectors[position].dtype == np.float32
        assert abs(float(np.linalg.norm(vectors[position])) - 1) < 1e-6
    assert sorted(map(len, site.requests)) == [1, 3, 3, 3]
    assert {header["authorization"] for header in site.headers} == {f"Bearer {KEY}"}
    assert set(site.paths) == {"/v1/embeddings"}


def test_batches_keep_to_bytes_and_connections(site: Site) -> None:
    site.pause = 0.05
    _, faults = all_of(embedder(site, batch_bytes=100, concurrency=2), TEXTS)
    assert faults == {}
    assert max(map(len, site.requests)) == 3, "32 bytes each"
    assert site.most_at_once == 2


def test_dimensions_and_prefixes_are_sent(site: Site) -> None:
    made = embedder(site, dimensions=16, query_prefix="query: ", passage_prefix="passage: ")
    vectors, _ = all_of(made, ["one"])
    assert len(vectors[0]) == 16
    other = embedder(site, query_prefix="query: ")
    list(other.embed(["two"], "query"))
    other.close()
    assert site.texts == ["passage: one", "query: two"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_it_asks_again(site: Site, status: int) -> None:
    site.faults = [Fault(status=status, times=2)]
    made = embedder(site)
    _, faults = all_of(made, TEXTS)
    assert faults == {}
    assert len(site.requests) == 3
    first, second = made.waits  # type: ignore[attr-defined]
    assert 0 < first <= 0.5
    assert 0.5 <= second <= 1.0


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_what_it_waits_for(site: Site, headers: dict[str, str], waited: float | None) -> None:
    site.faults = [Fault(status=429, headers=headers)]
    made = embedder(site)
    assert all_of(made, TEXTS)[1] == {}
    (found,) = made.waits  # type: ignore[attr-defined]
    assert found == waited if waited is not None else 0.25 <= found <= 0.5


@pytest.mark.parametrize("after", ["7", "Wed, 21 Oct 2125 07:28:00 GMT"])
def test_retry_after_is_honoured_or_too_long(site: Site, after: str) -> None:
    site.faults = [Fault(status=429, headers={"Retry-After": after})]
    made = embedder(site)
    _, faults = all_of(made, TEXTS[:1])
    if after == "7":
        assert faults == {}
        assert made.waits == [7.0]  # type: ignore[attr-defined]
    else:
        assert "429" in faults[0]
        assert "of patience" in faults[0]


def test_dropped_connections_are_tried_again_and_then_told(site: Site) -> None:
    site.faults = [Fault("drop", times=2)]
    assert all_of(embedder(site), TEXTS)[1] == {}
    site.faults = [Fault("drop", times=99)]
    _, faults = all_of(embedder(site, retries=2), TEXTS)
    assert set(faults) == set(range(10))
    assert "cannot reach http://127.0.0.1:" in faults[0]
    assert "after 3 attempts" in faults[0]


def test_a_time_out_is_told(site: Site) -> None:
    site.faults = [Fault("slow", seconds=1.0, times=9)]
    _, faults = all_of(embedder(site, timeout_seconds=0.2, retries=1), TEXTS[:1])
    assert faults[0] == "no answer within 0.2 s after 2 attempts"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("half", "1 vectors for 3 texts"),
        ("dimensions", "different lengths (63, 64)"),
        ("nan", "no finite number"),
        ("endless", "no finite number"),
        ("huge", "too long or too short"),
        ("tiny", "too long or too short"),
        ("zero", "all zeros"),
        ("twice", "indexes are not those of the texts"),
        ("junk", "no JSON object"),
    ],
)
def test_a_bad_answer_costs_its_own_batch_only(site: Site, how: str, said: str) -> None:
    site.faults = [Fault(how, text="number 4")]
    vectors, faults = all_of(embedder(site, batch_texts=3), TEXTS)
    assert set(faults) == {3, 4, 5}, "no vector of it is believed, and none is shifted"
    assert said in faults[4]
    assert np.allclose(vectors[6], right(TEXTS[6]), atol=1e-6)


def test_one_text_that_is_refused_does_not_cost_its_neighbours(site: Site) -> None:
    site.faults = [Fault(status=400, text="number 4", times=99)]
    vectors, faults = all_of(embedder(site), TEXTS)
    assert set(faults) == {4}
    assert "answered 400" in faults[4]
    assert len(vectors) == 9


def test_an_option_that_every_text_is_refused_for_costs_few_requests(site: Site) -> None:
    site.faults = [Fault(status=400, times=9999)]
    texts = [f"text {number}" for number in range(2000)]
    _, faults = all_of(embedder(site, concurrency=1), texts)
    assert len(faults) == 2000
    assert len(site.requests) < 30
    assert "not asked any more after 8 failures in a row" in faults[1999]


def test_a_refused_key_is_said_without_the_key_and_tried_once(site: Site) -> None:
    site.faults = [Fault(status=401, times=99)]
    _, faults = all_of(embedder(site, batch_texts=1, concurrency=2), TEXTS)
    assert "answered 401: no: Bearer ***" in faults[0]
    assert "not asked any more: " in faults[9]
    assert len(site.requests) <= 2


@pytest.mark.parametrize("how", ["status", "drop", "junk"])
def test_an_endpoint_that_fails_batch_after_batch_is_left_alone(site: Site, how: str) -> None:
    site.faults = [Fault(how, times=9999)]
    texts = [f"text {number:02}" for number in range(100)]
    _, faults = all_of(embedder(site, batch_texts=1, concurrency=1, retries=1), texts)
    assert len(site.requests) == 3 * (1 if how == "junk" else 2)
    assert "not asked any more after 3 failures in a row" in faults[99]
    site.forget()
    site.faults = [Fault(how, text=f"text {number:02}", times=2) for number in (1, 2, 50, 51, 98)]
    vectors, faults = all_of(embedder(site, batch_texts=1, concurrency=1, retries=1), texts)
    assert set(faults) <= {1, 2, 50, 51, 98}, "two failures between answers stop nothing"
    assert len(vectors) >= 95


@pytest.mark.parametrize("stored", [KEY + "\n", f"  {KEY}\r\n"])
def test_a_key_with_a_line_end_is_the_key(site: Site, stored: str) -> None:
    assert all_of(embedder(site, key=stored), TEXTS)[1] == {}
    assert site.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("stored", [KEY[:9] + "\n" + KEY[9:], KEY + "é"])
def test_what_can_be_no_key_is_said_without_showing_it(site: Site, stored: str) -> None:
    _, faults = all_of(embedder(site, key=stored), TEXTS)
    assert faults[0].startswith("OPENAI_API_KEY holds what no key can hold")
    assert KEY[:9] not in faults[0]
    assert site.requests == []


@pytest.mark.parametrize("azure", [False, True])
@pytest.mark.parametrize("key", [KEY, None])
def test_nothing_else_of_the_environment_is_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch, azure: bool, key: str | None
) -> None:
    """The SDK reads all of these by itself, and would send them to whatever address the change names."""
    ambient = {
        "OPENAI_ORG_ID": "org-ambient",
        "OPENAI_PROJECT_ID": "project-ambient",
        "OPENAI_CUSTOM_HEADERS": "X-Ambient: ambient\nAuthorization: Bearer ambient\napi-key: ambient",
        "OPENAI_ADMIN_KEY": "admin-ambient",
        "OPENAI_API_KEY": "sk-ambient",
        "AZURE_OPENAI_API_KEY": "azure-ambient",
        "AZURE_OPENAI_AD_TOKEN": "token-ambient",
    }
    for name, value in ambient.items():
        monkeypatch.setenv(name, value)
    more: dict[str, Any] = {"api_version": "2024-10-21"} if azure else {}
    if key is None:
        more |= {"needs_key": False}
    assert all_of(embedder(site, key=key, **more), TEXTS)[1] == {}
    (sent,) = site.headers
    assert "ambient" not in str(sent)
    expected = {"api-key": KEY} if azure else {"authorization": f"Bearer {KEY}"}
    assert {name: sent[name] for name in ("authorization", "api-key") if name in sent} == (
        expected if key else {}
    )


def test_no_redirect_is_followed(site: Site) -> None:
    with embeddings_site() as other:
        site.faults = [Fault(status=307, headers={"Location": f"{other.url}/embeddings"}, times=9)]
        _, faults = all_of(embedder(site), TEXTS[:2])
        assert "a redirect" in faults[0]
        assert other.requests == []


def test_without_a_key_nothing_is_sent(site: Site) -> None:
    _, faults = all_of(embedder(site, key=None), TEXTS)
    assert faults[0].startswith("OPENAI_API_KEY is not set.")
    assert "fork" in faults[0]
    assert site.requests == []
    assert all_of(embedder(site, key=None, needs_key=False), TEXTS)[1] == {}
    assert "sk-" not in site.headers[0].get("authorization", "")


def test_a_key_that_may_not_go_there_is_not_sent(site: Site) -> None:
    def refuse(name: str, url: str) -> str:
        raise SecretRefusedError(f"{name} is not sent to {url}")

    made = build(
        Settings.model_validate({"type": "openai", "model": "m", "base_url": site.url}), Host(refuse)
    )
    _, faults = all_of(made, TEXTS)
    assert "is not sent to" in faults[0]
    assert site.requests == []


def test_an_address_that_is_none_is_told() -> None:
    made = build(
        Settings.model_validate({"type": "openai", "model": "m", "base_url": "localhost"}),
        Host(lambda n, u: KEY),
    )
    assert "no http(s) address" in all_of(made, TEXTS)[1][0]


def test_the_ledger_counts_what_the_endpoint_counts(site: Site) -> None:
    made = embedder(site, price_per_million=2.0, price_date="2026-11-30")
    assert made.spent.cost_usd == 0.0
    all_of(made, TEXTS)
    assert made.spent.tokens == 50
    assert made.spent.cost_usd == pytest.approx(50 * 2.0 / 1e6)
    assert made.spent.price == "2 USD per 1M tokens (2026-11-30)"
    assert made.spent.requests == 1
    unpriced = embedder(site)
    all_of(unpriced, TEXTS)
    assert unpriced.spent.cost_usd is None, "unknown is not nothing"


def test_without_a_usage_the_most_it_can_be_is_billed(site: Site) -> None:
    site.usage = False
    made = embedder(site, price_per_million=2.0, price_date="2026-11-30", batch_texts=5)
    all_of(made, TEXTS)
    assert made.spent.cost_usd == pytest.approx(2.0 * sum(len(text) + 1 for text in TEXTS) / 1e6)


def test_the_cap_is_never_passed(site: Site) -> None:
    price = {"price_per_million": 1_000_000.0, "price_date": "2026-11-30"}  # a dollar a token
    made = embedder(site, max_cost_usd=80.0, batch_texts=1, concurrency=4, **price)
    vectors, faults = all_of(made, TEXTS)
    assert vectors
    assert faults
    assert made.spent.cost_usd is not None
    assert made.spent.cost_usd <= 80.0
    assert "max_cost_usd = 80 could be passed" in next(iter(faults.values()))
    assert len(site.texts) == len(vectors), "what could pass the cap is not even asked"


def test_what_was_asked_and_lost_counts_against_the_cap(site: Site) -> None:
    """The endpoint may have done the work and may bill it. Each text is 5 tokens, and could be 28 by its bytes."""
    options = {
        "price_per_million": 1_000_000.0,
        "price_date": "2026-11-30",
        "batch_texts": 1,
        "concurrency": 1,
    }
    site.faults = [Fault("drop", text="number 0", times=1)]
    made = embedder(site, max_cost_usd=28.0 + 28.0 + 2.0, **options)
    vectors, faults = all_of(made, TEXTS)
    assert len(vectors) == 1, "28 lost, 5 spent: the next could pass the cap"
    assert made.spent.cost_usd == 5.0, "the ledger has what was counted"
    assert "5 USD spent, up to 28 for answers that were lost" in faults[9]
    site.faults = [Fault("drop", text="number 0", times=1)]
    site.forget()
    vectors, faults = all_of(embedder(site, max_cost_usd=30.0, **options), TEXTS)
    assert (len(site.requests), vectors) == (1, {}), "asking for the lost one again could pass it as well"
    assert "max_cost_usd = 30 could be passed" in faults[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_cost_usd": 1.0}, "max_cost_usd needs price_per_million"),
        ({"price_per_million": 1.0}, "needs price_date"),
        ({"batch_texts": 0}, "batch_texts"),
        ({"encoding": "hex"}, "encoding"),
        ({"modle": "x"}, "model"),
    ],
)
def test_wrong_settings_are_input_errors(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        config.typed(Settings, {"type": "openai", "model": "m", **options}, "gate.toml")


def test_a_whole_batch_of_another_length_is_not_kept(site: Site, tmp_path: Path) -> None:
    site.faults = [Fault("shorter", text="number 4")]
    made = CachedEmbedder(embedder(site, batch_texts=3, concurrency=1), Cache(tmp_path))
    with pytest.raises(
        EmbeddingError, match=r"3 of 10 texts have no vector: .*63 dimensions where others have 64"
    ):
        made.passages(TEXTS)
    made.close()
    site.forget()
    again = CachedEmbedder(embedder(site), Cache(tmp_path))
    assert np.array_equal(again.passages(TEXTS), [right(text) for text in TEXTS])
    assert site.texts == TEXTS[3:6]
    again.close()


def test_azure_is_spoken_to_by_deployment(site: Site) -> None:
    address = site.url.removesuffix("/v1")
    made = embedder(site, base_url=address, api_version="2024-10-21", deployment="mine")
    _, faults = all_of(made, TEXTS[:1])
    assert faults == {}
    assert site.paths == ["/openai/deployments/mine/embeddings?api-version=2024-10-21"]
    assert site.headers[0]["api-key"] == KEY
    assert "authorization" not in site.headers[0]
    assert made.identity.kind == "azure"


def test_what_a_vector_depends_on_is_in_its_identity(site: Site) -> None:
    base = embedder(site).identity
    for options in (
        {"model": "n"},
        {"dimensions": 8},
        {"base_url": "http://elsewhere"},
        {"query_prefix": "q"},
        {"revision": "2"},
    ):
        assert embedder(site, **options).identity != base, options
    assert embedder(site, batch_texts=1, retries=1, encoding="base64").identity == base
    assert base.key("a", "query") != base.key("a", "passage")
    assert DIMENSIONS == 64

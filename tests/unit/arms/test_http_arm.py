"""The http arm against a real server: what it sends, what it reads, and what it says when it gets no ranking."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from search_site import Request, Site, search_site

from gate.arms import http
from gate.arms._answers import Pages
from gate.arms._http import Client
from gate.arms._pointer import pointed
from gate.errors import InputError
from gate.harness import ask
from gate.model.page import Chunk
from gate.model.ranking import Arm, SecretRefusedError
from gate.store import config

CHUNKS = tuple(
    Chunk(f"{page}#{at}", page, f"text {at} of {page}") for page in ("errors", "guide") for at in range(2)
)


class Materials:
    """A corpus of two pages. `secrets` are the variables that may go anywhere; others are refused."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self.secrets = dict(secrets or {})

    def chunks(self, chunker: object) -> Sequence[Chunk]:
        return CHUNKS

    def arm(self, name: str) -> Arm:
        raise AssertionError(name)

    def secret(self, name: str, url: str) -> str | None:
        if name == "REFUSED":
            raise SecretRefusedError(f"{name} is not sent to {url}")
        return self.secrets.get(name)


@pytest.fixture
def site() -> Iterator[Site]:
    with search_site() as running:
        yield running


def made(site: Site, materials: Materials | None = None, **options: Any) -> http.HttpArm:
    raw = {"type": "http", "url": f"{site.url}/search", "body": {"q": "{query}", "size": "{pool}"}, **options}
    settings = config.typed(
        http.Settings, {key: one for key, one in raw.items() if one is not None}, "gate.toml"
    )
    given: Any = materials or Materials()
    return http.HttpArm(
        settings, Client(settings, given.secret, lambda seconds: None), Pages(given, Path("/"))
    )


def hits(*entries: Any, status: int = 200) -> Any:
    return lambda request: (status, {}, {"hits": list(entries)})


def test_a_post_fills_its_body_and_reads_pointers(site: Site) -> None:
    site.answer = lambda request: (
        200,
        {},
        {"found": {"rows": [{"_id": "guide#1", "_score": 3.5, "_source": {"page": "guide", "body": "t"}}]}},
    )
    arm = made(
        site,
        body={
            "query": {"match": "{query}"},
            "size": "{pool}",
            "note": "q={query} n={pool}",
            "fixed": [1, True],
        },
        hits="/found/rows",
        id="/_source/page",
        chunk="/_id",
        score="/_score",
        text="/_source/body",
    )
    query = 'a "quoted" {pool} query\n'
    (hit,) = arm.search(query, 7)
    assert (hit.doc_id, hit.chunk_id, hit.text, hit.score) == ("guide", "guide#1", "t", 3.5)
    (request,) = site.requests
    assert request.body == {
        "query": {"match": query},
        "size": 7,
        "note": f"q={query} n=7",
        "fixed": [1, True],
    }, "a query that looks like a placeholder is only a query"
    arm.close()


def test_a_get_escapes_the_query(site: Site) -> None:
    site.answer = hits("errors", 7)
    arm = made(site, method="GET", body=None, url=f"{site.url}/s?q={{query}}&n={{pool}}", id="")
    assert [hit.doc_id for hit in arm.search("a&b=c d/ü?#", 5)] == ["errors", "7"]
    assert site.requests[0].path == "/s?q=a%26b%3Dc%20d%2F%C3%BC%3F%23&n=5"
    arm.close()


def test_ids_scores_and_text(site: Site) -> None:
    site.answer = hits({"id": "errors#1", "s": 2}, {"id": "nowhere", "s": 1})
    arm = made(site, score="/s")
    first, second = arm.search("x", 5)
    assert (first.doc_id, first.text, first.score) == ("errors", "text 1 of errors", 2.0)
    assert second.doc_id == "nowhere"
    assert dict(arm.unknown) == {"nowhere": 1}
    arm.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, {"hits": {"a": 1}}), "leads to what is no list"),
        ((200, {}, {"found": []}), "leads nowhere in the answer (no hits; it has found)"),
        ((200, {}, {"hits": [{"name": "x"}]}), "hit 1 has no id at '/id'"),
        ((200, {}, {"hits": [{"id": "errors", "score": "high"}]}), "a score that is no number (a text)"),
        ((200, {}, b'{"hits": [{"id": "errors", "score": NaN}]}'), "has the score nan"),
        ((200, {}, b"<html>busy</html>"), "what is no JSON: '<html>busy</html>'"),
        ((302, {"Location": "http://example.org/"}, {}), "a redirect; none is followed"),
        ((401, {}, {"error": "who are you"}), "answered 401"),
        ((200, {}, b"[" * 100000), "what is no JSON"),
    ],
)
def test_what_is_no_ranking_is_said(site: Site, answer: Any, said: str) -> None:
    site.answer = lambda request: answer
    arm = made(site, score="/score")
    reason = ask(arm, "x", 5)
    assert isinstance(reason, str)
    assert said in reason
    assert len(site.requests) == 1, "asking again would not help"
    arm.close()


@pytest.mark.parametrize("status", [0, 408, 429, 500, 503])
def test_it_asks_again_and_then_says_so(site: Site, status: int) -> None:
    site.answer = lambda request: (
        (status, {}, {}) if len(site.requests) < 3 else (200, {}, {"hits": [{"id": "errors"}]})
    )
    arm = made(site)
    assert [hit.doc_id for hit in arm.search("x", 5)] == ["errors"]
    site.answer = lambda request: (status, {}, {"error": "down"})
    reason = ask(arm, "other", 5)
    assert isinstance(reason, str)
    assert "after 4 attempts" in reason
    arm.close()


def test_retry_after_decides_how_long(site: Site) -> None:
    waits: list[float] = []
    site.answer = lambda request: (
        (429, {"Retry-After": "7"}, {}) if len(site.requests) < 2 else (200, {}, {"hits": []})
    )
    arm = made(site)
    arm._client._wait = waits.append
    assert arm.search("x", 5) == []
    assert waits == [7.0]
    site.answer = lambda request: (429, {"Retry-After": "100000"}, {})
    assert "429" in str(ask(arm, "y", 5))
    assert len(waits) == 1, "nobody waits a day"
    arm.close()


def test_slow_and_endless_answers_end(site: Site) -> None:
    def slow(request: Request) -> Any:
        time.sleep(0.6)
        return (200, {}, {"hits": []})

    site.answer = slow
    arm = made(site, timeout_seconds=0.2, retries=0)
    assert "no answer within 0.2 s" in str(ask(arm, "x", 5))
    arm.close()
    site.answer = lambda request: (200, {}, {"hits": ["x" * 5000]})
    arm = made(site, max_bytes=1000)
    assert "more than max_bytes = 1000" in str(ask(arm, "x", 5))
    arm.close()


def test_ten_thousand_hits_none_and_duplicates(site: Site) -> None:
    site.answer = hits(*({"id": f"p{at % 40}"} for at in range(10_000)))
    arm = made(site)
    ranking = ask(arm, "x", 20)
    assert not isinstance(ranking, str)
    assert ranking.hits == 20
    site.answer = hits(*[{"id": "errors"}] * 5)
    ranking = ask(arm, "y", 20)
    assert not isinstance(ranking, str)
    assert ranking.pages == ("errors",)
    site.answer = hits()
    assert arm.search("z", 20) == []
    arm.close()


def test_all_queries_are_asked_a_few_at_a_time_and_once(site: Site) -> None:
    def slowly(request: Request) -> Any:
        time.sleep(0.05)
        return (500, {}, {}) if request.body["q"] == "q3" else (200, {}, {"hits": [{"id": "errors"}]})

    site.answer = slowly
    arm = made(site, concurrency=3, retries=0)
    arm.prepare([f"q{at}" for at in range(9)], 5)
    assert site.most_at_once == 3
    assert "answered 500" in str(ask(arm, "q3", 5))
    assert arm.search("q4", 5)
    assert len(site.requests) == 9
    assert arm.spent.requests == 9
    arm.close()


def test_headers_come_from_the_environment_and_are_hidden(site: Site) -> None:
    site.answer = lambda request: (403, {}, {"you sent": request.headers["authorization"]})
    arm = made(site, Materials({"TOKEN_X": "very-secret"}), headers={"Authorization": "Bearer ${TOKEN_X}"})
    reason = str(ask(arm, "x", 5))
    assert site.requests[0].headers["authorization"] == "Bearer very-secret"
    assert "very-secret" not in reason
    assert "Bearer ***" in reason
    arm.close()


def test_a_service_that_echoes_the_secret_puts_it_nowhere(site: Site) -> None:
    site.answer = lambda request: (
        200, {}, {"hits": [{"id": request.headers["authorization"], "text": f"{request.headers['authorization']}!", "score": 1}]},
    )  # fmt: skip
    arm = made(site, Materials({"KEY": "very-secret"}), headers={"Authorization": "Bearer ${KEY}"})
    with closing(arm):
        (hit,) = arm.search("x", 5)
    assert (hit.doc_id, hit.chunk_id) == ("Bearer ***", "Bearer ***")


def test_a_secret_with_a_slip_is_mended_or_refused_and_never_shown(site: Site) -> None:
    def reason(secret: str) -> str:
        arm = made(site, Materials({"KEY": secret}), headers={"Authorization": "Bearer ${KEY}"})
        with closing(arm):
            return str(ask(arm, "x", 5))

    site.answer = lambda request: (403, {}, {})
    assert "answered 403" in reason(" very-secret\n")
    assert [request.headers["authorization"] for request in site.requests] == ["Bearer very-secret"]
    for secret in ("very-secret\nX-Other: 1", "very-secret-\u00e9", "very-secret-\u2026", "very\0secret"):
        assert reason(secret).startswith("KEY holds what no header can hold")
        assert "very" not in reason(secret)
    assert "KEY is not set" in reason(" \n")
    assert len(site.requests) == 1


@pytest.mark.parametrize("status", [0, 401, 503])
def test_a_service_that_answers_nobody_is_not_asked_for_ever(site: Site, status: int) -> None:
    site.answer = lambda request: (status, {}, {})
    arm = made(site, concurrency=1, retries=1)
    queries = [f"q{at}" for at in range(50)]
    arm.prepare(queries, 5)
    reasons = [str(ask(arm, query, 5)) for query in queries]
    assert all("not asked" not in one for one in reasons[:4])
    assert all(one.startswith("not asked: 4 queries in a row got no answer (last: ") for one in reasons[4:])
    assert "127.0.0.1" in reasons[4]
    assert len(site.requests) == 4 * (1 if status == 401 else 2)
    arm.close()


def test_queries_that_a_service_refuses_one_by_one_are_all_asked(site: Site) -> None:
    def answer(request: Request) -> Any:
        number = int(request.body["q"][1:])
        return (
            (400, {}, {"error": "syntax"}) if number < 9 else (503 if number % 2 else 200, {}, {"hits": []})
        )

    site.answer = answer
    arm = made(site, concurrency=1, retries=0)
    reasons = [str(ask(arm, f"q{at}", 5)) for at in range(20)]
    assert not any("not asked" in one for one in reasons)
    assert len(site.requests) == 20
    arm.close()


def test_an_interrupt_waits_for_no_answer(tmp_path: Path, site: Site) -> None:
    """In a process of its own: a service that hangs, and a person who presses Ctrl-C."""
    site.answer = lambda request: (time.sleep(20), (200, {}, {"hits": []}))[1]  # type: ignore[func-returns-value]
    code = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
from test_http_arm import made
from search_site import Site
made(Site({site.url!r})).prepare(["a", "b"], 5)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    while len(site.requests) < 2 and process.poll() is None:
        time.sleep(0.02)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert time.monotonic() - start < 5


def test_a_header_that_may_not_be_sent_sends_nothing(site: Site) -> None:
    for name, said in (("REFUSED", "is not sent to"), ("UNSET", "UNSET is not set")):
        arm = made(site, headers={"Authorization": f"${{{name}}}"})
        assert said in str(ask(arm, "x", 5))
        arm.close()
    assert site.requests == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "ftp://host/{query}"}, "no http(s) address"),
        ({"url": "http://user:pw@host/{query}"}, "user or password"),
        ({"url": "http://{query}.host/x"}, "in the host of url"),
        ({"body": {"q": "x"}}, "holds {query} in neither"),
        ({"method": "GET"}, "is a GET, which has no body"),
        ({"method": "PUT"}, "method"),
        ({"url": "http://host/?key=${KEY}&q={query}"}, "only 'headers' may"),
        ({"headers": {"hOst": "other.example.com"}}, "sets hOst"),
        ({"headers": {"X": "a\nb"}}, "no header can hold"),
        ({"headers": {"X\u00e9": "a"}}, "no header can hold"),
        ({"hits": "hits"}, "JSON pointer"),
        ({"urll": "x"}, "url"),
    ],
)
def test_wrong_settings_are_input_errors(site: Site, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as fault:
        made(site, **options)
    assert said in str(fault.value)


def test_pointers_follow_the_standard() -> None:
    value = {"a": [{"b/c": 1, "d~e": 2, "": 3}]}
    assert pointed(value, "") == value
    assert pointed(value, "/a/0/b~1c") == 1
    assert pointed(value, "/a/0/d~0e") == 2
    assert pointed(value, "/a/0/") == 3
    for wrong in ("/b", "/a/1", "/a/-1", "/a/x", "/a/0/b~1c/d"):
        with pytest.raises(LookupError):
            pointed(value, wrong)

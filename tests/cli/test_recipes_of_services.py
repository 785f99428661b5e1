"""The recipes for services and programs, run as they stand in docs/recipes: only the address is that of a local server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embeddings_site import embeddings_site
from search_site import Request, Site, search_site
from small_project import PAGES, REPOSITORY, Project


def recipe(page: str, language: str, number: int = 0) -> str:
    """A fenced block of a page."""
    text = (REPOSITORY / "docs" / "recipes" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[number]


def settings(page: str, number: int, address: str = "", ours: str = "") -> str:
    """The gate.toml of a recipe, with `ours` in place of the address that it names."""
    text = recipe(page, "toml", number)
    assert address in text
    return text.replace(address, ours) if address else text


@pytest.fixture
def site() -> Iterator[Site]:
    with search_site() as running:
        yield running


def measured(project: Project, toml: str, arm: str) -> dict[str, Any]:
    project.write("gate.toml", toml)
    code, suite = project.report("--no-baseline")
    assert code == 0, suite["arms"]
    assert suite["arms"][arm]["n"] == 6
    found: dict[str, Any] = suite["arms"][arm]
    return found


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+", text.lower())


def ranked(query: str) -> list[str]:
    """The pages with the most of the words in them first."""
    scores = {page: sum(word in words(text) for word in words(query)) for page, text in PAGES.items()}
    return sorted((page for page in scores if scores[page]), key=lambda page: (-scores[page], page))


def rankings(arm: dict[str, Any]) -> dict[str, list[str]]:
    return {case["query"]: case["ranked"] for case in arm["cases"]}


def test_a_search_service_by_post(project: Project, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> Any:
        found = [
            {"_id": f"{page}#0", "_score": 10.0 - at, "_source": {"page": page, "text": PAGES[page]}}
            for at, page in enumerate(ranked(request.body["query"]["match"]["text"]))
        ]
        return (200, {}, {"took": 1, "hits": {"total": len(found), "hits": found[: request.body["size"]]}})

    site.answer = answer
    monkeypatch.setenv("SEARCH_KEY", "key-of-the-search")
    found = measured(project, settings("http.md", 0, "https://search.example.com", site.url), "service")
    assert all(pages == ranked(query) for query, pages in rankings(found).items())
    assert {request.path for request in site.requests} == {"/docs/_search"}
    assert {request.headers["authorization"] for request in site.requests} == {"ApiKey key-of-the-search"}
    assert {request.body["size"] for request in site.requests} == {20}, "a number, as in the address"


def test_a_search_service_by_get(project: Project, site: Site) -> None:
    def answer(request: Request) -> Any:
        query = re.fullmatch(r"/api\?q=([^&]*)&limit=20", request.path)
        assert query is not None, request.path
        found = ranked(query[1].replace("%20", " "))
        return (200, {}, {"results": [{"url": f"docs/{page}.md"} for page in found]})

    site.answer = answer
    found = measured(project, settings("http.md", 1, "https://search.example.com", site.url), "service")
    assert all(pages == ranked(query.replace(",", "")) for query, pages in rankings(found).items())


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("own_cache")
def test_azure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-0123456789")
    with embeddings_site() as server:
        toml = settings(
            "models.md", 0, "https://my-resource.openai.azure.com", server.url.removesuffix("/v1")
        )
        found = measured(project, toml, "vector")
        assert set(server.paths) == {"/openai/deployments/my-embeddings/embeddings?api-version=2024-10-21"}
        assert {headers["api-key"] for headers in server.headers} == {"azure-0123456789"}
    assert rankings(found)["E101 WidgetJam"][0] == "errors"


@pytest.mark.usefixtures("own_cache")
def test_a_model_server_of_ones_own(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with embeddings_site() as server:
        found = measured(project, settings("models.md", 1, "http://127.0.0.1:11434/v1", server.url), "vector")
        asked = [text for texts in server.requests for text in texts]
        assert not any("0123456789" in value for headers in server.headers for value in headers.values())
    assert sum(text.startswith("search_query: ") for text in asked) == 6
    assert all(text.startswith(("search_query: ", "search_document: ")) for text in asked)
    assert rankings(found)["E101 WidgetJam"][0] == "errors"


def test_a_reranker(project: Project, site: Site) -> None:
    def answer(request: Request) -> Any:
        asked = set(words(request.body["query"]))
        scores = [len(asked & set(words(text))) / len(words(text)) for text in request.body["texts"]]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return (200, {}, [{"index": at, "score": scores[at]} for at in order])

    site.answer = answer
    found = measured(project, settings("models.md", 2, "http://127.0.0.1:8080", site.url), "reranked")
    assert {request.path for request in site.requests} == {"/rerank"}
    assert len(site.requests) == 6
    assert rankings(found)["E101 WidgetJam"][0] == "errors"


def test_a_program_in_node(project: Project) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    project.write("search.mjs", recipe("node.md", "js"))
    found = measured(project, settings("node.md", 0), "mine")
    assert all(pages == ranked(query.replace(",", "")) for query, pages in rankings(found).items())

"""A secret goes where the base sends it, and nowhere else, whatever the change writes into its gate.toml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from embeddings_site import embeddings_site
from search_site import Site, search_site
from small_project import Project

ARM = """
[suite.docs.arms.mine]
type = "http"
url = "{url}/search"
body = {{ q = "{{query}}" }}
required = false
headers = {{ Authorization = "Bearer ${{MY_SECRET}}" }}
"""
SECRET = "very-secret-value"


@pytest.fixture
def sites() -> Iterator[tuple[Site, Site]]:
    with search_site() as ours, search_site() as theirs:
        for site in (ours, theirs):
            site.answer = lambda request: (200, {}, {"hits": ["errors", "config"]})
        yield ours, theirs


@pytest.fixture
def guarded(project: Project, sites: tuple[Site, Site], monkeypatch: pytest.MonkeyPatch) -> Project:
    """The base sends MY_SECRET to the first site."""
    monkeypatch.setenv("MY_SECRET", SECRET)
    project.write("gate.toml", project.read("gate.toml") + ARM.format(url=sites[0].url))
    assert project.gate("baseline").code == 0
    project.commit("http arm")
    project.git("branch", "--force", "main")
    return project


def seen(site: Site) -> set[str]:
    found = {request.headers.get("authorization", "") for request in site.requests}
    site.requests.clear()
    return found


def failed(suite: dict[str, Any], arm: str = "mine") -> str:
    return json.dumps(suite["arms"][arm]["failed"])


def test_it_goes_where_the_base_sends_it(guarded: Project, sites: tuple[Site, Site]) -> None:
    seen(sites[0])
    code, _ = guarded.report("--base", "main")
    assert code == 0
    assert seen(sites[0]) == {f"Bearer {SECRET}"}


def test_a_change_cannot_send_it_elsewhere(guarded: Project, sites: tuple[Site, Site]) -> None:
    guarded.edit("gate.toml", sites[0].url, sites[1].url)
    _, suite = guarded.report("--base", "main")
    assert sites[1].requests == [], "not even a request without it"
    assert "MY_SECRET is not sent to" in failed(suite)
    assert SECRET not in json.dumps(suite)
    _, suite = guarded.report()
    assert seen(sites[1]) == {f"Bearer {SECRET}"}, (
        "on one's own machine without a base, the tree is one's own"
    )


def test_a_change_cannot_send_another_one(
    guarded: Project, sites: tuple[Site, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    guarded.edit("gate.toml", "MY_SECRET", "OPENAI_API_KEY")
    seen(sites[0])
    _, suite = guarded.report("--base", "main")
    assert seen(sites[0]) == set()
    assert "OPENAI_API_KEY is not sent to" in failed(suite)


@pytest.mark.parametrize(
    ("allowed", "sent"),
    [("MY_SECRET={url}", True), ("MY_SECRET=http://example.org", False), ("OTHER={url}", False)],
)
def test_the_input_can_allow_an_address(
    guarded: Project, sites: tuple[Site, Site], monkeypatch: pytest.MonkeyPatch, allowed: str, sent: bool
) -> None:
    monkeypatch.setenv("GATE_HEADER_ENV", allowed.format(url=sites[1].url))
    guarded.edit("gate.toml", sites[0].url, sites[1].url)
    guarded.report("--base", "main")
    assert seen(sites[1]) == ({f"Bearer {SECRET}"} if sent else set())


def test_an_input_that_is_no_address_is_said(guarded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_HEADER_ENV", "MY_SECRET=not an address")
    done = guarded.gate("run", "--base", "main")
    assert done.code == 2
    assert "input allowed-header-env" in done.err


def test_the_key_of_the_provider_goes_to_the_inputs_address_only(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """In the Action, where the base has no vector arm yet."""
    with embeddings_site() as ours, embeddings_site() as theirs:
        arm = '\n[suite.docs.arms.vector]\ntype = "embedding"\nembedder = {{ type = "openai", model = "m", base_url = "{url}", retries = 0 }}\n'
        for name, value in {
            "OPENAI_API_KEY": "sk-0123456789",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(project.root),
            "GATE_OPENAI_BASE_URL": ours.url,
            "GATE_CACHE": str(tmp_path / "cache"),
        }.items():
            monkeypatch.setenv(name, value)
        plain = project.read("gate.toml")
        project.write("gate.toml", plain + arm.format(url=theirs.url))
        _, suite = project.report("--base", "main")
        assert theirs.requests == []
        assert "OPENAI_API_KEY is not sent to" in failed(suite, "vector")
        project.write("gate.toml", plain + arm.format(url=ours.url))
        _, suite = project.report("--base", "main")
        assert {header["authorization"] for header in ours.headers} == {"Bearer sk-0123456789"}
        assert suite["arms"]["vector"]["n"] == 6


def test_user_code_is_handed_what_the_base_hands_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_INDEX", "value-of-index")
    monkeypatch.setenv("MY_OTHER", "value-of-other")
    project.write(
        "mine.py",
        "import os\ndef search(query):\n    return [os.environ.get('MY_INDEX', 'no index'), os.environ.get('MY_OTHER', 'no other')]\n",
    )
    project.write(
        "gate.toml",
        project.read("gate.toml")
        + '\n[suite.docs.arms.mine]\ntype = "python"\ntarget = "mine:search"\nenv = ["MY_INDEX"]\n',
    )
    assert project.gate("baseline").code == 0
    project.commit("python arm")
    project.git("branch", "--force", "main")
    _, suite = project.report("--base", "main")
    assert suite["arms"]["mine"]["cases"][0]["ranked"] == ["value-of-index", "no other"]
    project.edit("gate.toml", '"MY_INDEX"', '"MY_INDEX", "MY_OTHER"')
    code, suite = project.report("--base", "main")
    assert code == 3
    assert "MY_OTHER is not handed to the code under test" in failed(suite)
    monkeypatch.setenv("GATE_HEADER_ENV", "MY_OTHER")
    _, suite = project.report("--base", "main")
    assert suite["arms"]["mine"]["cases"][0]["ranked"] == ["value-of-index", "value-of-other"]


@pytest.mark.parametrize(
    ("environment", "sent"),
    [
        ({}, True),
        ({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "push"}, True),
        ({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request_review"}, False),
        ({"GITHUB_ACTIONS": "true"}, False),
        (
            {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "workflow_dispatch", "INPUT_PULL_REQUEST": "7"},
            False,
        ),
    ],
)
def test_without_a_base_only_the_repositorys_own_commits_are_trusted(
    guarded: Project,
    sites: tuple[Site, Site],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    sent: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(guarded.root))
    seen(sites[0])
    guarded.report("--no-baseline")
    assert bool(seen(sites[0])) == sent

"""One repository with one pull request on a local GitHub, and the workflow's token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from github import Auth, Github
from local_github.caller import Caller
from local_github.server import LocalGitHub
from local_github.state import Repository

WORKFLOW = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
}


@pytest.fixture
def server() -> Iterator[LocalGitHub]:
    with LocalGitHub() as server:
        server.add_token("ghs_workflow", permissions={**WORKFLOW, "statuses": "write"})
        server.add_token("ghs_read", permissions=dict.fromkeys(WORKFLOW, "read"))
        server.add_token("ghp_ann", "ann", kind="user")
        yield server


@pytest.fixture
def widget(server: LocalGitHub) -> Repository:
    """acme/widget with pull request 1: branch `change` adds a page and edits another."""
    widget = server.add_repository("acme/widget", collaborators={"ann": "write"}, protected=("main",))
    widget.git.commit_files(
        "main", {"docs/install.md": "# Install\n", "docs/config.md": "# Config\n", "README.md": "hello\n"}
    )
    widget.git.commit_files(
        "change", {"docs/new.md": "# New\n", "docs/config.md": "# Config\n\nmore\n"}, "a page", "main"
    )
    server.add_pull(widget, "change", user="ann", title="A new page")
    return widget


@pytest.fixture
def call(server: LocalGitHub, widget: Repository) -> Caller:
    """Plain HTTP with the workflow's token."""
    return Caller(server.api, "ghs_workflow")


@pytest.fixture
def client(server: LocalGitHub, widget: Repository) -> Iterator[Github]:
    """The real PyGithub with the workflow's token and no retries."""
    with Github(
        base_url=server.api,
        auth=Auth.Token("ghs_workflow"),
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    ) as client:
        yield client

"""acme/widget with pull request 1; what was sent and answered is held against GitHub's description afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from github_site import READ_ONLY, TOKEN, WRITES, Site
from local_github import openapi
from local_github.server import LocalGitHub


@pytest.fixture
def site() -> Iterator[Site]:
    with LocalGitHub() as github:
        github.add_token(TOKEN, permissions=WRITES)
        github.add_token(READ_ONLY, permissions=dict.fromkeys(WRITES, "read"))
        widget = github.add_repository("acme/widget", collaborators={"ann": "write"})
        widget.git.commit_files("main", {"docs/install.md": "# Install\n"})
        widget.git.commit_files("change", {"docs/new.md": "# New\n"}, "a page", "main")
        github.add_pull(widget, "change", user="ann")
        yield Site(github, widget)
        if openapi.available():
            assert openapi.problems([one for one in github.log if one.fault is None]) == []

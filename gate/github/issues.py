"""Issues of a repository, to be pooled as queries. Reads only."""

from __future__ import annotations

import os
import re

from gate.errors import InputError, NotMeasuredError, Problem

MOST = 1000
_REPOSITORY = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")


def read_issues(repository: str, label: str | None, token: str | None) -> list[dict[str, object]]:
    """The newest issues with `label` (any without), as rows with id, title and body.

    The API's address is GITHUB_API_URL, else GitHub's own. InputError for a name that is no repository; NotMeasuredError
    where GitHub does not answer.
    """
    from gate.github.client import GitHubClient, GitHubError

    if not _REPOSITORY.fullmatch(repository):
        raise InputError(Problem(f"--github {repository}", "is no OWNER/REPO", "Write it as acme/docs."))
    client = GitHubClient(
        token or "", repository, os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    )
    try:
        return client.issues(label, MOST)
    except GitHubError as fault:
        todo = "Is the name right, and may the token in GITHUB_TOKEN read it?"
        raise NotMeasuredError(Problem(f"--github {repository}", str(fault), todo)) from None

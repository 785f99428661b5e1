"""The only place that constructs PyGithub. What comes out are our own values; what goes wrong is one error.

Retries are bounded: GitHub's own waiting hints are honoured up to a minute in all. A failed post never changes a
verdict, so callers catch `GitHubError` and warn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gate.github.comment import Remark
from gate.model.frozen import Frozen

if TYPE_CHECKING:
    from github import Github

T = TypeVar("T")
TIMEOUT_SECONDS = 20
TRIES = 4
LONGEST_WAIT_SECONDS = 60.0


class GitHubError(Exception):
    """GitHub could not be reached, or said no. The text is for a person and holds no token."""

    def __init__(self, said: str, status: int = 0) -> None:
        super().__init__(said)
        self.status = status


class PullState(Frozen):
    """A pull request as it is now."""

    number: int
    head_sha: str
    head_ref: str
    head_repo: str
    base_ref: str
    base_sha: str
    open: bool
    url: str


class Review(Frozen):
    """One review of a pull request."""

    author: str
    state: str
    commit: str


class GitHubClient:
    """One repository, as one token sees it."""

    def __init__(
        self, token: str, repository: str, api_url: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        from github import Auth, Github

        self._token = token
        self._repository_name = repository
        self._sleep = sleep
        self._waited = 0.0
        # Our own bounded retries see every answer; the library's would sleep for up to an hour on a rate limit.
        self._api: Github = Github(
            auth=Auth.Token(token) if token else None, base_url=api_url, timeout=TIMEOUT_SECONDS, retry=None, per_page=100,
            user_agent="retrieval-gate", lazy=True, seconds_between_requests=0, seconds_between_writes=0,
        )  # fmt: skip

    @property
    def _repository(self) -> Any:
        return self._api.get_repo(self._repository_name)

    def viewer(self) -> str:
        """Our own login. The workflow's token may not read `/user`, GraphQL tells it who it is."""
        _, value = self._try(lambda: self._api.requester.graphql_query("query { viewer { login } }", {}))
        login = ((value.get("data") or {}).get("viewer") or {}).get("login")
        if not isinstance(login, str) or not login:
            raise GitHubError("GitHub does not say whose token this is; name it with 'comment-author'")
        return login

    def pull(self, number: int) -> PullState:
        return _pull(self._try(lambda: self._repository.get_pull(number)))

    def open_pulls(self, head_owner: str, head_branch: str) -> list[PullState]:
        """The open pull requests of one branch."""
        found = self._try(
            lambda: list(self._repository.get_pulls(state="open", head=f"{head_owner}:{head_branch}"))
        )
        return [_pull(pull) for pull in found]

    def parents(self, sha: str) -> list[str]:
        """The parents of a commit, first one first."""
        return [parent.sha for parent in self._try(lambda: self._repository.get_commit(sha)).commit.parents]

    def comments(self, number: int) -> list[Remark]:
        """Every comment on the pull request, over all pages."""
        found = self._try(lambda: list(self._repository.get_issue(number).get_comments()))
        return [_remark(comment) for comment in found]

    def create_comment(self, number: int, body: str) -> Remark:
        return _remark(
            self._try(lambda: self._repository.get_issue(number).create_comment(body), writes=True)
        )

    def update_comment(self, number: int, comment: int, body: str) -> Remark:
        def edit() -> Any:
            there = self._repository.get_issue(number).get_comment(comment)
            there.edit(body)
            return there

        return _remark(self._try(edit))

    def delete_comment(self, number: int, comment: int) -> None:
        self._try(lambda: self._repository.get_issue(number).get_comment(comment).delete())

    def reviews(self, number: int) -> list[Review]:
        """Every review, oldest first."""
        found = self._try(lambda: list(self._repository.get_pull(number).get_reviews()))
        return [
            Review(author=one.user.login if one.user else "", state=one.state, commit=one.commit_id or "")
            for one in found
        ]

    def may_write(self, login: str) -> bool:
        """Whether a person has write access to the repository."""
        return self._try(lambda: self._repository.get_collaborator_permission(login)) in (
            "admin",
            "maintain",
            "write",
        )

    def _try(self, action: Callable[[], T], *, writes: bool = False) -> T:
        """Run one call with bounded retries. A write that may have happened (no answer, 5xx) is not repeated."""
        import requests
        from github import GithubException

        attempt = 0
        while True:
            attempt += 1
            try:
                return action()
            except GithubException as fault:
                said = _answer(fault.status, fault.data, fault.headers)
            except requests.RequestException as fault:
                said = _Fault(0, f"no answer ({type(fault).__name__})", {})
            wait = _wait(said, attempt, writes=writes)
            if wait is None or attempt == TRIES or self._waited + wait > LONGEST_WAIT_SECONDS:
                raise GitHubError(self._hidden(said.text), said.status)
            self._waited += wait
            self._sleep(wait)

    def _hidden(self, text: str) -> str:
        return text.replace(self._token, "***") if self._token else text


class _Fault:
    def __init__(self, status: int, message: str, headers: dict[str, str]) -> None:
        self.status, self.message, self.headers = status, message, headers

    @property
    def text(self) -> str:
        return (
            f"GitHub answered {self.status}: {self.message}" if self.status else f"GitHub gave {self.message}"
        )


def _answer(status: int, data: Any, headers: dict[str, str] | None) -> _Fault:
    message = data.get("message") if isinstance(data, dict) else data
    return _Fault(
        status,
        str(message or "no reason given"),
        {key.lower(): value for key, value in (headers or {}).items()},
    )


def _wait(fault: _Fault, attempt: int, *, writes: bool) -> float | None:
    """How long to wait before another try, None where another try is of no use."""
    limited = fault.status == 429 or (
        fault.status == 403
        and ("rate limit" in fault.message.lower() or fault.headers.get("x-ratelimit-remaining") == "0")
    )
    if limited:
        if fault.headers.get("retry-after", "").isdecimal():
            return float(fault.headers["retry-after"])
        reset = fault.headers.get("x-ratelimit-reset", "")
        return max(1.0, int(reset) - time.time()) if reset.isdecimal() else 2.0**attempt
    if fault.status >= 500 or fault.status == 0:
        return None if writes else 0.5 * 2.0**attempt
    return None


def _remark(comment: Any) -> Remark:
    return Remark(
        id=comment.id,
        author=comment.user.login if comment.user else "",
        body=comment.body or "",
        url=comment.html_url or "",
    )


def _pull(pull: Any) -> PullState:
    return PullState(
        number=pull.number,
        head_sha=pull.head.sha,
        head_ref=pull.head.ref,
        head_repo=pull.head.repo.full_name if pull.head.repo else "",
        base_ref=pull.base.ref,
        base_sha=pull.base.sha,
        open=pull.state == "open",
        url=pull.html_url or "",
    )

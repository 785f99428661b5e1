"""The only place that constructs PyGithub. What comes out are our own values; what goes wrong is one error.

Retries are bounded: GitHub's own waiting hints are honoured up to a minute and a half in all. A failed post never
changes a verdict, so callers catch `GitHubError` and warn. Whatever an answer looks like, nothing else comes out.
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
LONGEST_WAIT_SECONDS = 90.0
SECONDARY_WAIT_SECONDS = 60.0
SAID_LIMIT = 300


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
    merge_sha: str = ""


class Review(Frozen):
    """One review of a pull request."""

    author: str
    state: str
    commit: str


class Artifact(Frozen):
    """A file that a workflow run left behind."""

    id: int
    name: str
    expired: bool


class GitHubClient:
    """One repository, as one token sees it."""

    def __init__(
        self,
        token: str,
        repository: str,
        api_url: str,
        sleep: Callable[[float], None] = time.sleep,
        timeout: int = TIMEOUT_SECONDS,
    ) -> None:
        from github import Auth, Github

        self._token = token
        self._repository_name = repository
        self._api_url = api_url
        self._sleep = sleep
        self._timeout = timeout
        self._waited = 0.0
        # Our own bounded retries see every answer; the library's would sleep for up to an hour on a rate limit.
        self._api: Github = Github(
            auth=Auth.Token(token) if token else None, base_url=api_url, timeout=timeout, retry=None, per_page=100,
            user_agent="retrieval-gate", lazy=True, seconds_between_requests=0, seconds_between_writes=0,
        )  # fmt: skip

    @property
    def _repository(self) -> Any:
        return self._api.get_repo(self._repository_name)

    def viewer(self) -> str:
        """Our own login. The workflow's token may not read `/user`, GraphQL tells it who it is."""

        def ask() -> Any:
            _, value = self._api.requester.graphql_query("query { viewer { login } }", {})
            return value["data"]["viewer"]["login"]

        login = self._try(ask)
        if not isinstance(login, str) or not login:
            raise GitHubError("GitHub does not say whose token this is; name it with 'comment-author'")
        return login

    def pull(self, number: int) -> PullState:
        return self._try(lambda: _pull(self._repository.get_pull(number)))

    def open_pulls(self, head_owner: str, head_branch: str) -> list[PullState]:
        """The open pull requests of one branch."""
        head = f"{head_owner}:{head_branch}"
        return self._try(lambda: [_pull(one) for one in self._repository.get_pulls(state="open", head=head)])

    def parents(self, sha: str) -> list[str]:
        """The parents of a commit, first one first."""
        return self._try(lambda: [parent.sha for parent in self._repository.get_commit(sha).parents])

    def merge_base(self, base: str, head: str) -> str | None:
        """The commit where `head` left `base`; None where they have nothing in common or one is not known."""
        try:
            return self._try(lambda: str(self._repository.compare(base, head).merge_base_commit.sha))
        except GitHubError as fault:
            if fault.status == 404:
                return None
            raise

    def comments(self, number: int) -> list[Remark]:
        """Every comment on the pull request, over all pages."""
        return self._try(lambda: [_remark(one) for one in self._repository.get_issue(number).get_comments()])

    def issues(self, label: str | None, limit: int) -> list[dict[str, object]]:
        """The newest issues in any state, pull requests left out, at most `limit`: id, title, body."""

        def ask() -> list[dict[str, object]]:
            wanted = {"labels": [label]} if label else {}
            found: list[dict[str, object]] = []
            for one in self._repository.get_issues(state="all", **wanted):
                if one.pull_request is None:
                    found.append({"id": one.number, "title": one.title, "body": one.body or ""})
                if len(found) == limit:
                    break
            return found

        return self._try(ask)

    def create_comment(self, number: int, body: str) -> Remark:
        """A new comment. Where no answer came it may stand there all the same: it is never sent twice."""
        return self._try(
            lambda: _remark(self._repository.get_issue(number).create_comment(body)), writes=True
        )

    def update_comment(self, number: int, comment: int, body: str) -> Remark:
        def edit() -> Remark:
            there = self._repository.get_issue(number).get_comment(comment)
            there.edit(body)
            return _remark(there)

        return self._try(edit)

    def delete_comment(self, number: int, comment: int) -> None:
        self._try(lambda: self._repository.get_issue(number).get_comment(comment).delete())

    def reviews(self, number: int) -> list[Review]:
        """Every review, oldest first."""
        return self._try(
            lambda: [
                Review(author=one.user.login if one.user else "", state=one.state, commit=one.commit_id or "")
                for one in self._repository.get_pull(number).get_reviews()
            ]
        )

    def may_write(self, login: str) -> bool:
        """Whether a person has write access to the repository. An app, or an account that is gone, has none."""
        try:
            found = self._try(lambda: self._repository.get_collaborator_permission(login))
        except GitHubError as fault:
            if fault.status == 404:
                return False
            raise
        return found in ("admin", "maintain", "write")

    def artifacts(self, run: int) -> list[Artifact]:
        """The artifacts of a workflow run, newest first; of many only the newest 300."""
        path = f"/repos/{self._repository_name}/actions/runs/{run}/artifacts"

        def page(number: int) -> list[Artifact]:
            asked = {"per_page": 100, "page": number}
            _, found = self._api.requester.requestJsonAndCheck("GET", path, parameters=asked)
            return [
                Artifact(id=one["id"], name=one["name"], expired=one["expired"]) for one in found["artifacts"]
            ]

        found: list[Artifact] = []
        for number in range(1, 4):
            more = self._try(lambda number=number: page(number))  # type: ignore[misc]
            found += more
            if len(more) < 100:
                break
        return found

    def artifact_zip(self, artifact: int, limit: int) -> bytes:
        """The bytes of an artifact's zip, `limit` + 1 of them where it is longer.

        GitHub answers with the address of a storage elsewhere. The token is for GitHub alone: the storage is asked
        without it, and sends nobody on.
        """
        path = f"/repos/{self._repository_name}/actions/artifacts/{artifact}/zip"

        def load() -> bytes:
            headers, _ = self._api.requester.requestJsonAndCheck("GET", path)
            return _download(str(headers["location"]), limit, self._timeout, self._api_url)

        return self._try(load)

    def _try(self, action: Callable[[], T], *, writes: bool = False) -> T:
        """Run one call with bounded retries. A write that may have happened (no answer, 5xx) is not repeated."""
        import requests
        from github import GithubException

        attempt = 0
        while True:
            attempt += 1
            try:
                return action()
            except GitHubError:
                raise
            except GithubException as fault:
                said = _answer(fault.status, fault.data, fault.headers)
            except requests.RequestException as fault:
                said = _Fault(0, f"no answer ({type(fault).__name__})", {})
            except Exception as fault:  # half a JSON, a proxy's page, a redirect elsewhere
                raise GitHubError(
                    f"GitHub gave an answer that cannot be read ({type(fault).__name__})"
                ) from fault
            wait = _wait(said, attempt, writes=writes)
            if wait is None or attempt == TRIES or self._waited + wait > LONGEST_WAIT_SECONDS:
                raise GitHubError(self._hidden(said.text), said.status) from None
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
    message = data.get("message") if isinstance(data, dict) else None
    details = data.get("errors") if isinstance(data, dict) else None
    for one in details if isinstance(details, list) else []:
        said = one.get("message") if isinstance(one, dict) else one
        if isinstance(said, str) and isinstance(message, str) and said not in message:
            message = f"{message}; {said}"
    return _Fault(
        status,
        " ".join(str(message or "no reason given").split())[:SAID_LIMIT],
        {key.lower(): value for key, value in (headers or {}).items()},
    )


def _wait(fault: _Fault, attempt: int, *, writes: bool) -> float | None:
    """How long to wait before another try, None where another try is of no use."""
    limited = fault.status == 429 or (
        fault.status == 403
        and ("rate limit" in fault.message.lower() or fault.headers.get("x-ratelimit-remaining") == "0")
    )
    if limited:
        after, reset = _number(fault.headers, "retry-after"), _number(fault.headers, "x-ratelimit-reset")
        if after is not None:
            return after
        if fault.headers.get("x-ratelimit-remaining") == "0" and reset is not None:
            return max(1.0, reset - time.time())
        # A secondary limit: the hour's reset says nothing about it, and GitHub asks for a minute at least.
        return SECONDARY_WAIT_SECONDS
    if fault.status >= 500 or fault.status == 0:
        return None if writes else 0.5 * 2.0**attempt
    return None


def _number(headers: dict[str, str], name: str) -> float | None:
    text = headers.get(name, "")
    return float(text) if text.isdecimal() and len(text) < 20 else None


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
        merge_sha=pull.merge_commit_sha or "",
    )


def _download(address: str, limit: int, timeout: int, api_url: str) -> bytes:
    """What lies at an address that GitHub gave, asked for without any header of ours."""
    import requests

    if not address.startswith("https://") and not (
        address.startswith("http://") and api_url.startswith("http://")
    ):
        raise GitHubError("GitHub gave an address for the artifact that is not https")
    with requests.Session() as session:
        session.headers.clear()
        # A no-op instead of None: no password of ~/.netrc is sent either.
        with session.get(
            address, stream=True, timeout=timeout, allow_redirects=False, auth=lambda request: request
        ) as answer:
            if answer.status_code >= 500:
                raise requests.ConnectionError
            if answer.status_code != 200:
                raise GitHubError(f"the storage answered {answer.status_code}", answer.status_code)
            parts, size = [], 0
            for part in answer.iter_content(1 << 16):
                parts.append(part)
                size += len(part)
                if size > limit:
                    break
            return b"".join(parts)[: limit + 1]

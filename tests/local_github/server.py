"""A GitHub on loopback: real HTTP, real state, real git. The tests' one stand-in for github.com.

with LocalGitHub() as github:
    repo = github.add_repository("acme/widget")
    repo.git.commit_files("main", {"README.md": "hello"})
    token = github.add_token(permissions={"issues": "write"})
    client = Github(base_url=github.api, auth=Auth.Token(token.value))
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from local_github import admin, git_http
from local_github.api import respond
from local_github.faults import Fault, FaultQueue, Planned
from local_github.gitstore import GitStore
from local_github.pulls import open_pull, sync
from local_github.state import Artifact, Comment, Issue, Repository, Review, Run, Token, World
from local_github.transport import Exchange, HttpServer, Reply
from local_github.wire import Answer, Context, Request

ACTIONS = "github-actions[bot]"


class LocalGitHub:
    """`prefix` is "" (api.github.com) or "/api/v3" (GitHub Enterprise)."""

    def __init__(self, *, prefix: str = "", port: int = 0) -> None:
        self.world = World()
        self.faults = FaultQueue()
        self.log: list[Exchange] = []
        self.downloads: list[dict[str, Any]] = []
        """Requests to the other origin, each with `authorization`: what header it was sent, if any."""
        self.prefix = prefix.rstrip("/")
        self._folder = tempfile.TemporaryDirectory(prefix="local-github-")
        self._lock = threading.RLock()
        self._stored: dict[str, bytes] = {}
        self._http = HttpServer(self._answer, port)
        self._storage = HttpServer(self._download)
        self.url = self._http.url
        self.api = self.url + self.prefix
        self.graphql = self.url + ("/api/graphql" if self.prefix else "/graphql")

    # -- life

    def start(self) -> LocalGitHub:
        self._http.start()
        self._storage.start()
        return self

    def close(self) -> None:
        self._http.close()
        self._storage.close()
        self._folder.cleanup()

    def __enter__(self) -> LocalGitHub:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- state that tests set up

    def add_repository(
        self,
        full_name: str,
        *,
        git: Path | str | None = None,
        private: bool = False,
        default_branch: str = "main",
        collaborators: Mapping[str, str] | None = None,
        protected: tuple[str, ...] = (),
        parent: Repository | None = None,
    ) -> Repository:
        """`git`: a bare repository that exists or is made there; without it one in the server's own folder."""
        owner, name = full_name.split("/")
        store = GitStore(Path(git) if git else Path(self._folder.name) / owner / f"{name}.git")
        for login in (owner, *(collaborators or {})):
            self.world.user(login)
        repository = Repository(
            self.world.next_id(),
            owner,
            name,
            store,
            default_branch,
            private,
            parent=parent,
            created_at=self.world.clock.now(),
        )
        repository.collaborators.update(collaborators or {})
        self.world.repositories[full_name.lower()] = repository
        if protected:
            repository.protect(*protected)
        return repository

    def fork(self, parent: Repository, owner: str) -> Repository:
        """A fork with all branches of its parent."""
        fork = self.add_repository(
            f"{owner}/{parent.name}", parent=parent, default_branch=parent.default_branch
        )
        fork.git.run("fetch", "--quiet", str(parent.git.path), "+refs/heads/*:refs/heads/*")
        return fork

    def add_token(
        self,
        value: str = "ghs_local",
        login: str = ACTIONS,
        *,
        kind: str = "installation",
        permissions: Mapping[str, str] | None = None,
        repositories: tuple[str, ...] | None = None,
        **more: Any,
    ) -> Token:
        """`more`: app, edits_others, limit, used, reset."""
        self.world.user(login)
        only = None if repositories is None else frozenset(name.lower() for name in repositories)
        token = Token(value, login, kind, dict(permissions or {}), only, **more)
        self.world.tokens[value] = token
        return token

    def add_issue(
        self, repository: Repository, *, user: str = "octocat", title: str = "An issue", body: str = ""
    ) -> Issue:
        now = self.world.clock.tick()
        number = max(repository.issues, default=0) + 1
        issue = Issue(self.world.next_id(), number, title, body, user, now, now)
        repository.issues[number] = issue
        return issue

    def add_pull(
        self,
        repository: Repository,
        head: str,
        base: str = "main",
        *,
        user: str = "octocat",
        title: str = "A change",
        body: str = "",
    ) -> Issue:
        """`head`: `branch` or `owner:branch`."""
        context = self._context(Request("POST", "", {}, {}), Token("", user, "user"), repository)
        return open_pull(context, title=title, body=body, head=head, base=base)

    def add_comment(
        self, repository: Repository, number: int, body: str, *, user: str = "octocat"
    ) -> Comment:
        now = self.world.clock.tick()
        comment = Comment(self.world.next_id(), user, body, now, now, repository.association(user))
        repository.issues[number].comments.append(comment)
        return comment

    def add_review(
        self,
        repository: Repository,
        number: int,
        *,
        user: str,
        state: str = "APPROVED",
        commit: str | None = None,
        body: str = "",
    ) -> Review:
        pull = sync(repository, repository.issues[number])
        review = Review(
            self.world.next_id(), user, state, body, commit or pull.head_sha, self.world.clock.tick()
        )
        pull.reviews.append(review)
        return review

    def add_run(
        self,
        repository: Repository,
        *,
        head_branch: str,
        head_sha: str,
        head_repository: Repository | None = None,
        event: str = "pull_request",
        path: str = ".github/workflows/gate.yml",
        name: str = "gate",
        actor: str = "octocat",
        **more: Any,
    ) -> Run:
        """`more`: attempt, status, conclusion, pulls (numbers)."""
        source, now = head_repository or repository, self.world.clock.tick()
        if source is not repository:
            repository.git.fetch(source.git, head_branch)
        number = len(repository.runs) + 1
        run = Run(
            self.world.next_id(), name, path, event, head_branch, head_sha, source, actor, now, number, **more
        )
        repository.runs[run.id] = run
        return run

    def add_artifact(self, run: Run, name: str, data: bytes, *, expired: bool = False) -> Artifact:
        artifact = Artifact(self.world.next_id(), name, data, self.world.clock.tick(), expired)
        run.artifacts.append(artifact)
        return artifact

    # -- what goes wrong

    def fail_next(self, method: str, path: str, fault: Fault, times: int = 1, *, skip: int = 0) -> None:
        """The next `times` requests (after `skip`) meet a fault. `path`: a glob without prefix and query; method `*`: any."""
        self.faults.add(Planned(method, path, fault, None, times, skip))

    def before_next(
        self, method: str, path: str, call: Callable[[], object], times: int = 1, *, skip: int = 0
    ) -> None:
        """Run something of the test's own just before a request is carried out: a push, another run's comment."""
        self.faults.add(Planned(method, path, None, call, times, skip))

    # -- what was asked

    def requests(self, method: str | None = None, path: str = "*") -> list[Exchange]:
        """The log, oldest first, narrowed to a method and a glob of paths."""
        return [one for one in self.log if one.fits(method, path)]

    def writes(self) -> list[Exchange]:
        """Everything that could have changed something (a GraphQL query could not)."""
        return [
            one for one in self.log if one.method not in ("GET", "HEAD", "OPTIONS") and one.path != "/graphql"
        ]

    def clear_log(self) -> None:
        self.log.clear()

    def dump(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        with self._lock:
            return admin.dump(self)

    # -- answering

    def _context(self, request: Request, token: Token, repository: Repository | None = None) -> Context:
        return Context(self.world, request, token, self.api, self.url, self._store, repository)

    def _store(self, data: bytes) -> str:
        key = f"/artifact/{len(self._stored) + 1}"
        self._stored[key] = data
        return f"{self._storage.url}{key}?sig=local"

    def _download(self, request: Request) -> Iterator[Reply]:
        self.downloads.append({"path": request.path, "authorization": request.headers.get("authorization")})
        data = self._stored.get(request.path)
        if data is None or request.headers.get("authorization"):
            # As the real storage does: a foreign Authorization header is an error of its own.
            yield Reply(
                Answer(
                    status=404 if data is None else 401,
                    raw=b"<Error/>",
                    headers={"Content-Type": "application/xml"},
                )
            )
        else:
            yield Reply(Answer(raw=data, headers={"Content-Type": "application/zip"}))

    def _answer(self, request: Request) -> Iterator[Reply]:
        if request.path.startswith("/_local/"):
            yield Reply(admin.answer(self, request))
            return
        path = self._without_prefix(request.path)
        with self._lock:
            met = self.faults.meet(request.method, path if path is not None else request.path)
        if met and met.call:
            met.call()
        fault = met.fault if met else None
        exchange = Exchange.of(request, path or request.path, fault)
        self.log.append(exchange)
        yield Reply(delay=fault.delay if fault else 0.0, drop=bool(fault and fault.drop == "before"))
        answer = fault.answer() if fault else None
        if answer is None:
            with self._lock:
                answer = self._carry_out(request, path, exchange)
        exchange.finish(answer)
        yield Reply(
            answer, drop=bool(fault and fault.drop == "after"), half=bool(fault and fault.drop == "partial")
        )

    def _without_prefix(self, path: str) -> str | None:
        """The path below the API's root, or None where it is not the API's."""
        if not self.prefix:
            return path
        if path == "/api/graphql":
            return "/graphql"
        return path.removeprefix(self.prefix) if path.startswith(f"{self.prefix}/") else None

    def _carry_out(self, request: Request, path: str | None, exchange: Exchange) -> Answer:
        if git_http.is_git(request.path):
            answer, token = git_http.answer(self.world, request)
        else:
            if path is None:
                return Answer(status=404, raw=b"Not the API", headers={"Content-Type": "text/html"})
            context = self._context(
                Request(request.method, path, request.query, request.headers, request.raw),
                self.world.anonymous,
            )
            answer, exchange.template = respond(context)
            token = context.token
        exchange.login, exchange.token = token.login, token.value
        return answer

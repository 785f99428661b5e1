"""What the local GitHub knows: users, tokens, repositories, pull requests, comments, runs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from local_github.gitstore import GitStore

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
SCOPES = ("metadata", "contents", "issues", "pull_requests", "checks", "statuses", "actions")


class Clock:
    """A deterministic time: one second passes with every write."""

    def __init__(self, start: str = "2026-01-01T00:00:00Z") -> None:
        self._now = datetime.fromisoformat(start)

    def now(self) -> str:
        return self._now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def tick(self, seconds: int = 1) -> str:
        self._now += timedelta(seconds=seconds)
        return self.now()


@dataclass
class User:
    id: int
    login: str
    type: str = "User"


@dataclass
class Token:
    """One credential. `kind`: installation (the workflow's token, an App), user (classic), fine_grained."""

    value: str
    login: str
    kind: str = "installation"
    permissions: dict[str, str] = field(default_factory=dict)
    repositories: frozenset[str] | None = None
    """Full names, lower case; None: every repository that the login can see."""
    app: str = "github-actions"
    edits_others: bool = False
    """Whether it may change comments of other authors (as real Apps with write access often may)."""
    limit: int = 5000
    used: int = 0
    reset: int = field(default_factory=lambda: int(time.time()) + 3600)

    def allows(self, scope: str, level: str) -> bool:
        have = self.permissions.get(scope, "read" if scope == "metadata" else "none")
        return have == "write" or (level == "read" and have == "read")


@dataclass
class Comment:
    id: int
    author: str
    body: str
    created_at: str
    updated_at: str
    association: str
    app: str | None = None
    edits: list[str] = field(default_factory=list)
    """Earlier bodies, oldest first."""


@dataclass
class Review:
    id: int
    user: str
    state: str
    body: str
    commit_id: str
    submitted_at: str


@dataclass
class Pull:
    head_repository: Repository
    head_ref: str
    base_ref: str
    head_sha: str = ""
    merge_sha: str | None = None
    """The test merge commit; after the merge, the merge's own."""
    mergeable: bool | None = None
    merged: bool = False
    merged_by: str | None = None
    merged_at: str | None = None
    draft: bool = False
    reviews: list[Review] = field(default_factory=list)
    merge_of: tuple[str, str] | None = None
    """Which base and head `merge_sha` was made of."""


@dataclass
class Issue:
    id: int
    number: int
    title: str
    body: str | None
    user: str
    created_at: str
    updated_at: str
    state: str = "open"
    closed_at: str | None = None
    closed_by: str | None = None
    locked: bool = False
    deleted: bool = False
    labels: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    pull: Pull | None = None


@dataclass
class CheckRun:
    id: int
    name: str
    head_sha: str
    app: str
    fields: dict[str, Any]
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Artifact:
    id: int
    name: str
    data: bytes
    created_at: str
    expired: bool = False


@dataclass
class Run:
    id: int
    name: str
    path: str
    event: str
    head_branch: str
    head_sha: str
    head_repository: Repository
    actor: str
    created_at: str
    number: int
    attempt: int = 1
    status: str = "completed"
    conclusion: str | None = "success"
    pulls: list[int] = field(default_factory=list)
    """What the API says of it; GitHub leaves this empty for forks."""
    artifacts: list[Artifact] = field(default_factory=list)


@dataclass(eq=False)
class Repository:
    id: int
    owner: str
    name: str
    git: GitStore
    default_branch: str = "main"
    private: bool = False
    archived: bool = False
    parent: Repository | None = None
    collaborators: dict[str, str] = field(default_factory=dict)
    """login -> role"""
    protected: set[str] = field(default_factory=set)
    bypass: set[str] = field(default_factory=set)
    """Logins that may write to protected branches."""
    actions_may_open_pulls: bool = True
    created_at: str = ""
    labels: dict[str, int] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def root(self) -> Repository:
        return self.parent.root if self.parent else self

    def role(self, login: str) -> str:
        if login.lower() == self.owner.lower():
            return "admin"
        return self.collaborators.get(login, "none" if self.private else "read")

    def has_role(self, login: str, least: str) -> bool:
        return ROLES.index(self.role(login)) >= ROLES.index(least)

    def association(self, login: str) -> str:
        if login.lower() == self.owner.lower():
            return "OWNER"
        if login in self.collaborators:
            return "COLLABORATOR"
        return "NONE"

    def protect(self, *branches: str) -> None:
        self.protected.update(branches)
        self.git.refuse_pushes_to(sorted(self.protected))

    def find_comment(self, number: int) -> tuple[Issue, Comment] | None:
        return next(
            ((issue, c) for issue in self.issues.values() for c in issue.comments if c.id == number), None
        )

    def pulls(self) -> Iterator[tuple[Issue, Pull]]:
        return ((issue, issue.pull) for issue in self.issues.values() if issue.pull and not issue.deleted)


class World:
    """Everything behind one server."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.users: dict[str, User] = {}
        self.tokens: dict[str, Token] = {}
        self.repositories: dict[str, Repository] = {}
        self.anonymous = Token("", "", "anonymous", limit=60)
        self._ids = itertools.count(1001)

    def next_id(self) -> int:
        return next(self._ids)

    def user(self, login: str) -> User:
        known = self.users.get(login.lower())
        if known is None:
            kind = "Bot" if login.endswith("[bot]") else "User"
            known = self.users[login.lower()] = User(self.next_id(), login, kind)
        return known

    def repository(self, full_name: str) -> Repository | None:
        return self.repositories.get(full_name.lower())

    def repository_by_id(self, number: int) -> Repository | None:
        return next((one for one in self.repositories.values() if one.id == number), None)

    def network(self, repository: Repository) -> list[Repository]:
        return [one for one in self.repositories.values() if one.root is repository.root]

    def can_see(self, token: Token, repository: Repository) -> bool:
        if not repository.private:
            return True
        if token.repositories is not None:
            return repository.full_name.lower() in token.repositories
        return token.kind == "installation" or repository.has_role(token.login, "read")

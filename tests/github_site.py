"""acme/widget with pull request 1 on a GitHub on loopback, and the gate's own client, which never really waits."""

from __future__ import annotations

from dataclasses import dataclass, field

from local_github.server import LocalGitHub
from local_github.state import Comment, Repository

from gate.github.client import GitHubClient
from gate.github.comment import Stamp, When
from gate.github.post import Posted, Wanted, post
from gate.model.verdict import Verdict

TOKEN = "ghs_the_token_that_writes"
READ_ONLY = "ghs_the_token_that_reads"
US = "github-actions[bot]"
WRITES = {"contents": "read", "issues": "write", "pull_requests": "write", "actions": "read"}


@dataclass
class Site:
    """The repository, the client, and how long the client would have waited."""

    github: LocalGitHub
    repository: Repository
    waits: list[float] = field(default_factory=list)

    def client(self, token: str = TOKEN, timeout: int = 20) -> GitHubClient:
        return GitHubClient(token, "acme/widget", self.github.api, self.waits.append, timeout)

    @property
    def head(self) -> str:
        return self.repository.git.branch("change") or ""

    @property
    def comments(self) -> list[Comment]:
        return self.repository.issues[1].comments

    def mine(self, author: str = US) -> list[Comment]:
        return [comment for comment in self.comments if comment.author == author]

    def stamp(self, run: int = 7, *, suite: str = "docs", head: str = "", attempt: int = 1) -> Stamp:
        return Stamp(suite=suite, head=head or self.head, run=run, attempt=attempt)

    def post(
        self,
        text: str = "text",
        *,
        run: int = 7,
        author: str = US,
        client: GitHubClient | None = None,
        when: When = When.ALWAYS,
        verdict: Verdict = Verdict.PASS,
        head: str = "",
    ) -> Posted:
        stamp = self.stamp(run, head=head)
        wanted = Wanted(stamp=stamp, when=when, verdict=verdict, changed=False)
        return post(client or self.client(), 1, wanted, author, lambda _old: f"{stamp.line()}\n{text}\n")

    def push(self) -> str:
        return self.repository.git.commit_files("change", {"docs/new.md": "# Newer\n"})

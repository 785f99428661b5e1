"""Proposing files as a pull request: one branch of ours, made through the git data API, and one pull request for it.

Only the branch that is named is written, and only while every commit on it is ours. It is moved backwards (with force)
only where its base has gone on without it. Nothing here checks anything out or runs anything.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from gate.errors import InputError, Problem
from gate.github.client import GitHubError
from gate.github.comment import same_login
from gate.github.tree import Branch, Tree
from gate.model.frozen import Frozen

T = TypeVar("T")
WORKFLOW_LOGIN = "github-actions[bot]"
TRAILER = "Retrieval-Gate-Refresh"
BODY_BUDGET = 65_000
_TRIES = 3
# GitHub starts no workflow for a head commit that says one of these, and a proposal has to be checked.
_SKIPPED = re.compile(r"\[((?:skip|no) ci|ci skip|skip actions|actions skip)\]", re.IGNORECASE)


class Target(Frozen):
    """Where a proposal goes: into `base`, whose head is `base_sha`, from the branch `name`, which is ours alone.

    `suite` marks the commits as ours.
    """

    suite: str
    name: str
    base: str
    base_sha: str
    default_branch: str


class Text(Frozen):
    """What a pull request says. The first line of `body` is `marker`."""

    title: str
    body: str
    marker: str


class Request(Frozen):
    """A pull request that is open."""

    number: int
    url: str
    title: str
    body: str
    author: str
    head: str
    repository: str


class Pushed(Frozen):
    """What became of the branch: `changed` where it has a new commit; `sha` is its head."""

    sha: str
    changed: bool


class Opened(Frozen):
    """What became of the pull request. Without a number none could be opened, and `why` says what GitHub said."""

    url: str
    number: int = 0
    created: bool = False
    why: str = ""


def branch_name(suite: str, pull: int = 0) -> str:
    """The branch of a suite's proposals. git refuses some names with dots in them; those are spelled out."""
    odd = ".." in suite or suite.endswith((".", ".lock"))
    name = f"retrieval-gate/baseline-{suite.replace('.', '%2E') if odd else suite}"
    return f"{name}-for-{pull}" if pull else name


def commit_message(title: str, paragraphs: str, suite: str) -> str:
    """A message whose last line marks the commit as ours. Words in it that would have GitHub run no checks are disarmed."""
    said = _SKIPPED.sub(r"(\1)", f"{title}\n\n{paragraphs}")
    return f"{said}\n\n{TRAILER}: {suite}\n"


def is_ours(message: str, suite: str) -> bool:
    """Whether a commit carries our mark for this suite: as its very last line."""
    return message.rstrip().rpartition("\n")[2] == f"{TRAILER}: {suite}"


class Proposer(Tree):
    """One repository, with a token that may write branches and pull requests."""

    def push(self, target: Target, files: Mapping[str, bytes | None], message: str) -> Pushed:
        """Let the branch hold the base's tree with `files` in it (None: removed), in commits of ours.

        A commit is added where the branch still stands on the base's head; where the base has gone on, the branch
        begins anew from there. A branch with somebody else's commit on it is an InputError that names the commit.
        """
        tree = self._made_tree(target.base_sha, files)
        for attempt in range(_TRIES):
            there = self._own(target)
            try:
                return self._moved(target, there, tree, message)
            except GitHubError as fault:
                # Somebody created or moved it between our look and our write: look again.
                if fault.status != 422 or attempt == _TRIES - 1:
                    raise
        raise AssertionError("the last try returns or raises")

    def _own(self, target: Target) -> Branch | None:
        if target.name in (target.base, target.default_branch):
            raise InputError(Problem(f"branch '{target.name}'", "is the base itself", "Rename that branch."))
        there = self.branch(target.name)
        if there is not None and there.protected:
            todo = "Let the rule spare 'retrieval-gate/*', or delete the branch."
            raise InputError(Problem(f"branch '{target.name}'", "is protected, so it is left alone", todo))
        return there

    def _moved(self, target: Target, there: Branch | None, tree: str, message: str) -> Pushed:
        if there is None:
            sha = self._commit(tree, target.base_sha, message)
            made = {"ref": f"refs/heads/{target.name}", "sha": sha}
            self._send("POST", "/git/refs", _anything, made)
            return Pushed(sha=sha, changed=True)
        ahead, behind = self._beside(target, there)
        if ahead and not behind and self._tree_of(there.sha) == tree:
            return Pushed(sha=there.sha, changed=False)
        sha = self._commit(tree, target.base_sha if behind else there.sha, message)
        backwards = bool(ahead and behind)
        if backwards and self.branch(target.name) != there:
            raise GitHubError(f"the branch '{target.name}' has just been moved by somebody else", 422)
        path = f"/git/refs/heads/{quote(target.name)}"
        self._send("PATCH", path, _anything, {"sha": sha, "force": backwards})
        return Pushed(sha=sha, changed=True)

    def _beside(self, target: Target, there: Branch) -> tuple[int, int]:
        """How many commits the branch has beyond the base's head and lacks of it. All of its own must be ours."""
        path = f"/compare/{target.base_sha}...{there.sha}?per_page=100"
        ahead, behind, messages = self._get(path, _beside)
        for sha, message in messages:
            if not is_ours(message, target.suite):
                raise _foreign(target, f"holds commit {sha[:10]}, which is not the gate's")
        if ahead > len(messages):
            raise _foreign(target, f"holds {ahead} commits, too many to look at")
        return ahead, behind

    def _made_tree(self, base: str, files: Mapping[str, bytes | None]) -> str:
        entries = []
        for path, content in files.items():
            sha = None
            if content is not None:
                blob = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
                sha = self._send("POST", "/git/blobs", _sha, blob)
            entries.append({"path": path, "mode": "100644", "type": "blob", "sha": sha})
        made = {"base_tree": self._tree_of(base), "tree": entries}
        return self._send("POST", "/git/trees", _sha, made)

    def _tree_of(self, commit: str) -> str:
        return self._get(f"/git/commits/{commit}", lambda said: str(said["tree"]["sha"]))

    def _commit(self, tree: str, parent: str, message: str) -> str:
        made = {"message": message, "tree": tree, "parents": [parent]}
        return self._send("POST", "/git/commits", _sha, made)

    def propose(self, target: Target, text: Text, viewer: str) -> Opened:
        """Open the pull request of the branch, or bring the text of the open one up to date."""
        there = self._open(target)
        if there is None:
            new = {"title": text.title, "body": text.body, "head": target.name, "base": target.base}
            try:
                made = self._send("POST", "/pulls", _request, new, once=True)
                return Opened(url=made.url, number=made.number, created=True)
            except GitHubError as fault:
                if fault.status in (403, 404) and "rate limit" not in str(fault).lower():
                    return Opened(url="", why=str(fault))
                # No answer, or another run was faster: it may be there now.
                there = self._open(target)
                if there is None:
                    raise
        return self._told(there, text, viewer)

    def _told(self, there: Request, text: Text, viewer: str) -> Opened:
        opened = Opened(url=there.url, number=there.number)
        if not there.body.startswith(text.marker) and not (viewer and same_login(there.author, viewer)):
            return opened.model_copy(update={"why": "somebody opened it by hand; its text is left as it is"})
        if (there.title, there.body.strip()) != (text.title, text.body.strip()):
            new = {"title": text.title, "body": text.body}
            self._send("PATCH", f"/pulls/{there.number}", _anything, new)
        return opened

    def _open(self, target: Target) -> Request | None:
        """The open pull request of our own branch into the base."""
        owner = self._repository_name.partition("/")[0]
        head, base = quote(f"{owner}:{target.name}", safe=""), quote(target.base, safe="")
        path = f"/pulls?state=open&head={head}&base={base}&per_page=100"
        for one in self._get(path, lambda said: [_request(pull) for pull in said]):
            if one.head == target.name and one.repository.lower() == self._repository_name.lower():
                return one
        return None

    def _send(self, method: str, path: str, read: Callable[[Any], T], body: Any, *, once: bool = False) -> T:
        """One write below the repository, and what `read` makes of the answer: a fault in it is GitHub's as well.

        Objects and refs may be written twice; what goes `once` is not repeated where no answer came.
        """
        url = f"/repos/{self._repository_name}{path}"
        return self._try(
            lambda: read(self._api.requester.requestJsonAndCheck(method, url, input=body)[1]), writes=once
        )


def _anything(said: Any) -> None:
    """For answers that say no more than that it was done."""


def _sha(said: Any) -> str:
    return str(said["sha"])


def _beside(said: Any) -> tuple[int, int, list[tuple[str, str]]]:
    """How far ahead and behind, and (sha, message) of the commits ahead."""
    commits = [(str(one["sha"]), str(one["commit"]["message"])) for one in said["commits"]]
    return int(said["ahead_by"]), int(said["behind_by"]), commits


def _request(said: Any) -> Request:
    head = said["head"]
    return Request(
        number=said["number"],
        url=said["html_url"],
        title=said["title"],
        body=(said["body"] or "").replace("\r\n", "\n"),
        author=said["user"]["login"] if said["user"] else "",
        head=head["ref"],
        repository=head["repo"]["full_name"] if head["repo"] else "",
    )


def _foreign(target: Target, what: str) -> InputError:
    todo = "Merge or close what is there and delete the branch, then refresh again."
    return InputError(Problem(f"branch '{target.name}'", what, todo))


def compare_link(server_url: str, repository: str, target: Target) -> str:
    """Where a person opens the pull request that a token may not open."""
    base, name = quote(target.base), quote(target.name)
    return f"{server_url}/{repository}/compare/{base}...{name}?expand=1"

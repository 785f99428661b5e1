"""Proposing files as a pull request: one branch of ours, made through the git data API, and one pull request for it.

Only the branch that is named is written, and only while every commit on it is ours. It is moved backwards (with force)
only where its base has gone on without it. Nothing here checks anything out or runs anything.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gate.errors import InputError, Problem
from gate.github.client import GitHubClient, GitHubError
from gate.github.comment import same_login
from gate.model.frozen import Frozen

WORKFLOW_LOGIN = "github-actions[bot]"
TRAILER = "Retrieval-Gate-Refresh"
BODY_BUDGET = 65_000
LARGEST_FILE = 40_000_000
_TRIES = 3
FOLDER = "040000"
_FILE_MODES = ("100644", "100755")


class Branch(Frozen):
    """A branch as it is now."""

    name: str
    sha: str
    protected: bool


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
    """A message whose last line marks the commit as ours."""
    return f"{title}\n\n{paragraphs}\n\n{TRAILER}: {suite}\n"


def is_ours(message: str, suite: str) -> bool:
    """Whether a commit carries our mark for this suite: as its very last line."""
    return message.rstrip().rpartition("\n")[2] == f"{TRAILER}: {suite}"


def path_inside(folder: str, path: str) -> str:
    """`path`, relative to `folder`, from the top of the repository. One that leads out of it is an InputError."""
    joined = posixpath.normpath(posixpath.join(folder, path))
    parts = joined.split("/")
    if joined.startswith("/") or ".." in parts or any(part.lower() == ".git" for part in parts):
        raise InputError(Problem(path, "leads out of the repository", "Name a path inside it."))
    return joined


class Proposer(GitHubClient):
    """One repository, with a token that may write branches and pull requests."""

    def __init__(self, token: str, repository: str, api_url: str, **more: Any) -> None:
        super().__init__(token, repository, api_url, **more)
        self._trees: dict[str, dict[str, tuple[str, str]]] = {}

    # -- reading

    def default_branch(self) -> str:
        return str(self._call("GET", "")["default_branch"])

    def branch(self, name: str) -> Branch | None:
        """The branch, None where there is none."""
        try:
            found = self._call("GET", f"/branches/{quote(name, safe='')}")
        except GitHubError as fault:
            if fault.status == 404:
                return None
            raise
        # An old name of a renamed branch is answered with the new one; that is not the branch that was asked for.
        if found["name"] != name:
            return None
        return Branch(name=name, sha=found["commit"]["sha"], protected=bool(found["protected"]))

    def file(self, commit: str, path: str) -> bytes | None:
        """The bytes of a plain file of a commit, None where there is none. A link there is an InputError."""
        entry = self.entry(commit, path)
        if entry is None:
            return None
        mode, sha = entry
        if mode not in _FILE_MODES:
            raise InputError(Problem(path, "is no plain file in the repository", "Put a plain file there."))
        found = self._call("GET", f"/git/blobs/{sha}")
        if found["encoding"] != "base64" or int(found["size"]) > LARGEST_FILE:
            raise InputError(
                Problem(path, f"is too large to read ({found['size']} bytes)", "Make it smaller.")
            )
        return base64.b64decode(found["content"])

    def entry(self, commit: str, path: str) -> tuple[str, str] | None:
        """(mode, sha) of what stands at a path of a commit, None where nothing does. No link is followed."""
        mode, sha = FOLDER, commit
        for part in [] if path in ("", ".") else path.split("/"):
            if mode != FOLDER:
                what = "stands below something in the repository that is no folder"
                raise InputError(Problem(path, what, "Name a path below plain folders."))
            found = self._tree(sha).get(part)
            if found is None:
                return None
            mode, sha = found
        return mode, sha

    def _tree(self, sha: str) -> dict[str, tuple[str, str]]:
        if sha not in self._trees:
            found = self._call("GET", f"/git/trees/{sha}")
            if found["truncated"]:
                raise GitHubError(f"GitHub does not list a folder whole, it has too many files ({sha[:10]})")
            self._trees[sha] = {one["path"]: (one["mode"], one["sha"]) for one in found["tree"]}
        return self._trees[sha]

    # -- writing

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
            self._call("POST", "/git/refs", {"ref": f"refs/heads/{target.name}", "sha": sha})
            return Pushed(sha=sha, changed=True)
        ahead, behind = self._beside(target, there)
        if ahead and not behind and self._call("GET", f"/git/commits/{there.sha}")["tree"]["sha"] == tree:
            return Pushed(sha=there.sha, changed=False)
        sha = self._commit(tree, target.base_sha if behind else there.sha, message)
        backwards = bool(ahead and behind)
        if backwards and self.branch(target.name) != there:
            raise GitHubError(f"the branch '{target.name}' has just been moved by somebody else", 422)
        path = f"/git/refs/heads/{quote(target.name)}"
        self._call("PATCH", path, {"sha": sha, "force": backwards})
        return Pushed(sha=sha, changed=True)

    def _beside(self, target: Target, there: Branch) -> tuple[int, int]:
        """How many commits the branch has beyond the base's head and lacks of it. All of its own must be ours."""
        found = self._call("GET", f"/compare/{target.base_sha}...{there.sha}?per_page=100")
        for one in found["commits"]:
            if not is_ours(one["commit"]["message"], target.suite):
                raise _foreign(target, f"holds commit {one['sha'][:10]}, which is not the gate's")
        if int(found["ahead_by"]) > len(found["commits"]):
            raise _foreign(target, f"holds {found['ahead_by']} commits, too many to look at")
        return int(found["ahead_by"]), int(found["behind_by"])

    def _made_tree(self, base: str, files: Mapping[str, bytes | None]) -> str:
        entries = []
        for path, content in files.items():
            sha = None
            if content is not None:
                text = base64.b64encode(content).decode()
                sha = self._call("POST", "/git/blobs", {"content": text, "encoding": "base64"})["sha"]
            entries.append({"path": path, "mode": "100644", "type": "blob", "sha": sha})
        base_tree = self._call("GET", f"/git/commits/{base}")["tree"]["sha"]
        return str(self._call("POST", "/git/trees", {"base_tree": base_tree, "tree": entries})["sha"])

    def _commit(self, tree: str, parent: str, message: str) -> str:
        made = {"message": message, "tree": tree, "parents": [parent]}
        return str(self._call("POST", "/git/commits", made)["sha"])

    def propose(self, target: Target, text: Text, viewer: str) -> Opened:
        """Open the pull request of the branch, or bring the text of the open one up to date."""
        there = self._open(target)
        if there is None:
            new = {"title": text.title, "body": text.body, "head": target.name, "base": target.base}
            try:
                made = self._call("POST", "/pulls", new, writes=True)
                return Opened(url=made["html_url"], number=made["number"], created=True)
            except GitHubError as fault:
                if fault.status in (403, 404) and "rate limit" not in str(fault).lower():
                    return Opened(url="", why=str(fault))
                # No answer, or another run was faster: it may be there now.
                there = self._open(target)
                if there is None:
                    raise
        return self._told(there, text, viewer)

    def _told(self, there: Mapping[str, Any], text: Text, viewer: str) -> Opened:
        opened = Opened(url=there["html_url"], number=there["number"])
        body = (there["body"] or "").replace("\r\n", "\n")
        author = (there["user"] or {}).get("login", "")
        if not body.startswith(text.marker) and not (viewer and same_login(author, viewer)):
            return opened.model_copy(update={"why": "somebody opened it by hand; its text is left as it is"})
        if (there["title"], body.strip()) != (text.title, text.body.strip()):
            self._call("PATCH", f"/pulls/{there['number']}", {"title": text.title, "body": text.body})
        return opened

    def _open(self, target: Target) -> dict[str, Any] | None:
        """The open pull request of our own branch into the base."""
        owner = self._repository_name.partition("/")[0]
        head, base = quote(f"{owner}:{target.name}", safe=""), quote(target.base, safe="")
        found = self._call("GET", f"/pulls?state=open&head={head}&base={base}&per_page=100")
        for one in found:
            repository = (one["head"]["repo"] or {}).get("full_name", "")
            if one["head"]["ref"] == target.name and repository.lower() == self._repository_name.lower():
                return dict(one)
        return None

    def _call(self, method: str, path: str, body: Any = None, *, writes: bool = False) -> Any:
        """One request below the repository. Objects and refs may be written twice, so only `writes` is not repeated."""
        url = f"/repos/{self._repository_name}{path}"
        return self._try(
            lambda: self._api.requester.requestJsonAndCheck(method, url, input=body)[1], writes=writes
        )


def _foreign(target: Target, what: str) -> InputError:
    todo = "Merge or close what is there and delete the branch, then refresh again."
    return InputError(Problem(f"branch '{target.name}'", what, todo))


def compare_link(server_url: str, repository: str, target: Target) -> str:
    """Where a person opens the pull request that a token may not open."""
    base, name = quote(target.base), quote(target.name)
    return f"{server_url}/{repository}/compare/{base}...{name}?expand=1"

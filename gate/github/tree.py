"""What stands in a repository, read through the API: its branches, and the files of a commit. Nothing is checked out.

Nothing here writes: a step that only judges holds this, and no object that could push.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from gate.errors import InputError, Problem
from gate.github.client import GitHubClient, GitHubError
from gate.model.frozen import Frozen

T = TypeVar("T")
LARGEST_FILE = 40_000_000
FOLDER = "040000"
_FILE_MODES = ("100644", "100755")


class Branch(Frozen):
    """A branch as it is now."""

    name: str
    sha: str
    protected: bool


def path_inside(folder: str, path: str) -> str:
    """`path`, relative to `folder`, from the top of the repository. One that leads out of it is an InputError."""
    joined = posixpath.normpath(posixpath.join(folder, path))
    parts = joined.split("/")
    if joined.startswith("/") or ".." in parts or any(part.lower() == ".git" for part in parts):
        raise InputError(Problem(path, "leads out of the repository", "Name a path inside it."))
    return joined


class Tree(GitHubClient):
    """One repository with the files of its commits, as one token sees them."""

    def __init__(self, token: str, repository: str, api_url: str, **more: Any) -> None:
        super().__init__(token, repository, api_url, **more)
        self._trees: dict[str, dict[str, tuple[str, str]]] = {}

    def default_branch(self) -> str:
        return self._get("", lambda said: str(said["default_branch"]))

    def branch(self, name: str) -> Branch | None:
        """The branch, None where there is none."""
        try:
            found = self._get(f"/branches/{quote(name, safe='')}", _branch)
        except GitHubError as fault:
            if fault.status == 404:
                return None
            raise
        # An old name of a renamed branch is answered with the new one; that is not the branch that was asked for.
        return found if found.name == name else None

    def file(self, commit: str, path: str) -> bytes | None:
        """The bytes of a plain file of a commit, None where there is none. A link there is an InputError."""
        entry = self.entry(commit, path)
        if entry is None:
            return None
        mode, sha = entry
        if mode not in _FILE_MODES:
            raise InputError(Problem(path, "is no plain file in the repository", "Put a plain file there."))
        size, data = self._get(f"/git/blobs/{sha}", _blob)
        if data is None:
            raise InputError(Problem(path, f"is too large to read ({size} bytes)", "Make it smaller."))
        return data

    def versions(self, commit: str, path: str, limit: int) -> list[tuple[str, str]]:
        """(commit, day as `YYYY-MM-DD`) of the newest `limit` commits up to `commit` that changed `path`, newest first."""
        asked = f"/commits?sha={quote(commit)}&path={quote(path, safe='')}&per_page={limit}"
        return self._get(asked, _versions)

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

    def names(self, commit: str, path: str, suffix: str) -> list[str]:
        """The plain files with a suffix right in a folder of a commit. No folder there is an InputError."""
        entry = self.entry(commit, path)
        if entry is None or entry[0] != FOLDER:
            raise InputError(Problem(path, "is no folder in the repository", "Add it, or mend gate.toml."))
        return [
            name
            for name, (mode, _) in self._tree(entry[1]).items()
            if mode in _FILE_MODES and name.endswith(suffix)
        ]

    def _tree(self, sha: str) -> dict[str, tuple[str, str]]:
        if sha not in self._trees:
            self._trees[sha] = self._get(f"/git/trees/{sha}", _tree)
        return self._trees[sha]

    def _get(self, path: str, read: Callable[[Any], T]) -> T:
        """What `read` makes of an answer below the repository. A fault in the answer is GitHub's as well."""
        url = f"/repos/{self._repository_name}{path}"
        return self._try(lambda: read(self._api.requester.requestJsonAndCheck("GET", url)[1]))


def _branch(said: Any) -> Branch:
    return Branch(name=said["name"], sha=said["commit"]["sha"], protected=said["protected"])


def _blob(said: Any) -> tuple[int, bytes | None]:
    """The size, and the bytes unless they are too many."""
    size = int(said["size"])
    if said["encoding"] != "base64" or size > LARGEST_FILE:
        return size, None
    return size, base64.b64decode(said["content"])


def _tree(said: Any) -> dict[str, tuple[str, str]]:
    if said["truncated"]:
        raise GitHubError("GitHub does not list a folder of the repository whole, it has too many files")
    return {one["path"]: (one["mode"], one["sha"]) for one in said["tree"]}


def _versions(said: Any) -> list[tuple[str, str]]:
    return [(str(one["sha"]), str(one["commit"]["committer"]["date"])[:10]) for one in said]

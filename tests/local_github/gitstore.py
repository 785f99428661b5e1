"""A real bare git repository and the few questions that the API asks of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local_github.gitdiff import Change, changes

HOOK = """#!/bin/sh
# Refuses pushes to protected branches, in GitHub's words.
[ -n "$LOCAL_GITHUB_BYPASS" ] && exit 0
while read -r old new ref; do
  if git config --get-all local-github.protected | grep -qxF "${ref#refs/heads/}"; then
    echo "error: GH006: Protected branch update failed for $ref." >&2
    echo "error: Changes must be made through a pull request." >&2
    exit 1
  fi
done
"""
DAY = "2026-01-01T00:00:00Z"


class GitError(Exception):
    """git said no."""


@dataclass(frozen=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: dict[str, str]
    committer: dict[str, str]
    message: str


class GitStore:
    """Every method asks git; nothing is cached, so pushes from outside count at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            self.run("init", "--quiet", "--bare", "--initial-branch", "main")
            self.run("config", "http.receivepack", "true")

    def run(
        self, *arguments: str, data: bytes | str | None = None, extra: Mapping[str, str] | None = None
    ) -> bytes:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=data.encode() if isinstance(data, str) else data,
            capture_output=True,
            check=False,
            env=git_environment(extra),
        )
        if done.returncode != 0:
            raise GitError(
                done.stderr.decode(errors="replace").strip() or f"git {arguments[0]}: {done.returncode}"
            )
        return done.stdout

    def text(self, *arguments: str, data: str | None = None, extra: Mapping[str, str] | None = None) -> str:
        return self.run(*arguments, data=data, extra=extra).decode(errors="surrogateescape").strip("\n")

    # -- refs

    def ref(self, name: str) -> str | None:
        """The commit of a full ref name (`refs/heads/main`)."""
        try:
            return self.text("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        except GitError:
            return None

    def branch(self, name: str) -> str | None:
        return self.ref(f"refs/heads/{name}")

    def refs(self, prefix: str = "refs/heads/") -> dict[str, str]:
        out = self.text("for-each-ref", "--format=%(refname) %(objectname)")
        pairs = (line.split(" ", 1) for line in out.splitlines())
        return {name: sha for name, sha in pairs if name.startswith(prefix)}

    def set_ref(self, name: str, sha: str) -> None:
        self.run("update-ref", name, sha)

    def delete_ref(self, name: str) -> None:
        self.run("update-ref", "-d", name)

    def refuse_pushes_to(self, branches: Iterable[str]) -> None:
        """Protect these branches against `git push` as well."""
        hook = self.path / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(HOOK)
        hook.chmod(0o755)
        self.run("config", "--replace-all", "local-github.protected", "")
        for branch in branches:
            self.run("config", "--add", "local-github.protected", branch)

    def valid_ref(self, name: str) -> bool:
        try:
            self.run("check-ref-format", name)
        except GitError:
            return False
        return True

    # -- objects

    def kind(self, sha: str) -> str | None:
        if not re.fullmatch(r"[0-9a-f]{40}", sha):
            return None
        try:
            return self.text("cat-file", "-t", sha)
        except GitError:
            return None

    def resolve(self, name: str) -> str | None:
        """A branch, tag, full ref or (abbreviated) sha, as its commit."""
        for spelling in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            sha = self.ref(f"{spelling}^{{commit}}")
            if sha:
                return sha
        return None

    def commit(self, sha: str) -> Commit:
        raw = self.run("cat-file", "commit", sha).decode(errors="replace")
        head, _, message = raw.partition("\n\n")
        fields: dict[str, list[str]] = {}
        for line in head.splitlines():
            key, _, value = line.partition(" ")
            fields.setdefault(key, []).append(value)
        return Commit(
            sha=sha,
            tree=fields["tree"][0],
            parents=tuple(fields.get("parent", ())),
            author=_person(fields["author"][0]),
            committer=_person(fields["committer"][0]),
            message=message.removesuffix("\n"),
        )

    def blob(self, sha: str) -> bytes:
        return self.run("cat-file", "blob", sha)

    def write_blob(self, data: bytes) -> str:
        return self.run("hash-object", "-w", "--stdin", data=data).decode().strip()

    def tree(self, treeish: str, *, recursive: bool = False) -> list[dict[str, Any]]:
        flags = ["-r", "-t"] if recursive else []
        out = self.run("ls-tree", "-l", "-z", *flags, treeish).decode(errors="replace")
        entries = []
        for record in filter(None, out.split("\0")):
            head, path = record.split("\t", 1)
            mode, kind, sha, size = head.split()
            entries.append(
                {
                    "path": path,
                    "mode": mode,
                    "type": kind,
                    "sha": sha,
                    **({"size": int(size)} if size != "-" else {}),
                }
            )
        return entries

    def entry(self, treeish: str, path: str) -> dict[str, Any] | None:
        """What stands at a path of a tree, file or folder."""
        if not path:
            return {
                "path": "",
                "mode": "040000",
                "type": "tree",
                "sha": self.text("rev-parse", f"{treeish}^{{tree}}"),
            }
        out = self.run("ls-tree", "-l", "-z", treeish, "--", path).decode(errors="replace").strip("\0")
        if not out:
            return None
        head, found = out.split("\t", 1)
        mode, kind, sha, size = head.split()
        return {
            "path": found,
            "mode": mode,
            "type": kind,
            "sha": sha,
            **({"size": int(size)} if size != "-" else {}),
        }

    def write_tree(self, base: str | None, entries: Iterable[tuple[str, str, str | None]]) -> str:
        """A tree of (path, mode, sha or None to remove), on top of `base`."""
        with tempfile.TemporaryDirectory() as folder:
            extra = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            if base:
                self.run("read-tree", base, extra=extra)
            lines = []
            for path, mode, sha in entries:
                if mode == "040000":
                    self.run("read-tree", f"--prefix={path}/", str(sha), extra=extra)
                else:
                    lines.append(f"{mode if sha else '0'} {sha or '0' * 40}\t{path}\0")
            self.run("update-index", "-z", "--index-info", data="".join(lines), extra=extra)
            return self.text("write-tree", extra=extra)

    def write_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        author: Mapping[str, str] | None = None,
        committer: Mapping[str, str] | None = None,
    ) -> str:
        author = {"name": "Test", "email": "test@example.org", "date": DAY, **(author or {})}
        committer = {**author, **(committer or {})}
        extra = {
            f"GIT_{role}_{key.upper()}": who[key]
            for role, who in (("AUTHOR", author), ("COMMITTER", committer))
            for key in ("name", "email", "date")
        }
        flags = [flag for parent in parents for flag in ("-p", parent)]
        return self.text("commit-tree", tree, *flags, "-F", "-", data=message, extra=extra)

    def commit_files(
        self,
        branch: str,
        files: Mapping[str, str | bytes | None],
        message: str = "change",
        start: str | None = None,
    ) -> str:
        """For tests: commit these files (None removes one) on a branch, made from `start` where it is new."""
        parent = self.branch(branch) or (self.resolve(start) if start else None)
        who = f"Test <test@example.org> {int(datetime.fromisoformat(DAY).timestamp())} +0000"
        parts = [
            f"commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\n".encode(),
            _data(message.encode()),
        ]
        if parent:
            parts.append(f"from {parent}\n".encode())
        for path, text in files.items():
            if text is None:
                parts.append(f"D {json.dumps(path, ensure_ascii=False)}\n".encode())
            else:
                data = text.encode() if isinstance(text, str) else text
                parts += [f"M 100644 inline {json.dumps(path, ensure_ascii=False)}\n".encode(), _data(data)]
        self.run("fast-import", "--quiet", "--force", data=b"".join(parts))
        sha = self.branch(branch)
        assert sha is not None
        return sha

    # -- history

    def is_ancestor(self, old: str, new: str) -> bool:
        try:
            self.run("merge-base", "--is-ancestor", old, new)
        except GitError:
            return False
        return True

    def merge_base(self, one: str, other: str) -> str | None:
        try:
            return self.text("merge-base", one, other)
        except GitError:
            return None

    def between(self, base: str, head: str) -> list[str]:
        """Commits of base..head, oldest first."""
        return self.text("rev-list", "--reverse", "--topo-order", f"{base}..{head}").split()

    def merge(self, base: str, head: str, message: str) -> str | None:
        """The merge commit of two commits, or None on a conflict."""
        try:
            tree = self.text("merge-tree", "--write-tree", base, head).split("\n")[0]
        except GitError:
            return None
        return self.write_commit(tree, [base, head], message)

    def fetch(self, other: GitStore, ref: str) -> str | None:
        """Bring a ref of a fork here (objects only); its commit."""
        sha = other.resolve(ref)
        if sha and self.kind(sha) is None:
            self.run(
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                str(other.path),
                f"+{sha}:refs/local-github/{sha}",
            )
        return sha

    def diff(self, base: str, head: str) -> list[Change]:
        """The files that differ, as GitHub lists them."""
        raw, counts, text = (
            self.run("diff", *flags, "-M", base, head).decode(errors="replace")
            for flags in (("--raw", "--no-abbrev", "-z"), ("--numstat", "-z"), ("--no-color",))
        )
        return changes(raw, counts, text)


def git_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Nothing of the user's own git set-up."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {
        **kept,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        **(extra or {}),
    }


def _person(line: str) -> dict[str, str]:
    """`Name <email> seconds zone` of a commit object."""
    name, rest = line.split(" <", 1)
    email, when = rest.rsplit("> ", 1)
    moment = datetime.fromtimestamp(int(when.split()[0]), UTC)
    return {"name": name, "email": email, "date": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _data(raw: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(raw), raw)

"""git itself against the local GitHub: clone, fetch a pull request's merge, push, be refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from local_github.caller import Caller
from local_github.gitstore import git_environment
from local_github.server import LocalGitHub
from local_github.state import Repository


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    who = {
        "GIT_AUTHOR_NAME": "T",
        "GIT_AUTHOR_EMAIL": "t@example.org",
        "GIT_COMMITTER_NAME": "T",
        "GIT_COMMITTER_EMAIL": "t@example.org",
    }
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, env=git_environment(who)
    )


def address(server: LocalGitHub, token: str, name: str = "acme/widget") -> str:
    return server.url.replace("://", f"://x-access-token:{token}@") + f"/{name}.git"


@pytest.fixture
def clone(server: LocalGitHub, widget: Repository, tmp_path: Path) -> Path:
    done = git(tmp_path, "clone", "--quiet", address(server, "ghs_workflow"), "clone")
    assert done.returncode == 0, done.stderr
    (tmp_path / "clone" / "more.md").write_text("more\n")
    git(tmp_path / "clone", "add", "--all")
    git(tmp_path / "clone", "commit", "--quiet", "--message", "more")
    return tmp_path / "clone"


def test_a_push_moves_the_pull_request(
    server: LocalGitHub, widget: Repository, clone: Path, call: Caller
) -> None:
    git(clone, "checkout", "--quiet", "change")
    (clone / "even-more.md").write_text("even more\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "even more")
    done = git(clone, "push", "--quiet", "origin", "change")
    assert done.returncode == 0, done.stderr
    pull = call("GET", "/repos/acme/widget/pulls/1").body
    assert pull["head"]["sha"] == git(clone, "rev-parse", "HEAD").stdout.strip()
    assert git(clone, "fetch", "--quiet", "origin", "refs/pull/1/merge").returncode == 0
    assert git(clone, "rev-parse", "FETCH_HEAD").stdout.strip() == pull["merge_commit_sha"]


def test_a_protected_branch_refuses(server: LocalGitHub, widget: Repository, clone: Path) -> None:
    before = widget.git.branch("main")
    done = git(clone, "push", "origin", "main")
    assert done.returncode != 0
    assert "GH006: Protected branch update failed for refs/heads/main." in done.stderr
    assert widget.git.branch("main") == before
    widget.bypass.add("github-actions[bot]")
    assert git(clone, "push", "--quiet", "origin", "main").returncode == 0


def test_a_read_only_token_cannot_push(server: LocalGitHub, widget: Repository, clone: Path) -> None:
    for token, said in (("ghs_read", "403"), ("wrong", "Authentication failed"), ("ghp_ann", "")):
        done = git(clone, "push", address(server, token), f"HEAD:refs/heads/from-{token}")
        assert (done.returncode == 0) == (not said), done.stderr
        assert said in done.stderr
    assert [name for name in widget.git.refs() if "from" in name] == ["refs/heads/from-ghp_ann"]

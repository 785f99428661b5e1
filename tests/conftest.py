"""Fixtures for every test."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from small_project import CASES, GATE_TOML, PAGES, QA, Project

# A busy machine is no failure; and what CI finds once, everybody finds.
hypothesis.settings.register_profile("gate", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("gate")


@pytest.fixture
def empty_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """The small project without a baseline and without git."""
    project = Project(tmp_path / "project", capsys, [dict(case) for case in CASES])
    for name, text in PAGES.items():
        project.write(f"docs/{name}.md", text)
    project.save_cases()
    project.write("eval/qa.jsonl", "".join(json.dumps(question) + "\n" for question in QA))
    project.write("gate.toml", GATE_TOML)
    return project


@pytest.fixture
def project(empty_project: Project) -> Project:
    """The small project with a recorded baseline, committed on `main`; the work tree is a clean branch `change`."""
    done = empty_project.gate("baseline")
    assert done.code == 0, done.err
    empty_project.git("init", "--quiet", "--initial-branch", "main")
    empty_project.commit("base")
    empty_project.git("checkout", "--quiet", "-b", "change")
    return empty_project


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine that runs the tests reaches the gate."""
    for name in list(os.environ):
        if name.startswith(("GATE_", "GITHUB_")) and name not in ("GATE_GOLDEN", "GATE_SHARED_DATA"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _own_modules(tmp_path: Path) -> Iterator[None]:
    """A project's own code is imported afresh in each test, although all run in one process."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]

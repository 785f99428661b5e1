"""The same inputs are the same bytes: report, comment and baseline, whatever the hash seed and the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_project import Project

FILES = ("report.json", "comment.md", "baselines/docs.json")


def in_a_process(project: Project, seed: str, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-m", "gate", *arguments],
        cwd=project.root,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()


@pytest.mark.parametrize("state", ["clean", "regression"])
def test_two_processes_write_the_same_bytes(project: Project, state: str) -> None:
    if state == "regression":
        project.remove("docs/config.md")
    written = []
    for seed in ("1", "4242"):
        in_a_process(
            project,
            seed,
            "run",
            "--base",
            "main",
            "--sweep",
            "1,3",
            "--json",
            "report.json",
            "--markdown",
            "comment.md",
        )
        if state == "clean":
            in_a_process(project, seed, "baseline")
        written.append({name: (project.root / name).read_bytes() for name in FILES})
    assert written[0] == written[1]


def test_the_report_names_no_folder_of_the_machine(project: Project) -> None:
    done = project.gate("run", "--base", "main", "--json", "-")
    assert str(project.root) not in done.out
    assert str(Path.home()) not in done.out

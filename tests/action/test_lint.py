"""What linters of workflows find in action.yml, in this repository's workflows and in those that `gate init` writes: nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from action.job import ACTION
from small_project import REPOSITORY

OWN = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))


def tool(name: str) -> str:
    """The program on the path, or the one installed beside this interpreter."""
    beside = Path(sys.executable).parent / name
    found = shutil.which(name) or (str(beside) if beside.exists() else None)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(folder: Path, *command: str) -> tuple[int, str]:
    quiet = {"NO_COLOR": "1", "HOME": str(folder), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=quiet, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of a user after `gate init`."""
    root = tmp_path_factory.mktemp("user") / "repository"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "install.md").write_text("# Install\n\nRun the installer.\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "main"], cwd=root, check=True)
    code, said = run(root, sys.executable, "-I", str(REPOSITORY / "gate" / "__main__.py"), "init")
    assert code == 0, said
    return root


def workflows(repository: Path) -> list[Path]:
    found = sorted((repository / ".github" / "workflows").glob("*.yml"))
    assert found
    return [*OWN, *found]


def test_zizmor_finds_nothing(repository: Path) -> None:
    paths = [str(path) for path in [ACTION, *workflows(repository)]]
    code, said = run(repository, tool("zizmor"), "--offline", "--no-progress", "--color=never", "--", *paths)
    assert code == 0, said


def test_actionlint_finds_nothing(repository: Path) -> None:
    code, said = run(REPOSITORY, tool("actionlint"), "-no-color", *map(str, OWN)) if OWN else (0, "")
    assert code == 0, said
    code, said = run(repository, tool("actionlint"), "-no-color")
    assert code == 0, said


def test_the_schemas_of_github_are_kept(repository: Path) -> None:
    check = tool("check-jsonschema")
    code, said = run(repository, check, "--builtin-schema", "vendor.github-actions", str(ACTION))
    assert code == 0, said
    code, said = run(
        repository, check, "--builtin-schema", "vendor.github-workflows", *map(str, workflows(repository))
    )
    assert code == 0, said


def test_the_stand_ins_are_actions_too(repository: Path) -> None:
    stand_ins = sorted(Path(__file__).with_name("stand-ins").rglob("action.yml"))
    check = tool("check-jsonschema")
    code, said = run(repository, check, "--builtin-schema", "vendor.github-actions", *map(str, stand_ins))
    assert code == 0, said

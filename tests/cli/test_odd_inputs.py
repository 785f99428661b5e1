"""Every row of `odd_inputs.TABLE`, in a fresh small project."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from small_project import Outcome, Project


def _table() -> Any:
    """The module beside this one; tests are no package and are found by their file."""
    place = Path(__file__).with_name("odd_inputs.py")
    spec = importlib.util.spec_from_file_location("odd_inputs", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["odd_inputs"] = module
    spec.loader.exec_module(module)
    return module


odd_inputs = _table()

# Beside the problems themselves: argparse's usage, and how many there were.
SUMMARY = re.compile(r"\d+ problems\. Nothing was measured and nothing was written\.")


def problems(err: str) -> list[str]:
    """The messages on standard error, one a line."""
    lines = [line for line in err.splitlines() if not SUMMARY.fullmatch(line)]
    if any(line.startswith("usage: ") for line in lines):
        return [line for line in lines if re.match(r"gate( \w+)?: error: ", line)]
    return lines


def findings(done: Outcome) -> list[dict[str, Any]]:
    return [finding for suite in json.loads(done.out)["suites"] for finding in suite["findings"]]


def test_the_table_is_long_enough_and_its_names_are_its_own() -> None:
    assert len(odd_inputs.TABLE) >= 60
    assert len({row.name for row in odd_inputs.TABLE}) == len(odd_inputs.TABLE)


@pytest.mark.parametrize("row", odd_inputs.TABLE, ids=lambda row: row.name)
def test_an_odd_input(row: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if row.not_as_root and os.geteuid() == 0:
        pytest.skip("root may read everything")
    project: Project = request.getfixturevalue("project" if row.start == "recorded" else "empty_project")
    row.change(project)
    for name, value in row.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # user code of another row
    before = project.files()

    done = project.gate(*shlex.split(row.command))

    assert done.code == row.code, (done.err, done.out[:2000])
    assert "Internal error" not in done.err
    if "--debug" not in row.command:
        assert "Traceback" not in done.err
    if row.verdict is None:
        said = problems(done.err)
        said = said[-1:] if "--debug" in row.command else said
    else:
        assert json.loads(done.out)["verdict"] == row.verdict
        assert done.err == ""
        said = [found["text"] for found in findings(done) if found["level"] in _LEVELS[row.code != 0]]
    assert len(said) == len(row.says) or (row.code == 0 and len(said) > len(row.says)), said
    for part in row.says:
        assert sum(part in text for text in said) == 1, (part, said)
    assert project.files() == before


_LEVELS = {True: ("regression", "invalid", "not_measured"), False: ("notice", "warning", "banner")}

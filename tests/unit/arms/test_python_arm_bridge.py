"""The bridge file: any Python from 3.8 on reads it, and it needs nothing but the standard library."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gate.arms import _bridge, _bridge_python

SOURCE = _bridge.FILE.read_text(encoding="utf-8")
PYTHONS = [f"python3.{minor}" for minor in (8, 9, 10, 11, 12, 13, 14)]


def test_it_is_python_3_8() -> None:
    ast.parse(SOURCE, feature_version=(3, 8))


def test_it_imports_the_standard_library_only_and_at_the_top() -> None:
    tree = ast.parse(SOURCE)
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in found if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in found if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} - {"__future__"} <= sys.stdlib_module_names
    assert all(node in tree.body for node in found), "a later import could find a file beside gate.toml"
    calls = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"eval", "exec", "compile", "__import__"}
    assert "pickle" not in names


def test_both_sides_speak_the_same_version() -> None:
    assert _bridge_python.PROTOCOL == _bridge.PROTOCOL


@pytest.mark.parametrize("name", PYTHONS)
def test_it_runs_in_every_python_of_this_machine(name: str, tmp_path: Path) -> None:
    kept = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}.*/bin/python"))
    interpreter = str(kept[-1]) if kept else shutil.which(name)
    probe = [interpreter or "", "-I", "-c", "import sys; print(*sys.version_info[:2])"]
    if interpreter is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip(f"no {name} here")
    (tmp_path / "mine.py").write_text(
        "print('hello')\nasync def search(query, pool): return [('errors', 0.5), {'id': query}]\n"
    )
    lines = [
        {"protocol": 1, "kind": "search", "target": "mine:search", "options": {}},
        {"id": 1, "query": "ünï", "pool": 5},
    ]
    done = subprocess.run(
        [interpreter, "-W", "error", str(_bridge.FILE)],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    hello, ready, answer = map(json.loads, done.stdout.splitlines())
    assert f"python{hello['python']}".startswith(f"{name}.")
    assert ready == {"ready": True}
    assert answer == {
        "id": 1,
        "hits": [
            {"ids": ["errors"], "chunk": "errors", "text": "", "score": 0.5},
            {"ids": ["ünï"], "chunk": "ünï", "text": "", "score": None},
        ],
    }
    assert (done.returncode, done.stderr) == (0, "hello\n")


def test_it_ends_when_nobody_speaks_to_it() -> None:
    done = subprocess.run(
        [sys.executable, str(_bridge.FILE)],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(json.loads(done.stdout)) == ["protocol", "python"]

"""Imports go downward only, the pure groups touch nothing outside, and heavy packages load only where they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

GATE = Path(__file__).resolve().parents[2] / "gate"

# From the bottom up; a module may import its own layer and those below it. Within a layer order is free.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("gate", "gate.errors", "gate.model"),
    ("gate.metrics", "gate.stats"),
    (
        "gate.harness",
        "gate.diagnosis",
        "gate.compare",
        "gate.drift",
        "gate.explain",
        "gate.history",
        "gate.judged",
        "gate.noise",
        "gate.renames",
        "gate.rescoring",
        "gate.situation",
        "gate.acceptance",
        "gate.absence",
        "gate.edits",
        "gate.summary",
        "gate.policies",
    ),
    (
        "gate.registry",
        "gate.arms",
        "gate.embedders",
        "gate.generation",
        "gate.corpus",
        "gate.store",
        "gate.report",
        "gate.github",
        "gate.labelling",
    ),
    ("gate.api", "gate.commands"),
    ("gate.cli",),
    ("gate.__main__",),
)
PURE = range(3)
# What a pure module may not import: files, clock, environment, network, randomness.
IMPURE = {
    "os", "io", "pathlib", "sys", "time", "datetime", "random", "secrets", "socket", "ssl", "http", "urllib", "subprocess",
    "tempfile", "shutil", "glob", "threading", "multiprocessing", "asyncio", "importlib", "pkgutil", "logging",
    "openai", "github", "jinja2", "rank_bm25",
}  # fmt: skip


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(GATE.rglob("*.py")):
        parts = ("gate", *path.relative_to(GATE).with_suffix("").parts)
        yield ".".join(parts).removesuffix(".__init__"), path


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            if node.module in ("gate", *(layer for group in LAYERS for layer in group)):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def layer(module: str) -> int:
    best, found = -1, -1
    for level, group in enumerate(LAYERS):
        for name in group:
            if (module == name or module.startswith(name + ".")) and len(name) > best:
                best, found = len(name), level
    # A bare `gate` match is the package itself, not a module that nobody placed.
    assert found >= 0, module
    assert best > len("gate") or module in ("gate", "gate.__version__"), f"{module} is in no layer"
    return found


def exists(module: str) -> bool:
    path = GATE.parent.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize(
    ("module", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_imports_go_downward(module: str, path: Path) -> None:
    for target in imports(path):
        if target.split(".")[0] == "gate" and exists(target):
            assert layer(target) <= layer(module), f"{module} imports {target}, which is above it"


@pytest.mark.parametrize("module", [name for name, _ in modules() if layer(name) in PURE])
def test_pure_modules_touch_nothing(module: str) -> None:
    path = dict(modules())[module]
    used = {target.split(".")[0] for target in imports(path) if target != "urllib.parse"}
    assert not used & IMPURE, f"{module} imports {sorted(used & IMPURE)}"
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "input", "print", "eval", "exec", "__import__"}


def needed_by(module: str) -> set[str]:
    """Every module of ours that a module imports, at once or later, itself or through another."""
    paths, found, left = dict(modules()), set(), [module]
    while left:
        for target in imports(paths[left.pop()]):
            if target in paths and target not in found:
                found.add(target)
                left.append(target)
    return found


def test_the_step_about_a_fork_has_nothing_that_pushes() -> None:
    needed = needed_by("gate.commands._fork")
    assert "gate.github.tree" in needed
    assert "gate.github.propose" not in needed
    assert "gate.github.propose" in needed_by("gate.commands._propose")


def test_only_gate_is_a_package_with_an_init_file() -> None:
    assert [path.relative_to(GATE).as_posix() for path in GATE.rglob("__init__.py")] == ["__init__.py"]


def loaded_by(code: str) -> set[str]:
    """Top-level packages that are loaded after running `code` in a fresh process."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=GATE.parent
    )
    return set(done.stdout.split())


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_by(
        "import contextlib, io\nfrom gate import cli\nwith contextlib.redirect_stdout(io.StringIO()):\n  cli.main(['schema', 'report'])"
    )
    assert not loaded & {"numpy", "openai", "github", "jinja2", "rank_bm25", "requests", "scipy", "shtab"}


CLIENTS = {"openai", "github", "rank_bm25", "requests", "scipy", "multiprocessing", "shtab"}


@pytest.mark.parametrize(
    ("flags", "more"),
    [((), {"wordllama", "torch"}), (("--arm", "keyword"), {"tokenizers", "wordllama", "onnxruntime"})],
    ids=["all arms", "keyword"],
)
def test_a_run_loads_neither_clients_nor_scorers_nor_models_it_does_not_need(
    flags: tuple[str, ...], more: set[str]
) -> None:
    code = (
        "import contextlib, io, os\nfrom gate import cli\n"
        f"os.chdir({str(GATE.parent)!r})\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n  assert cli.main(['run', *{flags}]) == 0"
    )
    assert not loaded_by(code) & (CLIENTS | more)

"""gate.toml, or [tool.gate] in pyproject.toml: found, parsed and checked whole, with the nearest name for a typo."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from gate.errors import InputError, Problem, raise_all
from gate.model.settings import Settings, SuiteSettings
from gate.store import faults
from gate.store.text import read_text, told, unparsed

GATE_TOML = "gate.toml"
PYPROJECT = "pyproject.toml"


class Config(NamedTuple):
    """The settings and the folder their paths are relative to. `shown` names the file in messages."""

    settings: Settings
    root: Path
    shown: str


def find(start: Path) -> Path:
    """The config of `start` or of its nearest parent that has one; both forms in one folder are an error."""
    for folder in (start, *start.parents):
        path = _in_folder(folder)
        if path is not None:
            return path
        if (folder / ".git").exists():
            break
    raise InputError(
        Problem(
            GATE_TOML,
            "no gate.toml and no [tool.gate] in pyproject.toml, here or above",
            "Make one with 'gate init', or name it with --config.",
        )
    )


def _in_folder(folder: Path) -> Path | None:
    gate_toml, pyproject = folder / GATE_TOML, folder / PYPROJECT
    has_table = pyproject.is_file() and has_tool_table(read_text(pyproject, PYPROJECT), PYPROJECT)
    if gate_toml.is_file() and has_table:
        raise _both()
    if gate_toml.is_file():
        return gate_toml
    return pyproject if has_table else None


def _both() -> InputError:
    return InputError(
        Problem(
            PYPROJECT,
            "both gate.toml and [tool.gate] are present",
            "Keep one of them, so that nobody reads the other.",
        )
    )


def has_tool_table(text: str, shown: str) -> bool:
    """Whether this pyproject.toml has a [tool.gate] table. A file that cannot be parsed and might have one is an error."""
    return "gate" in text and _tool_table(parse_toml(text, shown)) is not None


def _tool_table(table: Mapping[str, Any]) -> Any:
    tool = table.get("tool")
    return tool.get("gate") if isinstance(tool, dict) else None


def load(path: Path) -> Config:
    """Read one config file, or the one in a folder, whole. Every problem in it is reported at once."""
    if os.path.isdir(path):  # noqa: PTH112 - unlike Path.is_dir, no fault for a name too long
        found = _in_folder(path)
        if found is None:
            what = "this folder has no gate.toml and no [tool.gate] in a pyproject.toml"
            raise InputError(Problem(str(path), what, "Make one with 'gate init', or name another folder."))
        path = found
    elif path.name in (GATE_TOML, PYPROJECT) and path.is_file():
        _in_folder(path.parent)
    shown = path.name
    settings = parse(read_text(path, shown), path.name, shown)
    return Config(settings, path.resolve().parent, shown)


def parse(text: str, name: str, shown: str) -> Settings:
    """The settings in the text of a gate.toml, or of a pyproject.toml when that is its file `name`."""
    table: Any = parse_toml(text, shown)
    if name == PYPROJECT:
        table = _tool_table(table)
        if not isinstance(table, dict):
            raise InputError(Problem(shown, "has no [tool.gate] table", "Write one, or name a gate.toml."))
    return check(table, shown)


def parse_toml(text: str, shown: str) -> dict[str, Any]:
    """The table in a TOML text."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(Problem(shown, f"not TOML ({unparsed(fault)})", "Mend that line.")) from fault


def check(table: Mapping[str, Any], shown: str) -> Settings:
    """Typed settings of a parsed table; all problems at once."""
    prepared = _prepare(table)
    settings: Settings = typed(Settings, prepared, shown, named=True)
    problems = [
        problem for name, suite in settings.suite.items() for problem in _check_suite(name, suite, shown)
    ]
    problems += _check_baselines(settings, shown)
    raise_all(problems)
    return settings


def _prepare(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its short forms written out: one case file as a string, the default baseline path."""
    prepared = dict(table)
    suites = prepared.get("suite")
    if not isinstance(suites, dict):
        return prepared
    prepared["suite"] = {}
    for name, suite in suites.items():
        full = dict(suite) if isinstance(suite, dict) else suite
        if isinstance(full, dict):
            if isinstance(full.get("cases"), str):
                full["cases"] = [full["cases"]]
            full.setdefault("baseline", f"baselines/{name}.json")
        prepared["suite"][name] = full
    return prepared


def _check_suite(name: str, suite: SuiteSettings, shown: str) -> list[Problem]:
    where = f"{shown} [suite.{name}]"
    problems = []
    if suite.k > suite.pool:
        problems.append(
            Problem(where, f"k is larger than the pool ({suite.k} > {suite.pool})", "Raise pool or lower k.")
        )
    if suite.context > suite.pool:
        problems.append(
            Problem(
                where,
                f"context is larger than the pool ({suite.context} > {suite.pool})",
                "Raise pool or lower context.",
            )
        )
    if len(set(suite.cases)) < len(suite.cases):
        problems.append(Problem(where, "a case file is listed twice in 'cases'", "List each file once."))
    if not any(arm.gate for arm in suite.arms.values()):
        problems.append(Problem(where, "no arm has gate = true", "A suite needs an arm that decides."))
    elif not any(arm.gate and arm.required for arm in suite.arms.values()):
        problems.append(
            Problem(
                where,
                "no gated arm is required",
                "Let at least one gated arm be required, or nothing may be measured.",
            )
        )
    return problems


def _check_baselines(settings: Settings, shown: str) -> Iterator[Problem]:
    """Each suite has a JSON file of its own; another one would be written over."""
    owners: dict[str, str] = {}
    for name, suite in settings.suite.items():
        where = f"{shown} [suite.{name}]"
        if PurePosixPath(suite.baseline).suffix != ".json":
            todo = "Name a file of its own, such as 'baselines/docs.json'."
            yield Problem(where, f"'baseline' does not end in .json ({told(suite.baseline)})", todo)
        owner = owners.setdefault(os.path.normpath(suite.baseline), name)
        if owner != name:
            what = f"has the same baseline as the suite '{owner}' ({told(suite.baseline)})"
            yield Problem(where, what, "Give each suite its own.")


def typed(model: type[BaseModel], raw: Mapping[str, Any], where: str, *, named: bool = False) -> Any:
    """`raw` as a settings class; its problems in our words. With `named` they say which table they stand in."""
    try:
        # Strict mode reads a JSON array as a tuple and still refuses "5" for 5; a TOML date becomes a text.
        return model.model_validate_json(json.dumps(raw, default=str))
    except RecursionError as fault:
        raise InputError(Problem(where, "is nested too deeply", "Write it flat.")) from fault
    except ValidationError as fault:
        raise InputError(faults.explain(fault, raw, where, model, named=named)) from None

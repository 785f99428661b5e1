"""gate.toml, or [tool.gate] in pyproject.toml: found, parsed and checked whole, with the nearest name for a typo."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.model.settings import OpenArmSettings, OpenPolicySettings, Settings, SuiteSettings
from gate.store.text import read_text

GATE_TOML = "gate.toml"
PYPROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Config:
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
        Problem(PYPROJECT, "both gate.toml and [tool.gate] are present", "Keep one of them, so that nobody reads the other.")
    )


def has_tool_table(text: str, shown: str) -> bool:
    """Whether this pyproject.toml has a [tool.gate] table. A file that cannot be parsed has one if it says so."""
    if "tool.gate" not in text and "[tool" not in text:
        return False
    return "gate" in _parse(text, shown).get("tool", {})


def load(path: Path) -> Config:
    """Read one config file whole. Every problem in it is reported at once."""
    if path.is_dir():
        path = _in_folder(path) or path / GATE_TOML
    elif path.name in (GATE_TOML, PYPROJECT) and path.is_file():
        _in_folder(path.parent)
    shown = path.name
    settings = parse(read_text(path, shown), path.name, shown)
    return Config(settings, path.resolve().parent, shown)


def parse(text: str, name: str, shown: str) -> Settings:
    """The settings in the text of a gate.toml, or of a pyproject.toml when that is its file `name`."""
    table = _parse(text, shown)
    if name == PYPROJECT:
        table = table.get("tool", {}).get("gate", {})
    return check(table, shown)


def _parse(text: str, shown: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise InputError(Problem(shown, f"not TOML ({fault})", "Mend that line.")) from fault


def check(table: Mapping[str, Any], shown: str) -> Settings:
    """Typed settings of a parsed table; all problems at once."""
    prepared = _prepare(table)
    try:
        settings = Settings.model_validate_json(_as_json(prepared))
    except ValidationError as fault:
        raise InputError(explain(fault, prepared, shown, Settings)) from None
    problems: list[Problem] = []
    for name, suite in settings.suite.items():
        problems += _check_suite(name, suite, shown)
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
        problems.append(Problem(where, f"k is larger than the pool ({suite.k} > {suite.pool})", "Raise pool or lower k."))
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
    if not any(arm.gate and arm.required for arm in suite.arms.values()):
        problems.append(
            Problem(where, "no gated arm is required", "Let at least one gated arm be required, or nothing may be measured.")
        )
    return problems


def _as_json(table: Mapping[str, Any]) -> str:
    # Strict mode reads a JSON array as a tuple and still refuses "5" for 5; a TOML date becomes a text.
    return json.dumps(table, default=str)


def typed(model: type[BaseModel], raw: Mapping[str, Any], where: str) -> Any:
    """`raw` as the settings class of an arm, policy or chunker; its problems named like all others."""
    try:
        return model.model_validate_json(_as_json(raw))
    except ValidationError as fault:
        raise InputError(explain(fault, raw, where, model, table=False)) from None


_TYPE_WORDS = {
    "int_type": "not a whole number",
    "int_from_float": "not a whole number",
    "int_parsing": "not a whole number",
    "float_type": "not a number",
    "float_parsing": "not a number",
    "string_type": "not a text",
    "bool_type": "not true or false",
    "bool_parsing": "not true or false",
    "dict_type": "not a table",
    "model_type": "not a table",
    "model_attributes_type": "not a table",
    "tuple_type": "not a list",
    "string_too_short": "empty",
    "too_short": "empty",
    "missing": "missing",
    "finite_number": "not a finite number",
}


def explain(
    fault: ValidationError, raw: Mapping[str, Any], where: str, model: type[BaseModel], *, table: bool = True
) -> list[Problem]:
    """Pydantic's errors in our words, one problem per key."""
    problems: dict[tuple[str, str], Problem] = {}
    for error in fault.errors():
        path = [str(part) for part in error["loc"] if part != "[key]"]
        parents, key = path[:-1], path[-1] if path else ""
        place = f"{where} [{'.'.join(parents)}]" if parents and table else where
        if parents and not table:
            key = ".".join(path)
        if error["type"] == "extra_forbidden":
            known = _known_keys(model, parents)
            problem = Problem(place, f"unknown key '{key}'", did_you_mean(key, known))
        elif error["type"] == "missing":
            problem = Problem(place, f"'{key}' is missing", f"Add it: {key} = ...")
        elif error["loc"] and error["loc"][-1] == "[key]":
            problem = Problem(place, f"{key!r} is no name", "Use letters, digits, '.', '_' and '-', at most 64.")
        else:
            word = _TYPE_WORDS.get(error["type"]) or error["msg"][:1].lower() + error["msg"][1:]
            problem = Problem(place, f"'{key}' is {_article(word)} ({_shown_value(error['input'])})", "Mend it.")
        problems.setdefault((problem.where, problem.what), problem)
    return list(problems.values())


def _article(word: str) -> str:
    return word.replace("input should be", "wrong: it should be")


def _shown_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _known_keys(model: type[BaseModel], parents: Sequence[str]) -> list[str]:
    """The keys that the settings class at this place has."""
    current: type[BaseModel] | None = model
    steps = list(parents)
    while steps and current is not None:
        step = steps.pop(0)
        if current is Settings and step == "suite":
            current = SuiteSettings
            steps = steps[1:]
        elif current is SuiteSettings and step == "arms":
            current = OpenArmSettings
            steps = steps[1:]
        elif current is SuiteSettings and step == "policy":
            current = OpenPolicySettings
        else:
            current = None
    return sorted(current.model_fields) if current is not None else []

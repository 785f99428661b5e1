"""What pydantic finds wrong with settings, in our words: one problem per key, with the nearest name for a typo."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gate.errors import Problem, did_you_mean, nearest
from gate.store.text import told

# The kinds of wrong type: what was wanted, and how that is written.
_WANTED = {
    "int_type": ("a whole number", "Write it without quotes, such as 5."),
    "float_type": ("a number", "Write it without quotes, such as 0.5."),
    "bool_type": ("true or false", "Write it without quotes."),
    "string_type": ("a text", "Write it in quotes."),
    "dict_type": ("a table", "Write it as a table."),
    "model_type": ("a table", "Write it as a table."),
    "tuple_type": ("a list", "Write it in brackets: [...]."),
}
_ALIKE = {"int_from_float": "int_type", "int_parsing": "int_type", "model_attributes_type": "model_type"}
_BOUNDS = {"greater_than_equal": ("below", "ge"), "less_than_equal": ("over", "le")}
# Tables that hold tables which the user names.
_NAMED = {"suite": "[suite.NAME]", "arms": "[suite.SUITE.arms.NAME] with a type"}

Loc = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an error stands. `parents`: the tables around it. `entry`: the table of a list ([[...]]) that it lies in.

    `key`: its own key; empty where the whole entry is wrong. `item`: the value of a list that is wrong.
    """

    parents: tuple[str, ...] = ()
    key: str = ""
    entry: int | None = None
    item: int | None = None

    def where(self, where: str, named: bool) -> str:
        if self.entry is not None:
            return f"{where}, entry {self.entry}"
        return f"{where} [{'.'.join(self.parents)}]" if named and self.parents else where

    def name(self, named: bool) -> str:
        around = () if named else self.parents
        key = f"'{'.'.join((*around, self.key))}'" if self.key else "it"
        return key if self.item is None else f"value {self.item} of {key}"


def explain(
    fault: ValidationError, raw: Mapping[str, Any], where: str, model: type[BaseModel], *, named: bool = False
) -> list[Problem]:
    """Every error of `fault` as a problem.

    Args:
        fault: what pydantic raised for `raw`.
        raw: the table as it was written.
        where: begins each message.
        model: the settings class.
        named: whether a message says in which table of the file the key stands.
    """
    problems: dict[tuple[str, str], Problem] = {}
    wanted: dict[_Place, list[tuple[str, str]]] = {}
    values: dict[_Place, Any] = {}
    for error in fault.errors(include_url=False):
        if error["type"] == "too_short" and error["input"]:
            continue  # nothing is left since what was there is wrong, and reported
        place = _place(error["loc"], raw)
        kind = _ALIKE.get(error["type"], error["type"])
        if kind in _WANTED:  # each member of a union complains of its own
            wanted.setdefault(place, []).append(_WANTED[kind])
            values[place] = error["input"]
            continue
        what, todo = _said(error, kind, place.name(named), _keys(model, error["loc"][:-1]))
        problem = Problem(place.where(where, named), what, todo)
        problems.setdefault((problem.where, problem.what), problem)
    for place, ways in wanted.items():
        words = " or ".join(dict.fromkeys(word for word, _ in ways))
        what = f"{place.name(named)} is not {words} ({told(values[place])})"
        problems[place.where(where, named), what] = Problem(place.where(where, named), what, ways[0][1])
    return list(problems.values())


def _said(error: Any, kind: str, name: str, known: Sequence[str]) -> tuple[str, str]:
    """What is wrong and what to do about it, for every kind of error but a wrong type."""
    key, value = str(error["loc"][-1]) if error["loc"] else "", error["input"]
    if key == "[key]":
        todo = "Use letters, digits, '.', '_' and '-', at most 64, the first a letter or digit."
        return f"{told(value)} cannot be a name", todo
    if kind == "extra_forbidden":
        return f"unknown key {name}", did_you_mean(key, known)
    if kind == "missing" and (near := nearest(key, [other for other in value if other not in known])):
        return f"unknown key {name.replace(key, near)}", f"Did you mean '{key}'?"
    if kind in ("missing", "too_short") and key in _NAMED:
        return f"has no {key.removesuffix('s')}", f"Add a table {_NAMED[key]}."
    if kind == "missing":
        return f"{name} is missing", f"Add it: {key} = ..."
    if kind == "too_short":
        return f"{name} is empty", "Name at least one."
    return _bad_value(error, kind, name)


def _bad_value(error: Any, kind: str, name: str) -> tuple[str, str]:
    """A value of the right type that cannot be."""
    value, context, said = error["input"], error.get("ctx", {}), told(error["input"])
    if kind == "literal_error":
        options = re.findall(r"'([^']*)'", context["expected"])
        return f"{name} cannot be {said}", did_you_mean(value if isinstance(value, str) else "", options)
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return (
            f"{name} is {word} {context[bound]:g} ({said})",
            f"Write {context[bound]:g} or {_BEYOND[bound]}.",
        )
    if kind == "finite_number":
        return f"{name} is not a finite number ({said})", "Write a number such as 0.5."
    if kind == "value_error":
        return f"{name} {context['error']}" + ("" if isinstance(value, dict) else f" ({said})"), ""
    return f"{name} is wrong: {error['msg'][:1].lower()}{error['msg'][1:]} ({said})", ""


_BEYOND = {"ge": "more", "le": "less"}


def _place(loc: Loc, raw: Any) -> _Place:
    """Where `loc` is in what was written. Pydantic names the members of a union there too; those are no keys."""
    keys: list[str] = []
    entry = item = None
    for step in loc:
        if isinstance(raw, Mapping) and isinstance(step, str) and step != "[key]":
            keys.append(step)
            raw = raw.get(step)
        elif isinstance(raw, Sequence) and isinstance(step, int) and step < len(raw):
            raw = raw[step]
            if isinstance(raw, Mapping):
                keys, entry = [], step + 1
            else:
                item = step + 1
        else:
            break
    return _Place(tuple(keys[:-1]), keys[-1] if keys else "", entry, item)


def _keys(model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys that the settings class at `loc` has; none where there is no class."""
    current: Any = model
    for step in loc:
        if get_origin(current) is dict:
            current = get_args(current)[1]
        elif get_origin(current) is tuple:
            current = get_args(current)[0]
        elif isinstance(current, type) and issubclass(current, BaseModel) and step in current.model_fields:
            current = current.model_fields[str(step)].annotation
        else:
            return []
    return (
        sorted(current.model_fields) if isinstance(current, type) and issubclass(current, BaseModel) else []
    )

"""Names to code: the file name is the registry, and `package.module:name` reaches code outside this repository.

A new metric, arm, policy, chunker or reader is one new file in its folder. A name with `-` is the file with `_`.
Files that begin with an underscore are parts of others, not entries.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

from gate.errors import InputError, Problem, did_you_mean

_PACKAGES = {
    "arms": "gate.arms",
    "chunkers": "gate.corpus.chunkers",
    "embedders": "gate.embedders",
    "metrics": "gate.metrics",
    "policies": "gate.policies",
    "readers": "gate.corpus.readers",
}


@cache
def names(folder: str) -> tuple[str, ...]:
    """The entries of one folder, sorted, without importing any of them."""
    package = importlib.import_module(_PACKAGES[folder])
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name.replace("_", "-") for name in found if not name.startswith("_")))


def load(folder: str, name: str, where: str, root: Path | None = None) -> Any:
    """The module (or outside object) called `name`. `where` begins the error message when there is none.

    `root` is put in front of the import path while an outside name is imported, so that code beside gate.toml is
    found. An unknown name is an InputError with the nearest one.
    """
    if ":" in name:
        _refuse_in_the_action(folder, name, where)
        return _outside(name, where, root)
    if name not in names(folder):
        raise InputError(
            Problem(where, f"no such {_SINGULAR[folder]} ({name!r})", did_you_mean(name, names(folder)))
        )
    return importlib.import_module(f"{_PACKAGES[folder]}.{name.replace('-', '_')}")


_SINGULAR = {
    "arms": "arm type",
    "chunkers": "chunker",
    "embedders": "embedder",
    "metrics": "metric",
    "policies": "policy rule",
    "readers": "reader",
}


def _refuse_in_the_action(folder: str, name: str, where: str) -> None:
    """There the gate's process has keys that the code of a pull request must not see."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    what = (
        f"{_SINGULAR[folder]} {name!r} would run in the gate's own process, which the Action does not allow"
    )
    todo = 'Use an arm with type = "python" and target = "package.module:function"; it runs in a process of its own.'
    raise InputError(Problem(where, what, todo))


def _outside(name: str, where: str, root: Path | None) -> Any:
    module_name, _, attribute = name.partition(":")
    added = str(root) if root is not None and str(root) not in sys.path else None
    if added is not None:
        sys.path.insert(0, added)
    try:
        value: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (Exception, SystemExit) as fault:  # importing runs the user's code, which may raise anything
        reason = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
        absent = isinstance(fault, (ImportError, AttributeError, ValueError))
        todo = "Name it as 'package.module:name', importable from here." if absent else "Mend that code."
        raise InputError(Problem(where, f"cannot import {name!r} ({reason})", todo)) from fault
    finally:
        if added is not None:
            sys.path.remove(added)
    return value

"""Says what a vector of the user's code depends on, as far as files show it, without running any of that code.

Only the standard library, and only what Python 3.8 reads: it runs in the user's interpreter, in the folder of gate.toml.

    -> {"module": "package.module", "folder": ""}       either may be empty
    <- {"facts": "64 hex digits"}

Digested are the version of Python, the names and versions of the installed packages (the names of their `.dist-info`
folders), the source of the top-level module or package that `module` begins with, and every file of `folder`.
"""

from __future__ import annotations

import os
import sys

# The interpreter puts this file's folder in front of the import path.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):  # noqa: PTH120
    del sys.path[0]

import hashlib
import importlib.machinery
import json
from collections.abc import Iterator
from typing import Any

BLOCK = 1 << 20


def packages() -> list[str]:
    """The installed packages, each as `name-version.dist-info`."""
    found: set[str] = set()
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208
        except OSError:
            continue
        found.update(name for name in names if name.endswith((".dist-info", ".egg-info")))
    return sorted(found)


def sources(module: str) -> list[str]:
    """The file of a top-level module, or every Python file of a top-level package."""
    spec = importlib.machinery.PathFinder.find_spec(
        module.partition(".")[0],
        [os.getcwd(), *sys.path],  # noqa: PTH109
    )
    if spec is None:
        return []
    folders = list(spec.submodule_search_locations or ())
    if folders:
        return [path for folder in folders for path in files(folder) if path.endswith(".py")]
    return [spec.origin] if spec.origin and os.path.isfile(spec.origin) else []  # noqa: PTH113


def files(folder: str) -> Iterator[str]:
    """Every plain file below a folder, in a fixed order."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(here, name)  # noqa: PTH118
            if os.path.isfile(path):  # noqa: PTH113 - no pipe, no device, no link to nowhere
                yield path


def digest(path: str) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:  # noqa: PTH123
        while True:
            block = file.read(BLOCK)
            if not block:
                return found.hexdigest()
            found.update(block)


def facts(module: str, folder: str) -> str:
    """One digest of it all."""
    told: dict[str, Any] = {
        "python": list(sys.version_info[:3]),
        "packages": packages(),
        "sources": [digest(path) for path in sources(module)] if module else [],
        "folder": [[os.path.relpath(path, folder), digest(path)] for path in files(folder)] if folder else [],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode("ascii")).hexdigest()


def main() -> int:
    order = json.loads(sys.stdin.readline())
    try:
        answer = {"facts": facts(order["module"], order["folder"])}
    except OSError as fault:
        answer = {"error": f"{fault.strerror} ({fault.filename})"}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

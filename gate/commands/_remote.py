"""The gate.toml of a commit that is not checked out, read through the API."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from gate.errors import InputError, Problem
from gate.github.tree import FOLDER, Tree, path_inside
from gate.store import config
from gate.store.text import decode

if TYPE_CHECKING:
    from gate.github.inputs import Inputs
    from gate.model.settings import Settings


class Found(NamedTuple):
    """The settings of one commit, the folder that their paths are relative to, and the file they stand in."""

    settings: Settings
    folder: str
    shown: str


def find_settings(client: Tree, commit: str, inputs: Inputs, branch: str) -> Found:
    """The gate.toml or pyproject.toml of a commit, looked for as `gate run` looks for it in a checkout."""
    start = path_inside("", inputs.working_directory)
    start = "" if start == "." else start
    if inputs.config:
        path = path_inside(start, inputs.config)
        there = client.entry(commit, path) if path != "." else (FOLDER, commit)
        if there is None or there[0] != FOLDER:
            text = client.file(commit, path)
            if text is None:
                raise InputError(Problem(path, f"is not on {branch}", "Mend the input 'config'."))
            folder, name = posixpath.split(path)
            return Found(config.parse(decode(text, path), name, path), folder, name)
        folders = [path]
    else:
        parts = start.split("/") if start else []
        folders = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
    for folder in folders:
        found = _in_folder(client, commit, "" if folder == "." else folder)
        if found is not None:
            return found
    todo = "Mend the inputs 'config' and 'working-directory'."
    raise InputError(Problem(config.GATE_TOML, f"there is none on {branch}, nor a [tool.gate]", todo))


def _in_folder(client: Tree, commit: str, folder: str) -> Found | None:
    texts = {}
    for name in (config.GATE_TOML, config.PYPROJECT):
        path = posixpath.join(folder, name)
        data = client.file(commit, path)
        text = decode(data, path) if data is not None else None
        if text is not None and (name == config.GATE_TOML or config.has_tool_table(text, path)):
            texts[name] = text
    if len(texts) > 1:
        raise InputError(
            Problem(
                posixpath.join(folder, config.PYPROJECT),
                "both gate.toml and [tool.gate] are present",
                "Keep one of them.",
            )
        )
    for name, text in texts.items():
        return Found(config.parse(text, name, posixpath.join(folder, name)), folder, name)
    return None

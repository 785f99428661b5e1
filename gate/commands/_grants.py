"""Which secret may go where in this run (gate.model.grants): read from the base's gate.toml and the Action's inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gate import registry
from gate.errors import InputError, Problem
from gate.model.grants import EVERYTHING, PROVIDER, Grant, Grants, origin
from gate.model.settings import SuiteSettings

OPENAI_KEY = "OPENAI_API_KEY"
HEADERS = "GATE_HEADER_ENV"
OPENAI_URL = "GATE_OPENAI_BASE_URL"


def grants(base: SuiteSettings | None, root: Path, *, against_base: bool) -> Grants:
    """What the arms of one suite may send. Without a base the tree is the person's (or the branch's) own: everything.

    `base`: the suite as the base has it, None where it has none; then only the inputs grant anything.
    """
    if not against_base and not _of_somebody_else(os.environ):
        return EVERYTHING
    told = (*_of_base(base, root), *_of_generate(base)) if base is not None else ()
    sent = {Grant(name, origin(url)) for name, url in told}
    return Grants(frozenset(sent | set(_of_inputs(os.environ, sent))))


# What these run is a commit of the repository's own branches.
_OWN_EVENTS = frozenset(
    {"push", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group", "release"}
)


def _of_somebody_else(environ: Mapping[str, str]) -> bool:
    """Whether the tree is, or may be, a change that nobody has merged, although no base was named."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return False
    return environ.get("GITHUB_EVENT_NAME") not in _OWN_EVENTS or bool(environ.get("INPUT_PULL_REQUEST"))


def _of_base(base: SuiteSettings, root: Path) -> Iterator[tuple[str, str]]:
    """(variable, address) for all that the base's own arms send; "" is a process of the user's code."""
    from gate.commands._typed import typed_arm

    for name, arm in base.arms.items():
        if ":" in arm.type:
            continue  # an arm of the user's own in this process reads what it likes, and never runs in the Action
        where = f"the base's arm '{name}'"
        try:
            yield from credentials(typed_arm(arm, where, root), where, root)
        except InputError:
            continue  # an arm that this version cannot read sends nothing


def _of_generate(base: SuiteSettings) -> Iterator[tuple[str, str]]:
    """The same for the model that answers."""
    from gate.generation.settings import Settings, credentials
    from gate.store import config

    if base.generate is not None:
        try:
            yield from credentials(config.typed(Settings, base.generate, "the base's generate"))
        except InputError:
            return


def credentials(settings: Any, where: str, root: Path | None) -> Iterator[tuple[str, str]]:
    """(variable, address) for all that an arm with these settings sends."""
    told = getattr(registry.load("arms", settings.type, where, root), "credentials", None)
    if told is not None:
        yield from told(settings)


def _of_inputs(environ: Mapping[str, str], sent: set[Grant]) -> Iterator[Grant]:
    """The Action's inputs openai-base-url and allowed-header-env."""
    if environ.get("GITHUB_ACTIONS") == "true":
        yield Grant(OPENAI_KEY, origin(environ.get(OPENAI_URL) or PROVIDER))
    for entry in filter(None, (part.strip() for part in environ.get(HEADERS, "").split(","))):
        name, _, address = (part.strip() for part in entry.partition("="))
        if address and not origin(address):
            raise InputError(
                Problem(
                    "input allowed-header-env",
                    f"{address!r} is no http(s) address",
                    "Write NAME=https://host, or NAME alone.",
                )
            )
        if address:
            yield Grant(name, origin(address))
        else:
            # A name alone: the user's own code, and the addresses that the base's arms send anything to.
            yield Grant(name, "")
            yield from (Grant(name, one.origin) for one in sent if one.origin)

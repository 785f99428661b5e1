"""The base tree of a suite, read through git when it is first needed: its pages, and the arms that cost nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from gate import registry
from gate.commands._measure import Workshop, legs
from gate.commands._project import Project
from gate.commands._typed import typed_arm
from gate.corpus.read import read_corpus
from gate.errors import GateError
from gate.model.grants import NOTHING
from gate.model.page import Corpus
from gate.model.run import Run
from gate.model.settings import OpenArmSettings


class BaseTree:
    """`corpus` and `workshop` are None where there is no base, or where it cannot be read: it then tells nothing."""

    def __init__(self, project: Project, run: Run) -> None:
        self._project, self._run = project, run
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def where(self) -> str:
        """What begins a message about it."""
        base = self._project.base
        return (
            f"{self._project.config.shown} at {base.short}"
            if base is not None
            else self._project.config.shown
        )

    @cached_property
    def corpus(self) -> Corpus | None:
        """The pages as the base has them."""
        base, run = self._project.base, self._run
        if base is None or run.base is None:
            return None
        settings = run.base.settings
        self._folder = tempfile.TemporaryDirectory(prefix="gate-base-")
        try:
            path = base.extract(settings.corpus, Path(self._folder.name))
            if path is None:
                return None
            shown = f"{settings.corpus} at {base.short}"
            return read_corpus(path, shown, settings.reader, self._project.root)
        except GateError:
            return None

    @cached_property
    def workshop(self) -> Workshop | None:
        """The base's embedded arms over its own pages."""
        if self.corpus is None or self._run.base is None:
            return None
        try:
            arms = embedded_arms(self._run.base.settings.arms, self.where, self._project.root)
        except GateError:
            return None
        return Workshop(self.corpus, arms, self.where, self._project.root, NOTHING)

    def close(self) -> None:
        """Let go of the arms and the folder."""
        if "workshop" in self.__dict__ and self.workshop is not None:
            self.workshop.close()
        if self._folder is not None:
            self._folder.cleanup()


def embedded_arms(arms: Mapping[str, OpenArmSettings], where: str, root: Path | None) -> dict[str, Any]:
    """The typed settings of the arms that can be measured again at no cost and without anybody's own code.

    An arm's file says so: `embedded(settings, where, root)`. One that asks others is embedded where all of them are.
    """
    typed: dict[str, Any] = {}
    asked: dict[str, tuple[str, ...]] = {}
    for name, arm in arms.items():
        if ":" in arm.type:
            continue
        module = registry.load("arms", arm.type, where, root)
        told = getattr(module, "embedded", None)
        if told is None:
            continue
        settings = typed_arm(arm, where, root)
        if told(settings, where, root):
            typed[name], asked[name] = settings, legs(module, settings)
    while lacking := [name for name in typed if not all(leg in typed for leg in asked[name])]:
        for name in lacking:
            del typed[name]
    return typed

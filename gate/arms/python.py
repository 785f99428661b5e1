"""The python arm: the user's own function or class, in the user's own interpreter, never in the gate's process.

It runs behind `_bridge` and sees a fixed few of our environment variables, and those that `env` names and the base allows. A
query that gets no answer in time, or during which the process ends, is *not measured*; the process is started again,
three times at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from gate.arms._answers import AnswerError, Pages, is_answer
from gate.arms._bridge import Bridge, Runtime, Target, UserCodeError
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings

__all__ = ["PythonArm", "Settings", "UserCodeError", "build", "credentials"]


class Settings(ArmSettings, Runtime):
    """`target`: `package.module:function`. `options`: what a class is made with."""

    target: Target
    options: dict[str, Any] = Field(default_factory=dict)


def credentials(settings: Settings) -> Iterable[tuple[str, str]]:
    """(variable, "") for what the code is handed."""
    return settings.credentials()


def lacking(settings: Settings, root: Path | None) -> Iterable[str]:
    """What is not on this machine."""
    return settings.lacking(root)


def build(materials: Materials, settings: Settings) -> PythonArm:
    """Start the user's code. What is wrong with it is a reason why the arm is not measured."""
    root: Path = getattr(materials, "root", None) or Path.cwd()
    bridge = Bridge("search", settings.target, settings.options, settings, root, materials.secret)
    arm = PythonArm(bridge, Pages(materials, root))
    arm.start()
    return arm


class PythonArm:
    """The user's retriever behind a process."""

    def __init__(self, bridge: Bridge, pages: Pages) -> None:
        self._bridge = bridge
        self._pages = pages

    @property
    def unknown(self) -> Counter[str]:
        """Pages it named that the corpus does not have, with how often."""
        return self._pages.unknown

    def start(self) -> None:
        """As `Bridge.start`."""
        self._bridge.start()

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        answer = self._bridge.ask({"query": query, "pool": pool}, _form)
        try:
            return self._pages.hits(answer["hits"][:pool])
        except AnswerError as fault:
            raise UserCodeError(str(fault)) from None

    def close(self) -> None:
        """End the process."""
        self._bridge.close()


def _form(answer: Mapping[str, Any]) -> str:
    return "" if is_answer(answer.get("hits")) else "its answer is no list of hits"

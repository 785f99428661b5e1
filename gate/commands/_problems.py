"""Input errors gathered, so that one run of a command shows them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from gate.errors import InputError, Problem, raise_all

T = TypeVar("T")


@dataclass(slots=True)
class Problems:
    """Gathers input errors, so that one run of the command shows them all."""

    found: list[Problem] = field(default_factory=list)

    def attempt(self, action: Callable[[], T]) -> T | None:
        """What `action` returns, or None where it raised an input error."""
        try:
            return action()
        except InputError as fault:
            self.found += [problem for problem in fault.problems if problem not in self.found]
            return None

    def raise_if_any(self) -> None:
        raise_all(self.found)

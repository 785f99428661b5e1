"""A progress line on standard error, for work that takes over a second, and only on a terminal.

Never in a workflow, whose runner may give its steps a terminal: there a workflow command behind an unfinished line is not
obeyed.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Self

SHOW_AFTER_SECONDS = 1.0
REDRAW_SECONDS = 0.1
WIDTH = 30


class Progress:
    """`with Progress("orbit", total) as step: step()`. Draws nothing for quick work or without a terminal."""

    def __init__(self, name: str, total: int) -> None:
        self._name = name
        self._total = max(total, 1)
        self._done = 0
        self._started = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def __call__(self) -> None:
        self._done += 1
        now = time.monotonic()
        if (
            now - self._started > SHOW_AFTER_SECONDS
            and now - self._drawn > REDRAW_SECONDS
            and sys.stderr.isatty()
            and os.environ.get("GITHUB_ACTIONS") != "true"
        ):
            self._drawn = now
            share = min(self._done / self._total, 1.0)
            bar = "#" * round(share * WIDTH)
            sys.stderr.write(f"\r{self._name} [{bar:<{WIDTH}}] {self._done}/{self._total}")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

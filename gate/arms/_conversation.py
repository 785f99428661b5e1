"""A process that is asked one thing after the other, started again when it was lost, three times at most."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from gate.arms._process import Process, ProcessError

RESTARTS = 3


class Conversation:
    """`start` makes a process that is ready to be asked; `timeout` is for one answer, in seconds."""

    def __init__(self, start: Callable[[], Process], timeout: float) -> None:
        self._start = start
        self._timeout = timeout
        self._process: Process | None = None
        self._asked = 0
        self._last_fault = ""
        self.starts = 0

    def open(self) -> None:
        """Start it. What `start` raises is why it cannot be asked."""
        self.starts += 1
        self._process = self._start()

    def ask(
        self, message: Mapping[str, Any], check: Callable[[Mapping[str, Any]], str]
    ) -> tuple[dict[str, Any], Process]:
        """The answer to one message, and the process, which knows what must not be shown of it.

        `check` says what is wrong with the answer's form, or nothing. TimeoutError and ProcessError where the process was
        lost; the next call starts it again.
        """
        process = self._running()
        self._asked += 1
        deadline = time.monotonic() + self._timeout
        try:
            process.send({"id": self._asked, **message}, deadline)
            answer = process.receive(deadline)
            if answer.get("id") != self._asked:
                raise process.broken("it answered a query that was not asked")
            if wrong := check(answer):
                raise process.broken(wrong)
        except TimeoutError:
            what = f"no answer within {self._timeout:g} s"
            self._lose(process, what)
            raise TimeoutError(f"{what}{process.tail()}") from None
        except ProcessError as fault:
            self._lose(process, str(fault))
            raise
        except BaseException:  # an interrupt: what it was about to answer belongs to no later query
            self._lose(process, "interrupted")
            raise
        return answer, process

    def _lose(self, process: Process, what: str) -> None:
        process.kill()
        self._process = None
        self._last_fault = what

    def _running(self) -> Process:
        if self._process is None:
            if self.starts > RESTARTS:
                raise ProcessError(
                    f"not asked: started again {RESTARTS} times, and failed each time (last: {self._last_fault})"
                )
            try:
                self.open()
            except Exception as fault:
                self._last_fault = str(fault)
                raise
        assert self._process is not None
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

"""Work on several things at a time, in threads that nothing waits for once the main thread is interrupted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def side_by_side(
    work: Callable[[T], object], asked: Iterable[T], at_once: int, ended: threading.Event, name: str
) -> None:
    """`work` for each of `asked`, `at_once` at a time; what it raises is lost. Returns when all is done.

    An interrupt (Ctrl-C, the Action's time limit) waits for nothing in flight, as the threads of a
    concurrent.futures pool would make it; it sets `ended`, which keeps the threads from taking up anything more.
    """
    left: queue.SimpleQueue[T] = queue.SimpleQueue()
    for one in asked:
        left.put(one)

    def take() -> None:
        with suppress(queue.Empty):
            while not ended.is_set():
                one = left.get_nowait()
                with suppress(Exception):
                    work(one)

    threads = [
        threading.Thread(target=take, name=name, daemon=True) for _ in range(min(at_once, left.qsize()))
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        ended.set()
        raise

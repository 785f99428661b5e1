"""A process of the user's that answers in lines of JSON: started apart, listened to within limits, and ended for sure.

It gets the environment it is given and no more, a session of its own, and no open file of ours but its three pipes.
Nothing it writes reaches our own output: lines on its standard output are messages, the last lines on its standard
error are kept for the message about a fault, and both are made harmless before they stand in one.
"""

from __future__ import annotations

import json
import os
import queue
import re
import select
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from gate.report.escape import visible

# What a process of the user's may see of our environment without being named in gate.toml.
PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT")
PASSED_PREFIXES = ("LC_",)
# What it never sees, named or not: the runner's files and credentials, our own settings, keys and tokens.
NEVER = re.compile(r"(?:GITHUB|ACTIONS|INPUT|RUNNER|GATE)_.*|OPENAI_API_KEY|.*TOKEN.*", re.IGNORECASE)

# What it is always told: that it is being measured again, and is not to answer from a cache of its own.
NO_CACHE = "GATE_NO_CACHE"

TAIL_LINES = 20
TAIL_CHARACTERS = 2000
LINE_CHARACTERS = 300
MESSAGE_BYTES = 64 * 1024 * 1024
CLOSE_SECONDS = 2.0
TERMINATE_SECONDS = 0.5
_POLL_SECONDS = 0.2
_READ_BYTES = 65536
_WAITING_MESSAGES = 8
_POSIX = os.name == "posix"


class ProcessError(RuntimeError):
    """The process could not be started, ended, or did not keep to the protocol."""


def environment(ours: Mapping[str, str], named: Sequence[str] = ()) -> dict[str, str]:
    """What a process of the user's sees of our environment: a fixed list, and what gate.toml names."""
    return {
        name: value
        for name, value in ours.items()
        if name == NO_CACHE
        or (
            (name in PASSED or name in named or name.startswith(PASSED_PREFIXES))
            and not NEVER.fullmatch(name)
        )
    }


def quiet(text: str, limit: int = TAIL_CHARACTERS) -> str:
    """Text of the user's code on one line, that neither a terminal nor a workflow runner reads as a command."""
    seen = visible(text, limit)
    return re.sub(r"(?<!\S)::", ": :", seen.replace("##[", "## ["))


class Process:
    """One running process. `hidden` are values that no message may show."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        hidden: Sequence[str] = (),
    ) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - that it is the user's own command is the point
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=dict(environment),
                start_new_session=_POSIX,
            )
        except (OSError, ValueError) as fault:
            reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
            raise ProcessError(f"cannot start {quiet(command[0], 200)!r} ({reason})") from fault
        self._hidden = [value for value in hidden if len(value) >= 4]
        self._messages: queue.Queue[bytes | None] = queue.Queue(_WAITING_MESSAGES)
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._ended = False
        self._readers = [
            threading.Thread(target=_read_messages, args=(self._process.stdout, self._messages), daemon=True),
            threading.Thread(target=_read_tail, args=(self._process.stderr, self._tail), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        # Should nobody close it, it still does not outlive us.
        self._last_resort = weakref.finalize(self, _kill, self._process)

    def send(self, message: Mapping[str, Any], deadline: float) -> None:
        """Write one message. A process that does not read it in time raises TimeoutError."""
        stream = self._process.stdin
        assert stream is not None
        left = memoryview(json.dumps(message).encode("ascii") + b"\n")
        if _POSIX:
            os.set_blocking(stream.fileno(), False)
        try:
            while left:
                if _POSIX and not select.select((), (stream,), (), max(deadline - time.monotonic(), 0))[1]:
                    raise TimeoutError
                left = left[stream.write(left) or 0 :]
        except (BrokenPipeError, ConnectionError) as fault:
            raise self._gone() from fault

    def receive(self, deadline: float) -> dict[str, Any]:
        """The next message: an object. TimeoutError when there is none before `deadline` (of time.monotonic)."""
        while True:
            left = deadline - time.monotonic()
            try:
                line = self._messages.get(timeout=min(max(left, 0.0), _POLL_SECONDS))
            except queue.Empty:
                # A child of the process may hold the pipe open when the process itself has gone.
                if self._process.poll() is not None and self._messages.empty():
                    raise self._gone() from None
                if left <= 0:
                    raise TimeoutError from None
                continue
            if line is None:
                raise self._gone()
            return self._parsed(line)

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            message: Any = json.loads(line)  # NaN too: who reads the answer says whose score it is
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise self.broken(f"it wrote {self.quoted(line[:200].decode('utf-8', 'replace'), 80)!r}")
        return message

    def broken(self, what: str) -> ProcessError:
        """A fault for a process that does not keep to the protocol."""
        return ProcessError(f"does not keep to the protocol: {what}{self.tail()}")

    def _gone(self) -> ProcessError:
        """A fault for a process that has ended, or closed its output."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)
        code = self._process.poll()
        self.kill()
        if code is None:
            how = "closed its output"
        elif code < 0:
            how = f"was ended by signal {-code} ({_signal_name(-code)})"
        else:
            how = f"ended with exit code {code}"
        return ProcessError(f"the process {how}{self.tail()}")

    def tail(self) -> str:
        """The last lines on standard error as the end of a message; empty where there are none."""
        lines = [self.quoted(line, LINE_CHARACTERS) for line in list(self._tail)]
        kept: list[str] = []
        room = TAIL_CHARACTERS
        for line in reversed(lines):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        return f"; its last output: {' | '.join(reversed(kept))}" if kept else ""

    def quoted(self, text: str, limit: int = TAIL_CHARACTERS) -> str:
        """Text of the process, made harmless, without the values that it was trusted with."""
        for value in self._hidden:
            text = text.replace(value, "***")
        return quiet(text, limit)

    def close(self) -> None:
        """End it: close its input, wait, then terminate its group, then kill."""
        if self._ended:
            return
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            _signal_group(self._process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(TERMINATE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it and its children at once, and let go of its pipes."""
        if self._ended:
            return
        self._ended = True
        self._last_resort.detach()
        _kill(self._process)
        for reader in self._readers:
            # A child that left the group may hold the pipe; the reader then stays behind until that ends.
            reader.join(1.0)
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):
        if _POSIX:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and all that it left in its group."""
    if _POSIX:
        _signal_group(process, signal.SIGKILL)
    else:
        with suppress(OSError):
            process.kill()
    process.wait()


def _chunks(stream: Any) -> Generator[bytes]:
    """What comes, until there is no more, or the caller wants no more. The stream is closed then."""
    with stream, suppress(OSError):
        while chunk := stream.read(_READ_BYTES):
            yield chunk


def _read_messages(stream: Any, messages: queue.Queue[bytes | None]) -> None:
    """Every line of the output as a message, then None. Stops at a line too long, and when nobody takes them."""
    pending: list[bytes] = []
    size = 0
    with suppress(queue.Full), closing(_chunks(stream)) as chunks:
        for chunk in chunks:
            first, *rest = chunk.split(b"\n")
            pending.append(first)
            size += len(first)
            for following in rest:
                messages.put_nowait(b"".join(pending))
                pending, size = [following], len(following)
            if size > MESSAGE_BYTES:
                messages.put_nowait(b"a line over %d bytes" % MESSAGE_BYTES)
                return
        messages.put_nowait(None)


def _read_tail(stream: Any, tail: deque[str]) -> None:
    """The last lines of the output; of a long line its beginning."""
    line = b""
    for chunk in _chunks(stream):
        first, *rest = re.split(rb"[\r\n]+", chunk)
        line = (line + first)[: 4 * LINE_CHARACTERS]
        for following in rest:
            if line.strip():
                tail.append(line.decode("utf-8", "replace"))
            line = following[: 4 * LINE_CHARACTERS]
    if line.strip():
        tail.append(line.decode("utf-8", "replace"))

"""Text files as they come in: strict UTF-8 with a clear refusal for all else. And ids and names as messages show them."""

from __future__ import annotations

import errno
import heapq
import json
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from gate.errors import InputError, Problem, nearest

ID_LIMIT = 200
DOC_ID_LIMIT = 1000
SHOWN_CHARACTERS = 60

_LFS = "version https://git-lfs.github.com/spec/"
_UTF8_BOM = b"\xef\xbb\xbf"
_BOMS = (  # the longer first: UTF-32 LE begins like UTF-16 LE
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def read_text(path: Path, shown: str) -> str:
    """The text of a regular file: UTF-8, a BOM stripped, CRLF and CR read as LF. Anything else is an InputError.

    `shown` is the path as messages write it.
    """
    return decode(read_bytes(path, shown), shown)


def decode(data: bytes, shown: str) -> str:
    """The bytes of a text file as text, see `read_text`; for what git hands over as well."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            todo = f"Save it as UTF-8, for example with: iconv -f {name} -t UTF-8 OLD > NEW"
            raise InputError(Problem(shown, f"is {name}, not UTF-8", todo))
    nul = data.find(0)
    if nul >= 0:
        wide = data.count(0) * 3 > len(data)
        todo = (
            "It looks like UTF-16 without a mark; save it as UTF-8."
            if wide
            else "A text file has none; is it binary?"
        )
        raise InputError(Problem(f"{shown}:{_line(data, nul)}", f"has a NUL byte (offset {nul})", todo))
    skip = len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0
    try:
        text = data[skip:].decode("utf-8")
    except UnicodeDecodeError as fault:
        at = skip + fault.start
        raise InputError(
            Problem(
                f"{shown}:{_line(data, at)}",
                f"is not UTF-8 (byte 0x{data[at]:02x} at offset {at})",
                "Save it as UTF-8, for example with: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW",
            )
        ) from fault
    if text.startswith(_LFS):
        todo = "Fetch it with 'git lfs pull' (actions/checkout: 'lfs: true')."
        raise InputError(Problem(shown, "is a Git LFS pointer, not the file itself", todo))
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_bytes(path: Path, shown: str) -> bytes:
    """The bytes of a regular file. Missing, a folder, a device, a pipe or unreadable: an InputError."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(Problem(shown, "is a folder, not a file", "Name a file."))
        if not stat.S_ISREG(mode):
            raise InputError(
                Problem(shown, f"is {_special(mode)}, not a regular file", "Name a regular file.")
            )
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise InputError(missing(path, shown)) from fault
    except (OSError, ValueError) as fault:
        raise InputError(unreadable(shown, fault)) from fault


def unparsed(fault: Exception) -> str:
    """Why a JSON or TOML text cannot be parsed, in words that fit a user; Python's own where they do."""
    if isinstance(fault, RecursionError):
        return "nested too deeply"
    text = str(fault)
    return "a number with thousands of digits" if text.startswith("Exceeds the limit") else text


def is_there(path: Path) -> bool:
    """Whether something stands at `path`, be it a link to nothing or what we may not look at: reading it says so."""
    try:
        path.lstat()
    except OSError as fault:
        return fault.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
    return True


def missing(path: Path, shown: str) -> Problem:
    """What to say of a path that is not there: a broken link, or the nearest name beside it."""
    if path.is_symlink():
        return Problem(
            shown, f"is a link to nothing ({str(path.readlink())!r})", "Mend the link or remove it."
        )
    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        beside = []
    near = nearest(path.name, beside)
    todo = f"Closest: '{near}'." if near else "A path in a file is relative to that file."
    return Problem(shown, "no such file or folder", todo)


def unreadable(shown: str, fault: OSError | ValueError) -> Problem:
    """What to say of a path that the system will not read."""
    reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    return Problem(shown, f"cannot be read ({reason})", "Check its permissions and its name.")


def files_under(folder: Path, shown: str, problems: list[Problem]) -> Iterator[tuple[Path, str]]:
    """Every file below `folder` with its POSIX path relative to it, in a fixed order. What cannot be listed is a problem.

    Names that begin with a dot are skipped. Links are followed, but never back into a folder they stand in.
    """
    waiting: list[tuple[Path, str, tuple[str, ...]]] = [(folder, "", (os.path.realpath(folder),))]
    while waiting:
        here, prefix, above = waiting.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(
                    (entry for entry in listing if not entry.name.startswith(".")), key=lambda e: e.name
                )
        except OSError as fault:
            problems.append(unreadable(f"{shown}/{prefix}".rstrip("/"), fault))
            continue
        below: list[tuple[Path, str, tuple[str, ...]]] = []
        for entry in entries:
            relative = prefix + entry.name
            try:
                is_folder = entry.is_dir()
            except OSError:  # a link in a circle: reading it says so
                is_folder = False
            if not is_folder:
                yield here / entry.name, relative
                continue
            real = os.path.realpath(here / entry.name) if entry.is_symlink() else f"{above[-1]}/{entry.name}"
            if real not in above:
                below.append((here / entry.name, f"{relative}/", (*above, real)))
        waiting.extend(reversed(below))


def leaks(path: Path, shown: str, root: Path) -> list[Problem]:
    """What at or below `path` resolves to somewhere outside `root`, or is a device, pipe or socket. For the Action."""
    problems: list[Problem] = []
    inside = os.path.realpath(root)

    def check(one: Path, as_shown: str) -> bool:
        real = os.path.realpath(one)
        if real != inside and not real.startswith(inside.rstrip("/") + "/"):
            todo = "In the Action every path stays inside the repository."
            problems.append(Problem(as_shown, f"leads out of the repository ({real!r})", todo))
            return False
        try:
            mode = one.stat().st_mode
        except (OSError, ValueError):
            return True  # missing or unreadable: whoever reads it says so
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            problems.append(Problem(as_shown, f"is {_special(mode)}, not a regular file", "Remove it."))
        return stat.S_ISDIR(mode)

    waiting, seen = [(path, shown)], set()
    while waiting:
        here, here_shown = waiting.pop()
        if not check(here, here_shown) or (real := os.path.realpath(here)) in seen:
            continue
        seen.add(real)
        try:
            entries = sorted(here.iterdir(), reverse=True)
        except OSError:
            continue
        waiting.extend((entry, f"{here_shown}/{entry.name}") for entry in entries if entry.name != ".git")
    return problems


def bad_id(value: Any, limit: int = ID_LIMIT) -> str | None:
    """Why `value` cannot be an id (or a kind), as the end of a sentence; None when it can."""
    if not isinstance(value, str):
        return f"is not a string ({told(value)})"
    if not value.strip():
        return "is empty"
    if value != value.strip():
        return f"has spaces around it ({told(value)})"
    if len(value) > limit:
        return f"has {len(value)} characters, over {limit} ({told(value)})"
    if not (value.isascii() and value.isprintable()) and any(
        unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in value
    ):
        return f"has a control character ({told(value)})"
    return None


def is_blank(text: str) -> bool:
    """Nothing a reader could see: only white space, control or format characters."""
    return not text.strip() or all(
        char.isspace() or unicodedata.category(char) in {"Cc", "Cf"} for char in text
    )


def told(value: Any) -> str:
    """A value as a message shows it: strings in quotes, all else as JSON, cut to a readable length."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 4]}...{text[-1]}"


class Closest:
    """The nearest known name for the first few unknown ones, as what to do about it.

    A search costs milliseconds where thousands of names are known, so after `searches` of them no more are made.
    """

    CANDIDATES = 40

    def __init__(self, known: Collection[str], searches: int = 20) -> None:
        self._known = known
        self._left = searches
        self._grams: dict[str, frozenset[str]] = {}

    def __call__(self, name: str) -> str:
        """`Closest: 'idempotency'.`, or nothing when there is none or the searches are used up."""
        if self._left <= 0:
            return ""
        self._left -= 1
        near = self._without_path(name) or self._find(name[:ID_LIMIT])
        return f"Closest: '{near}'." if near is not None else ""

    def _without_path(self, name: str) -> str | None:
        """`name` as a page is named, where it was written as a file: without the folders above and the suffix."""
        plain = re.sub(r"\.[A-Za-z0-9]{1,8}\Z", "", name.replace("\\", "/").removeprefix("./"))
        parts = plain.split("/")
        ways = ("/".join(parts[start:]) for start in range(len(parts)))
        return next((way for way in ways if way != name and way in self._known), None)

    def _find(self, name: str) -> str | None:
        if len(self._known) <= self.CANDIDATES:
            return nearest(name, sorted(self._known))
        if not self._grams:
            self._grams = {known: _grams(known) for known in sorted(self._known)}
        mine = _grams(name)
        shared = {known: len(mine & grams) / (len(mine) + len(grams)) for known, grams in self._grams.items()}
        return nearest(name, heapq.nlargest(self.CANDIDATES, shared, key=shared.__getitem__))


def _grams(name: str) -> frozenset[str]:
    padded = f" {name.casefold()} "
    return frozenset(padded[at : at + 2] for at in range(len(padded) - 1))


def _line(data: bytes, offset: int) -> int:
    head = data[:offset]
    return head.count(b"\n") + head.count(b"\r") - head.count(b"\r\n") + 1


def _special(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"

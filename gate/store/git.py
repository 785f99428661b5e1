"""The base tree, read through git: files at a commit, the merge base, renames. The only caller of the git program."""

from __future__ import annotations

import os
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

from gate.errors import InputError, Problem

TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Base:
    """A commit whose files are trusted. `prefix` is the config's folder inside the repository, "" at its top."""

    top: Path
    commit: str
    prefix: str

    @property
    def short(self) -> str:
        return self.commit[:10]

    def inside(self, path: str) -> str | None:
        """`path`, relative to the config's folder, as git names it from the top; None where it leaves the tree."""
        joined = os.path.normpath(PurePosixPath(self.prefix, path).as_posix())
        if joined.startswith("..") or joined.startswith("/"):
            return None
        return PurePosixPath(joined).as_posix()

    def read(self, path: str) -> str | None:
        """The text of `path` at the commit, None where there is no such file. Broken UTF-8 is replaced, not fatal."""
        inside = self.inside(path)
        if inside is None:
            return None
        done = _git(self.top, "cat-file", "blob", f"{self.commit}:{inside}", check=False)
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def extract(self, path: str, into: Path) -> Path | None:
        """Write the tree or file `path` of the commit below the folder `into`; None where it is not there."""
        inside = self.inside(path)
        if inside is None:
            return None
        done = _git(self.top, "archive", "--format=tar", self.commit, "--", inside, check=False)
        if done.returncode != 0:
            return None
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            archive.extractall(into, filter="data")
        return into / inside

    def renames(self, path: str) -> dict[str, str]:
        """Old -> new path of the files below `path` that git sees as renamed between the commit and the work tree.

        Paths are relative to `path`. Untracked files count as added, so a rename shows before it is committed.
        """
        inside = self.inside(path)
        if inside is None:
            return {}
        with _scratch_index(self.top) as index:
            _git(self.top, "read-tree", self.commit, index=index)
            _git(self.top, "add", "--all", "--", inside, check=False, index=index)
            done = _git(
                self.top, "diff", "--cached", "-M50%", "--diff-filter=R", "--name-status", "-z", self.commit, "--", inside,
                check=False, index=index,
            )
        parts = done.stdout.decode("utf-8", "replace").split("\0")
        pairs = zip(parts[1::3], parts[2::3], strict=False)
        return {_below(old, inside): _below(new, inside) for old, new in pairs if old and new}


def _below(path: str, folder: str) -> str:
    return PurePosixPath(path).relative_to(folder).as_posix() if folder not in ("", ".") else path


def open_base(folder: Path, ref: str) -> Base:
    """The commit that `ref` names, in the repository that holds `folder`. Errors say what git said."""
    where = f"--base {ref}"
    if ref.startswith("-"):
        raise InputError(Problem(where, "a ref cannot begin with '-'", "Name a branch, a tag or a commit."))
    done = _git(folder, "rev-parse", "--show-toplevel", check=False)
    if done.returncode != 0:
        raise InputError(Problem(where, "this folder is in no git repository", "Leave --base out to use the files here."))
    top = Path(done.stdout.decode().rstrip("\n"))
    found = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", check=False)
    if found.returncode != 0:
        raise InputError(
            Problem(where, "git knows no such commit here", f"Fetch it first, for example: git fetch origin {ref}")
        )
    prefix = folder.resolve().relative_to(top.resolve()).as_posix()
    return Base(top, found.stdout.decode().strip(), "" if prefix == "." else prefix)


def head(folder: Path) -> Base | None:
    """The commit that is checked out, or None outside git, before the first commit, or without a git program."""
    try:
        return open_base(folder, "HEAD")
    except InputError:
        return None


class _scratch_index:  # noqa: N801 - reads as a verb at its use
    """A throw-away index file, so that looking at the work tree never touches the user's own index."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def __enter__(self) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="gate-index-")
        return str(Path(self._folder.name) / "index")

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _git(
    folder: Path, *arguments: str, check: bool = True, index: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_SSL_CAINFO"
    }
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "GIT_NO_REPLACE_OBJECTS": "1"}
    if index is not None:
        environment["GIT_INDEX_FILE"] = index
    command: Sequence[str] = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments)
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, arguments checked by the callers
            command, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as fault:
        raise InputError(Problem("git", f"could not be run ({fault})", "Install git, or leave --base out.")) from fault
    if check and done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(Problem("git", f"failed ({said[-1] if said else done.returncode})", "Run it by hand to see why."))
    return done

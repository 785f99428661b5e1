"""The base tree, read through git: files at a commit, the merge base, renames. The only caller of the git program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from gate.errors import InputError, Problem
from gate.store.text import decode

if TYPE_CHECKING:
    from subprocess import CompletedProcess

TIMEOUT_SECONDS = 60


class Base(NamedTuple):
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
        if joined == ".." or joined.startswith(("../", "/")):
            return None
        return PurePosixPath(joined).as_posix()

    def read(self, path: str) -> str | None:
        """The text of the file `path` at the commit, None where the commit has none.

        A file that is there and cannot be read (a partial clone without network, not UTF-8) is an InputError: it must
        never look like one that is absent.
        """
        inside = self.inside(path)
        blobs = [sha for _, sha, name in self._blobs(inside) if name == inside] if inside is not None else []
        if not blobs:
            self._refuse_link(path)
            return None
        return decode(_git(self.top, "cat-file", "blob", blobs[0]).stdout, f"{path} at {self.short}")

    def _refuse_link(self, path: str) -> None:
        """Git finds nothing below a link; that is not the same as nothing being there."""
        inside = PurePosixPath(self.inside(path) or ".")
        above = [parent.as_posix() for parent in inside.parents if parent.name]
        if not above:
            return
        listed = _git(self.top, "ls-tree", "-z", self.commit, "--", *above).stdout
        for entry in listed.split(b"\0"):
            meta, _, name = entry.partition(b"\t")
            if meta.startswith(_LINK.encode()):
                what = f"lies behind the link '{os.fsdecode(name)}', which git does not follow"
                raise InputError(Problem(f"{path} at {self.short}", what, "Name the place itself."))

    def extract(self, path: str, into: Path) -> Path | None:
        """Write the tree or file `path` of the commit below the folder `into`; None where it is not there.

        The bytes are those of the commit, whatever .gitattributes says about exports. A link stays one only where it
        leads to a place inside the repository.
        """
        inside = self.inside(path)
        blobs = list(self._blobs(inside)) if inside is not None else []
        if inside is None or not blobs:
            return None
        wanted = "".join(f"{sha}\n" for _, sha, _ in blobs).encode()
        contents = _git(self.top, "cat-file", "--batch", stdin=wanted).stdout
        start = 0
        for mode, _, name in blobs:
            head, _, _ = contents[start : start + 200].partition(b"\n")
            first = start + len(head) + 1
            start = first + int(head.split()[2])
            _write_blob(into, name, contents[first:start], link=mode == _LINK)
            start += 1  # the line break behind each object
        return into / inside

    def _blobs(self, inside: str) -> Iterator[tuple[str, str, str]]:
        """(mode, sha, path from the top) of the files and links at or below a path of the commit."""
        below = () if inside == "." else ("--", inside)
        listed = _git(self.top, "ls-tree", "-r", "-z", self.commit, *below).stdout
        for entry in listed.split(b"\0"):
            meta, _, name = entry.partition(b"\t")
            if name:
                mode, kind, sha = meta.decode().split()
                if kind == "blob":
                    yield mode, sha, os.fsdecode(name)

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
                self.top,
                "diff",
                "--cached",
                "-M50%",
                "--diff-filter=R",
                "--name-status",
                "-z",
                self.commit,
                "--",
                inside,
                check=False,
                index=index,
            )
        parts = done.stdout.decode("utf-8", "replace").split("\0")
        pairs = zip(parts[1::3], parts[2::3], strict=False)
        return {_below(old, inside): _below(new, inside) for old, new in pairs if old and new}


_LINK = "120000"


def _write_blob(into: Path, name: str, content: bytes, *, link: bool) -> None:
    target = into / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if not link:
        target.write_bytes(content)
        return
    leads_to = os.path.normpath(os.path.join(os.path.dirname(name), os.fsdecode(content)))  # noqa: PTH118, PTH120
    if not leads_to.startswith(("../", "/")) and leads_to != "..":
        target.symlink_to(os.fsdecode(content))


def _below(path: str, folder: str) -> str:
    return PurePosixPath(path).relative_to(folder).as_posix() if folder not in ("", ".") else path


def open_base(folder: Path, ref: str) -> Base:
    """The commit that `ref` names, in the repository that holds `folder`. Errors say what git said."""
    where = f"--base {ref}"
    if ref.startswith("-"):
        raise InputError(Problem(where, "a ref cannot begin with '-'", "Name a branch, a tag or a commit."))
    done = _git(folder, "rev-parse", "--show-toplevel", check=False)
    if done.returncode != 0:
        raise InputError(_no_repository(where, _said(done)))
    top = Path(os.fsdecode(done.stdout).rstrip("\n"))
    found = _git(
        top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", check=False
    )
    if found.returncode != 0:
        raise InputError(
            Problem(
                where,
                "git knows no such commit here",
                f"Fetch it first, for example: git fetch origin {ref.removeprefix('origin/')}",
            )
        )
    prefix = folder.resolve().relative_to(top.resolve()).as_posix()
    return Base(top, found.stdout.decode().strip(), "" if prefix == "." else prefix)


def _no_repository(where: str, said: str) -> Problem:
    if "not a git repository" in said:
        return Problem(
            where, "this folder is in no git repository", "Leave --base out to use the files here."
        )
    if "dubious ownership" in said:
        todo = "Trust it: git config --global --add safe.directory FOLDER."
        return Problem(where, "git does not trust this repository, since another user owns it", todo)
    return Problem(where, f"git cannot read this repository ({said})", "Run 'git status' here to see why.")


def parents(folder: Path, commit: str) -> list[str]:
    """The parents of a commit that is here, empty where it is not. At the edge of a shallow checkout too: the commit
    itself names them, only what git walks is cut off.
    """
    done = _git(folder, "cat-file", "commit", commit, check=False)
    if done.returncode != 0:
        return []
    lines = done.stdout.partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
    return [line.removeprefix("parent ") for line in lines if line.startswith("parent ")]


class Version(NamedTuple):
    """A commit that changed a file: its full id, its date (`YYYY-MM-DD`, the committer's) and its first line."""

    commit: str
    date: str
    subject: str


def versions(base: Base, path: str, limit: int, within: int | None = None) -> list[Version]:
    """The newest `limit` commits of the base's first-parent line that changed `path`, newest first.

    The first parents are what the branch itself went through: a merge stands for all that it brought. `within`: only
    the newest so many commits of that line are looked at, changed or not.
    """
    inside = base.inside(path)
    if inside is None:
        return []
    reached = [base.commit]
    if within is not None:
        beyond = _git(
            base.top, "rev-list", "--first-parent", "--max-count=1", f"--skip={within}", base.commit
        )
        reached += [f"^{commit}" for commit in beyond.stdout.decode().split()]
    shape = f"--max-count={limit}", "--first-parent", "--date=short", "--format=%H%x00%cd%x00%s", "-z"
    done = _git(base.top, "log", *shape, "--diff-merges=first-parent", *reached, "--", inside)
    fields = done.stdout.decode("utf-8", "replace").split("\0")
    return [Version(*one) for one in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)]


def read_versions(base: Base, path: str, commits: Sequence[str], most: int) -> list[str | None]:
    """The text of `path` at each of the commits, by one process; None where a commit has none that can be read.

    It ends early once `most` bytes are read. Nothing is fetched for it: what a partial clone lacks is not there.
    """
    inside = base.inside(path)
    if inside is None or "\n" in inside:
        return []
    here = {"GIT_NO_LAZY_FETCH": "1"}
    names = [f"{commit}:{inside}\n" for commit in commits]
    shape = "--batch-check=%(objecttype) %(objectsize)"
    told = _git(base.top, "cat-file", shape, stdin="".join(names).encode(), more=here, check=False)
    sizes = [int(line[5:]) if re.fullmatch(rb"blob \d+", line) else None for line in told.stdout.splitlines()]
    found: list[str | None] = []
    while len(found) < len(sizes) and sum(size or 0 for size in sizes[: len(found) + 1]) <= most:
        found.append("")
    asked = "".join(name for name, size in zip(names[: len(found)], sizes, strict=False) if size is not None)
    contents = _git(base.top, "cat-file", "--batch", stdin=asked.encode(), more=here, check=False).stdout
    start = 0
    for position, size in enumerate(sizes[: len(found)]):
        if size is None:
            found[position] = None
            continue
        start = contents.index(b"\n", start) + 1
        found[position] = contents[start : start + size].decode("utf-8", "replace")
        start += size + 1
    return found


def merge_base(folder: Path, one: str, other: str) -> str | None:
    """The best common ancestor of two commits, None where this checkout does not reach it."""
    done = _git(folder, "merge-base", "--end-of-options", one, other, check=False)
    return done.stdout.decode().strip() or None if done.returncode == 0 else None


def ahead(base: Base) -> int:
    """How many commits the base has that the checkout (or a merge that is under way in it) does not descend from.

    0 where that cannot be told: history that is cut off, or none in common.
    """
    folder = base.top
    if is_shallow(folder) or merge_base(folder, "HEAD", base.commit) in (None, base.commit):
        return 0
    merging = _git(folder, "rev-parse", "--verify", "--quiet", "MERGE_HEAD", check=False).returncode == 0
    here = ["HEAD", *(["MERGE_HEAD"] if merging else [])]
    done = _git(folder, "rev-list", "--count", base.commit, "--not", *here, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


def is_shallow(folder: Path) -> bool:
    """Whether this checkout lacks history."""
    return _git(folder, "rev-parse", "--is-shallow-repository", check=False).stdout.strip() == b"true"


def has(folder: Path, commit: str) -> bool:
    """Whether this checkout holds the commit."""
    return _git(folder, "cat-file", "-e", f"{commit}^{{commit}}", check=False).returncode == 0


def fetch(folder: Path, commit: str, depth: int) -> bool:
    """Fetch one commit from origin, into a shallow checkout with `depth` commits of history; whether it came."""
    # In a whole clone a depth would cut off the history that is there.
    depths = (f"--depth={depth}",) if is_shallow(folder) else ()
    done = _git(
        folder, "fetch", "--no-tags", "--no-recurse-submodules", *depths, "origin", commit, check=False
    )  # fmt: skip
    return done.returncode == 0


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

        import tempfile

        self._folder = tempfile.TemporaryDirectory(prefix="gate-index-")
        return str(Path(self._folder.name) / "index")

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _said(done: CompletedProcess[bytes]) -> str:
    """The first line of what git complained about."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"exit code {done.returncode}"


def _git(
    folder: Path,
    *arguments: str,
    check: bool = True,
    index: str | None = None,
    stdin: bytes = b"",
    more: Mapping[str, str] | None = None,
) -> CompletedProcess[bytes]:
    import subprocess

    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name == "GIT_SSL_CAINFO"
    }
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
    }
    environment |= more or {}
    if index is not None:
        environment["GIT_INDEX_FILE"] = index
    command: Sequence[str] = (
        "git",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        # A folder of the checkout with HEAD, objects and config in it is no repository, whatever its config would run.
        "-c",
        "safe.bareRepository=explicit",
        "-c",
        "protocol.ext.allow=never",
        *arguments,
    )
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, arguments checked by the callers
            command,
            cwd=folder,
            env=environment,
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as fault:
        what = f"'git {arguments[0]}' did not end within {TIMEOUT_SECONDS} s"
        raise InputError(Problem("git", what, "Run it by hand to see why.")) from fault
    except OSError as fault:
        raise InputError(
            Problem("git", f"could not be run ({fault})", "Install git, or leave --base out.")
        ) from fault
    if check and done.returncode != 0:
        raise InputError(
            Problem("git", f"'git {arguments[0]}' failed ({_said(done)})", "Run it by hand to see why.")
        )
    return done

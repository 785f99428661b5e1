import os
import socket
from pathlib import Path

import pytest

from gate.errors import InputError
from gate.store.text import Closest, bad_id, files_under, is_blank, leaks, read_text, told


def refused(path: Path, shown: str = "docs/a.md") -> str:
    with pytest.raises(InputError) as caught:
        read_text(path, shown)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\nb\n", "a\nb\n"),
        (b"\xef\xbb\xbfa", "a"),
        (b"\xef\xbb\xbf", ""),
        (b"a\r\nb\rc\n\r", "a\nb\nc\n\n"),
        ("é 漢 😀\u2028x".encode(), "é 漢 😀\u2028x"),
    ],
)
def test_utf8_is_read_with_one_kind_of_line_break(tmp_path: Path, data: bytes, text: str) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(data)
    assert read_text(file, "a.md") == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"a\nb\nc\xe9d",
            "docs/a.md:3: is not UTF-8 (byte 0xe9 at offset 5). Save it as UTF-8, for example with: iconv",
        ),
        (b"\xef\xbb\xbfa\r\nb\r\xff", "docs/a.md:3: is not UTF-8 (byte 0xff at offset 8)."),
        (b"\xed\xa0\x80", "docs/a.md:1: is not UTF-8 (byte 0xed at offset 0)."),
        (b"a\n\x00\x00", "docs/a.md:2: has a NUL byte (offset 2). It looks like UTF-16"),
        (b"a\nbcdefgh\n\x00", "docs/a.md:3: has a NUL byte (offset 10). A text file has none; is it binary?"),
        (
            "hi".encode("utf-16-le"),
            "docs/a.md:1: has a NUL byte (offset 1). It looks like UTF-16 without a mark",
        ),
        (
            "hi".encode("utf-16"),
            "docs/a.md: is UTF-16, not UTF-8. Save it as UTF-8, for example with: iconv -f UTF-16",
        ),
        (b"\xfe\xff\x00h", "docs/a.md: is UTF-16, not UTF-8."),
        ("hi".encode("utf-32"), "docs/a.md: is UTF-32, not UTF-8."),
        (
            b"version https://git-lfs.github.com/spec/v1\noid",
            "docs/a.md: is a Git LFS pointer, not the file itself.",
        ),
    ],
)
def test_all_else_is_refused_with_its_place(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(data)
    assert refused(file).startswith(message)


def test_missing_says_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("")
    assert refused(tmp_path / "case.jsonl", "case.jsonl") == (
        "case.jsonl: no such file or folder. Closest: 'cases.jsonl'."
    )
    assert refused(tmp_path / "no" / "x") == (
        "docs/a.md: no such file or folder. A path in a file is relative to that file."
    )
    assert "no such file" in refused(tmp_path / "cases.jsonl" / "x")
    (tmp_path / "link").symlink_to("nowhere")
    assert refused(tmp_path / "link").startswith("docs/a.md: is a link to nothing ('nowhere').")
    (tmp_path / "circle").symlink_to("circle")
    assert refused(tmp_path / "circle")
    assert refused(tmp_path / "a\0b")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    assert refused(tmp_path) == "docs/a.md: is a folder, not a file. Name a file."
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe").startswith("docs/a.md: is a named pipe, not a regular file.")
    assert refused(Path("/dev/zero")).startswith("docs/a.md: is a device, not a regular file.")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket has to be short
        try:
            server.bind("s")
        finally:
            os.chdir(here)
        assert refused(tmp_path / "s").startswith("docs/a.md: is a socket, not a regular file.")


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    if os.geteuid():
        file.chmod(0)
    else:
        # root reads everything; the system's answer is the same error

        def denied(self: Path) -> bytes:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "read_bytes", denied)
    assert refused(file) == (
        "docs/a.md: cannot be read (Permission denied). Check its permissions and its name."
    )


def test_files_in_a_fixed_order_without_hidden_ones_and_circles(tmp_path: Path) -> None:
    for name in ("b/x.md", "a.md", "b/a/y.md", ".git/z.md", "b/.h.md", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "b" / "up").symlink_to("..")
    (tmp_path / "d").symlink_to("b")
    problems: list = []
    assert [name for _, name in files_under(tmp_path, "docs", problems)] == [
        "a.md", "c.txt", "b/x.md", "b/a/y.md", "d/x.md", "d/a/y.md",
    ]  # fmt: skip
    assert problems == []
    assert list(files_under(tmp_path / "none", "docs", problems)) == []
    assert str(problems[0]).startswith("docs: cannot be read (No such file or directory).")


def test_what_leads_out_of_a_root(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "docs").mkdir(parents=True)
    (repository / "docs" / "a.md").write_text("x")
    (repository / "docs" / "same.md").symlink_to("a.md")
    assert leaks(repository / "docs", "docs", repository) == []
    (tmp_path / "secret").write_text("x")
    (tmp_path / "repository2").mkdir()
    (repository / "docs" / "out.md").symlink_to("../../secret")
    (repository / "docs" / ".gitx.md").symlink_to("../../secret")
    (repository / "docs" / "folder").symlink_to("../../repository2")
    (repository / "docs" / "null.md").symlink_to("/dev/null")
    os.mkfifo(repository / "docs" / "pipe.md")
    found = [str(one) for one in leaks(repository / "docs", "docs", repository)]
    assert [text.split(" (")[0] for text in found] == [
        "docs/.gitx.md: leads out of the repository",
        "docs/folder: leads out of the repository",
        "docs/null.md: leads out of the repository",
        "docs/out.md: leads out of the repository",
        "docs/pipe.md: is a named pipe, not a regular file. Remove it.",
    ]
    assert leaks(repository / ".." / "secret", "../secret", repository)
    assert leaks(repository / "missing", "missing", repository) == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("rq-001", None),
        ("https://docs.example.com/a?b=c#d", None),
        ("Getting started/déjà vu", None),
        ("a\u00a0b", None),
        ("", "is empty"),
        (" \t", "is empty"),
        (" a", "has spaces around it (' a')"),
        ("a\n", "has spaces around it ('a\\n')"),
        ("a\x1bb", "has a control character ('a\\x1bb')"),
        ("a\u2028b", "has a control character ('a\\u2028b')"),
        ("a\ud800", "has a control character ('a\\ud800')"),
        ("x" * 201, f"has 201 characters, over 200 ('{'x' * 55}...')"),
        (1, "is not a string (1)"),
        (None, "is not a string (null)"),
        (True, "is not a string (true)"),
        (["a"], 'is not a string (["a"])'),
    ],
)
def test_ids(value: object, reason: str | None) -> None:
    assert bad_id(value) == reason


def test_blank() -> None:
    assert all(is_blank(text) for text in ("", " \n", "\u200b", "\ufeff \u00a0"))
    assert not any(is_blank(text) for text in ("a", "\u200ba", "?"))


def test_told_is_short_and_printable() -> None:
    assert told("a\nb") == "'a\\nb'"
    assert len(told("x" * 1000)) == len(told(["x"] * 1000)) == 60


@pytest.mark.parametrize("count", [5, 5000])
def test_closest_is_found_and_rationed(count: int) -> None:
    known = {f"guides/topic-{number}" for number in range(count)} | {"idempotency"}
    closest = Closest(known, searches=3)
    assert closest("idempotency-keys") == "Closest: 'idempotency'."
    assert closest("Idempotency") == "Closest: 'idempotency'."
    assert closest("zzzz") == ""
    assert closest("idempotency-key") == ""

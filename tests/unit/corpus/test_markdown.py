import unicodedata
from pathlib import Path

import pytest

from gate.corpus.readers import markdown
from gate.errors import InputError
from gate.model.page import Corpus


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(folder: Path, files: dict[str, str | bytes]) -> Corpus:
    return markdown.read(write(folder, files), "docs")


def problems(folder: Path, files: dict[str, str | bytes]) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, files)
    return [str(problem) for problem in caught.value.problems]


def test_pages_are_sorted_by_id(tmp_path: Path) -> None:
    corpus = read(
        tmp_path,
        {"b/c.md": "x", "b-a.md": "x", "a.MD": "x", "é.markdown": "x", "b.md": "x", "v1.2.md": "x", ".x/y.md": "x", "._a.md": b"\0", "n.txt": b"\0"},
    )  # fmt: skip
    assert [page.doc_id for page in corpus.pages] == ["a", "b", "b-a", "b/c", "v1.2", "é"]
    assert corpus.chunker == "heading"
    assert corpus.by_id["b/c"].path == "docs/b/c.md"


def test_a_decomposed_file_name_is_the_composed_id(tmp_path: Path) -> None:
    (page,) = read(tmp_path, {unicodedata.normalize("NFD", "é.md"): "x"}).pages
    assert page.doc_id == "é"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n# Heading\n", "Front"),
        ("---\ntitle: ' '\n---\n# Heading\n", "Heading"),
        ("intro\n\n# Heading #\n# Second\n", "Heading"),
        ("```\n# comment\n```\n# Heading\n", "Heading"),
        ("#\n# Heading\n", "Heading"),
        ("## Section\n", "guides/page"),
        ("text", "guides/page"),
    ],
)
def test_the_title(tmp_path: Path, text: str, title: str) -> None:
    (page,) = read(tmp_path, {"guides/page.md": text}).pages
    assert page.title == title


def test_front_matter_becomes_fields_and_leaves_the_text(tmp_path: Path) -> None:
    (page,) = read(tmp_path, {"a.md": b"\xef\xbb\xbf---\r\napplies_to: 3.x\r\n---\r\nText\r\n"}).pages
    assert (page.text, page.fields, page.title) == ("Text\n", {"applies_to": "3.x"}, "a")


def test_line_breaks_and_a_bom_do_not_change_a_page(tmp_path: Path) -> None:
    unix = read(tmp_path / "1", {"a.md": "# T\n\ntext\n"})
    dos = read(tmp_path / "2", {"a.md": b"\xef\xbb\xbf# T\r\n\r\ntext\r\n"})
    assert unix.hashes == dos.hashes


def test_all_problems_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        {
            "a.md": "x", "a.markdown": "y", "é.md": "x", unicodedata.normalize("NFD", "é.md"): "y",
            "empty.md": " \n", "front.md": "---\na: b\n---\n\n", "open.md": "---\na: b\n", "bad.md": "---\nHello.\n---\nx",
            "latin.md": b"ok\n\xe9", "wide.md": "x".encode("utf-16"), "nul.md": b"a\0aaaaa", "new\nline.md": "x",
        },
    )  # fmt: skip
    assert sorted(text.split(". ")[0] for text in found) == sorted(
        [
            "docs/a.md: is page 'a', and so is docs/a.markdown",
            f"docs/é.md: is page 'é', and so is docs/{unicodedata.normalize('NFD', 'é.md')}",
            "docs/empty.md: has no text",
            "docs/front.md: has front matter but no text",
            "docs/open.md:1: the front matter is never closed",
            "docs/bad.md:2: is not front matter ('Hello.')",
            "docs/latin.md:2: is not UTF-8 (byte 0xe9 at offset 3)",
            "docs/wide.md: is UTF-16, not UTF-8",
            "docs/nul.md:1: has a NUL byte (offset 1)",
            "docs/new\\nline.md: the page's id has a control character ('new\\nline')",
        ]
    )


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    try:
        (tmp_path / "a\udce9.md").write_text("x")
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system has UTF-8 names only")
    (message,) = problems(tmp_path, {"b.md": "x"})
    assert message == "docs/a\\udce9.md: the page's id has a control character ('a\\udce9'). Rename the file."


@pytest.mark.parametrize("files", [{}, {"a.txt": "x"}, {".hidden/a.md": "x"}])
def test_a_folder_without_pages(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    assert problems(tmp_path, files)[0].startswith("docs: has no pages (*.md, *.markdown).")


def test_links_and_things_that_are_not_files(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "x"})
    (tmp_path / "b.md").symlink_to("a.md")
    (tmp_path / "gone.md").symlink_to("nowhere.md")
    (tmp_path / "null.md").symlink_to("/dev/null")
    assert [text.split(".md: ")[1] for text in problems(tmp_path, {})] == [
        "is a link to nothing ('nowhere.md'). Mend the link or remove it.",
        "is a device, not a regular file. Name a regular file.",
    ]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "x"})
    with pytest.raises(InputError, match="is not a folder"):
        markdown.read(tmp_path / "a.md", "a.md")


def test_accepts(tmp_path: Path) -> None:
    assert not markdown.accepts(tmp_path)
    write(tmp_path, {"x/a.md": "x"})
    assert markdown.accepts(tmp_path)
    assert not markdown.accepts(tmp_path / "x" / "a.md")
    write(tmp_path, {"corpus.jsonl": "{}"})
    assert not markdown.accepts(tmp_path)

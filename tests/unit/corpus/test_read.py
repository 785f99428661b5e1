import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.corpus.read import cut, read_corpus
from gate.errors import InputError
from gate.model.page import Corpus, Page

WHERE = "gate.toml: suite.orbit.arms.keyword.chunker"
CORPUS = Corpus((Page("a", "A", "# A\nx\n## B\ny z"), Page("b", "B", "one two three")))


def refused(call: Callable[..., object], *arguments: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return [str(problem) for problem in caught.value.problems]


def test_the_reader_is_chosen_by_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("x")
    beir = tmp_path / "beir"
    beir.mkdir()
    (beir / "README.md").write_text("about")
    (beir / "corpus.jsonl").write_text(json.dumps({"_id": "1", "text": "x"}))
    (tmp_path / "chunks.jsonl").write_text(json.dumps({"chunk_id": "1", "doc_id": "d", "text": "x"}))
    assert read_corpus(tmp_path / "docs", "docs/").pages[0].path == "docs/a.md"
    assert read_corpus(beir, "beir").chunker == "page"
    assert read_corpus(beir / "corpus.jsonl", "beir/corpus.jsonl").chunker == "page"
    assert read_corpus(tmp_path / "chunks.jsonl", "chunks.jsonl").chunker == "given"
    assert read_corpus(tmp_path / "docs", "docs", "markdown").chunker == "heading"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "a.pdf").write_text("x")
    assert refused(read_corpus, tmp_path / "doc", "doc") == ["doc: no such file or folder. Closest: 'docs'."]
    assert refused(read_corpus, tmp_path / "docs", "docs") == [
        "docs: has no pages (*.md, *.markdown). Point 'corpus' at the folder that has them, or at a corpus.jsonl."
    ]
    assert refused(read_corpus, tmp_path / "a.pdf", "a.pdf") == [
        "a.pdf: no reader knows this kind of file. Name a 'reader': 'chunks', 'jsonl', 'markdown'."
    ]
    assert refused(read_corpus, tmp_path / "docs", "docs", "markdwon") == [
        "docs: no such reader ('markdwon'). Did you mean 'markdown'?"
    ]


def test_chunks_are_numbered_within_their_page() -> None:
    assert [(chunk.chunk_id, chunk.doc_id, chunk.text) for chunk in cut(CORPUS, None, WHERE)] == [
        ("a#0", "a", "A\nx"), ("a#1", "a", "A\n## B\ny z"), ("b#0", "b", "B\none two three"),
    ]  # fmt: skip
    assert len(cut(CORPUS, "page", WHERE)) == 2
    assert len(cut(CORPUS, {"type": "window", "words": 2, "overlap": 1}, WHERE)) == 8


@pytest.mark.parametrize(
    ("chunker", "messages"),
    [
        ("headings", [f"{WHERE}: no such chunker ('headings'). Did you mean 'heading'?"]),
        ({"words": 3}, [f"{WHERE}: the chunker has no 'type'. Known: 'given', 'heading', 'page', 'window'."]),
        (
            {"type": 3},
            [
                f"{WHERE}: the chunker's 'type' is not a string (3). Known: 'given', 'heading', 'page', 'window'."
            ],
        ),
        (
            3,
            [
                f"{WHERE}: the chunker is neither a name nor a table (3). Write a name, or a table with 'type'."
            ],
        ),
        ({"type": "window", "wrods": 3}, [f"{WHERE}: unknown option 'wrods'. Did you mean 'words'?"]),
        ({"type": "page", "x": 3}, [f"{WHERE}: unknown option 'x'. This chunker has no options."]),
        (
            {"type": "window", "words": "3", "overlap": -1},
            [
                f"{WHERE}: option 'words' is not a whole number ('3').",
                f"{WHERE}: option 'overlap' is below 0 (-1).",
            ],
        ),
        ({"type": "window", "words": True}, [f"{WHERE}: option 'words' is not a whole number (true)."]),
        ({"type": "window", "words": 5.0}, [f"{WHERE}: option 'words' is not a whole number (5.0)."]),
        ({"type": "window", "words": 40}, [f"{WHERE}: 'overlap' (40) is not below 'words' (40)."]),
        ({"type": "heading", "level": 7}, [f"{WHERE}: option 'level' is over 6 (7)."]),
        (
            "given",
            [
                f"{WHERE}: chunker 'given': page 'a' came without chunks. Name the chunker 'heading', 'page' or 'window', "
                "or give the corpus as chunks (chunk_id, doc_id, text)."
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_chunker(chunker: object, messages: list[str]) -> None:
    assert refused(cut, CORPUS, chunker, WHERE) == messages


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "gate_outside_parts.py").write_text(
        "from gate.model.frozen import Frozen\n"
        "from gate.model.page import Chunk, Corpus, Page\n"
        "class Mine:\n"
        "    class Settings(Frozen):\n"
        "        type: str\n"
        "        size: int = 1\n"
        "    @staticmethod\n"
        "    def chunk(page, settings):\n"
        "        return [page.text[: settings.size]]\n"
        "def plain(page, options): return page.text.split() + [str(options)]\n"
        "def own_ids(page, options): return (Chunk(page.doc_id + ':' + w, page.doc_id, w) for w in page.text.split())\n"
        "def none(page, options): return []\n"
        "def text(page, options): return page.text\n"
        "def wrong(page, options): return [3]\n"
        "def other(page, options): return [Chunk('x', 'y', 'z')]\n"
        "def same(page, options): return [Chunk('x', page.doc_id, 'z')]\n"
        "def fails(page, options): return 1 / 0\n"
        "value = 3\n"
        "def reader(path, shown): return Corpus((Page('a', '', 'x'),), 'page')\n"
        "def no_pages(path, shown): return Corpus(())\n"
        "def twice(path, shown): return Corpus((Page('a', '', 'x'), Page('a', '', 'y')))\n"
        "def no_corpus(path, shown): return None\n"
        "def breaks(path, shown): raise OSError('disk')\n"
    )
    return tmp_path


def test_chunkers_and_readers_from_outside(outside: Path) -> None:
    corpus = Corpus((Page("a", "A", "x y"),))

    def name(part: str) -> str:
        return f"gate_outside_parts:{part}"

    def texts(chunker: object) -> list[tuple[str, str]]:
        return [(chunk.chunk_id, chunk.text) for chunk in cut(corpus, chunker, WHERE, outside)]  # type: ignore[arg-type]

    assert texts({"type": name("Mine"), "size": 2}) == [("a#0", "x ")]
    assert texts({"type": name("plain"), "n": 1}) == [("a#0", "x"), ("a#1", "y"), ("a#2", "{'n': 1}")]
    assert texts(name("own_ids")) == [("a:x", "x"), ("a:y", "y")]
    assert read_corpus(outside, "docs", name("reader"), outside).pages[0].doc_id == "a"

    two = Corpus((*corpus.pages, Page("b", "", "x")))
    for part, message in {
        "none": "returned no chunk for page 'a'",
        "text": "did not return a list of strings for page 'a'",
        "wrong": "did not return a list of strings for page 'a'",
        "other": "returned a chunk of another page for 'a'",
        "same": "returned a chunk_id twice",
        "fails": "failed on page 'a' (ZeroDivisionError: division by zero)",
        "value": "is not callable (int)",
    }.items():
        (found,) = refused(cut, two, name(part), WHERE, outside)
        assert found.startswith(f"{WHERE}: chunker 'gate_outside_parts:{part}' {message}.")
    for part, message in {
        "no_pages": "found no pages",
        "twice": "returned page 'a' twice",
        "no_corpus": "returned NoneType, not a Corpus",
        "breaks": "failed (OSError: disk)",
    }.items():
        (found,) = refused(read_corpus, outside, "docs", name(part), outside)
        assert found.startswith(f"docs: reader 'gate_outside_parts:{part}' {message}.")
    assert (
        "unknown option 'sise'. Did you mean 'size'?"
        in refused(cut, two, {"type": name("Mine"), "sise": 1}, WHERE, outside)[0]
    )

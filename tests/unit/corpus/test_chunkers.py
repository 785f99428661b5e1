import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.corpus.chunkers import heading, page, window
from gate.model.page import Page


def by_heading(text: str, title: str = "T", level: int = 2) -> list[str]:
    return heading.chunk(Page("a", title, text), heading.Settings(level=level))


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("# T\n\nintro\n\n## A\nx\n\n## B\ny\n", ["T\nintro", "T\n## A\nx", "T\n## B\ny"]),
        ("# T\n\n## A\nx\n", ["T\n## A\nx"]),
        ("\n# T #\n\u200b\n## A\nx\n", ["T\n## A\nx"]),
        ("# Other\n\n## A\nx\n", ["T\n# Other", "T\n## A\nx"]),
        ("badge\n# T\nintro\n## A", ["T\nbadge\nintro", "T\n## A"]),
        ("no headings\n", ["T\nno headings"]),
        ("# T\n", ["T"]),
        ("## A\n## A\n", ["T\n## A", "T\n## A"]),
        ("# T\n### deep\n```\n## in\n```\n## A", ["T\n### deep\n```\n## in\n```", "T\n## A"]),
        ("# T\n# U\n## A\n# T\n", ["T\n# U", "T\n## A\n# T"]),
        ("    code\n## A", ["T\n    code", "T\n## A"]),
        ("", ["T"]),
    ],
)
def test_heading(text: str, chunks: list[str]) -> None:
    assert by_heading(text) == chunks


def test_heading_levels() -> None:
    text = "# T\nx\n## A\n### B\n#### C\n# D\n"
    assert by_heading(text, level=1) == ["T\nx\n## A\n### B\n#### C", "T\n# D"]
    assert by_heading(text, level=3) == ["T\nx", "T\n## A", "T\n### B\n#### C\n# D"]
    assert by_heading("intro\n# T\nx", level=1) == ["T\nintro", "T\n# T\nx"]


def test_page() -> None:
    assert page.chunk(Page("a", "T", "x\n\n"), page.Settings()) == ["T\nx\n\n"]
    assert page.chunk(Page("a", "", "x"), page.Settings()) == ["x"]
    assert page.chunk(Page("a", "T", ""), page.Settings()) == ["T"]
    assert page.chunk(Page("a", "", ""), page.Settings()) == [""]


@pytest.mark.parametrize(
    ("text", "words", "overlap", "chunks"),
    [
        ("a b c d e", 2, 0, ["a b", "c d", "e"]),
        ("a b c d e", 3, 1, ["a b c", "c d e"]),
        ("a b c d e", 3, 2, ["a b c", "b c d", "c d e"]),
        (" a\n\n b\tc ", 2, 1, ["a\n\n b", "b\tc"]),
        ("a b", 5, 1, ["a b"]),
        ("", 5, 1, [""]),
    ],
)
def test_window(text: str, words: int, overlap: int, chunks: list[str]) -> None:
    assert window.chunk(Page("a", "", text), window.Settings(words=words, overlap=overlap)) == chunks
    titled = window.chunk(Page("a", "T", text), window.Settings(words=words, overlap=overlap))
    assert titled == [f"T\n{chunk}" if chunk else "T" for chunk in chunks]


@given(st.text("ab \n\t\u00a0"), st.integers(1, 6), st.integers(0, 5))
def test_windows_cover_every_word_in_order(text: str, words: int, overlap: int) -> None:
    overlap = min(overlap, words - 1)
    chunks = window.chunk(Page("a", "", text), window.Settings(words=words, overlap=overlap))
    assert all(chunk in text for chunk in chunks)
    joined = [
        word for number, chunk in enumerate(chunks) for word in chunk.split()[overlap if number else 0 :]
    ]
    assert joined == text.split()


@given(st.lists(st.sampled_from(["# T", "## A", "```", "~~~", "x", "", "  y"])).map("\n".join))
def test_heading_loses_only_the_title_and_blank_edges(text: str) -> None:
    chunks = by_heading(text, "T")
    kept = "\n".join(chunk.removeprefix("T").removeprefix("\n") for chunk in chunks)
    want = [line for line in text.split("\n") if line.strip()]
    got = [line for line in kept.split("\n") if line.strip()]
    assert got == want or any(
        line == "# T" and got == want[:at] + want[at + 1 :] for at, line in enumerate(want)
    )
    assert chunks

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.corpus.headings import headings, pieces


def found(text: str) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in headings(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B ##\n### C # x\n###### F #\n", [(1, "A"), (2, "B"), (3, "C # x"), (6, "F")]),
        ("   ## three spaces\n    ## code\n", [(2, "three spaces")]),
        ("##\tTab\n##\n## \n## ##\n", [(2, "Tab"), (2, ""), (2, ""), (2, "")]),
        ("##No\n####### seven\n\\## no\n#hash\n## C#\n", [(2, "C#")]),
        ("A\n===\nB\n---\n## C", [(2, "C")]),
        ("```\n## in\n```\n## out\n", [(2, "out")]),
        ("~~~ md\n## in\n```\n## in\n~~~\n## out\n", [(2, "out")]),
        ("````\n```\n## in\n```\n````\n## out\n", [(2, "out")]),
        ("```\n## in\n`````  \n## out\n", [(2, "out")]),
        ("```\n## in\n``` no\n## in\n", []),
        ("   ```\n## in\n   ```\n## out\n", [(2, "out")]),
        ("    ```\n## out\n", [(2, "out")]),
        ("```\n    ```\n## in\n```\n## out\n", [(2, "out")]),
        ("``` a`b\n## out\n", [(2, "out")]),
        ("~~~ a`b\n## in\n", []),
        ("``\n## out\n", [(2, "out")]),
        ("```\n## never closed", []),
        ("- ```sh\n  ## in\n  ```\n## out\n", [(2, "out")]),
        ("10. x\n    ```sh\n    ## in\n    ```\n## out\n", [(2, "out")]),
        ("1. ```sh\n   ## in\n\n## out, the item ended\n", [(2, "out, the item ended")]),
        ("- 1. ```sh\n     ## in\n     ```\n## out\n", [(2, "out")]),
        ("> ```\n> ## in\n> ```\n## out\n", [(2, "out")]),
        ("", []),
        ("text\u2028## no\n", []),
    ],
)
def test_headings_outside_fences(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected


def test_where_a_heading_stands() -> None:
    text = "a\n## B\n## C"
    assert [text[one.start : one.end] for one in headings(text)] == ["## B\n", "## C"]


def test_a_long_line_takes_no_time() -> None:
    assert found("## " + " " * 300_000 + "x" + " #" * 100_000) != []
    assert found(" ```" * 100_000 + "#") == []


lines = st.sampled_from(
    ["# T", "## A", "  ## B ##", "### C", "#### D", "```", "````", "~~~", "```py", "    ```", "- ```", "  ```", "  ## in", "x", "", "> ## q", "---"]
)  # fmt: skip


@given(st.lists(lines).map("\n".join) | st.text("# `~-\n\tx"), st.integers(1, 6))
@example("## A", 2)
@example("\n\n## A\n\n", 2)
def test_the_pieces_are_the_text_again(text: str, level: int) -> None:
    cut = pieces(text, level)
    assert "".join(cut) == text
    assert all(piece.lstrip(" ").startswith("#") for piece in cut[1:])


@given(st.lists(lines).map("\n".join))
def test_what_stands_in_a_longer_fence_is_one_piece(text: str) -> None:
    fenced = f"~~~~~~\n{text}\n~~~~~~\n## after"
    assert pieces(fenced, 2) == [fenced.removesuffix("## after"), "## after"]

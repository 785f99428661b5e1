import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.corpus.front_matter import split
from gate.errors import Problem


def read(inner: str) -> dict[str, str]:
    problems: list[Problem] = []
    fields, body = split(f"---\n{inner}\n---\nbody\n", "a.md", problems)
    assert problems == []
    assert body == "body\n"
    return fields


@pytest.mark.parametrize(
    ("inner", "fields"),
    [
        ("title: Jobs", {"title": "Jobs"}),
        ("title:  Jobs: an overview  ", {"title": "Jobs: an overview"}),
        ('title: "A \\"b\\" \\u00e9" # why', {"title": 'A "b" é'}),
        ("title: 'it''s # fine'", {"title": "it's # fine"}),
        ("title: a # comment\n# whole line\n\nb: c#d", {"title": "a", "b": "c#d"}),
        ("applies_to: 3.x\ndraft: false\nn: 007\nwhen: 2026-11-30", {"applies_to": "3.x", "draft": "false", "n": "007", "when": "2026-11-30"}),
        ("a:\nb: ~\nc: null\nd: ''", {"a": "", "b": "", "c": "", "d": ""}),
        ('tags: [a, "b, c", \'d\',]', {"tags": "a, b, c, d"}),
        ("tags: []", {"tags": ""}),
        ("tags: [\n  a, # one\n  b\n]\nnext: x", {"tags": "a, b", "next": "x"}),
        ("tags:\n  - a\n  - 'b'\n  # no\n  -\n  - c # yes", {"tags": "a, b, , c"}),
        ("tags:\n- a\n- b: c\nnext: x", {"tags": "a, b: c", "next": "x"}),
        ("author:\n  name: A\n  mail: b\nx: y", {"author": "name: A\nmail: b", "x": "y"}),
        ("text: |\n  one\n  two\n\nx: y", {"text": "one\ntwo", "x": "y"}),
        ("text: >-\n  one\n  two\nx: y", {"text": "one two", "x": "y"}),
        ("text: one\n  two", {"text": "one two"}),
        ('text: "one\n  two"', {"text": "one two"}),
        ("map: {a: 1, b: [2]}", {"map": "{a: 1, b: [2]}"}),
        ("map: {\n  a: 1\n}\nx: y", {"map": "{ a: 1 }", "x": "y"}),
        ("nested: [[a], b]", {"nested": "[[a], b]"}),
        ("open: [a, b", {"open": "[a, b"}),
        ('"quoted key": 1\nog:title: T\nзаголовок: Я\nlast-modified : x', {"quoted key": "1", "og:title": "T", "заголовок": "Я", "last-modified": "x"}),
        ("url: https://example.com/a#b", {"url": "https://example.com/a#b"}),
        ("a: 1\na: 2", {"a": "2"}),
        ("ref: &x 1\nother: *x\n<<: *x", {"ref": "&x 1", "other": "*x", "<<": "*x"}),
        ("", {}),
    ],
)  # fmt: skip
def test_the_part_of_yaml_that_is_read(inner: str, fields: dict[str, str]) -> None:
    assert read(inner) == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text",
        "\n---\na: b\n---\n",
        "--- \na: b\n---\n",
        "----\n",
        " ---\na: b\n---",
        "# T\n---\na: b\n---\n",
    ],
)
def test_only_the_very_first_line_begins_it(text: str) -> None:
    problems: list[Problem] = []
    assert split(text, "a.md", problems) == ({}, text)
    assert problems == []


@pytest.mark.parametrize("text", ["---\na: b\n...\nbody", "---\na: b\n---  \nbody"])
def test_how_it_may_close(text: str) -> None:
    assert split(text, "a.md", []) == ({"a": "b"}, "body")


def test_a_rule_further_down_is_body() -> None:
    assert split("---\na: b\n---\nx\n---\ny", "a.md", []) == ({"a": "b"}, "x\n---\ny")


@pytest.mark.parametrize("text", ["---", "---\n", "---\ntitle: x\n\n# T\n", "---\na: b\n----\n"])
def test_never_closed(text: str) -> None:
    problems: list[Problem] = []
    split(text, "docs/a.md", problems)
    assert [str(one) for one in problems] == [
        "docs/a.md:1: the front matter is never closed. Close it with a line '---', or write '***' where line 1 is "
        "meant as a rule."
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Just a sentence.",
        "key:value",
        "  indented: first",
        "- item",
        "[a]",
        "}",
        "\tx: y",
        "## Heading",
        "? a",
    ],
)
def test_a_line_that_is_no_front_matter(line: str) -> None:
    problems: list[Problem] = []
    split(f"---\n\n{line}\n---\nbody", "docs/a.md", problems)
    if line.startswith("#"):
        assert problems == []  # a comment
    else:
        assert [str(one) for one in problems] == [
            f"docs/a.md:3: is not front matter ({line.strip()!r}). Front matter has lines 'key: value'; write '***' "
            "where line 1 is meant as a rule."
        ]


@given(st.text("a:-'\"[]{}#|>, \n\\~"))
def test_any_text_is_fields_or_problems(inner: str) -> None:
    fields, _ = split(f"---\n{inner}\n---\nbody", "a.md", [])
    assert all(isinstance(value, str) for value in fields.values())


@given(
    st.dictionaries(
        st.text("abc_", min_size=1), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
    )
)
def test_quoted_values_come_back(values: dict[str, str]) -> None:
    inner = "\n".join(f"{key}: '{value.replace(chr(39), chr(39) * 2)}'" for key, value in values.items())
    assert read(inner) == values

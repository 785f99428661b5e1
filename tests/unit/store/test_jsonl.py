import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import Problem
from gate.store.jsonl import SHOWN_PROBLEMS, Form, rows


def read(text: str, limit: int = 1_000_000) -> tuple[list[tuple[int, dict]], list[str]]:
    problems: list[Problem] = []
    found = [(row.line, row.value) for row in rows(text, "a.jsonl", problems, limit)]
    return found, [str(problem) for problem in problems]


def test_rows_have_their_line() -> None:
    assert read('\n{"a": 1}\n  \n\t\n{"b": "x\u2028y"}\n') == ([(2, {"a": 1}), (5, {"b": "x\u2028y"})], [])
    assert read("") == ([], [])
    assert read("\ufeff{}\n\ufeff{}") == ([(1, {}), (2, {})], [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "a.jsonl:2: is not JSON (Expecting value at column 1)."),
        (
            '{"a": "b',
            "a.jsonl:2: is not JSON (Unterminated string starting at at column 7). The line ends in the middle of it.",
        ),
        (
            '{"a": 1',
            "a.jsonl:2: is not JSON (Expecting ',' delimiter at column 8). The line ends in the middle of it.",
        ),
        ('{"a": 1} {"b": 2}', "a.jsonl:2: is not JSON (Extra data at column 10). Write one object per line."),
        ('{"a": 1},', "a.jsonl:2: is not JSON (Extra data at column 9). Write one object per line."),
        (
            "{'a': 1}",
            "a.jsonl:2: is not JSON (Expecting property name enclosed in double quotes at column 2). JSON has double quotes only.",
        ),
        (
            "<<<<<<< HEAD",
            "a.jsonl:2: is not JSON (Expecting value at column 1). It is the mark of a merge conflict; resolve it.",
        ),
        ("[1]", "a.jsonl:2: is not an object ([1]). Write one object {...} per line."),
        ("null", "a.jsonl:2: is not an object (null). Write one object {...} per line."),
        ('"text"', "a.jsonl:2: is not an object ('text'). Write one object {...} per line."),
        ('{"a": 1, "a": 2}', "a.jsonl:2: has the key 'a' twice in one object."),
        ('{"a": {"b": 1, "b": 1}}', "a.jsonl:2: has the key 'b' twice in one object."),
        ('{"a": NaN}', "a.jsonl:2: has NaN, which is not JSON."),
        ('{"a": -Infinity}', "a.jsonl:2: has -Infinity, which is not JSON."),
        (
            '{"a": "x\\ud800"}',
            "a.jsonl:2: has half a surrogate pair in 'x\\ud800'. Take it out, or write the character itself as UTF-8.",
        ),
        (
            '{"a": [{"\\u0000": 1}]}',
            "a.jsonl:2: has a NUL character in '\\x00'. Take it out, or write the character itself as UTF-8.",
        ),
        ('{"a": "\x01"}', "a.jsonl:2: is not JSON (Invalid control character at at column 8)."),
        ("[" * 100_000, "a.jsonl:2: is nested too deeply."),
    ],
)
def test_every_other_line_is_a_problem(line: str, message: str) -> None:
    found, problems = read(f'{{"ok": 1}}\n{line}\n{{"ok": 2}}\n')
    assert found == [(1, {"ok": 1}), (3, {"ok": 2})]
    assert problems == [message]


def test_a_number_too_long_to_read_is_a_problem() -> None:
    found, (problem,) = read(f'{{"a": {"9" * 6000}}}\n')
    assert found == []
    assert problem.startswith("a.jsonl:1: is not JSON (a number with thousands of digits).")


def test_escapes_that_are_characters_are_fine() -> None:
    assert read(r'{"a": "\ud83d\ude00\u00e9\\u0000\\ud800"}') == ([(1, {"a": "😀é\\u0000\\ud800"})], [])


def test_a_cut_off_file_is_told_from_a_cut_off_line() -> None:
    assert read('{"a": 1}\n{"a": ')[1] == [
        "a.jsonl:2: is not JSON (Expecting value at column 7). The file ends in the middle of it; was it cut off?"
    ]


def test_long_lines() -> None:
    text = json.dumps({"a": "é" * 30}, ensure_ascii=False)
    assert read(text, limit=69)[1] == []
    assert read(text, limit=68)[1] == [
        "a.jsonl:1: the line has 69 bytes, over 68. Write one object per line."
    ]


def test_json_that_is_not_lines_is_one_problem() -> None:
    value = [{"id": number} for number in range(50)]
    assert read(json.dumps(value, indent=2))[1] == [
        "a.jsonl: is an array, not JSONL. Write one object per line, without brackets and commas around."
    ]
    assert read(json.dumps(value))[1][0].startswith("a.jsonl: is an array, not JSONL.")
    assert read(json.dumps(value[0], indent=2))[1][0].startswith(
        "a.jsonl: is one object over several lines, not JSONL."
    )


def test_a_flood_is_counted() -> None:
    problems = read("x\n" * (SHOWN_PROBLEMS + 7))[1]
    assert len(problems) == SHOWN_PROBLEMS + 1
    assert problems[-1] == "a.jsonl: 7 more lines are not read either."


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text("abc", max_size=3), json_values, max_size=4), max_size=6), st.booleans()
)
def test_what_json_writes_is_read_back(values: list[dict], ascii_only: bool) -> None:
    text = "\n\n".join(json.dumps(value, ensure_ascii=ascii_only) for value in values)
    found, problems = read(text)
    assert [value for _, value in found] == values
    assert problems == []


@given(st.text())
def test_any_text_is_rows_or_problems(text: str) -> None:
    read(text)


def test_a_form_names_its_row_and_keeps_all_problems() -> None:
    problems: list[Problem] = []
    form = Form(
        "a:1",
        {"id": "x", "qurey": "q", "kind": " k", "pages": ["a", 1, "a"], "fields": {"a": 1}},
        "case",
        problems,
    )
    assert form.id() == "x"
    form.keys(("id", "query", "kind", "pages", "fields"), ("query",))
    assert form.text("query") is None
    assert form.word("kind") is None
    assert form.page_ids("pages", "labels") is None
    assert form.fields() == {}
    assert [str(problem) for problem in problems] == [
        "a:1: case 'x': unknown key 'qurey'. Did you mean 'query'?",
        "a:1: case 'x': 'kind' has spaces around it (' k').",
        "a:1: case 'x': a page in 'pages' is not a string (1).",
        "a:1: case 'x' labels 'a' twice.",
        "a:1: case 'x': 'a' in 'fields' is not a string (1).",
    ]
    assert form.failed

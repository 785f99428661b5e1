import json
import unicodedata
from pathlib import Path

import pytest

from gate.errors import InputError
from gate.model.case import QaCase
from gate.model.fingerprint import qa_version
from gate.store.qa import load_qa

PAGES = {"error-codes", "café"}
GOOD = {
    "id": "qa-004",
    "question": "What is 429?",
    "answer": "Too many requests.",
    "citations": ["error-codes"],
    "applies_to": "3.x",
}


def load(tmp_path: Path, content: str | list[dict]) -> tuple[QaCase, ...]:
    file = tmp_path / "qa.jsonl"
    text = content if isinstance(content, str) else "\n".join(json.dumps(row) for row in content)
    file.write_bytes(text.encode())
    return load_qa(file, "eval/qa.jsonl", PAGES, {"old": "0" * 16})


def problems(tmp_path: Path, content: str | list[dict]) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(tmp_path, content)
    return [str(problem) for problem in caught.value.problems]


def row(**changes: object) -> dict:
    return {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}


def test_questions_in_file_order(tmp_path: Path) -> None:
    first, second, third = load(
        tmp_path,
        [
            {"version": "1"},
            GOOD,
            row(id="b", citations=..., answer=..., applies_to=...),
            row(id="c", citations=["old"]),
        ],
    )
    assert first == QaCase(
        "qa-004", "What is 429?", "Too many requests.", ("error-codes",), "3.x", "eval/qa.jsonl", 2
    )
    assert (second.citations, second.answer, second.applies_to) == ((), "", "all")
    assert third.citations == ("old",)


A = "eval/qa.jsonl:1: question 'qa-004'"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"citations": ["error-code"]}, f"{A} cites 'error-code', no such page. Closest: 'error-codes'."),
        ({"citations": ["café", "café"]}, f"{A} cites 'café' twice."),
        ({"citations": "café"}, f"{A}: 'citations' is not a list ('café'). Write it as [\"page-id\"]."),
        ({"question": ...}, f'{A} has no question. Add "question".'),
        ({"question": " "}, f"{A} has a blank question. Write it, or remove the row."),
        ({"answer": ...}, f'{A} has no answer. Add "answer".'),
        ({"answer": "\t"}, f"{A} has a blank answer. Write it, or remove the row."),
        ({"answer": 3, "citations": []}, f"{A}: 'answer' is not a string (3)."),
        ({"applies_to": ""}, f"{A}: 'applies_to' is empty."),
        ({"apply_to": "3.x", "applies_to": ...}, f"{A}: unknown key 'apply_to'. Did you mean 'applies_to'?"),
        ({"id": ...}, 'eval/qa.jsonl:1: a question has no id. Give it a unique "id".'),
        ({"id": ""}, "eval/qa.jsonl:1: a question has an id that is empty. Give it a short id of visible characters."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one_question(tmp_path: Path, changes: dict, message: str) -> None:
    assert problems(tmp_path, [row(**changes)]) == [message]


def test_duplicates_and_broken_lines_together(tmp_path: Path) -> None:
    assert problems(tmp_path, f"{json.dumps(GOOD)}\n{{\n{json.dumps(GOOD)}\n") == [
        "eval/qa.jsonl:2: is not JSON (Expecting property name enclosed in double quotes at column 2). "
        "The line ends in the middle of it.",
        "eval/qa.jsonl:3: question 'qa-004' is already in eval/qa.jsonl:1. Give one of them another id.",
    ]


@pytest.mark.parametrize("text", ["", '{"version": "1"}'])
def test_a_file_without_questions(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text) == [
        "eval/qa.jsonl: has no questions. Write at least one, or do not name the file."
    ]


def test_how_a_file_is_written_never_changes_the_fingerprint(tmp_path: Path) -> None:
    rows = [row(question="café?", citations=["café", "error-codes"]), row(id="b")]
    plain = qa_version(load(tmp_path, rows))
    rows[0]["citations"].reverse()
    text = "\r\n\r\n".join(json.dumps(one, ensure_ascii=False) for one in reversed(rows))
    assert qa_version(load(tmp_path, f"\ufeff{unicodedata.normalize('NFD', text)}\r\n")) == plain

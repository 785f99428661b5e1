import json
from pathlib import Path

import pytest

from gate.corpus.read import cut
from gate.corpus.readers import chunks, jsonl
from gate.errors import InputError


def write(path: Path, rows: str | list[dict]) -> Path:
    path.write_text(rows if isinstance(rows, str) else "\n".join(json.dumps(row) for row in rows))
    return path


def refused(reader, path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        reader.read(path, "c.jsonl")
    return [str(problem) for problem in caught.value.problems]


def test_beir_in_file_order_and_empty_pages(tmp_path: Path) -> None:
    path = write(
        tmp_path / "corpus.jsonl",
        [
            {
                "_id": "9",
                "title": " T ",
                "text": "x\r\ny",
                "metadata": {"applies_to": "3.x", "n": 1},
                "url": "u",
            },
            {"_id": "https://x.example/a#b", "text": ""},
            {"_id": "cafe\u0301", "title": None, "text": "z"},
        ],
    )
    for corpus in (jsonl.read(path, "c.jsonl"), jsonl.read(tmp_path, "c")):
        assert [page.doc_id for page in corpus.pages] == ["9", "https://x.example/a#b", "café"]
        assert corpus.chunker == "page"
        assert (corpus.pages[0].title, corpus.pages[0].text) == ("T", "x\r\ny")
        assert corpus.pages[0].fields == {"applies_to": "3.x", "url": "u"}
        assert [chunk.text for chunk in cut(corpus, None, "x")] == ["T\nx\r\ny", "", "z"]
    assert jsonl.read(tmp_path, "c").pages[0].path == "c/corpus.jsonl:1"


def test_what_is_wrong_with_beir_rows(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        [
            {"_id": "1", "text": "x"},
            {"_id": "1", "text": "y"},
            {"text": "x"},
            {"_id": 2, "text": None},
            {"_id": "3", "txet": "x"},
            {"_id": "4", "titel": "x", "text": ["x"]},
            {"_id": "/home/me/a.md", "text": "x"},
            {"_id": "C:\\a.md", "text": "x"},
            {"_id": "a\nb", "text": "x"},
            {"_id": "5", "title": 5, "text": "x"},
            {"id": "6", "text": "x"},
        ],
    )
    assert refused(jsonl, path) == [
        "c.jsonl:2: page '1' is already in line 1. Give each page its own _id.",
        'c.jsonl:3: has no _id. Add "_id".',
        "c.jsonl:4: the _id is not a string (2).",
        "c.jsonl:4: the text is not a string (null).",
        "c.jsonl:5: unknown key 'txet'. Did you mean 'text'?",
        "c.jsonl:6: unknown key 'titel'. Did you mean 'title'?",
        'c.jsonl:6: the text is not a string (["x"]).',
        "c.jsonl:7: the _id is a path from the root ('/home/me/a.md'); write it relative to the corpus.",
        "c.jsonl:8: the _id is a path from the root ('C:\\\\a.md'); write it relative to the corpus.",
        "c.jsonl:9: the _id has a control character ('a\\nb').",
        "c.jsonl:10: the title is not a string (5).",
        "c.jsonl:11: unknown key 'id'. Did you mean '_id'?",
    ]
    assert refused(jsonl, write(tmp_path / "e.jsonl", "\n")) == [
        "c.jsonl: has no pages. Write one object per line with _id, title and text."
    ]


def test_a_page_may_be_a_long_line(tmp_path: Path) -> None:
    (page,) = jsonl.read(
        write(tmp_path / "c.jsonl", [{"_id": "1", "text": "x" * 2_000_000}]), "c.jsonl"
    ).pages
    assert len(page.text) == 2_000_000


def test_given_chunks(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        [
            {"chunk_id": "b:0", "doc_id": "b", "text": "one"},
            {"chunk_id": "a:0", "doc_id": "a", "text": "two", "title": "A"},
            {"chunk_id": "b:1", "doc_id": "b", "text": "three", "title": "B"},
        ],
    )
    corpus = chunks.read(path, "c.jsonl")
    assert [(page.doc_id, page.title, page.text) for page in corpus.pages] == [
        ("b", "B", "one\nthree"),
        ("a", "A", "two"),
    ]
    assert corpus.chunker == "given"
    assert [(chunk.chunk_id, chunk.text) for chunk in cut(corpus, None, "x")] == [
        ("b:0", "one"), ("b:1", "B\nthree"), ("a:0", "A\ntwo"),
    ]  # fmt: skip
    assert [chunk.chunk_id for chunk in cut(corpus, "page", "x")] == ["b#0", "a#0"]


def test_what_is_wrong_with_given_chunks(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        [
            {"chunk_id": "1", "doc_id": "a", "text": "x"},
            {"chunk_id": "1", "doc_id": "b", "text": "y"},
            {"chunk_id": "2", "text": "x"},
            {"chunk_id": "3", "docid": "a", "text": "x"},
            {"chunk_id": "4", "doc_id": "a", "text": " "},
            {"chunk_id": "", "doc_id": " a", "text": 1},
        ],
    )
    assert refused(chunks, path) == [
        "c.jsonl:2: chunk '1' is already in line 1. Give each chunk its own chunk_id.",
        'c.jsonl:3: has no doc_id. Add "doc_id".',
        "c.jsonl:4: unknown key 'docid'. Did you mean 'doc_id'?",
        "c.jsonl:5: chunk '4' has no text. Leave empty chunks out.",
        "c.jsonl:6: the chunk_id is empty.",
        "c.jsonl:6: the doc_id has spaces around it (' a').",
        "c.jsonl:6: the text is not a string (1).",
    ]
    assert refused(chunks, write(tmp_path / "e.jsonl", ""))[0].startswith("c.jsonl: has no chunks.")


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ('{"_id": "1", "text": "x"}', jsonl),
        ('\ufeff\n\n{"chunk_id": "1"}', chunks),
        ("", jsonl),
        ("not json", jsonl),
        ("[1]", jsonl),
    ],
)
def test_the_first_row_tells_them_apart(tmp_path: Path, text: str, reader: object) -> None:
    path = write(tmp_path / "c.jsonl", text)
    assert [one for one in (jsonl, chunks) if one.accepts(path)] == [reader]
    write(tmp_path / "corpus.jsonl", text)
    assert [one for one in (jsonl, chunks) if one.accepts(tmp_path)] == [reader]
    assert not jsonl.accepts(write(tmp_path / "c.json", text))

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.errors import InputError
from gate.model.case import Split
from gate.model.fingerprint import cases_version
from gate.store.cases import CaseSet, load_cases, shared_fields, split_of

PAGES = {"configuration-reference", "concepts-jobs", "idempotency", "café"}
GOOD = {
    "id": "rq-002",
    "query": "max_payload_kb",
    "relevant_doc_ids": ["concepts-jobs"],
    "kind": "exact_term",
}


def load(
    tmp_path: Path, *contents: str | list[dict], split: Split = "test", gone: Mapping[str, str] | None = None,
    fields: Mapping[str, Mapping[str, str]] | None = None, pages: set[str] = PAGES,
) -> CaseSet:  # fmt: skip
    paths = []
    for number, content in enumerate(contents):
        text = content if isinstance(content, str) else "\n".join(json.dumps(row) for row in content) + "\n"
        file = tmp_path / f"{'ab'[number]}.jsonl"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        paths.append((file, f"eval/{file.name}"))
    return load_cases(paths, split, pages, fields or {}, gone)


def problems(tmp_path: Path, *contents: str | list[dict], **options: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(tmp_path, *contents, **options)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def row(**changes: object) -> dict:
    return {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}


def test_a_case_with_all_it_can_have(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        [
            {
                "version": "local-v1",
                "labelled_on": "2026-11-30",
                "pooled_from": ["keyword_chunks"],
                "pool_depth": 10,
            },
            row(
                relevant_doc_ids=["configuration-reference", "concepts-jobs"],
                grades={"configuration-reference": 2},
                not_relevant_doc_ids=["idempotency"],
                split="test",
                fields={"team": "core"},
            ),
        ],
    )
    (case,) = found.cases
    assert case.id == "rq-002"
    assert case.grades == {"configuration-reference": 2, "concepts-jobs": 1}
    assert case.not_relevant == ("idempotency",)
    assert case.fields == {"team": "core"}
    assert (case.source, case.line, case.kind, case.split) == ("eval/a.jsonl", 2, "exact_term", "test")
    assert found.headers[0]["version"] == "local-v1"
    assert found.notices == ()


def test_headers_may_stand_anywhere(tmp_path: Path) -> None:
    found = load(tmp_path, [GOOD, {"version": "2", "queries": 4}, row(id="rq-004"), {"note": "end"}])
    assert [case.id for case in found.cases] == ["rq-002", "rq-004"]
    assert len(found.headers) == 2
    found = load(tmp_path, [{"version": "2", "split": "dev"}, GOOD])
    assert found.notices == ("eval/a.jsonl:1: 'split' in a header is not read. Write it on each case.",)


A = "eval/a.jsonl:1: case 'rq-002'"


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"relevant_doc_ids": ["idempotency-keys"]}, [f"{A} labels 'idempotency-keys', no such page. Closest: 'idempotency'."]),
        ({"relevant_doc_ids": ["zzz"]}, [f"{A} labels 'zzz', no such page."]),
        ({"relevant_doc_ids": []}, [f"{A}: 'relevant_doc_ids' is empty. Label at least one page, or remove the case."]),
        ({"relevant_doc_ids": ...}, [f'{A} has no relevant_doc_ids. Add "relevant_doc_ids" with at least one page.']),
        ({"relevant_doc_ids": "idempotency"}, [f"{A}: 'relevant_doc_ids' is not a list ('idempotency'). Write it as [\"page-id\"]."]),
        ({"relevant_doc_ids": None}, [f"{A}: 'relevant_doc_ids' is not a list (null). Write it as [\"page-id\"]."]),
        ({"relevant_doc_ids": ["idempotency", 7]}, [f"{A}: a page in 'relevant_doc_ids' is not a string (7)."]),
        ({"relevant_doc_ids": ["idempotency", "idempotency"]}, [f"{A} labels 'idempotency' twice."]),
        ({"relevant_doc_ids": ["café", "cafe\u0301"]}, [f"{A} labels 'café' twice."]),
        ({"relevent_doc_ids": ["idempotency"], "relevant_doc_ids": ...}, [f"{A}: unknown key 'relevent_doc_ids'. Did you mean 'relevant_doc_ids'?"]),
        ({"notes": "x"}, [f"{A}: unknown key 'notes'. Values of your own to slice by go into \"fields\"."]),
        ({"query": ...}, [f'{A} has no query. Add "query".']),
        ({"query": ""}, [f"{A} has a blank query. Write it, or remove the row."]),
        ({"query": " \u200b\n"}, [f"{A} has a blank query. Write it, or remove the row."]),
        ({"query": ["x"]}, [f"{A}: 'query' is not a string ([\"x\"])."]),
        ({"query": None}, [f"{A}: 'query' is not a string (null)."]),
        ({"kind": ...}, [f'{A} has no kind. Add "kind".']),
        ({"kind": ""}, [f"{A}: 'kind' is empty."]),
        ({"kind": "semantic "}, [f"{A}: 'kind' has spaces around it ('semantic ')."]),
        ({"kind": 3}, [f"{A}: 'kind' is not a string (3)."]),
        ({"id": ...}, ['eval/a.jsonl:1: a case has no id. Give it a unique "id".']),
        ({"id": 2}, ["eval/a.jsonl:1: a case has an id that is not a string (2). Give it a short id of visible characters."]),
        ({"id": "a\x00b"}, ["eval/a.jsonl:1: has a NUL character in 'a\\x00b'. Take it out, or write the character itself as UTF-8."]),
        ({"id": "a\x1b[2Jb"}, ["eval/a.jsonl:1: a case has an id that has a control character ('a\\x1b[2Jb'). Give it a short id of visible characters."]),
        ({"split": "tset"}, [f"{A}: 'split' is 'tset', not one a case can have. Did you mean 'test'?"]),
        ({"split": "all"}, [f"{A}: 'split' is 'all', not one a case can have. Known: 'dev', 'test'."]),
        ({"split": None}, [f"{A}: 'split' is null, not one a case can have. Known: 'test', 'dev'."]),
        ({"grades": {"idempotency": 2}}, [f"{A} grades 'idempotency', which is not among its relevant_doc_ids. Label it, or drop the grade."]),
        ({"grades": {"concepts-jobs": 0}}, [f"{A}: the grade of 'concepts-jobs' is not a whole number from 1 to 1000 (0). A page that is judged and rejected belongs in \"not_relevant_doc_ids\"."]),
        ({"grades": {"concepts-jobs": True}}, [f"{A}: the grade of 'concepts-jobs' is not a whole number from 1 to 1000 (true)."]),
        ({"grades": {"concepts-jobs": 1.0}}, [f"{A}: the grade of 'concepts-jobs' is not a whole number from 1 to 1000 (1.0)."]),
        ({"grades": {"concepts-jobs": 10**30}}, [f"{A}: the grade of 'concepts-jobs' is not a whole number from 1 to 1000 ({10**30})."]),
        ({"grades": [2]}, [f"{A}: 'grades' is not an object ([2]). Write it as {{\"page-id\": 2}}."]),
        ({"not_relevant_doc_ids": ["concepts-jobs"]}, [f"{A} labels 'concepts-jobs' both relevant and not relevant."]),
        ({"not_relevant_doc_ids": ["café", "café"]}, [f"{A} rejects 'café' twice."]),
        ({"not_relevant_doc_ids": "café"}, [f"{A}: 'not_relevant_doc_ids' is not a list ('café'). Write it as [\"page-id\"]."]),
        ({"fields": {"n": 1}}, [f"{A}: 'n' in 'fields' is not a string (1)."]),
        ({"fields": "x"}, [f"{A}: 'fields' is not an object ('x'). Write it as {{\"name\": \"value\"}}."]),
        (
            {"relevant_doc_ids": ["x1"], "kind": "", "query": " "},
            [f"{A} has a blank query. Write it, or remove the row.", f"{A}: 'kind' is empty.", f"{A} labels 'x1', no such page."],
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one_case(tmp_path: Path, changes: dict, messages: list[str]) -> None:
    assert problems(tmp_path, [row(**changes)]) == messages


def test_ids_over_200_characters(tmp_path: Path) -> None:
    (message,) = problems(tmp_path, [row(id="x" * 201)])
    assert message.startswith("eval/a.jsonl:1: a case has an id that has 201 characters, over 200")


@pytest.mark.parametrize(
    "value",
    [
        {"id": "rq-2"},
        {"querry": "x"},
        {"Query": "x"},
        {"_id": "1", "text": "x"},
        {"relevant_docs_ids": []},
        {},
    ],
)
def test_a_case_without_a_query_is_not_taken_for_a_header(tmp_path: Path, value: dict) -> None:
    assert problems(tmp_path, [GOOD, value])[0].startswith("eval/a.jsonl:2: ")


def test_problems_of_all_lines_and_files_come_together(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        [GOOD, row(id="rq-004", relevant_doc_ids=["concept-jobs"]), row(id="rq-006", kind=...)],
        f"{json.dumps(row(id='rq-002'))}\nnot json\n",
    )
    assert found == [
        "eval/a.jsonl:2: case 'rq-004' labels 'concept-jobs', no such page. Closest: 'concepts-jobs'.",
        "eval/a.jsonl:3: case 'rq-006' has no kind. Add \"kind\".",
        "eval/b.jsonl:1: case 'rq-002' is already in eval/a.jsonl:1. Give one of them another id.",
        "eval/b.jsonl:2: is not JSON (Expecting value at column 1).",
    ]


def test_a_duplicate_is_one_after_normalising_and_of_a_broken_case_too(tmp_path: Path) -> None:
    assert problems(tmp_path, [row(id="é2"), row(id="e\u03012", kind="")]) == [
        "eval/a.jsonl:2: case 'é2' is already in eval/a.jsonl:1. Give one of them another id.",
        "eval/a.jsonl:2: case 'é2': 'kind' is empty.",
    ]


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff", '{"version": "1"}\n'])
def test_a_file_without_cases(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, [GOOD], text) == [
        "eval/b.jsonl: has no cases. Label at least one query, or do not name the file."
    ]


def test_files_that_cannot_be_read_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(InputError) as caught:
        load_cases(
            [(tmp_path / "no", "no"), (tmp_path / "latin", "latin"), (tmp_path, "folder")], "test", PAGES, {}
        )
    assert [str(problem).split(".")[0] for problem in caught.value.problems] == [
        "no: no such file or folder",
        "latin:1: is not UTF-8 (byte 0xe9 at offset 0)",
        "folder: is a folder without queries",
    ]
    with pytest.raises(InputError, match="no case file is named"):
        load_cases([], "test", PAGES, {})


def test_a_file_named_twice_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(GOOD))
    with pytest.raises(InputError) as caught:
        load_cases(
            [(tmp_path / "a.jsonl", "a.jsonl"), (tmp_path / "." / "a.jsonl", "./a.jsonl")], "test", PAGES, {}
        )
    assert str(caught.value) == "./a.jsonl: is named twice among the case files. Name it once."


def test_the_split(tmp_path: Path) -> None:
    rows = [row(id="rq-002"), row(id="rq-003"), row(id="rq-004", split="dev"), row(id="rq-005", split="test")]
    ids = {
        split: [case.id for case in load(tmp_path, rows, split=split).cases]  # type: ignore[arg-type]
        for split in ("test", "dev", "all")
    }
    assert ids == {
        "test": ["rq-002", "rq-005"],
        "dev": ["rq-003", "rq-004"],
        "all": [one["id"] for one in rows],
    }
    assert len(load(tmp_path, rows).all_cases) == 4
    assert problems(tmp_path, [row(id="rq-001"), row(id="rq-003")]) == [
        "eval/a.jsonl: no case is in split 'test' (2 are in 'dev'). "
        'Label cases with "split": "test", or evaluate another split.'
    ]


@pytest.mark.parametrize(
    ("case_id", "split"),
    [("rq-002", "test"), ("rq-005", "dev"), ("10", "test"), ("q" + "9" * 5000, "dev"), ("login", "test"), ("logout", "test"), ("rq-2b", "test"), ("delta", "dev")],
)  # fmt: skip
def test_the_split_by_id_is_stable(case_id: str, split: str) -> None:
    assert split_of(case_id) == split
    assert split_of("caf\u00e9") == split_of("cafe\u0301")


def test_gone_pages_may_be_labelled(tmp_path: Path) -> None:
    gone = {"old-page": "0123456789abcdef"}
    found = load(
        tmp_path, [row(relevant_doc_ids=["old-page"], not_relevant_doc_ids=["idempotency"])], gone=gone
    )
    assert found.cases[0].grades == {"old-page": 1}


def test_rejected_pages_that_are_not_there_are_a_notice(tmp_path: Path) -> None:
    found = load(tmp_path, [row(not_relevant_doc_ids=["gone-1", "gone-2"])])
    assert found.cases[0].not_relevant == ("gone-1", "gone-2")
    assert found.notices == (
        "eval/a.jsonl: 2 rejected pages are not in the corpus; nothing depends on them.",
    )


def test_fields_of_the_relevant_pages(tmp_path: Path) -> None:
    fields = {
        "concepts-jobs": {"applies_to": "3.x", "owner": "a"},
        "idempotency": {"applies_to": "3.x", "owner": "b"},
        "café": {},
    }
    assert shared_fields(["concepts-jobs", "idempotency"], fields) == {"applies_to": "3.x", "owner": "mixed"}
    assert shared_fields(["concepts-jobs", "café"], fields) == {"applies_to": "mixed", "owner": "mixed"}
    assert shared_fields(["concepts-jobs", "gone"], fields) == {"applies_to": "3.x", "owner": "a"}
    (case,) = load(tmp_path, [row(fields={"owner": "me"})], fields=fields).cases
    assert case.fields == {"applies_to": "3.x", "owner": "me"}


def test_the_query_stays_as_written_but_for_its_unicode_form(tmp_path: Path) -> None:
    (case,) = load(tmp_path, [row(query="  two\nlines cafe\u0301 ", kind="cafe\u0301")]).cases
    assert (case.query, case.kind) == ("  two\nlines café ", "café")


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: (
        text.strip() == text
        and any(char.isalnum() for char in text)
        and len(unicodedata.normalize("NFD", text)) < 60
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(texts, texts, texts),
        min_size=1,
        max_size=5,
        unique_by=lambda one: unicodedata.normalize("NFC", one[0]),
    ),
    st.sampled_from(["NFC", "NFD", "NFC"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_how_a_file_is_written_never_changes_the_fingerprint(
    tmp_path: Path,
    cases: list[tuple[str, str, str]],
    form: str,
    newline: str,
    bom: bool,
    escaped: bool,
    random,
) -> None:
    rows = [
        {
            "id": case_id,
            "query": query,
            "kind": kind,
            "relevant_doc_ids": ["café", "idempotency"],
            "split": "test",
        }
        for case_id, query, kind in cases
    ]
    lines = [
        json.dumps(
            {
                key: unicodedata.normalize(form, value) if isinstance(value, str) else value
                for key, value in one.items()
            }
            | {
                "relevant_doc_ids": [
                    unicodedata.normalize(form, page) for page in one["relevant_doc_ids"][::-1]
                ]
            },
            ensure_ascii=escaped,
        )
        for one in rows
    ]
    random.shuffle(lines)
    rewritten = "\ufeff" * bom + newline + (newline * 2).join(lines) + newline * random.randint(0, 2)
    assert cases_version(load(tmp_path, rows).cases) == cases_version(load(tmp_path, rewritten).cases)


def beir(tmp_path: Path, queries: str, qrels: str, **options: object) -> CaseSet:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "queries.jsonl").write_text(queries)
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return load_cases([(folder, "data/beir")], options.get("split", "test"), PAGES, {}, {})  # type: ignore[arg-type]


QUERIES = "\n".join(
    json.dumps(one)
    for one in (
        {"_id": "1", "text": "first", "metadata": {"kind": "semantic", "year": "1960", "n": 3}},
        {"_id": "2", "text": "second", "url": "kept out"},
        {"_id": "3", "text": "third", "kind": "multi_hop"},
        {"_id": "4", "text": ""},
    )
)


def test_a_beir_folder(tmp_path: Path) -> None:
    found = beir(
        tmp_path,
        QUERIES,
        "query-id\tcorpus-id\tscore\r\n1\tidempotency\t2\r\n1\tconcepts-jobs\t0\n1\tlong-gone\t0\n\n2\tcafé\t1\n3\tcafé\t-1\n",
    )
    one, two = found.cases
    assert (one.id, one.query, one.kind, one.grades) == ("1", "first", "semantic", {"idempotency": 2})
    assert (one.not_relevant, one.fields) == (
        ("concepts-jobs", "long-gone"),
        {"kind": "semantic", "year": "1960"},
    )
    assert (one.split, one.source, one.line) == ("test", "data/beir/queries.jsonl", 1)
    assert (two.kind, two.fields) == ("all", {})
    assert found.notices == (
        "data/beir/qrels/test.tsv: 1 rejected page is not in the corpus; nothing depends on them.",
        "data/beir: 2 of 4 queries have no positive grade in qrels/test.tsv; no case was made of them.",
    )
    assert len(beir(tmp_path, QUERIES, "1\tidempotency\t1\n").cases) == 1  # without a header line


def test_what_is_wrong_with_a_beir_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        beir(
            tmp_path,
            '{"_id": "1", "text": "x"}\n{"_id": "1", "text": "y"}\n{"text": "z"}\n{"_id": 4, "text": "z"}\n{"_id": "5"}\n',
            "query-id\tcorpus-id\tscore\n1\tidempotency-keys\t1\n1\tcafé\t1\n1\tcafé\t2\n9\tcafé\t1\n1 café 1\n"
            "1\tcafé\t1.5\n5\tcafé\t1\n",
        )
    tsv = "data/beir/qrels/test.tsv"
    assert [str(problem) for problem in caught.value.problems] == [
        "data/beir/queries.jsonl:2: case '1' is already in data/beir/queries.jsonl:1. Give one of them another id.",
        'data/beir/queries.jsonl:3: a case has no id. Give it a unique "_id".',
        "data/beir/queries.jsonl:4: a case has an id that is not a string (4). Give it a short id of visible characters.",
        f"{tsv}:2: case '1' labels 'idempotency-keys', no such page. Closest: 'idempotency'.",
        f"{tsv}:4: case '1' labels 'café' twice.",
        f"{tsv}:5: judges query '9', which queries.jsonl does not have.",
        f"{tsv}:6: does not have 3 columns (1). Write query-id, corpus-id and score, with tabs between.",
        f"{tsv}:7: the score is not a whole number up to 1000 ('1.5'). "
        "Write query-id, corpus-id and score, with tabs between.",
        "data/beir/queries.jsonl:5: case '5' has no text. Add \"text\".",
    ]


def test_beir_cases_are_all_test(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no case is in split 'dev' \(1 is in 'test'\)"):
        beir(tmp_path, QUERIES, "1\tidempotency\t1\n", split="dev")
    with pytest.raises(InputError, match="data/beir: has no cases"):
        beir(tmp_path, QUERIES, "1\tidempotency\t0\n")


def test_a_thousand_typos_among_ten_thousand_pages_take_no_time(tmp_path: Path) -> None:
    pages = {f"guides/section-{number % 100}/topic-{number}" for number in range(10_000)}
    rows = [
        row(id=f"x{number}", relevant_doc_ids=[f"guides/section-1/topik-{number}"]) for number in range(1000)
    ]
    found = problems(tmp_path, rows, pages=pages)
    assert len(found) == 1000
    assert "Closest: 'guides/" in found[0]

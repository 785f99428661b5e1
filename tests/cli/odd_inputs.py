"""The table of odd inputs: how the small project is changed, the command, and exactly what must be said.

Columns of a row: its name, the change, the exit code, and the messages: one per problem, each given as a part of it.
Further ones where they differ from the default: `command` (`gate run --json -`), `start` (a project with a committed
baseline is `recorded`; else it has none and no git), `verdict`, and `env`.

Rows of `GOOD` look odd and are right: what they say are findings. Rows of `BAD` are refused before anything is
measured: what they say are lines on standard error. Rows of `JUDGED` are measured, and the verdict names the problem:
what they say are findings that weigh. Rows of `FLAGS` are the command line's own.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from small_project import Project

Change = Callable[[Project], object]

CASES, QA, TOML, BASELINE, ACCEPTED = (
    "eval/cases.jsonl",
    "eval/qa.jsonl",
    "gate.toml",
    "baselines/docs.json",
    "baselines/docs.accepted.toml",
)
RUN = "run --json -"
MEASURE = "run --no-baseline --json -"


@dataclass(frozen=True)
class Odd:
    """One row."""

    name: str
    change: Change
    code: int
    says: tuple[str, ...] = ()
    command: str = RUN
    start: str = "empty"
    verdict: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    not_as_root: bool = False


# --- The changes --------------------------------------------------------------------------------------------------


def nothing(project: Project) -> None:
    """The project as it is."""


def write(path: str, text: str | bytes) -> Change:
    return lambda project: project.write(path, text)


def edit(path: str, old: str, new: str) -> Change:
    return lambda project: project.edit(path, old, new)


def remove(path: str) -> Change:
    return lambda project: project.remove(path)


def both(*changes: Change) -> Change:
    return lambda project: [change(project) for change in changes]


def bytes_of(path: str, how: Callable[[bytes], bytes]) -> Change:
    return lambda project: project.write(path, how((project.root / path).read_bytes()))


def add(path: str, text: str) -> Change:
    return lambda project: project.write(path, project.read(path) + text)


def config(old: str, new: str) -> Change:
    return edit(TOML, old, new)


def suite(text: str) -> Change:
    """A further line in [suite.docs]."""
    return config("k = 2\n", f"k = 2\n{text}\n")


def arm(text: str) -> Change:
    """A further line in [suite.docs.arms.keyword]."""
    return add(TOML, f"{text}\n")


def policy(text: str) -> Change:
    return add(TOML, f"\n[suite.docs.policy]\n{text}\n")


def case(name: str, **values: Any) -> Change:
    """Other values in one case; None takes the key out."""

    def change(project: Project) -> None:
        row = project.case(name)
        row.update(values)
        for key in [key for key, value in values.items() if value is None]:
            del row[key]
        project.save_cases()

    return change


def label(value: Any) -> Change:
    return case("q-02", relevant_doc_ids=value)


def line(text: str) -> Change:
    """A further line at the end of the cases (their line 9)."""
    return add(CASES, f"{text}\n")


def question(text: str) -> Change:
    """A further line at the end of the QA gold (its line 4)."""
    return add(QA, f"{text}\n")


def page(text: str | bytes) -> Change:
    return write("docs/odd.md", text)


def as_windows_file(*paths: str) -> Change:
    """A BOM in front and CRLF at every line's end."""
    return both(
        *(bytes_of(path, lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")) for path in paths)
    )


def utf16(path: str) -> Change:
    return bytes_of(path, lambda data: data.decode().encode("utf-16"))


def link(path: str, target: str) -> Change:
    def change(project: Project) -> None:
        (project.root / path).unlink(missing_ok=True)
        (project.root / path).symlink_to(target)

    return change


def link_docs_outside(project: Project) -> None:
    outside = project.root.parent / "outside.md"
    outside.write_text("# Outside\n\nA page elsewhere.\n", encoding="utf-8")
    (project.root / "docs" / "outside.md").symlink_to(outside)


def unreadable(path: str) -> Change:
    return lambda project: (project.root / path).chmod(0)


def to_pyproject(project: Project) -> None:
    text = project.read(TOML).replace("[suite.", "[tool.gate.suite.")
    project.write("pyproject.toml", f'[project]\nname = "widget"\n\n{text}')
    project.remove(TOML)


def to_beir(project: Project) -> None:
    pages = [
        {"_id": name, "title": name, "text": project.read(f"docs/{name}.md")}
        for name in ("errors", "config", "faq")
    ]
    project.write(
        "beir/corpus.jsonl",
        "".join(json.dumps(row) + "\n" for row in [*pages, {"_id": "void", "title": "", "text": ""}]),
    )
    project.write("beir/queries.jsonl", '{"_id": "1", "text": "E101"}\n{"_id": "2", "text": "max_size"}\n')
    project.write(
        "beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\terrors\t2\n2\tconfig\t1\n2\tfaq\t0\n"
    )
    project.edit(TOML, 'corpus = "docs"', 'corpus = "beir"')
    project.edit(TOML, 'cases = ["eval/cases.jsonl"]\nqa = "eval/qa.jsonl"', 'cases = ["beir"]')


def other_form(project: Project) -> None:
    """A page and labels with an accent, recorded in one Unicode form and then written in the other."""
    nfc, nfd = (unicodedata.normalize(form, "caf\u00e9") for form in ("NFC", "NFD"))
    project.write(f"docs/{nfc}.md", f"# {nfc}\n\nWhere the {nfc} is.\n")
    project.case("q-02").update(query=f"where is the {nfc}", relevant_doc_ids=[nfc])
    project.save_cases()
    assert project.gate("baseline").code == 0
    project.remove(f"docs/{nfc}.md")
    project.write(f"docs/{nfd}.md", f"# {nfc}\n\nWhere the {nfc} is.\n")
    project.case("q-02").update(query=f"where is the {nfd}", relevant_doc_ids=[nfd])
    project.save_cases()


def fenced(project: Project) -> None:
    """A page whose only `##` stands in a code fence is one chunk, so that E777 and its comment are found together."""
    project.write("docs/odd.md", "# Odd\n\n```sh\n## E777\nrun --fast\n```\n")
    project.case("q-02").update(query="E777 fast", relevant_doc_ids=["odd"])
    project.save_cases()


def baseline(**values: Any) -> Change:
    """Other values at the top of the baseline, written as plain JSON."""

    def change(project: Project) -> None:
        value = json.loads(project.read(BASELINE))
        value.update(values)
        project.write(BASELINE, json.dumps(value))

    return change


def in_baseline(change: Callable[[dict[str, Any]], object]) -> Change:
    def apply(project: Project) -> None:
        value = json.loads(project.read(BASELINE))
        change(value)
        project.write(BASELINE, json.dumps(value))

    return apply


def rows_of(value: dict[str, Any]) -> dict[str, Any]:
    rows: dict[str, Any] = value["arms"]["keyword"]["rows"]
    return rows


def entry(**values: Any) -> Change:
    """One accepted loss; None takes the key out."""
    full = {
        "what": "case",
        "name": "q-02",
        "arm": "keyword",
        "reason": "retired",
        "case_sha256": "0" * 64,
        "baseline_sha256": "0" * 64,
        **values,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in full.items() if value is not None]
    return write(ACCEPTED, "[[accepted]]\n" + "\n".join(lines) + "\n")


def report(path: str = "before.json", **values: Any) -> Change:
    """A report of the project as it is now, with other values at its suite."""

    def change(project: Project) -> None:
        done = project.gate("run", "--no-baseline", "--json", "-")
        value = json.loads(done.out)
        value["suites"][0].update(values)
        project.write(path, json.dumps(value))

    return change


def second_suite(name: str, more: str = "") -> Change:
    def change(project: Project) -> None:
        text = project.read(TOML)
        project.write(
            TOML, text + text.replace("suite.docs", f"suite.{name}").replace("k = 2\n", f"k = 2\n{more}\n")
        )

    return change


def broken_on_base(path: str, text: bytes) -> Change:
    """`main` has the file with these bytes; the change has it as it was."""

    def change(project: Project) -> None:
        before = (project.root / path).read_bytes()
        project.git("checkout", "--quiet", "main")
        project.write(path, text)
        project.commit("broken")
        project.git("checkout", "--quiet", "-B", "change")
        project.write(path, before)

    return change


def windows_on_base(project: Project) -> None:
    """`main` has its config and its baseline with a BOM and CRLF."""
    project.git("checkout", "--quiet", "main")
    as_windows_file(TOML, BASELINE)(project)
    project.commit("saved on Windows")
    project.git("checkout", "--quiet", "-B", "change")


def break_e101(project: Project) -> None:
    """Rewrite the section that answers q-02, so that it no longer does."""
    project.edit("docs/errors.md", "## E101 WidgetJam\n\nE101 means", "## A jam\n\nIt means")
    project.edit("docs/faq.md", "See the errors page.", "See the WidgetJam page on E101.")
    project.edit("docs/news.md", "grew.", "grew. E101 WidgetJam went.")


def user_code(text: str) -> Change:
    return both(write("mine.py", text), config('type = "bm25"', 'type = "mine:arm"'))


def row(front: str) -> str:
    """A whole case that begins with these keys."""
    return "{" + front + ", " + REST + "}"


DEEP = '{"id": ' + "[" * 100_000
REST = '"query": "x", "relevant_doc_ids": ["faq"], "kind": "semantic"'


# --- Odd and right --------------------------------------------------------------------------------------------------

GOOD = [
    Odd("nothing odd at all", nothing, 0, start="recorded", verdict="pass"),
    Odd("BOM and CRLF in cases", as_windows_file(CASES), 0, start="recorded", verdict="pass"),
    Odd("BOM and CRLF in the QA gold", as_windows_file(QA), 0, start="recorded", verdict="pass"),
    Odd("BOM and CRLF in pages", as_windows_file("docs/errors.md", "docs/api.md"), 0, start="recorded", verdict="pass"),
    Odd("BOM and CRLF in gate.toml", as_windows_file(TOML), 0, start="recorded", verdict="pass"),
    Odd("BOM and CRLF in the baseline", as_windows_file(BASELINE), 0, start="recorded", verdict="pass"),
    Odd("BOM and CRLF on the base", windows_on_base, 0, start="recorded", verdict="pass", command="run --base main --json -"),
    Odd("only CR line ends", bytes_of(CASES, lambda data: data.replace(b"\n", b"\r")), 0, start="recorded", verdict="pass"),
    Odd("no line break at the end", bytes_of(CASES, bytes.rstrip), 0, start="recorded", verdict="pass"),
    Odd("blank lines", bytes_of(CASES, lambda data: b"\n \n" + data.replace(b"\n", b"\n\n\t\n")), 0, start="recorded", verdict="pass"),
    Odd("cases in another order", lambda project: (project.cases.reverse(), project.save_cases()), 0, start="recorded", verdict="pass"),
    Odd("keys in another order", bytes_of(CASES, lambda data: b"".join(
        json.dumps(dict(reversed(json.loads(row).items()))).encode() + b"\n" for row in data.splitlines()
    )), 0, start="recorded", verdict="pass"),
    Odd("characters as \\u escapes", bytes_of(CASES, lambda data: data.replace(b"polish", b"p\\u006flish")), 0, start="recorded", verdict="pass"),
    Odd("header row in the middle", edit(CASES, '{"id": "q-08"', '{"version": "local-v1", "pool_depth": 10}\n{"id": "q-08"'), 0, start="recorded", verdict="pass"),
    Odd("NFD instead of NFC in query, label and file name", other_form, 0, verdict="pass"),
    Odd("pool written as a huge number", config("pool = 8", "pool = 100000000000000000000"), 0, command=MEASURE, verdict="unjudged"),
    Odd("k = pool", config("k = 2", "k = 8"), 0, command=MEASURE, verdict="unjudged"),
    Odd("an id without a number has its split by hash", line(row('"id": "unnumbered-d", "split": "test"')), 0, command=MEASURE, verdict="unjudged"),
    Odd("ids without numbers only", lambda project: project.write(CASES, "".join(
        row(f'"id": "{name}"') + "\n" for name in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    )), 0, command=MEASURE, verdict="unjudged"),
    Odd("a query without tokens scores 0", case("q-02", query="\u65e5\u672c\u8a9e"), 0,
        ("keyword: 1 query has no token and score 0 (q-02)",), command=MEASURE, verdict="unjudged"),
    Odd("the unicode tokenizer reads other scripts", both(
        page("# \u65e5\u672c\u8a9e\n\n\u65e5\u672c\u8a9e\n"), case("q-02", query="\u65e5\u672c\u8a9e", relevant_doc_ids=["odd"]), arm('tokenizer = "unicode"')
    ), 0, command=MEASURE, verdict="unjudged"),
    Odd("a page without headings", page("Just text, and no heading at all.\n"), 0, command=MEASURE, verdict="unjudged"),
    Odd("headings inside code fences", fenced, 0, command=MEASURE, verdict="unjudged"),
    Odd("--- in the middle of a page is no front matter", page("# Odd\n\n---\nfoo: [\n---\n"), 0, command=MEASURE, verdict="unjudged"),
    Odd("grades", case("q-08", grades={"errors": 3}), 0, command=MEASURE, verdict="unjudged"),
    Odd("slices that no page has", suite('slices = ["product"]'), 0, command=MEASURE, verdict="unjudged"),
    Odd("a linked page on a laptop", link("docs/linked.md", "faq.md"), 0, command=MEASURE, verdict="unjudged"),
    Odd("a page linked from outside on a laptop", link_docs_outside, 0, command=MEASURE, verdict="unjudged"),
    Odd("files that are no pages", both(write("docs/logo.png", b"\x89PNG\0"), write("docs/.hidden.md", b"\xff\xfe")), 0, start="recorded", verdict="pass"),
    Odd("a page id with spaces", both(write("docs/two words.md", "# Two\n\nTwo words.\n"), label(["two words"])), 0, command=MEASURE, verdict="unjudged"),
    Odd("a page id with mark-up", both(write("docs/a|`b`<i>.md", "# Odd\n\nMark-up.\n"), label(["a|`b`<i>"])), 0, command=MEASURE, verdict="unjudged"),
    Odd("a kind with pipes", case("q-02", kind="a|b|`c`"), 0, command=MEASURE, verdict="unjudged"),
    Odd("an empty page in BEIR", to_beir, 0, command=MEASURE, verdict="unjudged"),
    Odd("[tool.gate] in pyproject.toml", to_pyproject, 0, start="recorded", verdict="pass"),
    Odd("a pyproject.toml without [tool.gate] beside it", write("pyproject.toml", '[project]\nname = "gate"\n'), 0, start="recorded", verdict="pass"),
    Odd("a single case", lambda project: project.write(CASES, row('"id": "q-02"') + "\n"), 0, command=MEASURE, verdict="unjudged"),
    Odd("an unanswerable question without an answer", question('{"id": "qa-4", "question": "Why?", "answer": "", "citations": []}'), 0, command=MEASURE, verdict="unjudged"),
    Odd("an empty accepted file", write(ACCEPTED, ""), 0, start="recorded", verdict="pass"),
    Odd("a rejected page that is gone", case("q-02", not_relevant_doc_ids=["nowhere"]), 0,
        ("1 rejected page is not in the corpus",), command=MEASURE, verdict="unjudged"),
]  # fmt: skip


# --- Refused before anything is measured ----------------------------------------------------------------------------

ENCODING = [
    Odd("cases in UTF-16", utf16(CASES), 2, ("eval/cases.jsonl: is UTF-16, not UTF-8.",)),
    Odd("a page in UTF-16", utf16("docs/faq.md"), 2, ("docs/faq.md: is UTF-16, not UTF-8.",)),
    Odd("gate.toml in UTF-16", utf16(TOML), 2, ("gate.toml: is UTF-16, not UTF-8.",)),
    Odd("a baseline in UTF-16", utf16(BASELINE), 2, ("baselines/docs.json: is UTF-16, not UTF-8.",), start="recorded"),
    Odd("broken UTF-8 in a page", bytes_of("docs/faq.md", lambda data: data.replace(b"jammed", b"jamm\xe9d")), 2,
        ("docs/faq.md:5: is not UTF-8 (byte 0xe9 at offset",)),
    Odd("broken UTF-8 in the cases", bytes_of(CASES, lambda data: data.replace(b"polish", b"p\xf6lish")), 2, ("eval/cases.jsonl:7: is not UTF-8",)),
    Odd("a NUL byte in the cases", bytes_of(CASES, lambda data: data.replace(b"polish", b"po\0ish")), 2, ("eval/cases.jsonl:7: has a NUL byte",)),
    Odd("a NUL byte in a page", page(b"# Odd\n\n\0\n"), 2, ("docs/odd.md:3: has a NUL byte",)),
    Odd("a Git LFS pointer instead of a page", page("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"), 2, ("docs/odd.md: is a Git LFS pointer",)),
    Odd("broken UTF-8 in the base's baseline", broken_on_base(BASELINE, b'{"schema": "\xff"}'), 2,
        ("baselines/docs.json at",), start="recorded", command="run --base main --json -"),
]  # fmt: skip

JSONL = [
    Odd("a truncated last line", bytes_of(CASES, lambda data: data[:-20]), 2, ("eval/cases.jsonl:8: is not JSON",)),
    Odd("a truncated line in the middle", edit(CASES, '"kind": "exact_term"}\n{"id": "q-04"', '"kind": "exa\n{"id": "q-04"'), 2, ("eval/cases.jsonl:1: is not JSON",)),
    Odd("a line that is an array", line('["q-20"]'), 2, ('eval/cases.jsonl:9: is not an object (["q-20"])',)),
    Odd("a line that is a number", line("42"), 2, ("eval/cases.jsonl:9: is not an object (42)",)),
    Odd("a line that is null", line("null"), 2, ("eval/cases.jsonl:9: is not an object (null)",)),
    Odd("a whole JSON array instead of lines", lambda project: project.write(CASES, json.dumps(project.cases, indent=1)), 2, ("eval/cases.jsonl: is an array, not JSONL",)),
    Odd("two objects on one line", line(row('"id": "q-20"') + " " + row('"id": "q-22"')), 2, ("eval/cases.jsonl:9: is not JSON (Extra data",)),
    Odd("a key twice", line(row('"id": "q-20", "id": "q-22"')), 2, ("eval/cases.jsonl:9: has the key 'id' twice",)),
    Odd("NaN", line(row('"id": "q-20", "grades": {"faq": NaN}')), 2, ("eval/cases.jsonl:9: has NaN, which is not JSON",)),
    Odd("half a surrogate pair", line('{"id": "q-20", "query": "\\ud800", "relevant_doc_ids": ["faq"], "kind": "semantic"}'), 2, ("eval/cases.jsonl:9: has half a surrogate pair",)),
    Odd("a line of over 1 MB", line('{"id": "q-20", "query": "' + "x" * 1_000_000 + '"}'), 2, ("eval/cases.jsonl:9: the line has 1,000",)),
    Odd("absurdly deep JSON", line(DEEP), 2, ("eval/cases.jsonl:9: is nested too deeply",)),
    Odd("an absurdly long number", line(row('"id": "q-20", "grades": {"faq": ' + "9" * 5000 + "}")), 2, ("eval/cases.jsonl:9: is not JSON (a number with thousands of digits).",)),
    Odd("a merge conflict in the cases", edit(CASES, '{"id": "q-04"', '<<<<<<< HEAD\n{"id": "q-04"'), 2, ("eval/cases.jsonl:2: is not JSON",)),
    Odd("single quotes", line("{'id': 'q-20'}"), 2, ("JSON has double quotes only.",)),
]  # fmt: skip

CASE = [
    Odd("an id twice in one file", line(row('"id": "q-02"')), 2, ("eval/cases.jsonl:9: case 'q-02' is already in eval/cases.jsonl:1.",)),
    Odd("an id in two files", both(write("eval/more.jsonl", row('"id": "q-02"') + "\n"), config('["eval/cases.jsonl"]', '["eval/cases.jsonl", "eval/more.jsonl"]')), 2,
        ("eval/more.jsonl:1: case 'q-02' is already in eval/cases.jsonl:1.",)),
    Odd("one id in two Unicode forms", both(line(row('"id": "caf\u00e9"')), line(row('"id": "cafe\u0301"'))), 2, ("eval/cases.jsonl:10: case 'caf\u00e9' is already in",)),
    Odd("an unknown page", label(["erors"]), 2, ("eval/cases.jsonl:1: case 'q-02' labels 'erors', no such page. Closest: 'errors'.",)),
    Odd("a page with its suffix", label(["errors.md"]), 2, ("case 'q-02' labels 'errors.md', no such page. Closest: 'errors'.",)),
    Odd("a page in other case", label(["Errors"]), 2, ("labels 'Errors', no such page. Closest: 'errors'.",)),
    Odd("no labels", label([]), 2, ("eval/cases.jsonl:1: case 'q-02': 'relevant_doc_ids' is empty.",)),
    Odd("labels missing", case("q-02", relevant_doc_ids=None), 2, ("case 'q-02' has no relevant_doc_ids.",)),
    Odd("labels as a string", label("errors"), 2, ("case 'q-02': 'relevant_doc_ids' is not a list ('errors').",)),
    Odd("a label twice", label(["errors", "errors"]), 2, ("case 'q-02' labels 'errors' twice.",)),
    Odd("a label that is a number", label([5]), 2, ("a page in 'relevant_doc_ids' is not a string (5).",)),
    Odd("relevant and not relevant", case("q-02", not_relevant_doc_ids=["errors"]), 2, ("case 'q-02' labels 'errors' both relevant and not relevant.",)),
    Odd("an empty query", case("q-02", query=""), 2, ("case 'q-02' has a blank query.",)),
    Odd("a query of white space", case("q-02", query=" \t\u00a0"), 2, ("case 'q-02' has a blank query.",)),
    Odd("a query of invisible characters", case("q-02", query="\u200b\u200d"), 2, ("case 'q-02' has a blank query.",)),
    Odd("a query that is a number", case("q-02", query=101), 2, ("case 'q-02': 'query' is not a string (101).",)),
    Odd("no kind", case("q-02", kind=None), 2, ("case 'q-02' has no kind.",)),
    Odd("a kind that is a list", case("q-02", kind=["semantic"]), 2, ("case 'q-02': 'kind' is not a string ([\"semantic\"]).",)),
    Odd("a kind with a line break", case("q-02", kind="exact\nterm"), 2, ("case 'q-02': 'kind' has a control character ('exact\\nterm').",)),
    Odd("a kind with spaces around", case("q-02", kind=" semantic"), 2, ("case 'q-02': 'kind' has spaces around it",)),
    Odd("a bad split", case("q-02", split="tset"), 2, ("case 'q-02': 'split' is 'tset', not one a case can have. Did you mean 'test'?",)),
    Odd("split all on a case", case("q-02", split="all"), 2, ("case 'q-02': 'split' is 'all', not one a case can have.",)),
    Odd("grade 0", case("q-02", grades={"errors": 0}), 2, ("the grade of 'errors' is not a whole number from 1 to 1000 (0). A page that is judged and rejected",)),
    Odd("grade 1.5", case("q-02", grades={"errors": 1.5}), 2, ("the grade of 'errors' is not a whole number from 1 to 1000 (1.5).",)),
    Odd("grade true", case("q-02", grades={"errors": True}), 2, ("the grade of 'errors' is not a whole number from 1 to 1000 (true).",)),
    Odd("a grade for a page without a label", case("q-02", grades={"faq": 2}), 2, ("case 'q-02' grades 'faq', which is not among its relevant_doc_ids.",)),
    Odd("grades as a list", case("q-02", grades=[2]), 2, ("case 'q-02': 'grades' is not an object ([2]).",)),
    Odd("a typo in a key", line('{"id": "q-20", "query": "x", "relevant_doc_ids": ["faq"], "knid": "semantic"}'), 2, ("case 'q-20': unknown key 'knid'. Did you mean 'kind'?",)),
    Odd("a key of one's own", case("q-02", owner="me"), 2, ("case 'q-02': unknown key 'owner'. Values of your own to slice by go into \"fields\".",)),
    Odd("an id with a line break", line(row('"id": "q\\n20"')), 2, ("a case has an id that has a control character ('q\\n20').",)),
    Odd("an id with an escape sequence", line(row('"id": "\\u001b[31mq"')), 2, ("a case has an id that has a control character ('\\x1b[31mq').",)),
    Odd("an id that is a number", line(row('"id": 20')), 2, ("a case has an id that is not a string (20).",)),
    Odd("an id of 10,000 characters", line(row('"id": "' + "q" * 10_000 + '"')), 2, ("a case has an id that has 10000 characters, over 200",)),
    Odd("no id", line("{" + REST + "}"), 2, ("eval/cases.jsonl:9: a case has no id.",)),
    Odd("three things wrong at once", both(label(["erors"]), case("q-04", kind=None), case("q-06", query="")), 2,
        ("eval/cases.jsonl:1: case 'q-02' labels 'erors'", "eval/cases.jsonl:2: case 'q-04' has no kind", "eval/cases.jsonl:3: case 'q-06' has a blank query")),
    Odd("an empty case file", write(CASES, ""), 2, ("eval/cases.jsonl: has no cases.",)),
    Odd("only a header", write(CASES, '{"version": "local-v1"}\n'), 2, ("eval/cases.jsonl: has no cases.",)),
    Odd("all cases in the other split", lambda project: ([row.update(split="dev") for row in project.cases], project.save_cases()), 2,
        ("eval/cases.jsonl: no case is in split 'test' (8 are in 'dev').",)),
    Odd("no case file", remove(CASES), 2, ("eval/cases.jsonl: no such file or folder.",)),
    Odd("a misspelt case file", config("cases.jsonl", "case.jsonl"), 2, ("eval/case.jsonl: no such file or folder. Closest: 'cases.jsonl'.",)),
    Odd("a case file that is a folder", config("eval/cases.jsonl", "eval"), 2, ("eval: is a folder without queries.jsonl and qrels/test.tsv.",)),
    Odd("a case file that is a device", config("eval/cases.jsonl", "/dev/null"), 2, ("/dev/null: is a device, not a regular file.",)),
    Odd("a case file that is a link to itself", link(CASES, "cases.jsonl"), 2, ("eval/cases.jsonl: cannot be read",)),
    Odd("a case file that is a link to nothing", link(CASES, "gone.jsonl"), 2, ("eval/cases.jsonl: is a link to nothing ('gone.jsonl').",)),
    Odd("an unreadable case file", unreadable(CASES), 2, ("eval/cases.jsonl: cannot be read (Permission denied).",), not_as_root=True),
    Odd("one case file under two names", both(link("eval/again.jsonl", "cases.jsonl"), config('["eval/cases.jsonl"]', '["eval/cases.jsonl", "eval/again.jsonl"]')), 2,
        ("eval/again.jsonl: is named twice among the case files.",)),
]  # fmt: skip

QUESTIONS = [
    Odd("no QA file", remove(QA), 2, ("eval/qa.jsonl: no such file or folder.",)),
    Odd("an empty QA file", write(QA, "\n"), 2, ("eval/qa.jsonl: has no questions.",)),
    Odd("a citation of no page", question('{"id": "qa-4", "question": "x", "answer": "y", "citations": ["erors"]}'), 2, ("eval/qa.jsonl:4: question 'qa-4' cites 'erors', no such page. Closest: 'errors'.",)),
    Odd("QA without a question", question('{"id": "qa-4", "answer": "y", "citations": ["errors"]}'), 2, ("eval/qa.jsonl:4: question 'qa-4' has no question.",)),
    Odd("QA without an answer", question('{"id": "qa-4", "question": "x", "citations": ["errors"]}'), 2, ("eval/qa.jsonl:4: question 'qa-4' has no answer.",)),
    Odd("a QA id twice", question('{"id": "qa-1", "question": "x", "answer": "y", "citations": ["errors"]}'), 2, ("eval/qa.jsonl:4: question 'qa-1' is already in eval/qa.jsonl:1.",)),
    Odd("citations as a string", question('{"id": "qa-4", "question": "x", "answer": "y", "citations": "errors"}'), 2, ("question 'qa-4': 'citations' is not a list ('errors').",)),
]  # fmt: skip

CORPUS = [
    Odd("no corpus", config('corpus = "docs"', 'corpus = "dosc"'), 2, ("dosc: no such file or folder. Closest: 'docs'.",)),
    Odd("an empty corpus folder", both(lambda project: (project.root / "void").mkdir(), config('corpus = "docs"', 'corpus = "void"')), 2, ("void: has no pages (*.md, *.markdown).",)),
    Odd("a corpus that is a file", config('corpus = "docs"', 'corpus = "docs/faq.md"'), 2, ("docs/faq.md: no reader knows this kind of file.",)),
    Odd("a corpus that is a device", config('corpus = "docs"', 'corpus = "/dev/null"'), 2, ("/dev/null: is a device, not a regular file.",)),
    Odd("a page that is a device", link("docs/odd.md", "/dev/zero"), 2, ("docs/odd.md: is a device, not a regular file.",)),
    Odd("a page that is a link to nothing", link("docs/odd.md", "gone.md"), 2, ("docs/odd.md: is a link to nothing ('gone.md').",)),
    Odd("an unreadable page", unreadable("docs/faq.md"), 2, ("docs/faq.md: cannot be read (Permission denied).",), not_as_root=True),
    Odd("front matter that is never closed", page("---\ntitle: Odd\n\n# Odd\n\nText.\n"), 2, ("docs/odd.md:1: the front matter is never closed",)),
    Odd("a page of only front matter", page("---\ntitle: Odd\n---\n"), 2, ("docs/odd.md: has front matter but no text.",)),
    Odd("an empty page", page(""), 2, ("docs/odd.md: has no text.",)),
    Odd("two files with one page id", write("docs/faq.markdown", "# Again\n\nText.\n"), 2, ("is page 'faq', and so is docs/faq.m",)),
    Odd("two pages wrong at once", both(page(""), utf16("docs/faq.md")), 2, ("docs/faq.md: is UTF-16", "docs/odd.md: has no text")),
    Odd("an id twice in corpus.jsonl", both(to_beir, add("beir/corpus.jsonl", '{"_id": "faq", "text": "again"}\n')), 2, ("beir/corpus.jsonl:5: page 'faq' is already in line 3.",)),
    Odd("an unknown reader", suite('reader = "markdwon"'), 2, ("no such reader ('markdwon'). Did you mean 'markdown'?",)),
    Odd("qrels that judge no query", both(to_beir, add("beir/qrels/test.tsv", "9\tfaq\t1\n")), 2, ("beir/qrels/test.tsv:5: judges query '9', which queries.jsonl does not have.",)),
    Odd("a page linked from outside in the Action", link_docs_outside, 2, ("docs/outside.md: leads out of the repository",), env={"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "."}),
    Odd("a corpus outside the repository in the Action", config('corpus = "docs"', 'corpus = ".."'), 2, ("..: leads out of the repository",), env={"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "."}),
]  # fmt: skip

CONFIG = [
    Odd("no gate.toml", both(remove(TOML), lambda project: (project.root / ".git").mkdir()), 2, ("gate.toml: no gate.toml and no [tool.gate] in pyproject.toml, here or above.",)),
    Odd("--config that is not there", nothing, 2, ("gate.tml: no such file or folder. Closest: 'gate.toml'.",), command="run --config gate.tml"),
    Odd("--config names a folder without one", nothing, 2, ("docs: this folder has no gate.toml and no [tool.gate]",), command="run --config docs"),
    Odd("--config names a pyproject.toml without a table", write("pyproject.toml", "[project]\n"), 2, ("pyproject.toml: has no [tool.gate] table.",), command="run --config pyproject.toml"),
    Odd("--config of a name too long", nothing, 2, ("cannot be read (File name too long).",), command="run --config " + "x" * 300),
    Odd("an empty gate.toml", write(TOML, ""), 2, ("gate.toml: has no suite. Add a table [suite.NAME].",)),
    Odd("no suite", write(TOML, "[suite]\n"), 2, ("gate.toml: has no suite.",)),
    Odd("no TOML", write(TOML, "suite: docs\n"), 2, ("gate.toml: not TOML (",)),
    Odd("a key twice in gate.toml", suite("k = 3"), 2, ("gate.toml: not TOML (Cannot overwrite a value",)),
    Odd("a merge conflict in gate.toml", config("k = 2", "<<<<<<< HEAD\nk = 2"), 2, ("gate.toml: not TOML (",)),
    Odd("absurdly deep TOML", suite("slices = " + "[" * 10_000), 2, ("gate.toml: not TOML (nested too deeply).",)),
    Odd("absurdly deep dotted keys", suite("a." * 5_000 + "a = 1"), 2, ("gate.toml: is nested too deeply.",)),
    Odd("an absurdly long number in gate.toml", config("k = 2", "k = " + "9" * 5000), 2, ("gate.toml: not TOML (",)),
    Odd("both gate.toml and [tool.gate]", write("pyproject.toml", "[tool.gate.suite.x]\n"), 2, ("pyproject.toml: both gate.toml and [tool.gate] are present.",)),
    Odd("both, and the table written inline", write("pyproject.toml", 'tool = {gate = {suite = {}}}\n'), 2, ("pyproject.toml: both gate.toml and [tool.gate] are present.",)),
    Odd("a pyproject.toml whose tool is no table", write("pyproject.toml", 'tool = "gate"\n'), 2, ("has no [tool.gate] table",), command="run --config pyproject.toml"),
    Odd("a pyproject.toml that is no TOML", write("pyproject.toml", "[tool.gate\n"), 2, ("pyproject.toml: not TOML (",)),
    Odd("a typo at the top", config("suite.docs", "siute.docs"), 2, ("gate.toml: unknown key 'siute'. Did you mean 'suite'?",)),
    Odd("a typo in the suite", suite('spilt = "test"'), 2, ("gate.toml [suite.docs]: unknown key 'spilt'. Did you mean 'split'?",)),
    Odd("a typo in a needed key", config("corpus =", "corpsu ="), 2, ("gate.toml [suite.docs]: unknown key 'corpsu'. Did you mean 'corpus'?",)),
    Odd("a typo in the arm", arm("k11 = 1.2"), 2, ("gate.toml [suite.docs.arms.keyword]: unknown key 'k11'. Did you mean 'k1'?",)),
    Odd("a typo in the arm's type", config("type =", "tpye ="), 2, ("gate.toml [suite.docs.arms.keyword]: unknown key 'tpye'. Did you mean 'type'?",)),
    Odd("a typo in the policy", policy('metrcs = ["recall"]'), 2, ("gate.toml [suite.docs.policy]: unknown key 'metrcs'. Did you mean 'metrics'?",)),
    Odd("a typo in the policy's own key", policy('rule = "max-drop"\nmaxdrop = 0.1'), 2, ("gate.toml [suite.docs.policy]: unknown key 'maxdrop'. Did you mean 'max_drop'?",)),
    Odd("a key that is like no other", suite("zzz = 1"), 2, ("gate.toml [suite.docs]: unknown key 'zzz'. Known: 'arms', 'baseline'",)),
    Odd("no corpus key", config('corpus = "docs"\n', ""), 2, ("gate.toml [suite.docs]: 'corpus' is missing. Add it: corpus = ...",)),
    Odd("no arms", config('[suite.docs.arms.keyword]\ntype = "bm25"\n', ""), 2, ("gate.toml [suite.docs]: has no arm. Add a table [suite.SUITE.arms.NAME] with a type.",)),
    Odd("arms = []", both(config('[suite.docs.arms.keyword]\ntype = "bm25"\n', ""), suite("arms = []")), 2, ("gate.toml [suite.docs]: 'arms' is not a table ([]).",)),
    Odd("an arm without a type", config('type = "bm25"\n', ""), 2, ("gate.toml [suite.docs.arms.keyword]: 'type' is missing. Add it: type = ...",)),
    Odd('k = "5"', config("k = 2", 'k = "5"'), 2, ("gate.toml [suite.docs]: 'k' is not a whole number ('5'). Write it without quotes, such as 5.",)),
    Odd("k = 0", config("k = 2", "k = 0"), 2, ("gate.toml [suite.docs]: 'k' is below 1 (0).",)),
    Odd("k = -1", config("k = 2", "k = -1"), 2, ("gate.toml [suite.docs]: 'k' is below 1 (-1).",)),
    Odd("k = 5.5", config("k = 2", "k = 5.5"), 2, ("gate.toml [suite.docs]: 'k' is not a whole number (5.5).",)),
    Odd("k = 5.0", config("k = 2", "k = 5.0"), 2, ("gate.toml [suite.docs]: 'k' is not a whole number (5.0).",)),
    Odd("k = true", config("k = 2", "k = true"), 2, ("gate.toml [suite.docs]: 'k' is not a whole number (true).",)),
    Odd("k = nan", config("k = 2", "k = nan"), 2, ("gate.toml [suite.docs]: 'k' is not a",)),
    Odd("a huge k", config("k = 2", "k = 99999999999999999999"), 2, ("gate.toml [suite.docs]: k is larger than the pool (99999999999999999999 > 8).",)),
    Odd("k > pool", config("k = 2", "k = 9"), 2, ("gate.toml [suite.docs]: k is larger than the pool (9 > 8). Raise pool or lower k.",)),
    Odd("context > pool", config("context = 3", "context = 9"), 2, ("gate.toml [suite.docs]: context is larger than the pool (9 > 8).",)),
    Odd("cases = 3", config('["eval/cases.jsonl"]', "3"), 2, ("gate.toml [suite.docs]: 'cases' is not a list (3).",)),
    Odd("cases = [3]", config('["eval/cases.jsonl"]', "[3]"), 2, ("gate.toml [suite.docs]: value 1 of 'cases' is not a text (3).",)),
    Odd("cases = []", config('["eval/cases.jsonl"]', "[]"), 2, ("gate.toml [suite.docs]: 'cases' is empty. Name at least one.",)),
    Odd('cases = ""', config('["eval/cases.jsonl"]', '""'), 2, ("gate.toml [suite.docs]: value 1 of 'cases' is empty ('').",)),
    Odd("a path with a NUL", config('corpus = "docs"', 'corpus = "do\\u0000cs"'), 2, ("gate.toml [suite.docs]: 'corpus' has a control character ('do\\x00cs').",)),
    Odd('gate = "no"', arm('gate = "no"'), 2, ("gate.toml [suite.docs.arms.keyword]: 'gate' is not true or false ('no').",)),
    Odd("gate = 0", arm("gate = 0"), 2, ("gate.toml [suite.docs.arms.keyword]: 'gate' is not true or false (0).",)),
    Odd("no arm decides", arm("gate = false"), 2, ("gate.toml [suite.docs]: no arm has gate = true.",)),
    Odd("no arm is required", arm("required = false"), 2, ("gate.toml [suite.docs]: no gated arm is required.",)),
    Odd("k1 = inf", arm("k1 = inf"), 2, ("gate.toml [suite.docs.arms.keyword]: 'k1' is",)),
    Odd("b = 2", arm("b = 2"), 2, ("gate.toml [suite.docs.arms.keyword]: 'b' is over 1 (2). Write 1 or less.",)),
    Odd("an unknown arm type", config('"bm25"', '"bm52"'), 2, ("gate.toml [suite.docs.arms.keyword]: no such arm type ('bm52'). Did you mean 'bm25'?",)),
    Odd("an unknown variant", arm('variant = "okapi2"'), 2, ("gate.toml [suite.docs.arms.keyword]: 'variant' cannot be 'okapi2'. Did you mean 'okapi'?",)),
    Odd("an unknown chunker", arm('chunker = "haeding"'), 2, ("gate.toml [suite.docs.arms.keyword]: no such chunker ('haeding'). Did you mean 'heading'?",), command="check"),
    Odd("a chunker that is a number", arm("chunker = 5"), 2, ("gate.toml [suite.docs.arms.keyword]: 'chunker' is not a text or a table (5).",), command=MEASURE),
    Odd("a chunker with an unknown option", arm('chunker = {type = "window", wrods = 5}'), 2, ("gate.toml [suite.docs.arms.keyword]: unknown option 'wrods'. Did you mean 'words'?",), command=MEASURE),
    Odd("a chunker for chunks that did not come", arm('chunker = "given"'), 2, ("came without chunks",), command=MEASURE),
    Odd("an unknown policy rule", policy('rule = "any-dorp"'), 2, ("gate.toml [suite.docs.policy]: no such policy rule ('any-dorp'). Did you mean 'any-drop'?",)),
    Odd("a policy that is a text", suite('policy = "any-drop"'), 2, ("gate.toml [suite.docs]: 'policy' is not a table ('any-drop').",)),
    Odd("an unknown metric", policy('metrics = ["recal"]'), 2, ("gate.toml [suite.docs.policy]: no such metric ('recal'). Did you mean 'recall'?",)),
    Odd("metrics = []", policy("metrics = []"), 2, ("gate.toml [suite.docs.policy]: 'metrics' is empty. Name at least one.",)),
    Odd("an unknown kind in the policy", policy('kinds = ["exact-term"]'), 2, ("gate.toml [suite.docs.policy]: no case has the kind 'exact-term'. Did you mean 'exact_term'?",)),
    Odd("kinds = []", policy("kinds = []"), 2, ("gate.toml [suite.docs.policy]: 'kinds' is empty. Name at least one.",)),
    Odd("an unknown stance", policy('diagnosis = "fial"'), 2, ("gate.toml [suite.docs.policy]: 'diagnosis' cannot be 'fial'. Did you mean 'fail'?",)),
    Odd("max-drop without max_drop", policy('rule = "max-drop"'), 2, ("gate.toml [suite.docs.policy]: 'max_drop' is missing. Add it: max_drop = ...",)),
    Odd("floor = 2", policy('rule = "floor"\nfloor = 2'), 2, ("gate.toml [suite.docs.policy]: 'floor' is over 1 (2). Write 1 or less.",)),
    Odd('floor = "0.5"', policy('rule = "floor"\nfloor = "0.5"'), 2, ("gate.toml [suite.docs.policy]: 'floor' is not a number ('0.5').",)),
    Odd("an unknown split", suite('split = "tset"'), 2, ("gate.toml [suite.docs]: 'split' cannot be 'tset'. Did you mean 'test'?",)),
    Odd("a suite name with a slash", both(config("[suite.docs]", '[suite."a/b"]'), config("[suite.docs.arms", '[suite."a/b".arms')), 2, ("gate.toml [suite]: 'a/b' cannot be a name.",)),
    Odd("a suite named ..", both(config("[suite.docs]", '[suite.".."]'), config("[suite.docs.arms", '[suite."..".arms')), 2, ("gate.toml [suite]: '..' cannot be a name.",)),
    Odd("an arm with a space in its name", config("arms.keyword", 'arms."key word"'), 2, ("gate.toml [suite.docs.arms]: 'key word' cannot be a name.",)),
    Odd("a suite that is a number", write(TOML, "[suite]\ndocs = 5\n"), 2, ("gate.toml [suite]: 'docs' is not a table (5).",)),
    Odd("two suites with one baseline", second_suite("more", 'baseline = "baselines/docs.json"'), 2, ("gate.toml [suite.more]: has the same baseline as the suite 'docs'",)),
    Odd("a baseline that would overwrite the cases", suite(f'baseline = "{CASES}"'), 2, ("gate.toml [suite.docs]: 'baseline' does not end in .json ('eval/cases.jsonl').",), command="baseline"),
    Odd("a baseline that is the folder itself", suite('baseline = "."'), 2, ("gate.toml [suite.docs]: 'baseline' does not end in .json ('.').",)),
    Odd("a baseline that is a folder", both(suite('baseline = "b.json"'), lambda project: (project.root / "b.json").mkdir()), 2, ("b.json: is a folder, not a file.",)),
    Odd("three things wrong in gate.toml", both(suite("zzz = 1"), config("k = 2", "k = 0"), config('corpus = "docs"', "corpus = 3")), 2,
        ("'k' is below 1", "unknown key 'zzz'", "'corpus' is not a text (3)")),
    Odd("user code that is not there", config('"bm25"', '"nowhere:arm"'), 2, ("gate.toml [suite.docs.arms.keyword]: cannot import 'nowhere:arm' (ModuleNotFoundError",)),
    Odd("user code that raises", user_code("raise RuntimeError('not\\ntoday')\n"), 2, ("cannot import 'mine:arm' (RuntimeError: not today).",)),
    Odd("user code with a syntax error", user_code("def arm(:\n"), 2, ("cannot import 'mine:arm' (SyntaxError:",)),
    Odd("user code that exits with 0", user_code("import sys\nsys.exit(0)\n"), 2, ("cannot import 'mine:arm' (SystemExit: 0).",)),
    Odd("user code that is no arm", user_code("arm = 5\n"), 2, ("gate.toml [suite.docs.arms.keyword]: 'mine:arm' is no arm, it has no 'build'.",)),
]  # fmt: skip

BASELINES = [
    Odd("a truncated baseline", bytes_of(BASELINE, lambda data: data[:-200]), 2, ("baselines/docs.json: not JSON (",), start="recorded"),
    Odd("an empty baseline", write(BASELINE, ""), 2, ("baselines/docs.json: not JSON (the file is empty). Restore it, or record it again with 'gate baseline docs'.",), start="recorded"),
    Odd("a merge conflict in the baseline", edit(BASELINE, ' "suite"', '<<<<<<< HEAD\n "suite"'), 2, ("baselines/docs.json: not JSON (it holds the marks of a merge conflict).",), start="recorded"),
    Odd("a baseline that is an array", write(BASELINE, "[]"), 2, ("baselines/docs.json: not a baseline (schema null).",), start="recorded"),
    Odd("a baseline that is a report", both(report(BASELINE)), 2, ("baselines/docs.json: not a baseline (schema 'retrieval-gate/report/1').",), start="recorded"),
    Odd("a baseline of another schema", baseline(schema="lockfile/1"), 2, ("baselines/docs.json: not a baseline (schema 'lockfile/1').",), start="recorded"),
    Odd("a baseline of a newer schema", baseline(schema="retrieval-gate/baseline/2"), 2, ("baselines/docs.json: written by another version of the gate ('retrieval-gate/baseline/2'; this one reads",), start="recorded"),
    Odd("a baseline of another suite", baseline(suite="other"), 2, ("baselines/docs.json: recorded for the suite 'other', not for 'docs'.",), start="recorded"),
    Odd("a further key in the baseline", baseline(note="mine"), 2, ("baselines/docs.json: not a baseline this version can read (note:",), start="recorded"),
    Odd("a row edited by hand", in_baseline(lambda value: rows_of(value)["q-08"].update(recall=0.0)), 2, ("contradicts itself (arm 'keyword', case 'q-08': the scores do not follow from the ranking).",), start="recorded"),
    Odd("a ranking edited by hand", in_baseline(lambda value: rows_of(value)["q-08"]["ranked"].reverse()), 2, ("contradicts itself (arm 'keyword', case 'q-08': the scores do not follow from the ranking).",), start="recorded"),
    Odd("a score taken out of one row", in_baseline(lambda value: rows_of(value)["q-08"].pop("recall")), 2, ("contradicts itself (arm 'keyword', case 'q-02' has the score 'recall', which other rows lack, and",), start="recorded"),
    Odd("a score taken out of all rows", in_baseline(lambda value: [row.pop("recall") for row in rows_of(value).values()]), 0, start="recorded", verdict="pass"),
    Odd("a case row missing", in_baseline(lambda value: rows_of(value).pop("q-08")), 2, ("contradicts itself (arm 'keyword' has no row for case 'q-08').",), start="recorded"),
    Odd("a case missing", in_baseline(lambda value: (rows_of(value).pop("q-08"), value["cases"].pop("q-08"))), 2, ("contradicts itself (cases_version does not fit the cases).",), start="recorded"),
    Odd("a row of no case", in_baseline(lambda value: rows_of(value).update({"q-99": rows_of(value)["q-02"]})), 2, ("contradicts itself (arm 'keyword' has a row for 'q-99', which is no case).",), start="recorded"),
    Odd("a row twice, as two merged refreshes leave it", edit(BASELINE, '  "q-02": {"at"', '  "q-02": {"at": [], "ranked": []},\n    "q-02": {"at"'), 2, ("baselines/docs.json: not JSON (the key 'q-02' stands twice in one object).",), start="recorded"),
    Odd("a fingerprint edited", baseline(cases_version="6 cases \u00b7 sha256 " + "0" * 64), 2, ("contradicts itself (cases_version does not fit the cases).",), start="recorded"),
    Odd("a case's fingerprint edited", in_baseline(lambda value: value["cases"]["q-02"].update(sha256="0" * 64)), 2, ("contradicts itself (the fingerprint of case 'q-02' does not fit its labels).",), start="recorded"),
    Odd("a label edited in the baseline", in_baseline(lambda value: value["cases"]["q-02"].update(kind="semantic")), 2, ("contradicts itself (the fingerprint of case 'q-02' does not fit its labels, and",), start="recorded"),
    Odd("a page hash edited", in_baseline(lambda value: value["pages"].update(faq="0" * 16)), 2, ("contradicts itself (corpus_version does not fit the pages).",), start="recorded"),
    Odd("a bucket edited", in_baseline(lambda value: value["arms"]["keyword"]["questions"]["qa-1"].update(bucket="retrieval")), 2, ("contradicts itself (arm 'keyword', question 'qa-1': the bucket does not follow from the positions).",), start="recorded"),
    Odd("Infinity in the baseline", in_baseline(lambda value: rows_of(value)["q-08"].update(recall=float("inf"))), 2, ("baselines/docs.json: not a baseline this version can read (arms.keyword.rows.q-08.recall:",), start="recorded"),
    Odd("absurdly deep JSON in the baseline", write(BASELINE, "[" * 100_000), 2, ("baselines/docs.json: not JSON (nested too deeply).",), start="recorded"),
    Odd("an absurdly long number in the baseline", edit(BASELINE, '"k": 2', '"k": ' + "9" * 5000), 2, ("baselines/docs.json: not JSON (",), start="recorded"),
    Odd("a baseline that is a link to itself", link(BASELINE, "docs.json"), 2, ("baselines/docs.json: cannot be read",), start="recorded"),
    Odd("the base's baseline truncated", broken_on_base(BASELINE, b'{"schema":'), 2, ("baselines/docs.json at",), start="recorded", command="run --base main --json -"),
    Odd("the base's gate.toml is no TOML", broken_on_base(TOML, b"suite: docs\n"), 2, ("gate.toml at",), start="recorded", command="run --base main --json -"),
    Odd("accepted losses that are no TOML", write(ACCEPTED, "accepted: []\n"), 2, ("baselines/docs.accepted.toml: not TOML (",), start="recorded"),
    Odd("accepted losses that are no table", write(ACCEPTED, "accepted = 5\n"), 2, ("baselines/docs.accepted.toml: 'accepted' is not a list (5).",), start="recorded"),
    Odd("an unknown key in an accepted loss", entry(raeson="x"), 2, ("baselines/docs.accepted.toml, entry 1: unknown key 'raeson'.",), start="recorded"),
    Odd("a typo in an accepted loss", entry(reason=None, raeson="x"), 2, ("baselines/docs.accepted.toml, entry 1: unknown key 'raeson'. Did you mean 'reason'?",), start="recorded"),
    Odd("an accepted case without an arm", entry(arm=None), 2, ("baselines/docs.accepted.toml, entry 1: it accepts a case without its 'arm' and 'case_sha256'.",), start="recorded"),
    Odd("an empty reason", entry(reason=""), 2, ("baselines/docs.accepted.toml, entry 1: 'reason' is empty ('').",), start="recorded"),
    Odd("a reason of several lines", entry(reason="first\nsecond"), 2, ("baselines/docs.accepted.toml, entry 1: 'reason' is not one line of plain text ('first\\nsecond').",), start="recorded"),
    Odd("a digest that is none", entry(baseline_sha256="abc"), 2, ("baselines/docs.accepted.toml, entry 1: 'baseline_sha256' is not a sha256 of 64 hex digits ('abc').",), start="recorded"),
    Odd("an unknown thing to accept", entry(what="cases"), 2, ("baselines/docs.accepted.toml, entry 1: 'what' cannot be 'cases'. Did you mean 'case'?",), start="recorded"),
    Odd("accepted losses that are no TOML, when recording", write(ACCEPTED, "accepted: []\n"), 2, ("baselines/docs.accepted.toml: not TOML (",), start="recorded", command="baseline"),
]  # fmt: skip

# --- Measured, and the verdict names the problem --------------------------------------------------------------------

JUDGED = [
    Odd("no baseline", nothing, 2, ("the suite 'docs' has no baseline (baselines/docs.json)",), verdict="invalid"),
    Odd("a baseline of a name too long", suite(f'baseline = "{"x" * 300}.json"'), 2, ("the suite 'docs' has no baseline (xxx",), verdict="invalid"),
    Odd("a case added", line(row('"id": "q-20"')), 2, ("baselines/docs.json was recorded on 6 cases",), start="recorded", verdict="invalid"),
    Odd("another k", config("k = 2", "k = 3"), 2, ("the baseline was recorded under other settings (k 2 -> 3)",), start="recorded", verdict="invalid"),
    Odd("an arm that fails every query", both(user_code(
        "from gate.model.settings import ArmSettings as Settings\n\nclass arm:\n    Settings = Settings\n\n    @staticmethod\n    def build(materials, settings):\n        raise OSError('no\\nengine')\n"
    )), 3, ("arm 'keyword': all 8 queries failed: OSError: no engine",), verdict="not_measured", command=MEASURE),
]  # fmt: skip

# --- The command line -----------------------------------------------------------------------------------------------

FLAGS = [
    Odd("no verb", nothing, 2, (), command=""),
    Odd("an unknown verb", nothing, 2, ("invalid choice: 'rnu'",), command="rnu"),
    Odd("an unknown flag", nothing, 2, ("unrecognized arguments: --basline",), command="run --basline"),
    Odd("an unknown suite", nothing, 2, ("--suite: no such suite ('dosc'). Did you mean 'docs'?",), command="run --suite dosc"),
    Odd("an unknown suite in the environment", nothing, 2, ("--suite: no such suite ('dosc'). Did you mean 'docs'?",), command="run", env={"GATE_SUITE": "dosc"}),
    Odd("an unknown arm", nothing, 2, ("--arm: no such arm ('keywrod'). Did you mean 'keyword'?",), command="run --arm keywrod"),
    Odd("an unknown split as a flag", nothing, 2, ("argument --split: invalid choice: 'other'",), command="run --split other"),
    Odd("an unknown split in the environment", nothing, 2, ("GATE_SPLIT: no such split ('other'). Known: test, dev, all.",), command="run", env={"GATE_SPLIT": "other"}),
    Odd("--json into a missing folder", nothing, 2, ("--json out/report.json: its folder does not exist.",), command="run --json out/report.json"),
    Odd("--json into a file as if a folder", nothing, 2, ("--json gate.toml/x: its folder does not exist.",), command="run --json gate.toml/x"),
    Odd("--json into a folder", nothing, 2, ("--json docs: is a folder.",), command="run --json docs"),
    Odd("check --json into a missing folder", nothing, 2, ("--json out/x.json: its folder does not exist.",), command="check --json out/x.json"),
    Odd("--json and --markdown into one file", nothing, 2, ("--json, --markdown x: both want the same file.",), command="run --json x --markdown ./x"),
    Odd("--json - and --markdown -", nothing, 2, ("both want standard output.",), command="run --json - --markdown -"),
    Odd("--base with an empty variable", nothing, 2, ("--base: is empty. Give it a value, or leave it out.",), command="run --base ''", start="recorded"),
    Odd("--against with an empty variable", nothing, 2, ("--against: is empty.",), command="run --against ''", start="recorded"),
    Odd("--suite with an empty variable", nothing, 2, ("--suite: is empty.",), command="run --suite ''", start="recorded"),
    Odd("--against a missing file", nothing, 2, ("before.json: no such file or folder.",), command="run --against before.json"),
    Odd("--against a file that is no JSON", nothing, 2, ("gate.toml: not JSON (",), command="run --against gate.toml"),
    Odd("--against JSON that is no report", write("before.json", "{}"), 2, ("before.json: neither a report nor a baseline (schema null).",), command="run --against before.json"),
    Odd("--against a report of a newer version", write("before.json", '{"schema": "retrieval-gate/report/2"}'), 2, ("before.json: written by another version of the gate",), command="run --against before.json"),
    Odd("--against a report of another suite", report(suite="other"), 2, ("before.json: has no suite 'docs'. Known: 'other'.",), command="run --against before.json"),
    Odd("--against a report edited by hand", report(pages={}), 2, ("before.json: contradicts itself (suite 'docs': corpus_version does not fit the pages).",), command="run --against before.json"),
    Odd("--base without git", nothing, 2, ("--base main: this folder is in no git repository.",), command="run --base main"),
    Odd("--base of an unknown ref", nothing, 2, ("--base mian: git knows no such commit here.",), command="run --base mian", start="recorded"),
    Odd("--base that looks like a flag", nothing, 2, ("--base --all: a ref cannot begin with '-'.",), command="run --base=--all", start="recorded"),
    Odd("--sweep of no numbers", nothing, 2, ("argument --sweep: not a list of whole numbers from 1 on ('1,x')",), command="run --sweep 1,x"),
    Odd("--sweep of 0", nothing, 2, ("argument --sweep: not a list of whole numbers from 1 on ('0')",), command="run --sweep 0"),
    Odd("--sweep beyond the pool", nothing, 2, ("--sweep 9: is larger than the pool of docs (8).",), command="run --no-baseline --sweep 1,9 --json -"),
    Odd("--trec into a file", nothing, 2, ("--trec gate.toml: is a file.",), command="run --no-baseline --json - --trec gate.toml"),
    Odd("--debug keeps the exit code", label(["erors"]), 2, ("labels 'erors', no such page.",), command="check --debug"),
    Odd("explain an unknown case", nothing, 2, ("gate explain q02: no such case. Did you mean 'q-02'?",), command="explain q02"),
    Odd("explain without a case", nothing, 2, ("the following arguments are required: CASE",), command="explain"),
    Odd("explain an empty case", nothing, 2, ("CASE: is empty.",), command="explain ''"),
    Odd("compare with one file", report(), 2, ("gate compare: needs at least two files.",), command="compare before.json"),
    Odd("diagnose --context 0", nothing, 2, ("argument --context: not a whole number from 1 on ('0')",), command="diagnose --context 0"),
    Odd("diagnose --context larger than the pool", nothing, 2, ("--context 9: is larger than the pool of docs. Raise pool in gate.toml.",), command="diagnose --context 9"),
    Odd("diagnose without QA", config('qa = "eval/qa.jsonl"\n', ""), 2, ("gate.toml: no suite has QA gold.",), command="diagnose"),
    Odd("baseline of an unknown suite", nothing, 2, ("no such suite ('dosc'). Did you mean 'docs'?",), command="baseline dosc"),
    Odd("baseline with a reason of two lines", nothing, 2, ("--reason: is not one line of plain text.",), command="baseline --reason 'first\nsecond'"),
    Odd("baseline with a carriage return in the reason", nothing, 2, ("--reason: is not one line of plain text.",), command="baseline --reason 'first\rsecond'"),
    Odd("baseline with an empty reason", nothing, 2, ("--reason: is empty.",), command="baseline --reason ' '"),
    Odd("baseline with a reason too long", nothing, 2, ("--reason: has 501 characters, over 500.",), command="baseline --reason " + "x" * 501),
    Odd("baseline with a loss and no reason", break_e101, 2, ("baselines/docs.json: 1 case would be lowered: q-02 (keyword: recall@2 1.00 -> 0.00).",), command="baseline", start="recorded"),
    Odd("baseline --from-report of a missing file", nothing, 2, ("before.json: no such file or folder.",), command="baseline --from-report before.json"),
    Odd("baseline --from-report under other settings", both(report(), config("k = 2", "k = 3")), 2, ("before.json: measured docs under other settings than gate.toml.",), command="baseline --from-report before.json"),
    Odd("baseline --from-report of another suite", report(suite="other"), 2, ("before.json: has no suite",), command="baseline --from-report before.json"),
    Odd("baseline --from-report of an edited report", report(versions={"cases": "0 cases", "corpus": "0 pages"}), 2, ("before.json: contradicts itself (suite 'docs': cases_version does not fit the cases).",), command="baseline --from-report before.json"),
    Odd("baseline with an unreadable base", nothing, 2, ("--base nowhere: git knows no such commit here.",), command="baseline --base nowhere", start="recorded"),
    Odd("schema of nothing known", nothing, 2, ("invalid choice: 'lock'",), command="schema lock"),
]  # fmt: skip

BAD = [*ENCODING, *JSONL, *CASE, *QUESTIONS, *CORPUS, *CONFIG, *BASELINES]
TABLE = [*GOOD, *BAD, *JUDGED, *FLAGS]

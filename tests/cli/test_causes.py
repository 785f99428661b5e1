"""Six prepared pull requests on Orbit. The true cause stands in each test, written before the tool was asked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from small_project import REPOSITORY, Project

DOCS = "datasets/orbit/docs"


@pytest.fixture
def orbit(tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Project:
    """Orbit as this repository measures it, its baseline on the branch `main`; the work tree is a change."""
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "orbit", capsys)
    for name in ("gate.toml", "eval/retrieval_queries.local.jsonl"):
        project.write(name, (REPOSITORY / name).read_bytes())
    for path in sorted((REPOSITORY / "datasets/orbit").rglob("*")):
        if path.is_file():
            project.write(str(path.relative_to(REPOSITORY)), path.read_bytes())
    assert project.gate("baseline").code == 0
    project.git("init", "--quiet", "--initial-branch", "main")
    project.commit("base")
    project.git("checkout", "--quiet", "-b", "change")
    return project


def judged(project: Project) -> tuple[Any, str]:
    """The suite's report, and the comment."""
    done = project.gate("run", "--base", "main", "--json", "report.json", "--markdown", "comment.md")
    assert done.code == 1, done.out + done.err
    return json.loads(project.read("report.json"))["suites"][0], project.read("comment.md")


def causes(suite: Any, arm: str, page: str) -> set[str]:
    """What the report says became of one page, over the cases that this arm lost."""
    return {
        found["cause"]
        for move in suite["comparison"][arm]["lost"]
        for found in move["pages"]
        if found["doc_id"] == page
    }


def sections(text: str) -> list[str]:
    return re.split(r"(?m)^(?=## )", text)


def test_a_page_deleted(orbit: Project) -> None:
    orbit.remove(f"{DOCS}/idempotency.md")
    suite, comment = judged(orbit)
    assert causes(suite, "keyword", "idempotency") == {"deleted"}
    assert {move["by"] for move in suite["comparison"]["keyword"]["lost"]} == {"pages"}
    assert "`idempotency`" in comment
    assert "deleted" in comment


def test_a_page_renamed(orbit: Project) -> None:
    orbit.git("mv", f"{DOCS}/idempotency.md", f"{DOCS}/running-twice.md")
    suite, comment = judged(orbit)
    assert causes(suite, "keyword", "idempotency") == {"renamed"}
    assert "renamed to `running-twice`" in comment


def test_a_section_moved_to_another_page(orbit: Project) -> None:
    """The section on ORB-1202 leaves the error codes for the page on testing."""
    text = orbit.read(f"{DOCS}/error-codes.md")
    moved = next(part for part in sections(text) if part.startswith("## ORB-1202"))
    orbit.write(f"{DOCS}/error-codes.md", text.replace(moved, ""))
    orbit.write(f"{DOCS}/testing.md", orbit.read(f"{DOCS}/testing.md") + "\n" + moved)
    suite, comment = judged(orbit)
    move = next(one for one in suite["comparison"]["keyword"]["lost"] if one["id"] == "rq-002")
    (page,) = move["pages"]
    assert (page["doc_id"], page["cause"], page["moved_to"]) == ("error-codes", "moved", "testing")
    assert "the section that was found went to `testing`" in comment


def test_a_new_page_that_steals_traffic(orbit: Project) -> None:
    """A page that says nothing and repeats the words of one query."""
    query = "Can an urgent job overtake the ones already waiting?"
    for number in range(6):
        orbit.write(f"{DOCS}/steal-{number}.md", f"# {query}\n\n" + f"{query} " * 3 + "\n")
    suite, comment = judged(orbit)
    move = next(one for one in suite["comparison"]["keyword"]["lost"] if one["id"] == "rq-026")
    (page,) = move["pages"]
    assert page["doc_id"] == "concepts-queues-priorities"
    assert page["cause"] == "overtaken"
    assert {name for name in move["overtaken_by"] if name.startswith("steal-")}
    assert move["by"] == "pages"
    assert "overtaken by `steal-" in comment
    assert "(new)" in comment


def test_the_chunker_changed(orbit: Project) -> None:
    """Whole pages instead of sections: no page was touched, so what is lost was cut differently."""
    orbit.edit(
        "gate.toml",
        '[suite.orbit.arms.keyword]\ntype = "bm25"',
        '[suite.orbit.arms.keyword]\ntype = "bm25"\nchunker = "page"',
    )
    orbit.edit("gate.toml", 'of = ["vector", "keyword"]', 'of = ["vector", "keyword"]\nunit = "page"')
    suite, comment = judged(orbit)
    lost = suite["comparison"]["keyword"]["lost"]
    assert lost
    assert {move["by"] for move in lost} == {"settings"}
    fallen = {page["cause"] for move in lost for page in move["pages"] if page["cause"]}
    assert fallen == {"split"}
    assert "cut into other chunks" in comment
    assert "chunker" in comment


def test_both_the_chunker_and_a_page_changed(orbit: Project) -> None:
    """The losses of the two changes alone are known from the runs above; together each goes to its own."""
    orbit.edit(
        "gate.toml",
        '[suite.orbit.arms.keyword]\ntype = "bm25"',
        '[suite.orbit.arms.keyword]\ntype = "bm25"\nchunker = "page"',
    )
    orbit.edit("gate.toml", 'of = ["vector", "keyword"]', 'of = ["vector", "keyword"]\nunit = "page"')
    settings_only, _ = judged(orbit)
    by_settings = {move["id"] for move in settings_only["comparison"]["keyword"]["lost"]}
    orbit.git("stash", "--quiet")
    text = orbit.read(f"{DOCS}/error-codes.md")
    cut = next(part for part in sections(text) if part.startswith("## ORB-1202"))
    orbit.write(f"{DOCS}/error-codes.md", text.replace(cut, ""))
    pages_only, _ = judged(orbit)
    by_pages = {move["id"] for move in pages_only["comparison"]["keyword"]["lost"]}
    assert by_pages
    assert by_settings - by_pages
    orbit.git("add", "--all")
    orbit.git("commit", "--quiet", "--message", "page")
    orbit.git("stash", "pop", "--quiet")
    suite, comment = judged(orbit)
    told = {move["id"]: move["by"] for move in suite["comparison"]["keyword"]["lost"]}
    for case, by in told.items():
        if case in by_pages and case in by_settings:
            assert by == "either", case
        elif case in by_pages:
            assert by == "pages", case
        elif case in by_settings:
            assert by == "settings", case
        else:
            assert by == "together", case
    assert {"pages", "settings"} <= set(told.values())
    assert "from the pages changed" in comment
    assert "from the settings changed" in comment
    assert "chunker" in comment


def test_the_leg_that_lost_it_is_named(orbit: Project) -> None:
    """The keyword leg loses a page when its words go; the vector leg still knows it by its neighbours, or not."""
    orbit.remove(f"{DOCS}/idempotency.md")
    suite, comment = judged(orbit)
    moves = suite["comparison"]["hybrid"]["lost"]
    pages = [
        page for move in moves for page in move["pages"] if page["doc_id"] == "idempotency" and page["legs"]
    ]
    assert pages
    for page in pages:
        for leg, (before, after) in page["legs"].items():
            rows = {case["id"]: case for case in suite["arms"][leg]["cases"]}
            assert after is None, rows.keys()
            assert before is None or before >= 1
    assert re.search(r"\((keyword|vector) .*leg lost it\)|deleted", comment)


def test_word_rarity_alone_is_told_as_such() -> None:
    from gate.explain import with_cause
    from gate.model.comparison import CaseMove, PageMove

    move = CaseMove(
        id="x",
        kind="k",
        query="q",
        scores={"recall": (1.0, 0.0)},
        pages=(PageMove(doc_id="a", before=5, after=6, cause="overtaken"),),
        overtaken_by=("b",),
        by="pages",
    )
    told = with_cause(move, {}, corpus_changed=True, chunker_changed=False)
    assert told.pages[0].cause == "shifted"
    assert with_cause(move, {}, corpus_changed=False, chunker_changed=False).pages[0].cause == "overtaken"
    touched = move.model_copy(update={"touched": ("b",)})
    assert with_cause(touched, {}, corpus_changed=True, chunker_changed=False).pages[0].cause == "overtaken"

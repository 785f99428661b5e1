"""The verbs beside run and baseline: what they print, what they exit with, and what a machine reads."""

from __future__ import annotations

import doctest
import json
from collections.abc import Sequence

import pytest
from small_project import Project

from gate import api
from gate.errors import InputError


def test_compare_two_reports_says_what_run_would(project: Project) -> None:
    project.gate("run", "--json", "before.json")
    project.edit("docs/config.md", "max_size", "largest")
    project.gate("run", "--json", "after.json", "--no-baseline")
    same = project.gate("compare", "before.json", "before.json")
    assert (same.code, same.out.splitlines()[0].startswith("pass")) == (0, True)
    done = project.gate("compare", "before.json", "after.json")
    assert done.code == 1
    assert "exact_term of keyword dropped" in done.out
    assert "q-04" in done.out
    assert project.gate("compare", "after.json", "before.json").code == 0, "the other way round it is a win"
    assert project.gate("compare", "baselines/docs.json", "after.json").code == 1, (
        "a baseline file is a report too"
    )


def test_compare_several_systems_is_one_table(project: Project) -> None:
    for name, k1 in (("a", 1.5), ("b", 0.2), ("c", 3.0)):
        project.write("gate.toml", project.read("gate.toml").split("k1 =")[0] + f"k1 = {k1}\n")
        assert project.gate("run", "--no-baseline", "--json", f"{name}.json").code == 0
    done = project.gate("compare", "a.json", "b.json", "c.json")
    table = [line for line in done.out.splitlines() if line.startswith(("a.json", "b.json", "c.json"))]
    assert [line.split()[0] for line in table] == ["a.json", "b.json", "c.json"]
    assert "recall@2" in done.out


def test_compare_refuses_other_cases_and_settings(project: Project) -> None:
    project.gate("run", "--json", "before.json")
    project.gate("run", "--json", "other.json", "--split", "dev")
    done = project.gate("compare", "before.json", "other.json")
    assert done.code == 2
    assert "measured under other settings than before.json (split test -> dev)" in done.err
    project.cases.pop()
    project.cases.remove(project.case("q-12"))
    project.save_cases()
    project.gate("run", "--no-baseline", "--json", "fewer.json")
    done = project.gate("compare", "before.json", "fewer.json")
    assert done.code == 2
    assert "(1 removed: q-12)" in done.err


def test_explain_shows_ranks_before_and_now_and_what_each_term_gave(project: Project) -> None:
    project.edit("docs/faq.md", "See the errors page.", "E101 WidgetJam, E101 WidgetJam.")
    done = project.gate("explain", "q-02", "--json", "-")
    assert done.code == 0
    arm = json.loads(done.out)["arms"]["keyword"]
    pages = {page["page"]: page for page in arm["pages"]}
    assert pages["errors"]["relevant"] == 1
    assert (pages["errors"]["before"], pages["faq"]["before"] is None or pages["faq"]["before"] > 1) == (
        1,
        True,
    )
    for page in arm["pages"]:
        total = 0.0
        for term in page["terms"]:
            total += term["contribution"]
        assert total == page["score"], "the contributions add up to the score"
    shown = project.gate("explain", "q-02").out
    assert "term contributions" in shown
    assert "widgetjam" in shown
    assert project.gate("explain", "q-01").code == 0, "a dev case can be explained as well"


def test_explain_tells_what_a_page_outside_the_pool_lacks(project: Project) -> None:
    project.edit("docs/config.md", "## max_size\n\n`max_size` is", "## The largest\n\nIt is")
    shown = project.gate("explain", "q-04").out
    assert "outside the pool: config, was 1; its best chunk scores 0.0000" in shown
    assert "not in it: max_size" in shown
    assert "* = a relevant page. rank: among the pages of the pool of 8 chunks" in shown
    assert "df: how many chunks have it" in shown
    value = json.loads(project.gate("explain", "q-04", "--json", "-").out)
    [outside] = value["arms"]["keyword"]["outside"]
    assert outside["chunk"] == "config#0"
    assert [(term["term"], term["tf"], term["contribution"]) for term in outside["terms"]] == [
        ("max_size", 0, 0.0)
    ]
    project.remove("docs/config.md")
    assert "outside the pool: config, was 1; no such page now" in project.gate("explain", "q-04").out


def test_check_hints_at_a_mistyped_kind_and_a_label_written_as_a_path(project: Project) -> None:
    project.case("q-04")["kind"] = "exact_tem"
    project.save_cases()
    done = project.gate("check")
    assert done.code == 0
    assert (
        "eval/cases.jsonl:2: case 'q-04' has the kind 'exact_tem', as 1 of 8 have. Did you mean 'exact_term'?"
        in done.out
    )
    for written in ("docs/config.md", "config.md", "./docs/config", "docs\\config.md"):
        project.case("q-04")["relevant_doc_ids"] = [written]
        project.save_cases()
        assert "Closest: 'config'." in project.gate("check").err, written


def test_a_pass_in_which_nothing_moved_is_short(project: Project) -> None:
    brief = project.gate("run", "--base", "main").out
    assert len(brief.splitlines()) < 16
    assert "1 miss; QA of keyword: 2 reached context. '--details' shows all of it." in brief
    assert "All misses" not in brief
    whole = project.gate("run", "--base", "main", "--details").out
    for title in ("All misses: 1", "Diagnosis of the QA questions", "How sure", "Provenance"):
        assert title in whole
    project.edit("docs/guide.md", "blue", "in the colour blue, a colour of the widget")
    project.edit("docs/errors.md", "## E101 WidgetJam\n\nE101 means", "## A jam\n\nIt means")
    assert "All misses" in project.gate("run").out


def test_only_a_committed_baseline_is_offered_to_be_refreshed(project: Project) -> None:
    project.gate("run", "--json", "before.json")
    project.edit("docs/config.md", "max_size", "largest")
    hint = "gate baseline docs --reason"
    assert hint in project.gate("run", "--json", "after.json").out
    assert hint not in project.gate("run", "--against", "before.json").out
    assert hint not in project.gate("compare", "before.json", "after.json").out


def test_diagnose_names_the_questions_that_another_context_loses(project: Project) -> None:
    project.edit("gate.toml", "context = 3", "context = 8")
    done = project.gate("diagnose", "--context", "1", "--json", "-")
    assert done.code == 0
    suite = json.loads(done.out)["suites"]["docs"]
    arm = suite["arms"]["keyword"]
    assert suite["unanswerable"] == 1
    moved = {name for name, at in arm["at"].items() if min(x or 99 for x in at.values()) > 1}
    assert set(arm["moved"]) == moved
    for name in moved:
        assert arm["moved"][name] == ["reached_context", "ranking"]


def test_sweep_and_slices_are_in_the_report(project: Project) -> None:
    project.edit("gate.toml", "k = 2", 'slices = ["owner"]\nk = 2')
    project.edit("docs/errors.md", "# Errors", "---\nowner: ops\n---\n# Errors")
    code, suite = project.report("--no-baseline", "--sweep", "1,2,8")
    arm = suite["arms"]["keyword"]
    assert code == 0
    assert [arm["sweep"][k]["recall"] for k in ("1", "2", "8")] == sorted(
        arm["sweep"][k]["recall"] for k in ("1", "2", "8")
    )
    assert arm["sweep"]["2"]["recall"] == arm["recall"]
    assert arm["by_slice"]["owner"]["ops"]["n"] == 1
    assert sum(group["n"] for group in arm["by_slice"]["owner"].values()) == arm["n"]


def hits(*pages: str) -> list[api.Hit]:
    return [api.Hit(f"{page}#0", page, "", float(-rank)) for rank, page in enumerate(pages)]


def test_the_python_interface(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    cases = api.load_retrieval_cases("test")
    assert len(cases) == 6

    def good(query: str, pool: int) -> Sequence[api.Hit]:
        case = next(case for case in cases if case.query == query)
        return hits(*case.grades)[:pool]

    def bad(query: str, pool: int) -> Sequence[api.Hit]:
        return [] if "E101" in query else good(query, pool)

    before, after = api.evaluate_retrieval(good, cases, k=2), api.evaluate_retrieval(bad, cases, k=2)
    assert before.arms["search"].means["recall"] == 1.0
    assert after.arms["search"].means["recall"] == pytest.approx(5 / 6)
    assert api.by_slice(after, "kind")["exact_term"].means["recall"] == pytest.approx(2 / 3)
    compared = api.compare_reports(("before", before), ("after", after))
    assert (compared.against_first["after"].wins, compared.against_first["after"].losses) == (0, 1)
    assert "after" in str(compared)
    api.save_report(before, "before.json")
    api.save_report(after, "after.json")
    assert project.gate("compare", "before.json", "after.json").code == 1
    assert api.locate(hits("a", "b"), ["b", "c"]) == {"b": 2, "c": None}
    question = api.QaCase("qa", "E101?", "", ("errors",))
    assert (
        api.diagnose(lambda _q, _p: hits("faq", "errors"), [question], context=1).questions["qa"].bucket
        == "ranking"
    )


def test_the_python_interface_refuses_what_cannot_be_compared(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    cases = api.load_retrieval_cases("test")
    whole = api.evaluate_retrieval(lambda _q, _p: hits("errors"), cases)
    part = api.evaluate_retrieval(lambda _q, _p: 1 / 0, cases)  # type: ignore[arg-type, return-value]
    assert part.verdict == "not_measured"
    with pytest.raises(InputError, match="were not measured"):
        api.compare_reports(("whole", whole), ("part", part))
    with pytest.raises(InputError, match="names two systems"):
        api.compare_reports(("same", whole), ("same", whole))
    with pytest.raises(InputError, match="cannot be compared"):
        api.compare_reports(
            ("all", whole), ("fewer", api.evaluate_retrieval(lambda _q, _p: hits("errors"), cases[1:]))
        )


def test_the_worked_example_holds() -> None:
    results = doctest.testmod(api)
    assert (results.failed, results.attempted >= 6) == (0, True)


# -- no output outlives a run that failed


OUTPUTS = ("--json", "report.json", "--markdown", "comment.md", "--html", "report.html")


def failed_after_a_pass(project: Project, *arguments: str) -> tuple[int, set[str], str]:
    """A run that passes and writes everything, then the same with `arguments` and a case that names no page: the code,
    which files differ from before both, and the Markdown.
    """
    before = project.files()
    assert project.gate("run", *OUTPUTS).code == 0
    project.case("q-02")["relevant_doc_ids"] = ["erors"]
    project.save_cases()
    done = project.gate("run", *OUTPUTS, *arguments)
    project.case("q-02")["relevant_doc_ids"] = ["errors"]
    project.save_cases()
    after = project.files()
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    return done.code, changed, project.read("comment.md")


@pytest.mark.parametrize("arguments", [(), ("--base", "")])
def test_an_input_error_leaves_no_pass_of_an_earlier_run(
    project: Project, arguments: tuple[str, ...]
) -> None:
    code, changed, comment = failed_after_a_pass(project, *arguments)
    assert (code, changed) == (2, {"comment.md"})
    assert comment.startswith(
        "<!-- retrieval-gate verdict=invalid -->\n### ⛔ invalid: nothing was measured\n"
    )
    assert ("'erors'" if not arguments else "base: is empty") in comment
    assert project.gate("run", *OUTPUTS).code == 0, "the file may be replaced again"
    assert "verdict=pass" in project.read("comment.md")


def test_an_input_error_tells_a_markdown_file_that_was_not_there(project: Project) -> None:
    project.edit("gate.toml", "k = 2", "k = 0")
    done = project.gate("run", *OUTPUTS)
    assert done.code == 2
    assert "### ⛔ invalid: nothing was measured" in project.read("comment.md")
    assert not (project.root / "report.json").exists()


def test_an_internal_error_leaves_no_pass_of_an_earlier_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.gate("run", *OUTPUTS).code == 0
    monkeypatch.setattr("gate.commands._pipeline.judge", lambda *_: 1 // 0)
    assert project.gate("run", *OUTPUTS).code == 70
    assert not {"report.json", "comment.md", "report.html"} & set(project.files())


def test_a_file_that_a_failed_run_also_reads_stays(project: Project) -> None:
    assert project.gate("run", "--json", "report.json").code == 0
    kept = project.read("report.json")
    project.edit("gate.toml", "k = 2", "k = 0")
    assert project.gate("run", "--against", "report.json", "--json", "report.json").code == 2
    assert project.read("report.json") == kept


def test_compare_leaves_no_pass_of_an_earlier_comparison(project: Project) -> None:
    for name in ("a.json", "b.json"):
        assert project.gate("run", "--json", name).code == 0
    outputs = ("--json", "c.json", "--markdown", "c.md")
    assert project.gate("compare", "a.json", "b.json", *outputs).code == 0
    project.write("b.json", "{")
    assert project.gate("compare", "a.json", "b.json", *outputs).code == 2
    assert "verdict=invalid" in project.read("c.md")
    assert not (project.root / "c.json").exists()
    assert (project.root / "a.json").exists()


# -- cases that no verdict looks at are counted where the others are


def test_a_run_says_how_many_cases_are_not_gated(project: Project) -> None:
    done = project.gate("run", "--base", "main", "--markdown", "comment.md")
    said = "6 cases (test split; 2 more in dev, not gated), k = 2"
    assert said in done.out
    assert said in project.read("comment.md")
    dev = project.gate("run", "--split", "dev").out
    assert "2 cases (dev split; 6 more in test, not measured)" in dev
    assert "8 cases (all split), k" in project.gate("run", "--split", "all").out

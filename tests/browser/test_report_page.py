"""The HTML report in a real browser: what it shows, what can be done with it, and what it never does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.chromium import Watched, browser
from small_project import Project

from gate.commands._project import load_metrics
from gate.model.report import Report
from gate.report import html
from gate.report.html_cases import Texts, suite_cases
from gate.store import baselines

HOSTILE = (
    "</script><img src=x onerror=alert(1)><style>*{display:none}</style> `|` ${{ secrets }} \u202e\x1b[31m"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture
def report(project: Project, tmp_path: Path) -> Path:
    """The page of a run that lost cases, on a corpus and with cases that try to get out of their quotes."""
    project.cases.append({"id": "q-16", "query": HOSTILE, "relevant_doc_ids": ["news"], "kind": "semantic"})
    project.save_cases()
    project.write("docs/news.md", f"# {HOSTILE}\n\nThe widget can be painted green now. {HOSTILE}\n")
    assert project.gate("baseline", "--reason", "more cases").code == 0
    project.commit("more cases")
    project.write("docs/errors.md", "# Errors\n\nNothing.\n")
    path = tmp_path / "report.html"
    done = project.gate("run", "--html", str(path))
    assert done.code == 1, done.err
    return path


def opened(chromium: Any, path: Path, width: int = 1100, scheme: str = "light") -> Watched:
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    watched = Watched(context.new_page())
    watched.page.goto(path.as_uri())
    return watched


def column(watched: Watched, number: int) -> list[str]:
    texts: list[str] = watched.page.eval_on_selector_all(
        f".caseTable tbody tr:not(.detail) > :nth-child({number})", "all => all.map(one => one.textContent)"
    )
    return texts


def test_it_asks_for_nothing_and_says_nothing(chromium: Any, report: Path) -> None:
    watched = opened(chromium, report)
    page = watched.page
    assert "regression" in page.text_content(".verdict")
    for name in ("#theme", ".opens", "thead button:text('now')", ".opens", ".filters button"):
        page.click(name)
    assert watched.said == []
    assert watched.asked == [report.as_uri()]
    assert page.evaluate("document.images.length") == 0
    assert page.is_visible(".caseTable"), "no style of the corpus took hold"


def test_a_script_that_got_out_of_its_quotes_would_not_run(chromium: Any, report: Path) -> None:
    broken = report.with_name("broken.html")
    text = report.read_text(encoding="utf-8")
    broken.write_text(
        text.replace("<main", "<script>document.title='owned'</script><main", 1), encoding="utf-8"
    )
    watched = opened(chromium, broken)
    assert watched.page.title() != "owned"
    assert any("Content Security Policy" in line for line in watched.said)


def test_cases_sort_filter_and_open(chromium: Any, report: Path) -> None:
    watched = opened(chromium, report)
    page = watched.page
    before = column(watched, 1)
    assert len(before) == 7
    assert column(watched, 8)[0].startswith("lost"), "the worst stand first"
    page.click("thead button:text('case')")
    assert column(watched, 1) == sorted(before)
    assert page.get_attribute("thead th:has(button:text('case'))", "aria-sort") == "ascending"
    page.click("thead button:text('case')")
    assert column(watched, 1) == sorted(before, reverse=True)
    page.fill("input[name=text]", "jam")
    assert set(column(watched, 1)) == {"q-02", "q-08"}
    assert "2 of 7 rows" in page.text_content("[role=status]")
    page.select_option("select[name=kind]", "exact_term")
    assert column(watched, 1) == ["q-02"]
    page.click("button:text('Clear')")
    assert len(column(watched, 1)) == 7
    page.select_option("select[name=outcome]", "lost")
    lost = column(watched, 1)
    assert "q-02" in lost
    page.click(".opens:text('q-02')")
    detail = page.text_content("tr.detail:not([hidden])")
    assert "Pool before" in detail
    assert "Pool now" in detail
    assert "eval/cases.jsonl:1" in detail
    assert page.get_attribute(".opens:text('q-02')", "aria-expanded") == "true"
    page.click(".opens:text('q-02')")
    assert page.query_selector("tr.detail:not([hidden])") is None


def test_the_keyboard_is_enough(chromium: Any, report: Path) -> None:
    page = opened(chromium, report).page
    page.focus("input[name=text]")
    page.keyboard.type("q-02")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "opens":
            break
    page.keyboard.press("Enter")
    assert page.is_visible("tr.detail")


def test_a_dot_of_the_chart_shows_its_cases(chromium: Any, report: Path) -> None:
    watched = opened(chromium, report)
    page = watched.page
    label = page.text_content(".dot.lost title")
    number = int(re.search(r": ([\d,]+) \(", label)[1])  # type: ignore[index]
    page.click(".dot.lost", force=True)
    assert len(column(watched, 1)) == number
    assert "one dot of a chart only" in page.text_content("[role=status]")


def test_themes_and_print(chromium: Any, report: Path) -> None:
    page = opened(chromium, report).page
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.click("#theme")
    page.click("#theme")
    assert page.text_content("#theme") == "Theme: dark"
    assert page.evaluate(paper) == "rgb(13, 17, 23)"
    page.click("#theme")
    page.emulate_media(media="print")
    assert not page.is_visible(".filters")
    assert page.is_visible(".verdict")
    assert opened(chromium, report, scheme="dark").page.evaluate(paper) == "rgb(13, 17, 23)"


@pytest.mark.parametrize("width", [1100, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_axe_violation_and_no_sideways_scroll(
    chromium: Any, report: Path, width: int, scheme: str
) -> None:
    watched = opened(chromium, report, width, scheme)
    page = watched.page
    page.click(".opens")
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    assert watched.violations() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_verdict_and_the_losses_stand_there(chromium: Any, report: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert "regression" in page.text_content(".verdict")
    assert "q-02" in page.text_content(".moves")
    assert page.is_visible("noscript p")


def many(project: Project, cases: int) -> None:
    """`cases` cases of which some were lost: one page for every twenty of them."""
    pages = max(cases // 20, 1)
    for number in range(pages):
        words = " ".join(f"word{number}x{part}" for part in range(20))
        project.write(f"docs/page-{number}.md", f"# Page {number}\n\n{words} and the widget\n")
    project.cases = [
        {
            "id": f"m-{number:05d}",
            "query": f"word{number % pages}x{number % 20} widget",
            "relevant_doc_ids": [f"page-{number % pages}"],
            "kind": ("exact_term", "semantic")[number % 2],
            "split": "test",
        }
        for number in range(cases)
    ]
    project.save_cases()
    project.edit("gate.toml", 'qa = "eval/qa.jsonl"\n', "")
    assert project.gate("baseline", "--reason", "many").code == 0
    for number in range(0, pages, 10):
        project.write(f"docs/page-{number}.md", "# Gone\n")


@pytest.mark.parametrize(("cases", "limit"), [(1000, 2_000_000), (10_000, 10_000_000)])
def test_many_cases_stay_small_and_quick(
    chromium: Any, project: Project, tmp_path: Path, cases: int, limit: int
) -> None:
    many(project, cases)
    path = tmp_path / "many.html"
    assert project.gate("run", "--html", str(path)).code == 1
    assert path.stat().st_size < limit
    watched = opened(chromium, path)
    page = watched.page
    assert f"{cases:,} of {cases:,} rows" in page.text_content("[role=status]")
    stall = page.evaluate(
        """async () => {
          const input = document.querySelector("input[name=text]");
          let worst = 0;
          for (const text of ["m", "m-0", "word1x", "", "m-00999"]) {
            const start = performance.now();
            input.value = text;
            input.dispatchEvent(new Event("input"));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            worst = Math.max(worst, performance.now() - start);
          }
          return worst;
        }"""
    )
    assert column(watched, 1) == ["m-00999"]
    assert stall < 2000, "a bound for a busy machine; benchmarks/report_page.py measures it"
    assert watched.said == []


def test_over_its_budget_unchanged_cases_carry_ids_only(project: Project) -> None:
    many(project, 400)
    _, suite = project.report()
    whole = {"schema": "retrieval-gate/report/1", "verdict": suite["verdict"], "suites": [suite]}
    report = Report.model_validate_json(json.dumps(whole))
    text = project.read("baselines/docs.json")
    texts = Texts(
        baselines.parse(text, "baseline", "docs", load_metrics()), lambda arm, case, page: "text " * 40
    )
    full = suite_cases(report.suites[0], texts, 10_000_000)
    assert full.shortened == ""
    small = suite_cases(report.suites[0], texts, 33_000)
    assert small.shortened == "unchanged cases carry ids only"
    assert len(small.value["cases"]) == 400
    assert [row[:5] for row in small.value["rows"]] == [row[:5] for row in full.value["rows"]]
    changed = [row for row in small.value["rows"] if row[4] in ("lost", "won")]
    assert changed
    assert all(len(row) == 9 for row in changed), "what changed keeps its pools and texts"
    assert all(len(row) == 6 for row in small.value["rows"] if row[4] == "tie")
    page = html.page(report, {"docs": texts}, budget=233_000)
    assert len(page.encode()) <= 233_000
    assert "To keep this page small, unchanged cases carry ids only" in page

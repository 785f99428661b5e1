"""From queries to cases on the small project: pool, two judges, agreement, adjudication, written cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from github_site import TOKEN, WRITES
from local_github.server import LocalGitHub
from small_project import Project

from gate.github.client import GitHubClient

QUERIES = "my widget is stuck, shake it?\nE102 WidgetLost\nhow big can a widget be at most\nwho paints the widget in Oslo\n"

# The arms find these; what a judge says of the others is 0.
TRUTH: dict[str, dict[str, int]] = {
    "my widget is stuck, shake it?": {"errors": 1, "faq": 2, "api": 1},
    "E102 WidgetLost": {"errors": 2},
    "how big can a widget be at most": {"config": 2},
    "who paints the widget in Oslo": {},
}


@pytest.fixture
def pooled(project: Project) -> Project:
    project.write("queries.txt", QUERIES)
    done = project.gate("label", "pool", "queries.txt", "--name", "first")
    assert done.code == 0, done.err
    return project


def pool_of(project: Project, name: str = "first") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.read(f"eval/pools/{name}.json"))
    return found


def judge(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    opinion: Callable[[str, str], int],
    kind: str = "semantic",
    pool: str = "first",
    verb: tuple[str, ...] = (),
) -> str:
    """Judge in the terminal. `opinion`: (query, page) -> grade."""
    texts = {query["id"]: query["query"] for query in pool_of(project, pool)["queries"]}
    said: list[str] = []
    shown: list[str] = []

    def answer(prompt: str) -> str:
        page = prompt.removesuffix(" > ")
        shown.append(page)
        heads = [line for text in said for line in text.splitlines() if line.startswith("query q-")]
        query = texts[heads[-1].split()[1]] if heads else ""
        if page.startswith("the kind"):
            return f"k {kind}"
        return str(opinion(query, page))

    from gate.commands import _output

    monkeypatch.setattr("builtins.input", answer)
    real = _output.emit
    monkeypatch.setattr(_output, "emit", lambda text: (said.append(text), real(text))[1])
    # The loop prints "query ID (...): TEXT" in two writes.
    arguments = (
        ("label", "judge", pool, "--judge", name, "--terminal")
        if not verb
        else ("label", *verb, "--judge", name, "--terminal")
    )
    done = project.gate(*arguments)
    assert done.code == 0, done.err
    monkeypatch.setattr(_output, "emit", real)
    return done.out


def right(query: str, page: str) -> int:
    return TRUTH[query].get(page, 0)


def test_a_pool_hides_who_found_what(pooled: Project) -> None:
    text = pooled.read("eval/pools/first.json")
    pool = json.loads(text)
    assert pool["systems"] == ["keyword", "keyword_pages"]
    assert [query["id"] for query in pool["queries"]] == ["q-001", "q-002", "q-003", "q-004"]
    for query in pool["queries"]:
        assert query["candidates"] == sorted(query["candidates"])
        assert set(query) == {"id", "query", "source", "case", "candidates", "near", "leaks"}
    systems = json.loads(pooled.read("eval/pools/first.systems.json"))
    assert set(systems["found"]) == {query["id"] for query in pool["queries"]}
    assert {name for found in systems["found"].values() for names in found.values() for name in names} == {
        "keyword",
        "keyword_pages",
    }


def test_near_duplicates_and_leaks_are_pointed_out(project: Project) -> None:
    project.write(
        "q.txt",
        "max_size?\nPaint the widget blue and let it dry over night\nE101 WidgetJam now\nE101 widgetjam now!\n",
    )
    done = project.gate("label", "pool", "q.txt", "--name", "x")
    assert "q-001 asks nearly the same as q-04" in done.out
    assert "q-002 stands word for word in guide" in done.out
    assert "q-003 asks nearly the same as q-02" in done.out
    assert "q-004 asks nearly the same as q-003" in done.out


def test_two_judges_and_a_third(pooled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(pooled, monkeypatch, "ada", right)
    judge(pooled, monkeypatch, "bob", lambda query, page: 0 if page == "api" else right(query, page))
    done = pooled.gate("label", "agree", "first", "ada", "bob", "--json", "-")
    found = json.loads(done.out)
    assert [(one["page"], one["first"], one["second"]) for one in found["differences"]] == [("api", 1, 0)]
    assert 0.5 < found["kappa"]["relevant or not"]["value"] < 1
    assert "kappa, relevant or not: 0." in pooled.gate("label", "agree", "first", "ada", "bob").out
    done = pooled.gate("label", "write", "first", "--judges", "ada,bob")
    assert "left out q-001: the judges differ on api, and nobody decided" in done.out
    pooled.git("checkout", "--quiet", "--", "eval/cases.jsonl")
    asked: list[str] = []

    def decide(query: str, page: str) -> int:
        asked.append(page)
        return 1

    judge(pooled, monkeypatch, "eve", decide, verb=("adjudicate", "first", "ada", "bob"))
    assert asked == ["api"], "only what they differ on"
    assert '"kind"' not in pooled.read("eval/judgements/first.eve.jsonl"), "they agree on the kinds"
    done = pooled.gate("label", "write", "first", "--judges", "ada,bob,eve", "--to", "eval/cases.jsonl")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in pooled.read("eval/cases.jsonl").splitlines()]
    header, *cases = rows
    assert header["judges"] == ["ada", "bob", "eve"]
    assert header["pooled_from"] == ["keyword_chunks", "keyword_pages"]
    assert header["pool_depth"] == 10
    assert 0.5 < header["kappa"] <= 1
    assert header["kappa_of"] == ["ada", "bob"]
    assert cases[:8] == pooled.cases, "no old case changed"
    new = cases[8:]
    assert [case["id"] for case in new] == ["q-013", "q-014", "q-015"]
    assert new[0]["relevant_doc_ids"][0] == "faq", "the best page first"
    assert new[0]["grades"] == {"faq": 2, "api": 1, "errors": 1}
    for case, query in zip(new, pool_of(pooled)["queries"], strict=False):
        rejected = set(query["candidates"]) - set(case["relevant_doc_ids"])
        assert set(case.get("not_relevant_doc_ids", ())) == rejected, "what was rejected is kept"
    assert "left out q-004: no page answers it" in done.out
    assert "q-013 (semantic, dev)" in done.out
    assert "1 of 3 are gated (test)" in done.out
    again = pooled.gate("label", "write", "first", "--judges", "ada,bob,eve", "--to", "eval/cases.jsonl")
    assert "0 new cases" in again.out
    assert "left out q-001: the case 'q-013' asks it already" in again.out
    assert pooled.gate("check").code == 0
    assert pooled.gate("baseline").code == 0


def test_splits_stay_balanced(pooled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are three semantic cases in test and one in dev; new ones go where fewer are."""
    judge(pooled, monkeypatch, "ada", right)
    assert pooled.gate("label", "write", "first", "--judges", "ada", "--prefix", "new").code == 0
    cases = [json.loads(line) for line in pooled.read("eval/cases.jsonl").splitlines()]
    new = [case for case in cases if case.get("id", "").startswith("new-")]
    assert [case["id"] for case in new] == ["new-001", "new-002", "new-003"]
    splits = [case.get("split") or ("test" if int(case["id"][-1]) % 2 == 0 else "dev") for case in new]
    assert splits.count("dev") >= 2


def test_changed_pages_and_foreign_labels_are_refused(
    pooled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(pooled, monkeypatch, "ada", right)
    before = pooled.files()
    pooled.edit("docs/errors.md", "Shake it.", "Shake it well.")
    done = pooled.gate("label", "write", "first", "--judges", "ada")
    assert done.code == 2
    assert "changed since it was made (errors)" in done.err
    assert pooled.read("eval/cases.jsonl").encode() == before["eval/cases.jsonl"]
    assert pooled.gate("label", "write", "first", "--judges", "ada", "--accept-changed").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pool", "--name", "x"), "needs one source"),
        (("pool", "nowhere.txt", "--name", "x"), "nowhere.txt"),
        (("pool", "queries.txt", "--name", "first"), "is there already"),
        (("pool", "queries.txt", "--name", "../x"), "cannot be called"),
        (("pool", "queries.txt", "--name", "x", "--arm", "keywrod"), "'keyword'"),
        (("agree", "nowhere", "a", "b"), "no such pool"),
        (("agree", "first", "a", "b"), "Judge the pool first"),
        (("write", "first", "--judges", "a,a"), "different judges"),
        (("adjudicate", "first", "a", "b", "--judge", "a"), "is one of the two"),
    ],
)
def test_wrong_input_is_said(pooled: Project, arguments: tuple[str, ...], said: str) -> None:
    done = pooled.gate("label", *arguments)
    assert done.code == 2, done.out
    assert said in done.err


def test_bad_query_lines_all_at_once(project: Project) -> None:
    project.write("q.jsonl", '{"query": "fine"}\nno json\n{"titel": "x"}\n[]\n{"title": ""}\n')
    done = project.gate("label", "pool", "q.jsonl", "--name", "x")
    assert done.code == 2
    for number in (2, 3, 4, 5):
        assert f"q.jsonl:{number}:" in done.err
    assert not (project.root / "eval/pools").exists()


def test_an_arm_that_fails_makes_no_pool(project: Project) -> None:
    project.write("mine.py", "def search(query):\n    raise RuntimeError('gone')\n")
    project.write(
        "gate.toml",
        project.read("gate.toml") + '\n[suite.docs.arms.mine]\ntype = "python"\ntarget = "mine:search"\n',
    )
    project.write("q.txt", "x y z\n")
    done = project.gate("label", "pool", "q.txt", "--name", "x")
    assert done.code == 3
    assert "arm 'mine': failed on 'x y z'" in done.err


def test_issues_of_a_repository(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalGitHub() as github:
        github.add_token(TOKEN, permissions=WRITES)
        github.add_repository("acme/widget").git.commit_files("main", {"README.md": "x"})
        client = GitHubClient(TOKEN, "acme/widget", github.api)
        for title, labels in (("Widget is stuck", ["question"]), ("Dark mode please", ["feature"])):
            client._repository.create_issue(title=title, body="It is.", labels=labels)
        monkeypatch.setenv("GITHUB_API_URL", github.api)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        done = project.gate("label", "pool", "--github", "acme/widget", "--label", "question", "--name", "x")
        assert done.code == 0, done.err
        assert [query["query"] for query in pool_of(project, "x")["queries"]] == ["Widget is stuck"]
        done = project.gate("label", "pool", "--github", "acme/widget", "--with-body", "--name", "y")
        assert {query["query"] for query in pool_of(project, "y")["queries"]} == {
            "Widget is stuck It is.",
            "Dark mode please It is.",
        }
        assert project.gate("label", "pool", "--github", "acme/none", "--name", "z").code == 3
    assert project.gate("label", "pool", "--github", "acme", "--name", "z").code == 2


def test_unjudged_losses_are_marked_judged_and_then_won(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new retriever finds better pages that nobody ever judged: first a loss that is marked, later a win."""
    case = project.case("q-08")
    case["not_relevant_doc_ids"] = ["install"]
    case["relevant_doc_ids"] = ["errors"]
    project.save_cases()
    project.write("docs/better.md", "# Stuck for good\n\nEverything about a jam, better than anywhere.\n")
    assert project.gate("baseline", "--reason", "labels").code == 0
    project.commit("labels and a page")
    old_arm = project.read("gate.toml")
    project.write(
        "mine.py",
        "def search(query, pool):\n"
        "    if 'jammed' in query: return ['better', 'guide', 'errors']\n"
        "    return {'E101 WidgetJam': ['errors'], 'max_size': ['config'], 'min_size default': ['config'],\n"
        "            'colour of the widget': ['guide', 'api'], 'how to free it by shaking': ['api', 'faq'],\n"
        "            'polish': ['guide'], 'nobody knows where it went': ['errors']}.get(query, [])\n",
    )
    new_arm = old_arm.replace('type = "bm25"', 'type = "python"\ntarget = "mine:search"')
    project.write("gate.toml", new_arm)
    done = project.gate("run", "--json", "report.json", "--markdown", "comment.md")
    assert done.code == 1
    suite = json.loads(project.read("report.json"))["suites"][0]
    (lost,) = [move for move in suite["comparison"]["keyword"]["lost"] if move["id"] == "q-08"]
    assert set(lost["unjudged"]) == {"better", "guide"}
    assert "unjudged, not proven worse: 2 new pages in the top were never judged" in project.read(
        "comment.md"
    )
    share = suite["arms"]["keyword"]["judged"]
    assert share["cases"] == 1
    assert share["share"] == 0.0
    assert (share["plain"], share["condensed"]) == (0.0, 1.0)
    # Exactly those pages are pooled and judged: both are answers.
    assert project.gate("label", "pool", "--from-report", "report.json", "--name", "unjudged").code == 0
    (query,) = pool_of(project, "unjudged")["queries"]
    assert (query["case"], query["candidates"]) == ("q-08", ["better", "guide"])
    judge(project, monkeypatch, "ada", lambda query, page: 2 if page == "better" else 1, pool="unjudged")
    done = project.gate("label", "write", "unjudged", "--judges", "ada")
    assert done.code == 2
    assert "--amend" in done.err
    assert project.gate("label", "write", "unjudged", "--judges", "ada", "--amend").code == 0
    amended = next(
        json.loads(line) for line in project.read("eval/cases.jsonl").splitlines() if "q-08" in line
    )
    assert amended["relevant_doc_ids"] == ["errors", "better", "guide"]
    assert amended["grades"] == {"better": 2}
    assert amended["not_relevant_doc_ids"] == ["install"]
    # The labels are merged first, measured with the old retriever; then the new one wins.
    project.write("gate.toml", old_arm)
    assert project.gate("baseline", "--reason", "a page more").code == 0
    project.commit("labels grown")
    project.write("gate.toml", new_arm)
    code, suite = project.report()
    assert code == 0, suite["findings"]
    won = [move["id"] for move in suite["comparison"]["keyword"]["won"]]
    assert "q-08" in won

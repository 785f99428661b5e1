"""Several arms in one table: what is new, what was not measured and why, what it cost, and the cache of queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embeddings_site import Site, embeddings_site
from small_project import Project

from gate.commands._base_tree import embedded_arms
from gate.commands._step import cost
from gate.commands._step_measure import with_fork_notice
from gate.github.event import Event, Pull
from gate.model.cost import Spent
from gate.model.report import Report
from gate.model.settings import OpenArmSettings
from gate.model.verdict import Level

VECTOR = """
[suite.docs.arms.vector]
type = "embedding"
{rules}[suite.docs.arms.vector.embedder]
type = "openai"
model = "words"
base_url = "{url}"
retries = 0
{prices}"""
HYBRID = """
[suite.docs.arms.hybrid]
type = "rrf"
of = ["keyword", "vector"]
"""
PRICES = 'price_per_million = 2.0\nprice_date = "2026-11-30"\n'
# The `project` of the tests asks 6 cases of the test split and 2 questions; one of the 8 texts is in both.
KEYLESS = "OPENAI_API_KEY is not set"


@pytest.fixture
def site() -> Iterator[Site]:
    with embeddings_site() as running:
        yield running


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))


def add_vector(project: Project, site: Site, *, rules: str = "", prices: str = "", more: str = "") -> None:
    text = VECTOR.format(url=site.url, rules=rules, prices=prices)
    project.write("gate.toml", project.read("gate.toml") + text + more)


def recorded(project: Project) -> None:
    done = project.gate("baseline")
    assert done.code == 0, done.err
    project.commit("baseline with every arm")


def whole(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the whole report."""
    done = project.gate("run", "--json", "-", *arguments)
    return done.code, json.loads(done.out)


# -- new arms


def test_an_arm_new_in_this_change_has_no_before_and_says_so(project: Project) -> None:
    project.write(
        "gate.toml", project.read("gate.toml") + '[suite.docs.arms.pages]\ntype = "bm25"\nchunker = "page"\n'
    )
    done = project.gate("run", "--base", "main", "--json", "report.json")
    assert done.code == 0, done.out
    [suite] = json.loads(project.read("report.json"))["suites"]
    assert "pages" not in suite["comparison"]
    assert "pages (new)" in done.out
    assert "the arm 'pages' is new in this change" in done.out
    assert project.gate("baseline").code == 0
    done = project.gate("run", "--base", "main")
    assert done.code == 0, "its rows in the baseline that the change brings reproduce"
    assert "pages (new)" in done.out, "and the base has still no row of it"


def test_an_arm_new_and_not_measured_is_both(
    project: Project, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    add_vector(project, site)
    done = project.gate("run", "--base", "main")
    assert done.code == 3
    assert "vector (new, not measured)  " in done.out
    assert f"\nvector was not measured: 12 of 12 texts have no vector: {KEYLESS}." in done.out


def test_changed_settings_of_an_arm_are_shown(project: Project, site: Site) -> None:
    add_vector(project, site)
    recorded(project)
    project.edit("gate.toml", 'model = "words"', 'model = "words-2"')
    done = project.gate("run", "--details")
    assert "settings of vector: embedder: " in done.out
    assert "words-2" in done.out


# -- not measured


def test_a_missing_key_is_said_once_under_the_table_and_in_the_headline(
    project: Project, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_vector(project, site, more=HYBRID)
    recorded(project)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("GATE_NO_CACHE", "1")
    done = project.gate("run", "--base", "HEAD", "--markdown", "comment.md", "--json", "report.json")
    assert done.code == 3
    [suite] = json.loads(project.read("report.json"))["suites"]
    told = {one["arm"]: one["text"] for one in suite["findings"] if one["code"] == "arm-not-measured"}
    assert set(told) == {"vector", "hybrid"}, "and keyword is measured"
    assert told["vector"].startswith("arm 'vector': all 8 queries failed: ")
    assert KEYLESS in told["vector"]
    assert told["hybrid"].startswith("arm 'hybrid': all 8 queries failed: leg 'vector': ")
    headline = done.out.splitlines()[0]
    assert headline.startswith("not measured: vector (")
    assert KEYLESS in headline
    comment = project.read("comment.md")
    assert "| vector (not measured) | 0 |" in comment
    assert " vector was not measured: 12 of 12 texts have no vector: OPENAI" in comment
    assert comment.count("all 8 queries | ") == 2
    assert "keyword: 0 won, 0 lost, 6 tied; vector: not measured; hybrid: not measured." in comment


def test_an_arm_that_need_not_be_measured_makes_it_partial(
    project: Project, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_vector(project, site, rules="required = false\n")
    recorded(project)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("GATE_NO_CACHE", "1")
    done = project.gate("run")
    assert done.code == 0
    assert done.out.splitlines()[0].startswith("partial: vector not measured (")
    assert KEYLESS in done.out.splitlines()[0]


def test_check_asks_nobody(project: Project, site: Site) -> None:
    service = (
        f'[suite.docs.arms.service]\ntype = "http"\nurl = "{site.url}/search?q={{query}}"\nmethod = "GET"\n'
    )
    add_vector(project, site, more=HYBRID + service)
    done = project.gate("check")
    assert done.code == 0, done.err
    assert (site.requests, site.paths) == ([], [])


# -- what it cost


def test_the_ledger_counts_texts_requests_and_dollars(project: Project, site: Site) -> None:
    add_vector(project, site, prices=PRICES)
    _, first = whole(project, "--no-baseline")
    spent = first["environment"]["spent"]["docs"]["vector"]
    texts = len(site.texts)
    assert (spent["requests"], spent["texts"], spent["cached"]) == (len(site.requests), texts, 0)
    assert spent["tokens"] > 0
    assert spent["cost_usd"] == pytest.approx(spent["tokens"] * 2.0 / 1e6)
    assert "keyword" not in first["environment"]["spent"]["docs"]
    _, second = whole(project, "--no-baseline")
    again = second["environment"]["spent"]["docs"]["vector"]
    assert (again["requests"], again["texts"], again["cached"], again["cost_usd"]) == (0, 0, texts, 0.0)
    out = project.gate("run", "--no-baseline").out
    assert f"spent by vector  0 texts processed, {texts} cached" in out


def test_a_cost_without_a_price_is_unknown(project: Project, site: Site) -> None:
    add_vector(project, site)
    _, report = whole(project, "--no-baseline")
    assert report["environment"]["spent"]["docs"]["vector"]["cost_usd"] is None


def test_a_leg_that_is_not_measured_by_itself_costs_all_the_same(project: Project, site: Site) -> None:
    add_vector(project, site, prices=PRICES, more=HYBRID)
    _, report = whole(project, "--no-baseline", "--arm", "hybrid")
    assert set(report["environment"]["spent"]["docs"]) == {"vector"}
    assert report["environment"]["spent"]["docs"]["vector"]["requests"] == len(site.requests) > 0


def test_the_package_of_a_service_is_named(project: Project, site: Site) -> None:
    add_vector(project, site)
    _, report = whole(project, "--no-baseline")
    assert {"numpy", "openai"} <= set(report["environment"]["packages"])


# -- measured again


def test_repeating_asks_for_the_queries_again_and_for_no_passage(project: Project, site: Site) -> None:
    add_vector(project, site, prices=PRICES)
    whole(project, "--no-baseline")
    passages = {text for text in site.texts if text.startswith(("#", "Configuration", "Errors"))}
    site.forget()
    _, report = whole(project, "--no-baseline", "--repeat", "3")
    queries = {case["query"] for case in project.cases if int(case["id"][-2:]) % 2 == 0}
    assert set(site.texts) & passages == set()
    assert queries <= set(site.texts)
    assert all(site.texts.count(query) == 2 for query in queries), "once for each repetition"
    assert report["environment"]["spent"]["docs"]["vector"]["requests"] == len(site.requests)


def test_a_cap_holds_for_all_measurements_of_a_run_together(project: Project, site: Site) -> None:
    """Bytes bound the tokens from above: what may be spent is a little more than one whole measurement can cost."""
    add_vector(
        project, site, prices="price_per_million = 1.0\nprice_date = '2026-11-30'\nmax_cost_usd = 1.0\n"
    )
    _, report = whole(project, "--no-baseline")
    once = report["environment"]["spent"]["docs"]["vector"]["cost_usd"]
    assert once > 0
    project.edit("gate.toml", "max_cost_usd = 1.0", f"max_cost_usd = {once * 8}")
    assert whole(project, "--no-baseline", "--repeat", "2")[0] == 0
    site.forget()
    code, report = whole(project, "--no-baseline", "--repeat", "100")
    assert code == 3
    assert report["environment"]["spent"]["docs"]["vector"]["cost_usd"] <= once * 8
    [told] = [one for one in report["suites"][0]["findings"] if one["code"] == "arm-not-measured"]
    assert "could be passed" in told["text"]


# -- in the Action


def test_the_output_cost_is_the_sum_or_unknown(project: Project, site: Site) -> None:
    add_vector(project, site, prices=PRICES)
    _, value = whole(project, "--no-baseline")
    report = Report.model_validate_json(json.dumps(value))
    spent = report.environment.spent["docs"]["vector"]
    assert spent.cost_usd is not None
    assert float(cost(report)) == pytest.approx(spent.cost_usd, rel=0.05)
    assert cost(report) != "0.00"
    arms = {"vector": spent, "other": Spent(requests=1, cost_usd=None)}
    both = report.environment.model_copy(update={"spent": {"docs": arms}})
    assert cost(report.model_copy(update={"environment": both})) == "unknown"
    nothing = report.environment.model_copy(update={"spent": {}})
    assert cost(report.model_copy(update={"environment": nothing})) == "0"


def test_without_secrets_a_maintainer_is_told_what_to_do(
    project: Project, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_vector(project, site)
    recorded(project)
    pull = Pull(
        number=7, head_sha="1", head_ref="x", head_repo="eve/widget", base_sha="2", base_ref="main", fork=True
    )
    fork = Event(name="pull_request", pull=pull)
    _, value = whole(project)
    complete = Report.model_validate_json(json.dumps(value))
    assert with_fork_notice(complete, fork) == complete
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("GATE_NO_CACHE", "1")
    _, value = whole(project)
    lacking = Report.model_validate_json(json.dumps(value))
    told = with_fork_notice(lacking, fork).suites[0].findings[-1]
    assert (told.level, told.code) == (Level.NOTICE, "no-secrets")
    assert "vector may need one" in told.text
    assert "push its branch to this repository" in told.todo
    own = Event(name="pull_request", actor="octocat", pull=pull.model_copy(update={"fork": False}))
    assert with_fork_notice(lacking, own) == lacking


# -- the base tree, measured again


def test_only_what_costs_nothing_and_is_our_own_code_is_measured_again_on_the_base() -> None:
    arms = {
        "keyword": {"type": "bm25"},
        "static": {"type": "embedding", "embedder": "local"},
        "paid": {"type": "embedding", "embedder": {"type": "openai", "model": "m"}},
        "theirs": {"type": "embedding", "embedder": "package.module:embed"},
        "mine": {"type": "python", "target": "mine:search"},
        "own": {"type": "package.module:Arm"},
        "hybrid": {"type": "rrf", "of": ["static", "keyword"]},
        "over": {"type": "rrf", "of": ["hybrid", "keyword"]},
        "half": {"type": "rrf", "of": ["keyword", "paid"]},
        "above": {"type": "rrf", "of": ["keyword", "half"]},
    }
    found = embedded_arms({name: OpenArmSettings(**arm) for name, arm in arms.items()}, "gate.toml", None)  # type: ignore[arg-type]
    assert set(found) == {"keyword", "static", "hybrid", "over"}


def test_a_hybrid_that_the_base_has_lost_as_well_is_marked(project: Project) -> None:
    pages = '[suite.docs.arms.pages]\ntype = "bm25"\nchunker = "page"\n'
    both = '[suite.docs.arms.both]\ntype = "rrf"\nof = ["keyword", "pages"]\n'
    project.write("gate.toml", project.read("gate.toml") + pages + both)
    recorded(project)
    text = project.read("docs/errors.md")
    project.write("docs/errors.md", text.replace("E101", "the first code").replace("WidgetJam", "the jam"))
    project.commit("the base breaks it without looking")
    project.write("docs/extra.md", "# Extra\n\nNothing.\n")
    _, suite = project.report("--base", "HEAD")
    lost = [move for move in suite["comparison"]["both"]["lost"] if move["id"] == "q-02"]
    assert [move["already_lost"] for move in lost] == [True]

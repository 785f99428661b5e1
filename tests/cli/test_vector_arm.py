"""The vector arm and a hybrid over it, from gate.toml to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_project import Project

ARMS = """
[suite.docs.arms.vector]
type = "embedding"
embedder = {embedder}

[suite.docs.arms.hybrid]
type = "rrf"
of = ["vector", "keyword"]
"""
OWN = '{ type = "python", target = "mine:embed", revision = "1" }'
EMBED = """
import json, pathlib
LOG = pathlib.Path(__file__).with_name("asked.log")
WORDS = ["widget", "paint", "shake", "jam", "size", "install", "lost", "polish", "blue", "default"]
def embed(texts, mode):
    with LOG.open("a") as log:
        log.writelines(json.dumps([mode, text]) + "\\n" for text in texts)
    return [[1e-3 + text.lower().count(word) for word in WORDS] for text in texts]
"""


@pytest.fixture
def vectors(empty_project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """The small project with a vector arm of its own code, a hybrid, and a cache of its own."""
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    empty_project.write("mine.py", EMBED)
    empty_project.write("gate.toml", empty_project.read("gate.toml") + ARMS.format(embedder=OWN))
    return empty_project


def asked(project: Project) -> list[tuple[str, str]]:
    """What the embedder was asked since the last time."""
    log = project.root / "asked.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [(mode, text) for mode, text in map(json.loads, lines)]


def test_a_text_is_embedded_once_for_both_arms_and_a_second_run_embeds_nothing(vectors: Project) -> None:
    code, suite = vectors.report("--no-baseline")
    assert code == 0
    assert {name: arm["n"] for name, arm in suite["arms"].items()} == dict.fromkeys(
        ("keyword", "vector", "hybrid"), 6
    )
    first = asked(vectors)
    assert len(first) == len(set(first))
    assert sum(mode == "query" for mode, _ in first) == 6 + 2, "six cases and two answerable questions"
    again = vectors.report("--no-baseline")
    assert asked(vectors) == []
    for name in ("vector", "hybrid"):
        assert again[1]["arms"][name]["cases"] == suite["arms"][name]["cases"]


def test_an_edited_section_is_the_only_text_that_is_embedded_again(vectors: Project) -> None:
    vectors.report("--no-baseline")
    asked(vectors)
    vectors.edit("docs/guide.md", "Polish slowly", "Polish quickly")
    assert vectors.report("--no-baseline")[0] == 0
    new = asked(vectors)
    assert [mode for mode, _ in new] == ["passage"]
    assert "Polish quickly" in new[0][1]


def test_an_embedder_that_cannot_run_leaves_vector_and_hybrid_not_measured(vectors: Project) -> None:
    vectors.edit("mine.py", "WORDS = [", "raise OSError('no weights here')\nWORDS = [")
    code, suite = vectors.report("--no-baseline")
    assert code == 3
    assert suite["arms"]["keyword"]["n"] == 6
    assert not suite["arms"]["keyword"].get("failed")
    for name, begins in (
        ("vector", "12 of 12 texts have no vector"),
        ("hybrid", "leg 'vector': 12 of 12 texts have no vector"),
    ):
        reasons = set(suite["arms"][name]["failed"].values())
        assert len(suite["arms"][name]["failed"]) == 6
        assert len(reasons) == 1
        reason = reasons.pop()
        assert reason.startswith(begins)
        assert "no weights here" in reason


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        ('"locl"', "Did you mean 'local'?"),
        ('{ type = "opneai" }', "Did you mean 'openai'?"),
        ('{ model = "x" }', "has no type"),
        ('{ type = "local", size = 3 }', "size"),
    ],
)
def test_wrong_embedder_settings_are_an_input_error_before_anything_is_measured(
    vectors: Project, embedder: str, message: str
) -> None:
    vectors.edit("gate.toml", f"embedder = {OWN}", f"embedder = {embedder}")
    for verb in ("check", "run"):
        done = vectors.gate(verb)
        assert done.code == 2
        assert "[suite.docs.arms.vector] embedder" in done.err
        assert message in done.err
    assert asked(vectors) == []


def test_explain_shows_cosines_and_the_hybrid(vectors: Project) -> None:
    done = vectors.gate("explain", "q-08")
    assert done.code == 0, done.err
    assert "vector" in done.out
    assert "hybrid" in done.out
    done = vectors.gate("explain", "q-08", "--arm", "hybrid", "--json", "-")
    pages = json.loads(done.out)["arms"]["hybrid"]["pages"]
    assert all(0 < page["score"] <= 2 / 61 for page in pages)

"""The command arm with real processes, in Python and in Node."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gate.arms import command
from gate.arms._process import ProcessError
from gate.errors import InputError
from gate.harness import ask
from gate.model.page import Chunk
from gate.model.ranking import Arm
from gate.store import config

CHUNKS = tuple(
    Chunk(f"{page}#{at}", page, f"text {at} of {page}") for page in ("errors", "guide") for at in range(2)
)
LOOP = """
import json, os, sys, time
print(json.dumps({"protocol": 1}), flush=True)
for number, line in enumerate(sys.stdin, 1):
    asked = json.loads(line)
    query, pool = asked["query"], asked["pool"]
    answer = {"id": asked["id"], "hits": [{"id": "errors#1", "score": 2.5}, ["guide", 1], "nowhere"]}
    exec(open("step.py").read())
    print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)
"""


@dataclass
class Materials:
    root: Path
    built: list[command.CommandArm] = field(default_factory=list)

    def chunks(self, chunker: object) -> Sequence[Chunk]:
        return CHUNKS

    def arm(self, name: str) -> Arm:
        raise AssertionError(name)

    def secret(self, name: str, url: str) -> str | None:
        assert url == ""
        return os.environ.get(name)

    def __call__(
        self, step: str = "", program: Sequence[str] | None = None, **keys: Any
    ) -> command.CommandArm:
        """The arm over a program that runs `step` for every query."""
        (self.root / "loop.py").write_text(LOOP, encoding="utf-8")
        (self.root / "step.py").write_text(textwrap.dedent(step), encoding="utf-8")
        raw = {
            "type": "command",
            "command": program or [sys.executable, "loop.py"],
            "timeout_seconds": 20,
            **keys,
        }
        arm = command.build(self, config.typed(command.Settings, raw, "gate.toml"))
        self.built.append(arm)
        return arm


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Materials]:
    materials = Materials(tmp_path)
    yield materials
    for arm in materials.built:
        arm.close()


def reason(arm: command.CommandArm, query: str = "x") -> str:
    found = ask(arm, query, 5)
    assert isinstance(found, str), found
    assert "\n" not in found
    return found


def test_hits_in_three_forms(made: Materials) -> None:
    arm = made()
    first, second, third = arm.search("ünï\n", 5)
    assert (first.doc_id, first.chunk_id, first.text) == ("errors", "errors#1", "text 1 of errors")
    assert (second.doc_id, third.doc_id) == ("guide", "nowhere")
    assert [hit.score for hit in (first, second, third)] == [3.0, 2.0, 1.0], (
        "one has no score: the order is all there is"
    )
    assert list(arm.unknown) == ["nowhere"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("answer = {'id': asked['id'], 'error': 'index\\nis gone'}", "index is gone"),
        ("answer = 'hello'", "does not keep to the protocol: it wrote 'hello'"),
        ("answer = {'id': 77, 'hits': []}", "answered a query that was not asked"),
        ("answer = {'id': asked['id']}", "neither 'hits' nor 'error'"),
        ("answer['hits'] = 'errors'", "its hits are a text, not a list"),
        ("answer['hits'] = [{'score': 1}]", "hit 1 has no id"),
        ("answer['hits'] = [['errors', 'high']]", "a score that is no number (a text)"),
        ("answer['hits'] = [['errors', True]]", "a score that is no number (true or false)"),
        ("answer['hits'] = [['errors', 1, 2]]", "a list of 3, not an [id, score] pair"),
        ('answer = \'{"id": 1, "hits": [["errors", NaN]]}\'', "hit 1 ('errors') has the score nan"),
        ('answer = \'{"id": 1, "hits": [["errors", 1e999]]}\'', "hit 1 ('errors') has the score inf"),
        ("sys.stderr.write('out of memory\\n'); sys.exit(3)", "exit code 3; its last output: out of memory"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
    ],
)
def test_what_is_no_ranking_is_said(made: Materials, step: str, said: str) -> None:
    assert said in reason(made(step))


def test_it_crashes_on_the_third_query_and_goes_on(made: Materials) -> None:
    arm = made("if query == 'third': sys.exit(9)")
    outcomes = [ask(arm, query, 5) for query in ("first", "second", "third", "fourth")]
    assert [isinstance(one, str) for one in outcomes] == [False, False, True, False]


def test_it_is_started_again_three_times_at_most(made: Materials) -> None:
    arm = made("sys.exit(9)")
    reasons = [reason(arm) for _ in range(6)]
    assert "not asked: started again 3 times" in reasons[4]
    assert "exit code 9" in reasons[5]


def test_a_score_that_is_none_costs_no_restart(made: Materials) -> None:
    arm = made("if query != 'good': answer['hits'] = [['errors', float('nan')]]")
    assert all("has the score nan" in reason(arm) for _ in range(9))
    assert not isinstance(ask(arm, "good", 5), str)
    assert arm._talk.starts == 1


def test_a_query_that_hangs_fails_alone_and_in_time(made: Materials) -> None:
    arm = made("if query == 'hang': time.sleep(60)", timeout_seconds=0.5)
    start = time.monotonic()
    assert reason(arm, "hang").endswith("no answer within 0.5 s")
    assert time.monotonic() - start < 10
    assert not isinstance(ask(arm, "next", 5), str)


def test_ten_thousand_hits_none_and_duplicates(made: Materials) -> None:
    arm = made(
        "answer['hits'] = {'many': ['p%d' % n for n in range(10000)], 'none': [], 'same': ['errors'] * 9}[query]"
    )
    many, none, same = (ask(arm, query, 20) for query in ("many", "none", "same"))
    assert not isinstance(many, str)
    assert not isinstance(none, str)
    assert not isinstance(same, str)
    assert (many.hits, none.pages, same.pages) == (20, (), ("errors",))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (["no-such-program-here"], "no such program"),
        (["./step.py"], "no such program"),
        ([sys.executable, "-c", "print('hello')"], "it wrote 'hello'"),
        ([sys.executable, "-c", "print('{}')"], "its first line is not"),
        ([sys.executable, "-c", "import sys; sys.exit('cannot load the index')"], "cannot load the index"),
    ],
)
def test_what_does_not_start_is_said(made: Materials, program: list[str], said: str) -> None:
    with pytest.raises(ProcessError) as fault:
        made(program=program)
    assert said in str(fault.value)


def test_a_start_that_takes_too_long_ends(made: Materials) -> None:
    with pytest.raises(TimeoutError, match=r"took over 0\.5 s"):
        made(program=[sys.executable, "-c", "import time; time.sleep(60)"], startup_seconds=0.5)


def test_it_sees_only_what_it_is_handed(made: Materials, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GITHUB_OUTPUT", "MY_INDEX", "MY_OTHER"):
        monkeypatch.setenv(name, f"value of {name}")
    arm = made(
        "answer = {'id': asked['id'], 'error': ' '.join(sorted(os.environ)) + os.environ.get('MY_INDEX', '')}",
        env=["MY_INDEX"],
    )
    said = reason(arm)
    assert "MY_INDEX" in said
    assert "value of" not in said, "what it was handed is not shown"
    assert "OPENAI_API_KEY" not in said
    assert "GITHUB_OUTPUT" not in said
    assert "MY_OTHER" not in said


def test_closing_ends_it(made: Materials) -> None:
    arm = made("answer = {'id': asked['id'], 'error': str(os.getpid())}")
    pid = int(reason(arm).rpartition(" ")[2])
    arm.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_wrong_settings_are_input_errors() -> None:
    for raw, said in (
        ({"command": []}, "command"),
        ({"command": "node x.js"}, "a list"),
        ({"command": ["a"], "env": ["GITHUB_TOKEN"]}, "never passed on"),
    ):
        with pytest.raises(InputError, match=said):
            config.typed(command.Settings, {"type": "command", **raw}, "gate.toml")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("node", True),
        ("./bin/search", True),
        ("bin/python", True),
        ("../search", False),
        ("/bin/sh", False),
        ("~/search", False),
        ("away/sh", False),
    ],
)
def test_in_the_action_the_program_is_of_the_path_or_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, allowed: bool
) -> None:
    repository = tmp_path / "repository"
    (repository / "bin").mkdir(parents=True)
    (repository / "bin" / "python").symlink_to(sys.executable)
    (repository / "away").symlink_to("/bin")
    settings = config.typed(command.Settings, {"type": "command", "command": [name]}, "gate.toml")
    assert list(command.problems(settings, "gate.toml", repository)) == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repository))
    found = [problem.what for problem in command.problems(settings, "gate.toml", repository)]
    assert found == ([] if allowed else [f"command leads out of the repository ({name!r})"])


def test_a_retriever_in_node(made: Materials) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    text = (Path(__file__).parents[3] / "docs" / "recipes" / "node.md").read_text(encoding="utf-8")
    code = text.partition("```js\n")[2].partition("```")[0]
    (made.root / "search.mjs").write_text(code, encoding="utf-8")
    (made.root / "docs").mkdir()
    (made.root / "docs" / "errors.md").write_text(
        "# Errors\n\nE101 means that it is jammed.\n", encoding="utf-8"
    )
    (made.root / "docs" / "guide.md").write_text("# Guide\n\nPaint it.\n", encoding="utf-8")
    arm = made(program=["node", "search.mjs"])
    assert [hit.doc_id for hit in arm.search("jammed E101", 5)] == ["errors"]
    assert arm.search("nothing of the sort", 5) == []
    assert json.dumps([hit.score for hit in arm.search("paint", 5)]) == "[1.0]"

"""The user's own code in a run: the python arm end to end, and what may not enter the gate's process in the Action."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from small_project import Outcome, Project

TOKENS = {
    "GITHUB_TOKEN": "ghs_0123456789",
    "OPENAI_API_KEY": "sk-0123456789",
    "ACTIONS_RUNTIME_TOKEN": "act-0123456789",
    "INPUT_X": "inp-0123456789",
    "GATE_TOKEN": "gat-0123456789",
}

ARM = """\
[suite.docs.arms.mine]
type = "python"
target = "mine:search"
timeout_seconds = 20
"""

SEARCH = """
import re
from pathlib import Path

PAGES = {path.stem: path.read_text() for path in Path("docs").glob("*.md")}

def search(query, pool):
    words = re.findall("[a-z0-9_]+", query.lower())
    scored = [(page, sum(text.lower().count(word) for word in words)) for page, text in sorted(PAGES.items())]
    return sorted((pair for pair in scored if pair[1]), key=lambda pair: -pair[1])[:pool]
"""


def with_arm(project: Project, code: str, more: str = "") -> None:
    """Let the project have only the arm `mine`, with this code."""
    project.edit("gate.toml", '[suite.docs.arms.keyword]\ntype = "bm25"\n', ARM + more)
    project.write("mine.py", code)


def in_the_action(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)
    runner = project.root.parent / "runner"
    runner.mkdir()
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE"):
        (runner / name).write_text("")
        monkeypatch.setenv(name, str(runner / name))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.root))
    monkeypatch.setenv("GATE_PYTHON", sys.executable)


def failed(project: Project, *arguments: str) -> tuple[Outcome, dict[str, str]]:
    """A run whose report is read: what it printed, and the failed cases of the arm `mine` with the reasons."""
    done = project.gate("run", "--no-baseline", "--json", "report.json", *arguments)
    suite = json.loads(project.read("report.json"))["suites"][0]
    return done, suite["arms"]["mine"].get("failed", {})


def test_a_function_is_recorded_gated_and_explained(empty_project: Project) -> None:
    project = empty_project
    with_arm(project, SEARCH)
    assert project.gate("baseline").code == 0
    assert project.gate("run").code == 0
    project.edit("mine.py", "-pair[1]", "pair[1]")
    done = project.gate("run")
    assert done.code == 1
    assert "q-02" in done.out
    explained = project.gate("explain", "q-02")
    assert explained.code == 0
    assert "errors" in explained.out


def test_a_hanging_query_is_not_measured_with_its_reason(empty_project: Project) -> None:
    with_arm(
        empty_project,
        "import time\ndef search(query):\n    if 'max_size' == query: time.sleep(600)\n    return ['errors']\n",
    )
    empty_project.edit("gate.toml", "timeout_seconds = 20", "timeout_seconds = 1")
    done, cases = failed(empty_project)
    assert done.code == 3
    assert cases == {"q-04": "TimeoutError: no answer within 1 s"}
    assert "no answer within 1 s" in done.out


def test_code_that_cannot_be_imported_is_not_measured_and_the_rest_is(empty_project: Project) -> None:
    with_arm(
        empty_project, "import nosuch\n", 'required = false\n\n[suite.docs.arms.keyword]\ntype = "bm25"\n'
    )
    done, cases = failed(empty_project)
    assert len(cases) == 6
    assert set(cases.values()) == {
        "cannot load 'mine:search': ModuleNotFoundError: No module named 'nosuch' (mine.py:1)"
    }
    assert done.code == 0
    assert "No module named 'nosuch'" in done.out


HOSTILE = """
import os, pathlib, sys

ENVIRONMENT = dict(os.environ)
for path in ENVIRONMENT.values():
    try:
        with open(path, "a") as stream: stream.write("owned=1\\n")
    except OSError: pass

def search(query, pool):
    print("::error::owned")
    print("::add-mask::widget")
    print("##[error]owned", file=sys.stderr)
    print(ENVIRONMENT)
    os.write(1, b"\\n::set-output name=verdict::pass\\n")
    if query == "max_size":
        raise RuntimeError("\\n::error::owned\\n" + repr(sorted(ENVIRONMENT)))
    if query == "E101 WidgetJam":
        os._exit(1)
    return ["::error::owned", "##[error]owned", *(f"{k}={v}" for k, v in ENVIRONMENT.items())][:pool]
"""


def test_hostile_code_in_the_action_gets_no_token_no_file_and_no_command(
    empty_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = empty_project
    with_arm(project, HOSTILE)
    in_the_action(project, monkeypatch)
    done, cases = failed(project, "--markdown", "comment.md")
    assert done.code == 3
    assert set(cases) == {"q-02", "q-04"}
    written = [done.out, done.err, project.read("report.json"), project.read("comment.md")]
    for text in written:
        assert not any(value in text for value in TOKENS.values())
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    for reason in cases.values():
        assert "##[" not in reason
        assert not any(
            name in reason for name in ("GITHUB_", "OPENAI", "INPUT_", "ACTIONS_", "GATE_", "TOKEN")
        )
    for path in (project.root.parent / "runner").iterdir():
        assert path.read_text() == "", path.name


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('type = "bm25"', 'type = "mine:arm"', "arm type 'mine:arm'"),
        ('type = "bm25"', 'type = "bm25"\nchunker = "mine:chunker"', "chunker 'mine:chunker'"),
        ("k = 2", 'reader = "mine:reader"\nk = 2', "reader 'mine:reader'"),
        (
            'type = "bm25"',
            'type = "bm25"\n[suite.docs.policy]\nrule = "mine:policy"',
            "policy rule 'mine:policy'",
        ),
    ],
)
def test_no_outside_name_is_imported_in_the_action(
    empty_project: Project, monkeypatch: pytest.MonkeyPatch, old: str, new: str, place: str
) -> None:
    project = empty_project
    project.edit("gate.toml", old, new)
    project.write("mine.py", "open('imported', 'w').close()\n")
    in_the_action(project, monkeypatch)
    done = project.gate("run", "--no-baseline")
    assert done.code == 2
    assert f"{place} would run in the gate's own process, which the Action does not allow" in done.err
    assert 'Use an arm with type = "python"' in done.err
    assert not (project.root / "imported").exists()


def test_the_arm_runs_beside_files_with_our_own_names(
    empty_project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = empty_project
    with_arm(project, SEARCH)
    for name in ("json.py", "asyncio.py", "_bridge_python.py", "gate/__init__.py"):
        project.write(name, "raise SystemError('shadowed')\n")
    done, cases = failed(project)
    assert (done.code, cases) == (0, {})


def test_a_setting_of_the_arm_that_is_wrong_is_an_input_error(empty_project: Project) -> None:
    with_arm(empty_project, SEARCH, 'env = ["GITHUB_TOKEN", "SEARCH_URL"]\ntime_seconds = 3\n')
    empty_project.edit("gate.toml", "mine:search", "mine.search")
    done = empty_project.gate("run")
    assert done.code == 2
    assert "value 1 of 'env' is never passed on to the code under test ('GITHUB_TOKEN')" in done.err
    assert "'target' does not read 'package.module:function' ('mine.search')" in done.err
    assert "unknown key 'time_seconds'. Did you mean 'timeout_seconds'?" in done.err


def test_an_interpreter_that_is_missing_is_not_measured(empty_project: Project) -> None:
    with_arm(empty_project, SEARCH, 'python = ".venv/bin/python"\n')
    done, cases = failed(empty_project)
    assert done.code == 3
    assert "python = '.venv/bin/python': no such interpreter" in cases["q-02"]


def test_every_process_has_ended_after_the_run(empty_project: Project) -> None:
    with_arm(empty_project, "import os\nopen('pid', 'w').write(str(os.getpid()))\n" + SEARCH)
    assert failed(empty_project)[0].code == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(empty_project.read("pid")), 0)
    assert Path(empty_project.root / "pid").exists()


def test_pages_that_the_corpus_lacks_are_named(project: Project) -> None:
    with_arm(project, 'def search(query, pool):\n    return ["errors", "ghost"]\n')
    code, suite = project.report("--no-baseline")
    assert code == 0
    found = next(finding for finding in suite["findings"] if finding["code"] == "unknown-pages")
    assert "1 returned page is not in the corpus (ghost)" in found["text"]

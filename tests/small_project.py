"""A small real project in a real git repository, and the command line run inside it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gate import cli

REPOSITORY = Path(__file__).resolve().parent.parent

PAGES = {
    "install": "# Install\n\nRun the installer with `pip install widget`.\n\n## Requirements\n\nPython and a terminal.\n",
    "config": "# Configuration\n\n## max_size\n\n`max_size` is the largest widget, 40 by default.\n\n"
    "## min_size\n\n`min_size` is the smallest widget, 2 by default.\n",
    "errors": "# Errors\n\n## E101 WidgetJam\n\nE101 means that the widget is jammed. Shake it.\n\n"
    "## E102 WidgetLost\n\nE102 means that nobody knows where the widget went.\n",
    "guide": "# Guide\n\n## Painting\n\nPaint the widget blue and let it dry over night.\n\n"
    "## Polishing\n\nPolish slowly with a soft cloth, as the installer of your widget told you.\n",
    "faq": "# Questions\n\n## Why is it stuck?\n\nA jammed widget wants to be shaken. See the errors page.\n",
    "api": "# API\n\n## Widget.paint\n\n`Widget.paint(colour)` paints it.\n\n## Widget.shake\n\n`Widget.shake()` frees it.\n",
    "news": "# News\n\n## 2.0\n\nThe widget can be painted green now, and `max_size` grew.\n",
}

CASES: Sequence[dict[str, Any]] = (
    {"id": "q-02", "query": "E101 WidgetJam", "relevant_doc_ids": ["errors"], "kind": "exact_term"},
    {"id": "q-04", "query": "max_size", "relevant_doc_ids": ["config"], "kind": "exact_term"},
    {"id": "q-06", "query": "min_size default", "relevant_doc_ids": ["config"], "kind": "exact_term"},
    {
        "id": "q-08",
        "query": "my widget is jammed, what now",
        "relevant_doc_ids": ["errors", "faq"],
        "kind": "semantic",
    },
    {"id": "q-10", "query": "colour of the widget", "relevant_doc_ids": ["guide", "api"], "kind": "semantic"},
    {
        "id": "q-12",
        "query": "how to free it by shaking",
        "relevant_doc_ids": ["api", "faq"],
        "kind": "semantic",
    },
    {"id": "q-01", "query": "polish", "relevant_doc_ids": ["guide"], "kind": "exact_term"},
    {"id": "q-03", "query": "nobody knows where it went", "relevant_doc_ids": ["errors"], "kind": "semantic"},
)

QA: Sequence[dict[str, Any]] = (
    {
        "id": "qa-1",
        "question": "What does E102 mean?",
        "answer": "The widget is lost.",
        "citations": ["errors"],
    },
    {"id": "qa-2", "question": "What is the default of max_size?", "answer": "40.", "citations": ["config"]},
    {"id": "qa-3", "question": "Who made the widget?", "answer": "Nobody says.", "citations": []},
)

GATE_TOML = """\
[suite.docs]
corpus = "docs"
cases = ["eval/cases.jsonl"]
qa = "eval/qa.jsonl"
k = 2
pool = 8
context = 3

[suite.docs.arms.keyword]
type = "bm25"
"""


@dataclass
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str


@dataclass
class Project:
    """A project folder in a git repository, and what can be done to it."""

    root: Path
    capture: pytest.CaptureFixture[str]
    cases: list[dict[str, Any]] = field(default_factory=list)
    below: str = ""

    def write(self, path: str, text: str | bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            target.write_bytes(text)
        else:
            target.write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, f"{old!r} is not in {path}"
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def save_cases(self) -> None:
        self.write("eval/cases.jsonl", "".join(json.dumps(case) + "\n" for case in self.cases))

    def case(self, name: str) -> dict[str, Any]:
        return next(case for case in self.cases if case["id"] == name)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True, env=_git_env()
        )
        return done.stdout

    def commit(self, message: str = "change") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def gate(self, *arguments: str) -> Outcome:
        """Run the command line in this process, in the project's folder or in `below` it."""
        self.capture.readouterr()
        before = Path.cwd()
        os.chdir(self.root / self.below)
        try:
            code = cli.main(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os.chdir(before)
        captured = self.capture.readouterr()
        return Outcome(code, captured.out, captured.err)

    def report(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """`gate run --json -` with these flags: the exit code and the one suite's report."""
        done = self.gate("run", "--json", "-", *arguments)
        assert done.out, done.err
        suites = json.loads(done.out)["suites"]
        assert len(suites) == 1
        return done.code, suites[0]

    def files(self) -> dict[str, bytes]:
        """Every file of the work tree with its bytes."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.root).parts
        }


def _git_env() -> dict[str, str]:
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))
    }
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    return {**os.environ, **who, **dates, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

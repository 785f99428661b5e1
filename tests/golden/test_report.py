"""What a user reads, byte for byte. `GATE_GOLDEN=write pytest tests/golden` writes the files anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from golden.scenarios import SCENARIOS

from gate.model.report import Report
from gate.report import render

FOLDER = Path(__file__).parent / "report"

SHOWN: dict[str, Callable[[Report], str]] = {
    "comment.md": lambda report: render.comment(report, report.suites[0]),
    "console.txt": lambda report: render.console(report, colour=False),
    "summary.md": render.summary,
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("file", SHOWN)
def test_reads_as_recorded(name: str, file: str) -> None:
    text = SHOWN[file](SCENARIOS[name]())
    path = FOLDER / name / file
    if os.environ.get("GATE_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == text


def test_no_file_is_left_over() -> None:
    recorded = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*")}
    assert recorded == {f"{name}/{file}" for name in SCENARIOS for file in SHOWN}

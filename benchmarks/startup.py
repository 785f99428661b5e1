"""CPU time of short commands beside the bare imports they cannot do without: `python benchmarks/startup.py`.

CPU seconds (user + system) of a fresh process, median of several runs taken in turn, so that a slow moment of the
machine hits all alike. The last column is the ratio to the peer of the same block.

The keyword runs take place in a copy of the demo whose gate.toml has the keyword arm alone, with a baseline and a
commit of its own: the bar is about them, whatever other arms this repository measures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
KEYWORD_ONLY = """\
[suite.orbit]
corpus = "datasets/orbit/docs"
cases = ["datasets/orbit/eval/retrieval_queries.jsonl", "eval/retrieval_queries.local.jsonl"]
qa = "datasets/orbit/eval/qa_gold.jsonl"
baseline = "baselines/orbit.json"
slices = ["applies_to"]
[suite.orbit.arms.keyword]
type = "bm25"
"""
BLOCKS = {
    "gate run on Orbit, keyword arm (bar: 2.5 x)": {
        'python -c "import numpy, pydantic"': [PYTHON, "-c", "import numpy, pydantic"],
        "gate run": [PYTHON, "-m", "gate", "run"],
        "gate run --base HEAD": [PYTHON, "-m", "gate", "run", "--base", "HEAD"],
    },
    "gate --help (bar: 3 x)": {
        'python -c "import pydantic"': [PYTHON, "-c", "import pydantic"],
        "gate --help": [PYTHON, "-m", "gate", "--help"],
        "gate check": [PYTHON, "-m", "gate", "check"],
    },
}


def keyword_only(folder: Path) -> Path:
    """The demo with the keyword arm alone, its baseline recorded and committed."""
    for name in ("datasets", "eval"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "gate.toml").write_text(KEYWORD_ONLY, encoding="utf-8")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for command in (
        [PYTHON, "-m", "gate", "baseline"],
        [*git, "init", "--quiet"],
        [*git, "add", "--all"],
        [*git, "commit", "--quiet", "--message", "demo"],
    ):
        subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=subprocess.DEVNULL)
    return folder


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def cpu_seconds(command: list[str], folder: Path) -> float:
    """User and system seconds of one process, waited for by itself."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as made:
        measure(keyword_only(Path(made)), runs)


def measure(folder: Path, runs: int) -> None:
    for title, commands in BLOCKS.items():
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                times[name].append(cpu_seconds(command, folder))
        medians = {name: statistics.median(values) for name, values in times.items()}
        peer = next(iter(medians.values()))
        print(title)
        for name, median in medians.items():
            print(f"  {name:<38} {median * 1000:7.0f} ms CPU   {median / peer:4.2f} x")


if __name__ == "__main__":
    main()

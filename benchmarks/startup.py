"""CPU time of short commands beside the bare imports they cannot do without: `python benchmarks/startup.py`.

CPU seconds (user + system) of a fresh process, median of several runs taken in turn, so that a slow moment of the
machine hits all alike. The last column is the ratio to the peer of the same block.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
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


def cpu_seconds(command: list[str]) -> float:
    """User and system seconds of one process, waited for by itself."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    for title, commands in BLOCKS.items():
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                times[name].append(cpu_seconds(command))
        medians = {name: statistics.median(values) for name, values in times.items()}
        peer = next(iter(medians.values()))
        print(title)
        for name, median in medians.items():
            print(f"  {name:<38} {median * 1000:7.0f} ms CPU   {median / peer:4.2f} x")


if __name__ == "__main__":
    main()

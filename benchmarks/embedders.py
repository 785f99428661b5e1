"""What the embedders in installed packages cost: texts per second of one thread, start, memory. It prints; it never judges.

    python benchmarks/embedders.py [--shared DIR] [--collection cranfield] [--texts 1400 60]

Each embedder in a process of its own; nothing is cached. `--texts`: how many for `local` and for `minilm`. Collections are BEIR
folders in DIR, GATE_SHARED_DATA, or <repo>/../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

NAMES = ("local", "minilm")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


def measured(name: str, corpus: Path, count: int) -> dict[str, float]:
    """In this process: seconds, texts per second, characters per text, megabytes."""
    from gate import registry
    from gate.embedders._host import Host

    with corpus.open(encoding="utf-8") as file:
        pages = [json.loads(line) for line in islice(file, count)]
    texts = [f"{page.get('title', '')}\n{page['text']}" for page in pages]
    module: Any = registry.load("embedders", name, "benchmark")
    embedder = module.build(module.Settings(type=name), Host(lambda *_: None))
    start = time.perf_counter()
    _ = embedder.identity, list(embedder.embed(["one text"], "query"))
    first = time.perf_counter() - start
    start = time.perf_counter()
    list(embedder.embed(texts, "passage"))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "first": first,
        "rate": len(texts) / seconds,
        "characters": sum(map(len, texts)) / len(texts),
        "peak": peak / (1024 if sys.platform != "darwin" else 1024**2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="What the embedders in installed packages cost.")
    shared = os.environ.get("GATE_SHARED_DATA") or str(REPO.parent / "shared" / "data")
    parser.add_argument("--shared", type=Path, default=Path(shared))
    parser.add_argument("--collection", default="cranfield")
    parser.add_argument("--texts", nargs=len(NAMES), type=int, default=[1400, 60])
    parser.add_argument("--one", nargs=2, metavar=("NAME", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    corpus = options.shared / options.collection / "corpus.jsonl"
    if options.one:
        print(json.dumps(measured(options.one[0], corpus, int(options.one[1]))))
        return
    print(f"{'embedder':<10}{'texts/s':>9}{'first text s':>14}{'RSS MB':>8}{'characters':>12}")
    rest = ["--shared", str(options.shared), "--collection", options.collection]
    for name, count in zip(NAMES, options.texts, strict=True):
        ran = subprocess.run(
            [sys.executable, __file__, *rest, "--one", name, str(count)],
            env=os.environ | ONE_THREAD,
            capture_output=True,
            text=True,
            check=True,
        )
        row = json.loads(ran.stdout)
        print(
            f"{name:<10}{row['rate']:>9.0f}{row['first']:>14.2f}{row['peak']:>8.0f}{row['characters']:>12.0f}"
        )


if __name__ == "__main__":
    main()

"""Exact dense search beside its peers: time per query, and whether the order is the right one. It prints; it never judges.

    python benchmarks/dense.py [--sizes 10000x384 100000x384 100000x1536] [--queries 200] [--pool 20]

Vectors: unit rows around a few hundred centres, fixed seed, a tenth of them repeated; each query lies near a row. One
process per engine, one thread.

- tiles: all queries at once, as `gate run` asks; single: one query after the other
- wrong: queries whose first `pool` rows are not in the order of the exact scores (ties in row order)
- RSS: growth of the resident set beyond the matrix itself

Engines: ours; numpy (a float32 product, argpartition, a stable sort of the pool); numpy, full sort; faiss (IndexFlatIP),
where faiss-cpu is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

Search = Callable[[Any, int], list[list[int]]]


def vectors(size: str, count: int) -> tuple[Any, Any]:
    """(rows, queries), both float32 of length 1."""
    import numpy as np

    total, width = map(int, size.split("x"))
    random = np.random.default_rng(7)

    def unit(array: Any) -> Any:
        return (array / np.linalg.norm(array, axis=1, keepdims=True)).astype(np.float32)

    centres = random.standard_normal((300, width))
    rows = np.empty((total, width), dtype=np.float32)
    for start in range(0, total, 8192):
        stop = min(start + 8192, total)
        noise = random.standard_normal((stop - start, width))
        rows[start:stop] = unit(centres[random.integers(300, size=stop - start)] + 0.8 * noise)
    copied = total // 10
    rows[-copied:] = rows[:copied]
    near = rows[random.integers(total, size=count)]
    return rows, unit(near + 0.5 / width**0.5 * random.standard_normal((count, width)))


def ours(rows: Any) -> Search:
    from gate.arms._dense import Index

    index = Index(rows)
    return lambda queries, pool: [[one.row for one in found] for found in index.best(queries, pool)]


def numpy(rows: Any) -> Search:
    import numpy as np

    def search(queries: Any, pool: int) -> list[list[int]]:
        found = []
        for start in range(0, len(queries), 64):
            scores = queries[start : start + 64] @ rows.T
            best = np.sort(np.argpartition(-scores, pool, axis=1)[:, :pool], axis=1)
            kept = np.take_along_axis(scores, best, axis=1)
            order = np.argsort(-kept, axis=1, kind="stable")
            found += np.take_along_axis(best, order, axis=1).tolist()
        return found

    return search


def full_sort(rows: Any) -> Search:
    import numpy as np

    def search(queries: Any, pool: int) -> list[list[int]]:
        found = []
        for start in range(0, len(queries), 64):
            scores = queries[start : start + 64] @ rows.T
            found += np.argsort(-scores, axis=1, kind="stable")[:, :pool].tolist()
        return found

    return search


def faiss(rows: Any) -> Search:
    import faiss as peer  # type: ignore[import-untyped]

    peer.omp_set_num_threads(1)
    index = peer.IndexFlatIP(rows.shape[1])
    index.add(rows)

    def search(queries: Any, pool: int) -> list[list[int]]:
        found: list[list[int]] = index.search(queries, pool)[1].tolist()
        return found

    return search


ENGINES: dict[str, tuple[str, Callable[[Any], Search]]] = {
    "ours": ("numpy", ours),
    "numpy": ("numpy", numpy),
    "numpy, full sort": ("numpy", full_sort),
    "faiss": ("faiss", faiss),
}


def right_order(rows: Any, query: Any, pool: int) -> list[int]:
    """Float64 leaves a few hundred rows, of which every score is added up exactly."""
    import math

    import numpy as np

    wide = query.astype(np.float64)
    rough = np.concatenate([rows[at : at + 8192] @ wide for at in range(0, len(rows), 8192)])
    kth = np.partition(rough, -pool)[-pool]
    near = np.flatnonzero(rough >= kth - 1e-9).tolist()
    exact = {row: math.fsum((rows[row].astype(np.float64) * wide).tolist()) for row in near}
    return sorted(near, key=lambda row: (-exact[row], row))[:pool]


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform != "darwin" else 1024**2
    )


def median_ms(call: Callable[[], object], queries: int) -> float:
    rounds: list[float] = []
    call()
    while len(rounds) < 3 or (len(rounds) < 9 and sum(rounds) < 3):
        start = time.perf_counter()
        call()
        rounds.append(time.perf_counter() - start)
    return 1000 * statistics.median(rounds) / queries


def measured(engine: str, size: str, count: int, pool: int) -> dict[str, float]:
    rows, queries = vectors(size, count)
    before = resident()
    start = time.perf_counter()
    search = ENGINES[engine][1](rows)
    build = time.perf_counter() - start
    found = search(queries, pool)
    few = queries[: max(10, count // 10)]
    return {
        "build": build,
        "tiles": median_ms(lambda: search(queries, pool), count),
        "single": median_ms(lambda: [search(few[at : at + 1], pool) for at in range(len(few))], len(few)),
        "rss": resident() - before,
        "wrong": sum(
            found_one != right_order(rows, query, pool)
            for found_one, query in zip(found, queries, strict=True)
        ),
    }


def apart(*arguments: str) -> dict[str, float]:
    """Run one measurement in a fresh process with one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ran = subprocess.run(
        [sys.executable, __file__, "--one", *arguments],
        env=os.environ | one,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip().splitlines()[-1])
    row: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description="Exact dense search beside its peers.")
    parser.add_argument("--sizes", nargs="*", default=["400x256", "10000x384", "100000x384", "100000x1536"])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one, options.queries, options.pool)))
        return
    rest = ["--queries", str(options.queries), "--pool", str(options.pool)]
    print(
        f"{'rows x width':<14}{'engine':<18}{'build s':>9}{'tiles ms/q':>12}{'single ms/q':>13}{'RSS +MB':>9}{'wrong':>7}"
    )
    for size in options.sizes:
        for engine, (module, _) in ENGINES.items():
            if importlib.util.find_spec(module) is None:
                print(f"{size:<14}{engine:<18}  skipped: {module} is not installed")
                continue
            row = apart(engine, size, *rest)
            print(
                f"{size:<14}{engine:<18}{row['build']:>9.2f}{row['tiles']:>12.2f}{row['single']:>13.2f}"
                f"{row['rss']:>9.0f}{row['wrong']:>7.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

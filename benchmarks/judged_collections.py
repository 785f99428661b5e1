"""Keyword, vector and hybrid on judged collections, beside the same computed with bm25s, numpy and ranx in one run.

    python benchmarks/judged_collections.py [--shared DIR] [-k 5] [--pool 20] [--embedder local] [--only cranfield]

The gate's numbers come from `gate run` over a gate.toml of three arms. The peer reads the files by itself, ranks by
bm25s (method lucene, the same k1, b and tokens), by a float64 product of the same vectors, and by ranx's rrf of these
two, and scores all three with ranx. It prints; it never judges. Where the two differ, engines broke ties otherwise:
bm25s and ranx keep no order among equal scores.

Collections are BEIR folders in DIR, GATE_SHARED_DATA, or <repo>/../shared/data. Needs bm25s and ranx (`make bench`).

(Not called collections.py: that would stand in front of the standard library module for every script beside it.)
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

COLLECTIONS = ("anthropic-docs", "cranfield", "vaswani-npl")
ARMS = ("keyword", "vector", "hybrid")
METRICS = ("recall", "mrr", "ndcg")
CONFIG = """\
[suite.it]
corpus = {folder}
cases = [{folder}]
baseline = "none.json"
k = {k}
pool = {pool}
[suite.it.arms.keyword]
type = "bm25"
[suite.it.arms.vector]
type = "embedding"
embedder = {embedder}
[suite.it.arms.hybrid]
type = "rrf"
of = ["vector", "keyword"]
"""
Numbers = dict[str, dict[str, float]]
Rankings = dict[str, dict[str, float]]


def gate_numbers(folder: Path, options: argparse.Namespace) -> tuple[Numbers, float]:
    """({arm: {metric: mean}}, seconds) of one `gate run`."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as made:
        config, report = Path(made, "gate.toml"), Path(made, "report.json")
        values = {"folder": json.dumps(str(folder)), "embedder": json.dumps(options.embedder)}
        config.write_text(CONFIG.format(k=options.k, pool=options.pool, **values), encoding="utf-8")
        command = [sys.executable, "-m", "gate", "run", "--no-baseline", "--json", str(report)]
        start = time.perf_counter()
        ran = subprocess.run(
            [*command, "--config", str(config)],
            env={**os.environ, "PYTHONPATH": str(REPO), "GATE_NO_CACHE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        if ran.returncode:
            raise SystemExit(f"gate run ended with {ran.returncode}: {ran.stderr or ran.stdout}")
        arms = json.loads(report.read_text("utf-8"))["suites"][0]["arms"]
    return {
        arm: {metric: arms[arm][metric] for metric in METRICS} | {"n": arms[arm]["n"]} for arm in ARMS
    }, seconds


def read(folder: Path) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    """(page -> text, query id -> query, query id -> page -> grade above 0)"""

    def rows(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines() if line]

    pages = {}
    for row in rows("corpus.jsonl"):
        parts = [part for part in (row.get("title", ""), row["text"]) if part]
        pages[row["_id"]] = "\n".join(parts)
    grades: dict[str, dict[str, int]] = {}
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8") as lines:
        for query, page, grade in list(csv.reader(lines, delimiter="\t"))[1:]:
            if int(grade) > 0:
                grades.setdefault(query, {})[page] = int(grade)
    return pages, {row["_id"]: row["text"] for row in rows("queries.jsonl") if row["_id"] in grades}, grades


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)*", text.lower())


def by_bm25s(pages: dict[str, str], queries: dict[str, str], pool: int) -> Rankings:
    import bm25s  # type: ignore[import-untyped]

    names = list(pages)
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    index.index([tokens(text) for text in pages.values()], show_progress=False)
    found: Rankings = {}
    for name, query in queries.items():
        terms = [list(dict.fromkeys(tokens(query)))]
        best = index.retrieve(terms, k=min(pool, len(names)), show_progress=False)
        scored = zip(best.documents[0].tolist(), best.scores[0].tolist(), strict=True)
        found[name] = {names[page]: score for page, score in scored if score > 0}
    return found


def by_vectors(pages: dict[str, str], queries: dict[str, str], pool: int, embedder: str) -> Rankings:
    import numpy as np

    from gate.commands._measure import Workshop
    from gate.embedders._resolve import resolve
    from gate.model.page import Corpus

    names = list(pages)
    vectors = resolve(embedder, Workshop(Corpus(()), {}, "benchmark", REPO), "benchmark")
    rows = np.asarray(vectors.passages(list(pages.values())), dtype=np.float64)
    asked: Any = vectors.queries(list(queries.values()))
    found: Rankings = {}
    for name, query in queries.items():
        scores = rows @ asked[query].astype(np.float64)
        best = np.argsort(-scores, kind="stable")[:pool]
        found[name] = {names[page]: float(scores[page]) for page in best.tolist()}
    vectors.close()
    return found


def peer_numbers(folder: Path, options: argparse.Namespace) -> Numbers:
    import warnings

    import ranx  # type: ignore[import-untyped]

    warnings.simplefilter("ignore")  # numba's, about casts inside of ranx
    pages, queries, grades = read(folder)
    runs = {
        "keyword": by_bm25s(pages, queries, options.pool),
        "vector": by_vectors(pages, queries, options.pool, options.embedder),
    }
    legs = [
        ranx.Run({q: hits or {"": 0.0} for q, hits in runs[arm].items()}) for arm in ("vector", "keyword")
    ]
    fused = ranx.fuse(runs=legs, norm=None, method="rrf", params={"k": 60})
    runs["hybrid"] = {
        query: dict(sorted(hits.items(), key=lambda one: -one[1])[: options.pool])
        for query, hits in fused.to_dict().items()
    }
    wanted = {
        "recall": f"recall@{options.k}",
        "mrr": f"mrr@{options.pool}",
        "ndcg": f"ndcg@{options.k}",
    }
    qrels = ranx.Qrels({query: grades[query] for query in queries})
    numbers: Numbers = {}
    for arm, found in runs.items():
        run = ranx.Run({query: hits or {"": 0.0} for query, hits in found.items()})
        scored = ranx.evaluate(qrels, run, list(wanted.values()))
        numbers[arm] = {metric: float(scored[title]) for metric, title in wanted.items()} | {"n": len(found)}
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description="Three arms on judged collections, beside bm25s and ranx.")
    parser.add_argument(
        "--shared", type=Path, default=os.environ.get("GATE_SHARED_DATA", REPO.parent / "shared" / "data")
    )
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--only", nargs="*", default=COLLECTIONS)
    options = parser.parse_args()
    heads = "".join(f"{f'{name}@{options.k}' if name != 'mrr' else name:>10}{'peer':>8}" for name in METRICS)
    print(f"{'collection':<16}{'arm':<9}{'n':>5}{heads}   {'gate run':>9}")
    for name in options.only:
        folder = Path(options.shared) / name
        if not folder.is_dir():
            print(f"{name:<16}skipped: no such folder in {options.shared}")
            continue
        ours, seconds = gate_numbers(folder, options)
        peer = peer_numbers(folder, options)
        for arm in ARMS:
            assert ours[arm]["n"] == peer[arm]["n"], "the same queries"
            cells = "".join(f"{ours[arm][metric]:>10.4f}{peer[arm][metric]:>8.4f}" for metric in METRICS)
            spent = f"{seconds:>8.1f} s" if arm == ARMS[0] else ""
            print(f"{name:<16}{arm:<9}{ours[arm]['n']:>5.0f}{cells}   {spent}", flush=True)


if __name__ == "__main__":
    main()

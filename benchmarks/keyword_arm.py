"""The keyword arm beside its peers: build time, time per query, peak memory. It prints; it never judges.

    python benchmarks/keyword_arm.py [--chunks 10000 100000] [--queries 200] [--pool 20] [--shared DIR]

Corpora: synthetic ones (Zipf words, fixed seed) and the collections in GATE_SHARED_DATA or <repo>/../shared/data.
(Not called keyword.py: run as a script, that would stand in front of the standard library module of that name.)

Every engine runs in a process of its own and reads the same tokens; one thread. What is timed:

- build: from texts (ours, which tokenises) or from texts through our tokenizer (rank-bm25, bm25s, tantivy) to an index
- ms/query: the median over rounds of the mean over queries, from the query's text to `pool` chunks. For tantivy from a
  query object that is already made, to addresses: the stored text is never fetched.
- peak/index: what tracemalloc saw at most during the build, and what was left after it. Memory of tantivy's own
  allocator is not seen by it; for that, see the growth of the resident set (RSS), measured in a second process.
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
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

Search = Callable[[list[str], int], list[list[int]]]
ENGINES = {"ours": "numpy", "rank-bm25": "rank_bm25", "bm25s": "bm25s", "tantivy": "tantivy"}
COLLECTIONS = ("anthropic-docs", "cranfield", "vaswani-npl")


def shared_folder() -> Path:
    return Path(os.environ.get("GATE_SHARED_DATA", REPO.parent / "shared" / "data"))


def synthetic(chunks: int, queries: int) -> tuple[list[str], list[str]]:
    """Chunks of 60 to 180 words and queries of 3 to 10, drawn from 200,000 words by Zipf's law."""
    import numpy as np

    weights = 1 / np.arange(1, 200_001) ** 1.07
    reach = (weights / weights.sum()).cumsum()

    def texts(count: int, shortest: int, longest: int, seed: int) -> Iterator[str]:
        random = np.random.default_rng(seed)
        for _ in range(count):
            drawn = random.random(random.integers(shortest, longest + 1))
            yield " ".join(f"w{word}" for word in np.searchsorted(reach, drawn))

    return list(texts(chunks, 60, 180, 1)), list(texts(queries, 3, 10, 2))


def collection(name: str, queries: int) -> tuple[list[str], list[str]]:
    def rows(file: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (shared_folder() / name / file).read_text("utf-8").splitlines()]

    texts = [f"{row.get('title', '')}\n{row['text']}" for row in rows("corpus.jsonl")]
    return texts, [row["text"] for row in rows("queries.jsonl")][:queries]


def ours(texts: list[str]) -> Search:
    from gate.arms import bm25
    from gate.model.page import Chunk

    chunks = [Chunk(str(number), str(number), text) for number, text in enumerate(texts)]

    class Corpus:
        def chunks(self, _chunker: Any) -> list[Chunk]:
            return chunks

        def arm(self, name: str) -> Any:
            raise KeyError(name)

    arm = bm25.build(Corpus(), bm25.Settings(type="bm25"))
    return lambda queries, pool: [[int(hit.chunk_id) for hit in arm.search(query, pool)] for query in queries]


def rank_bm25(texts: list[str]) -> Search:
    import numpy as np
    from rank_bm25 import BM25Okapi

    from gate.arms._tokens import ascii_tokens

    index = BM25Okapi([ascii_tokens(text) for text in texts])

    def search(queries: list[str], pool: int) -> list[list[int]]:
        return [np.argsort(index.get_scores(ascii_tokens(query)))[::-1][:pool].tolist() for query in queries]

    return search


def bm25s(texts: list[str]) -> Search:
    import bm25s as peer  # type: ignore[import-untyped]

    from gate.arms._tokens import ascii_tokens

    index = peer.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    index.index([ascii_tokens(text) for text in texts], show_progress=False)

    def search(queries: list[str], pool: int) -> list[list[int]]:
        found = []
        for query in queries:
            tokens = [list(dict.fromkeys(ascii_tokens(query)))]
            found.append(
                index.retrieve(tokens, k=min(pool, len(texts)), show_progress=False).documents[0].tolist()
            )
        return found

    return search


def tantivy(texts: list[str]) -> Search:
    import tantivy as peer

    from gate.arms._tokens import ascii_tokens

    schema = peer.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    built = schema.build()
    index = peer.Index(built)
    writer = index.writer(heap_size=256_000_000, num_threads=1)
    for text in texts:
        writer.add_document(peer.Document(text=" ".join(ascii_tokens(text))))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    made: dict[str, Any] = {}

    def prepared(query: str) -> Any:
        if query not in made:
            terms = dict.fromkeys(ascii_tokens(query))
            parts = [
                (peer.Occur.Should, peer.Query.term_query(built, "text", term, "freq")) for term in terms
            ]
            made[query] = peer.Query.boolean_query(parts)
        return made[query]

    def search(queries: list[str], pool: int) -> list[list[int]]:
        return [
            [address.doc for _, address in searcher.search(prepared(query), pool, count=False).hits]
            for query in queries
        ]

    return search


BUILDERS = {"ours": ours, "rank-bm25": rank_bm25, "bm25s": bm25s, "tantivy": tantivy}


def texts_of(corpus: str, queries: int) -> tuple[list[str], list[str]]:
    return synthetic(int(corpus), queries) if corpus.isdigit() else collection(corpus, queries)


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform != "darwin" else 1024**2
    )


def timed(engine: str, corpus: str, queries: int, pool: int) -> dict[str, float]:
    texts, asked = texts_of(corpus, queries)
    if engine == "rank-bm25":
        asked = asked[: max(20, 400_000 // len(texts))]
    BUILDERS[engine](texts[:50])  # imports
    before = resident()
    start = time.perf_counter()
    search = BUILDERS[engine](texts)
    build = time.perf_counter() - start
    growth = resident() - before
    search(asked[:20], pool)
    rounds: list[float] = []
    while len(rounds) < 3 or (len(rounds) < 15 and sum(rounds) < 3):
        start = time.perf_counter()
        search(asked, pool)
        rounds.append(time.perf_counter() - start)
    return {"build": build, "query": 1000 * statistics.median(rounds) / len(asked), "rss": growth}


def traced(engine: str, corpus: str, queries: int) -> dict[str, float]:
    texts, _ = texts_of(corpus, queries)
    BUILDERS[engine](texts[:50])
    tracemalloc.start()
    search = BUILDERS[engine](texts)
    left, peak = tracemalloc.get_traced_memory()
    del search
    return {"index": left / 2**20, "peak": peak / 2**20}


def apart(*arguments: str) -> dict[str, float]:
    """Run one measurement in a fresh process with one thread."""
    one = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    )
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
    parser = argparse.ArgumentParser(description="The keyword arm beside its peers.")
    parser.add_argument("--chunks", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "ENGINE", "CORPUS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shared is not None:
        os.environ["GATE_SHARED_DATA"] = str(options.shared)
    if options.one:
        what, engine, corpus = options.one
        if what == "timed":
            print(json.dumps(timed(engine, corpus, options.queries, options.pool)))
        else:
            print(json.dumps(traced(engine, corpus, options.queries)))
        return

    corpora = [str(count) for count in options.chunks]
    present = [name for name in COLLECTIONS if (shared_folder() / name).is_dir()]
    if not present:
        print(f"no collections in {shared_folder()}: skipped")
    print(
        f"{'corpus':<16}{'engine':<11}{'build s':>9}{'ms/query':>10}{'x ours':>8}{'index MB':>10}{'peak MB':>9}{'RSS +MB':>9}"
    )
    rest = ["--queries", str(options.queries), "--pool", str(options.pool)]
    for corpus in corpora + present:
        base = 0.0
        for engine, module in ENGINES.items():
            if importlib.util.find_spec(module) is None:
                print(f"{corpus:<16}{engine:<11}  skipped: {module} is not installed")
                continue
            try:
                row = apart("timed", engine, corpus, *rest) | apart("traced", engine, corpus, *rest)
            except RuntimeError as fault:
                print(f"{corpus:<16}{engine:<11}  skipped: {fault}")
                continue
            base = base or row["query"]
            memory = (
                f"{row['index']:>10.1f}{row['peak']:>9.1f}" if engine != "tantivy" else f"{'-':>10}{'-':>9}"
            )
            print(
                f"{corpus:<16}{engine:<11}{row['build']:>9.2f}{row['query']:>10.3f}{row['query'] / base:>8.2f}"
                f"{memory}{row['rss']:>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

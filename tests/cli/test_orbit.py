"""The demo, and what a pull request that breaks a page of it is told."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from small_project import REPOSITORY, Project

from gate.commands._load import load_suite
from gate.commands._measure import Workshop
from gate.commands._project import open_project

COPIED = ("datasets", "eval", "baselines")
CASE = "rq-002"
PAGE = "error-codes"


@pytest.fixture
def orbit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """This repository's own suite, copied with its baseline into a repository of its own; `change` is checked out."""
    root = tmp_path / "orbit"
    for name in COPIED:
        shutil.copytree(REPOSITORY / name, root / name)
    shutil.copy(REPOSITORY / "gate.toml", root / "gate.toml")
    project = Project(root, capsys)
    project.git("init", "--quiet", "--initial-branch", "main")
    project.commit("base")
    project.git("checkout", "--quiet", "-b", "change")
    return project


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[0]


def break_page(project: Project, how: str) -> None:
    path = f"datasets/orbit/docs/{PAGE}.md"
    text = project.read(path)
    answer = section(text, "ORB-1202")
    if how == "section deleted":
        project.write(path, text.replace(answer, ""))
    elif how == "page deleted":
        project.remove(path)
    elif how == "page renamed":
        project.git("mv", path, "datasets/orbit/docs/errors.md")
    else:
        project.write(
            path,
            text.replace(
                answer, "## Serializing\n\nArguments travel as JSON unless you register a codec.\n\n"
            ),
        )


CAUSES = {
    "section deleted": "edited",
    "page deleted": "deleted",
    "page renamed": "renamed",
    "rewritten": "edited",
}


@pytest.mark.parametrize("flags", [(), ("--base", "main")], ids=["work tree", "base"])
@pytest.mark.parametrize("how", CAUSES)
def test_a_broken_page_fails_the_gate_and_the_comment_says_what_broke(
    orbit: Project, how: str, flags: tuple[str, ...]
) -> None:
    break_page(orbit, how)
    done = orbit.gate("run", *flags, "--json", "report.json", "--markdown", "comment.md")
    assert done.code == 1, done.err
    suite = json.loads(orbit.read("report.json"))["suites"][0]
    comparison = suite["comparison"]["keyword"]
    assert "exact_term" in comparison["dropped_kinds"]
    lost = next(case for case in comparison["lost"] if case["id"] == CASE)
    page = next(page for page in lost["pages"] if page["doc_id"] == PAGE)
    assert (page["cause"], page["before"]) == (CAUSES[how], 1)
    assert PAGE in lost["touched"]
    comment = orbit.read("comment.md")
    verdict = next(line for line in comment.splitlines() if line.startswith("### "))
    assert "regression" in verdict
    assert "exact_term" in verdict
    assert re.search(r"\d+ of 13", verdict), "the kind's count stands in the verdict line"
    about = comment[comment.index(CASE) :]
    assert PAGE in about
    assert "1 -> " in about, "the rank before"
    wording = {"edited": "edited", "deleted": "deleted", "renamed": "renamed"}[CAUSES[how]]
    assert wording in about
    orbit.git("checkout", "--quiet", "--force", "main", "--", "datasets")
    (orbit.root / "datasets/orbit/docs/errors.md").unlink(missing_ok=True)
    orbit.git("reset", "--quiet", "--hard", "main")
    assert orbit.gate("run", *flags).code == 0, "undone, it passes"


def test_the_demo_passes_and_prints_table_misses_diagnosis_and_verdict(orbit: Project) -> None:
    done = orbit.gate("run", "--details")
    assert done.code == 0, done.err
    for part in (
        "pass",
        "recall@5",
        "MRR",
        "exact_term",
        "semantic",
        "multi_hop",
        "rq-028",
        "Diagnosis",
        "reached",
    ):
        assert part in done.out, part


OFFLINE = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise AssertionError(f"{event} {arguments}")
sys.addaudithook(refuse)
from gate import cli
sys.exit(cli.main(["run", "--json", "report.json"]))
"""


def test_the_demo_measures_three_arms_without_a_key_a_network_or_a_cache(orbit: Project) -> None:
    """In a process that may not even look up a name."""
    kept = {"PATH", "LANG", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name in kept}
    environment |= {
        "PYTHONPATH": str(REPOSITORY),
        "HOME": str(orbit.root),
        "GATE_CACHE": str(orbit.root / "c"),
    }
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        cwd=orbit.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    arms = json.loads(orbit.read("report.json"))["suites"][0]["arms"]
    assert {name: arm["n"] for name, arm in arms.items()} == {"keyword": 39, "vector": 39, "hybrid": 39}
    for name in arms:
        assert re.search(rf"^{name} +all +39 ", done.stdout, re.MULTILINE), name


MACHINES = (
    {"OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
    {"OPENBLAS_NUM_THREADS": "2", "RAYON_NUM_THREADS": "2"},
    {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX"},
    {"OPENBLAS_CORETYPE": "Prescott"},
)


def test_every_arm_reports_the_same_under_any_number_of_threads_and_without_wide_instructions(
    orbit: Project,
) -> None:
    told = set()
    for machine in MACHINES:
        command = [sys.executable, "-W", "ignore", "-m", "gate", "run", "--no-baseline", "--split", "all"]
        subprocess.run(
            [*command, "--json", "report.json"],
            cwd=orbit.root,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "GATE_NO_CACHE": "1", **machine},
            capture_output=True,
            check=True,
            timeout=120,
        )
        report = json.loads(orbit.read("report.json"))
        del report["environment"]
        told.add(json.dumps(report, sort_keys=True))
    assert len(told) == 1


def test_the_hybrid_ranks_as_rrf_of_the_two_legs_computed_here(orbit: Project) -> None:
    """From the legs' hits by the formula; and the legs' hits are those that the report's rows stand for."""
    code, report = orbit.report("--no-baseline", "--split", "all")
    assert code == 0
    rows = {name: {case["id"]: case for case in arm["cases"]} for name, arm in report["arms"].items()}
    arguments = Namespace(config=str(orbit.root / "gate.toml"), no_baseline=True, split="all")
    project = open_project(arguments)
    suite = load_suite(project, "orbit", arguments)
    moved = 0
    with closing(Workshop(suite.corpus, suite.arms, "test", project.root)) as workshop:
        for case in suite.cases.cases:
            hits = {leg: workshop.arm(leg).search(case.query, 20) for leg in ("vector", "keyword")}
            for leg, found in hits.items():
                assert list(dict.fromkeys(hit.doc_id for hit in found)) == rows[leg][case.id]["ranked"]
            scores: dict[str, float] = {}
            for leg in ("vector", "keyword"):
                for rank, hit in enumerate(hits[leg], 1):
                    scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + 1 / (60 + rank)
            fused = sorted(scores, key=lambda chunk: -scores[chunk])[:20]
            pages = list(dict.fromkeys(chunk.rpartition("#")[0] for chunk in fused))
            assert rows["hybrid"][case.id]["ranked"] == pages, case.id
            for hit in workshop.arm("hybrid").search(case.query, 20):
                assert hit.ranks == {
                    leg: next(rank for rank, one in enumerate(found, 1) if one.chunk_id == hit.chunk_id)
                    for leg, found in hits.items()
                    if hit.chunk_id in {one.chunk_id for one in found}
                }
            moved += (
                pages != rows["keyword"][case.id]["ranked"] and pages != rows["vector"][case.id]["ranked"]
            )
    assert moved > 20, "else this would show little"


def test_the_set_has_the_shape_that_was_promised(orbit: Project) -> None:
    rows = [
        json.loads(line) for line in orbit.read("datasets/orbit/eval/retrieval_queries.jsonl").splitlines()
    ]
    assert [row["id"] for row in rows] == [f"rq-{number:03}" for number in range(1, 41)]
    kinds = Counter(row["kind"] for row in rows)
    even = Counter(row["kind"] for row in rows if int(row["id"][-1]) % 2 == 0)
    assert min(kinds.values()) >= 12
    assert min(even.values()) >= 6
    assert set(kinds) == {"exact_term", "semantic", "multi_hop"}
    assert all(len(row["relevant_doc_ids"]) in (2, 3) for row in rows if row["kind"] == "multi_hop")
    local = [json.loads(line) for line in orbit.read("eval/retrieval_queries.local.jsonl").splitlines()]
    assert local[0]["version"] == "local-v2"
    issues = {
        issue["id"]: issue
        for issue in map(json.loads, orbit.read("datasets/orbit/issues/issues.jsonl").splitlines())
    }
    assert len(issues) >= 60
    first_five = {row["query"] for row in local[1:6]}
    assert first_five == {issues[number]["title"] for number in (186, 168, 174, 240, 216)}
    assert len(list((orbit.root / "datasets/orbit/docs").glob("*.md"))) == 45


def test_the_difficulty_is_that_of_a_real_set(orbit: Project) -> None:
    code, everything = orbit.report("--split", "all", "--no-baseline")
    keyword = everything["arms"]["keyword"]
    assert (code, keyword["n"]) == (0, 76)
    assert 0.7 <= keyword["recall"] <= 0.9, "some cases have more relevant pages than fit into the top 5"
    assert keyword["hit"] > 0.9
    assert 1 <= keyword["diagnosis"]["counts"]["ranking"] <= 4
    _, test = orbit.report("--no-baseline")
    keyword = test["arms"]["keyword"]
    assert keyword["n"] == 39
    assert all(kind["recall"] < 1.0 for kind in keyword["by_kind"].values())

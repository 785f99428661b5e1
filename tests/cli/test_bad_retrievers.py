"""Retrievers that misbehave on one query, in a whole run: as Python, as a program and as a service.

What fails, fails for that query alone, with a reason; what is a ranking after all is measured, and said to be odd.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from search_site import Request, Site, search_site
from small_project import Project

THIRD = "q-06"
QUERY = "min_size default"
GOOD = ["errors", "config"]
# What each way does for that query, in Python; the rest of a run gets a good answer.
AS_CODE = {
    "hangs": "time.sleep(60)",
    "crashes": "sys.stderr.write('segment missing\\n'); sys.stderr.flush(); os._exit(9)",
    "nan": "hits = [['errors', float('nan')]]",
    "repeats": "hits = [['errors', 1.0]] * 20",
    "unknown": "hits = [['errors', 2.0], ['old-page', 1.0]]",
    "many": "hits = [['p%d' % (n % 5000), 20000.0 - n] for n in range(10000)]",
    "none": "hits = []",
}
PYTHON = """
import os, sys, time
print("a banner on standard output")
def search(query, pool):
    hits = [['errors', 2.0], ['config', 1.0]]
    if query == {query!r}:
        {step}
    return hits
"""
PROGRAM = """
import json, os, sys, time
print(json.dumps({{"protocol": 1}}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    hits = [['errors', 2.0], ['config', 1.0]]
    if asked["query"] == {query!r}:
        {step}
    print(json.dumps({{"id": asked["id"], "hits": hits}}), flush=True)
"""
ARMS = {
    "python": 'type = "python"\ntarget = "mine:search"\ntimeout_seconds = 1',
    "command": f'type = "command"\ncommand = ["{sys.executable}", "mine.py"]\ntimeout_seconds = 1',
    "http": 'type = "http"\nurl = "{url}/search"\nbody = {{ q = "{{query}}" }}\nid = "/0"\nscore = "/1"\ntimeout_seconds = 0.3\nretries = 1',
}


@pytest.fixture
def site() -> Iterator[Site]:
    with search_site() as running:
        yield running


def serve(site: Site, way: str) -> None:
    """Let the service behave like the code of that way."""

    def answer(request: Request) -> Any:
        hits: Any = [["errors", 2.0], ["config", 1.0]]
        if request.body["q"] == QUERY:
            if way == "hangs":
                time.sleep(1)
            if way == "crashes":
                return (0, {}, None)
            if way == "junk":
                return (200, {}, b"<html>gateway</html>")
            found: dict[str, Any] = {"hits": hits}
            if way in AS_CODE and way != "hangs":
                exec(AS_CODE[way], found)
            hits = found["hits"]
        return (200, {}, {"hits": hits})

    site.answer = answer


def run(project: Project, site: Site, transport: str, way: str) -> tuple[int, dict[str, Any], str]:
    """One run over the retriever: exit code, the arm's part of the report, what was printed."""
    step = AS_CODE.get(
        way, {"python": "hits = 'junk'", "command": "print('junk', flush=True)"}.get(transport)
    )
    serve(site, way)
    program = {"python": PYTHON, "command": PROGRAM, "http": ""}[transport]
    project.write("mine.py", program.format(query=QUERY, step=step))
    arm = ARMS[transport].format(url=site.url) if transport == "http" else ARMS[transport]
    project.edit("gate.toml", '[suite.docs.arms.keyword]\ntype = "bm25"', f"[suite.docs.arms.mine]\n{arm}")
    done = project.gate("run", "--no-baseline", "--json", "report.json")
    return done.code, json.loads(project.read("report.json"))["suites"][0], done.out


@pytest.mark.parametrize(
    ("transport", "way", "said"),
    [
        ("python", "hangs", "no answer within 1 s"),
        ("python", "crashes", "the process ended with exit code 9; its last output: a banner on standard output | segment missing"),
        ("python", "junk", "search returned str, not a list of hits"),
        ("python", "nan", "hit 1 ('errors') has the score nan"),
        ("command", "hangs", "no answer within 1 s"),
        ("command", "crashes", "the process ended with exit code 9; its last output: segment missing"),
        ("command", "junk", "does not keep to the protocol: it wrote 'junk'"),
        ("command", "nan", "hit 1 ('errors') has the score nan"),
        ("http", "hangs", "{url} gave no answer within 0.3 s after 2 attempts"),
        ("http", "crashes", "cannot reach {url} (ProtocolError: "),
        ("http", "junk", "{url} answered what is no JSON: '<html>gateway</html>'"),
        ("http", "nan", "hit 1 ('errors') has the score nan"),
    ],
)  # fmt: skip
def test_a_query_without_a_ranking_is_not_measured_and_the_others_are(
    project: Project, site: Site, transport: str, way: str, said: str
) -> None:
    code, suite, out = run(project, site, transport, way)
    arm = suite["arms"]["mine"]
    assert list(arm["failed"]) == [THIRD]
    assert said.format(url=site.url) in arm["failed"][THIRD]
    assert arm["n"] == 5
    assert all(case["ranked"] == GOOD for case in arm["cases"])
    assert (code, suite["verdict"]) == (3, "not_measured")
    assert said.format(url=site.url)[:40] in " ".join(out.split())


@pytest.mark.parametrize("transport", ARMS)
@pytest.mark.parametrize(
    ("way", "ranked", "said"),
    [
        ("repeats", ["errors"], f"mine: 1 query found fewer than 2 pages ({THIRD})"),
        ("unknown", ["errors", "old-page"], "mine: 1 returned page is not in the corpus (old-page)"),
        ("many", [f"p{at}" for at in range(8)], "mine: 8 returned pages are not in the corpus (p0, p1, "),
        ("none", [], f"mine: 1 query found fewer than 2 pages ({THIRD})"),
    ],
)
def test_an_odd_ranking_is_measured_and_told(
    project: Project, site: Site, transport: str, way: str, ranked: list[str], said: str
) -> None:
    code, suite, out = run(project, site, transport, way)
    arm = suite["arms"]["mine"]
    assert arm["failed"] == {}
    by_id = {case["id"]: case for case in arm["cases"]}
    assert by_id[THIRD]["ranked"] == ranked
    assert by_id[THIRD]["recall"] == 0.0
    assert by_id["q-02"]["ranked"] == GOOD
    assert code == 0
    assert said in " ".join(out.split())


def test_a_page_that_is_gone_is_not_found_by_an_index_that_still_has_it(project: Project, site: Site) -> None:
    """The service was not indexed anew when the page was deleted: what it returns, nobody can open."""
    site.answer = lambda request: (200, {}, {"hits": [["errors", 2.0], ["config", 1.0]]})
    arm = ARMS["http"].format(url=site.url)
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", '[suite.docs.arms.keyword]\ntype = "bm25"', f"[suite.docs.arms.mine]\n{arm}")
    assert project.gate("baseline", "--reason", "another arm").code == 0
    (project.root / "baselines" / "docs.accepted.toml").unlink(missing_ok=True)
    project.commit("an index elsewhere")
    project.git("checkout", "--quiet", "-B", "change")
    code, _ = project.report("--base", "main")
    assert code == 0
    project.remove("docs/errors.md")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    row = next(row for row in suite["arms"]["mine"]["cases"] if row["id"] == "q-02")
    assert (row["recall"], row["ranked"][0], row["missing"]) == (0.0, "errors (gone)", ["errors"])
    assert "errors" not in json.dumps(suite["arms"]["mine"]["diagnosis"]["questions"])

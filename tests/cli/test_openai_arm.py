"""`gate run` with a vector arm behind a real server: what is asked for, what is kept, and what is not measured."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from embeddings_site import Fault, Site, embeddings_site
from small_project import Project

ARM = """
[suite.docs.arms.vector]
type = "embedding"
[suite.docs.arms.vector.embedder]
type = "openai"
model = "words"
base_url = "{url}"
batch_texts = 4
concurrency = 2
retries = 1
"""


@pytest.fixture
def site() -> Iterator[Site]:
    with embeddings_site() as running:
        yield running


@pytest.fixture
def vector(project: Project, site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """The small project with a vector arm, its baseline recorded, on an empty cache."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "first"))
    project.write("gate.toml", project.read("gate.toml") + ARM.format(url=site.url))
    done = project.gate("baseline")
    assert done.code == 0, done.err
    project.commit("vector arm")
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    site.forget()
    return project


def arm(suite: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = suite["arms"]["vector"]
    return found


def test_the_second_run_asks_for_nothing_and_needs_no_key(
    vector: Project, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, first = vector.report()
    assert code == 0
    assert len(site.texts) == len(set(site.texts)) == 20
    site.forget()
    monkeypatch.delenv("OPENAI_API_KEY")
    code, second = vector.report()
    assert code == 0
    assert site.requests == []
    assert arm(first)["cases"] == arm(second)["cases"]


def test_one_edited_section_is_one_text(vector: Project, site: Site) -> None:
    vector.report()
    site.forget()
    vector.edit("docs/guide.md", "Paint the widget blue", "Paint the widget red")
    vector.report()
    assert len(site.texts) == 1
    assert "Paint the widget red" in site.texts[0]


def test_without_a_key_it_is_not_measured(
    vector: Project, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    code, suite = vector.report()
    assert code == 3
    assert suite["verdict"] == "not_measured"
    assert site.requests == []
    assert "OPENAI_API_KEY is not set" in arm(suite)["failed"]["q-02"]
    assert suite["arms"]["keyword"]["n"] == 6, "what needs no key is measured all the same"


@pytest.mark.parametrize("how", ["drop", "half", "dimensions", "nan", "zero", "junk", "twice", "status"])
def test_every_fault_ends_in_not_measured_and_the_next_run_asks_for_the_rest(
    vector: Project, site: Site, how: str
) -> None:
    site.faults = [Fault(how, text="jammed. Shake it", times=99)]
    code, suite = vector.report()
    assert code == 3
    assert "texts have no vector" in arm(suite)["failed"]["q-02"]
    assert "sk-secret" not in json.dumps(suite)
    paid = set(site.texts)
    site.faults = []
    site.forget()
    code, suite = vector.report()
    assert code == 0, suite["findings"]
    passages = [text for text in site.texts if "#" in text or "\n" in text]
    assert 0 < len(passages) <= 4, "the one batch that failed, and nothing that was answered"
    assert set(passages) <= paid


def test_a_query_without_a_vector_is_that_case_only(vector: Project, site: Site) -> None:
    vector.report()
    vector.cases[0]["query"] = "E101 WidgetJam again"
    vector.save_cases()
    site.faults = [Fault("nan", text="E101 WidgetJam again", times=99)]
    code, suite = vector.report("--no-baseline")
    assert code == 3
    assert list(arm(suite)["failed"]) == ["q-02"]
    assert arm(suite)["n"] == 5


def test_a_spoilt_cache_costs_requests_not_the_result(vector: Project, site: Site) -> None:
    _, first = vector.report()
    folder = Path(os.environ["GATE_CACHE"])
    for path in folder.iterdir():
        path.write_bytes(b"spoilt" * 1000)
    site.forget()
    code, second = vector.report()
    assert code == 0
    assert len(site.texts) == 20
    assert arm(second)["cases"] == arm(first)["cases"]


def test_the_cache_verb_shows_and_prunes(vector: Project) -> None:
    vector.report()
    done = vector.gate("cache", "stats")
    assert done.code == 0, done.err
    assert " vectors, " in done.out
    assert vector.gate("cache", "prune").code == 2
    assert vector.gate("cache", "prune", "--older-than", "1").out.startswith("removed 0 vectors")
    assert "\n0 vectors" in vector.gate("cache", "prune", "--all").out
    assert vector.gate("cache", "stats", "--all").code == 2


def test_killed_at_random_nothing_that_was_answered_is_lost(
    vector: Project, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9, twenty times: the cache is never spoilt, holds what was acknowledged, and the ranking is the same."""
    vector.edit("gate.toml", "batch_texts = 4", "batch_texts = 1")
    _, undisturbed = vector.report()
    everything = set(site.texts)
    chance = random.Random(20261201)
    killed = 0
    for attempt in range(20):
        folder = tmp_path / f"killed-{attempt}"
        monkeypatch.setenv("GATE_CACHE", str(folder))
        site.forget()
        site.pause = 0.03
        process = subprocess.Popen(
            [sys.executable, "-m", "gate", "run", "--arm", "vector"],
            cwd=vector.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        wanted = chance.randrange(0, 19)
        while len(site.requests) < wanted and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(chance.random() * (0.05 if wanted else 0.5))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        time.sleep(0.05)
        before = list(site.requests)
        site.forget()
        site.pause = 0.0
        code, suite = vector.report()
        assert code == 0
        assert arm(suite)["cases"] == arm(undisturbed)["cases"]
        assert not [path for path in folder.iterdir() if "aside" in path.name]
        # What is asked for again was on its way when the process died, or had come back and was not yet written: one text
        # on each of two connections, and one more that had just come back.
        asked_before = {text for request in before for text in request}
        again = [text for text in site.texts if text in asked_before]
        assert len(again) <= 3, (attempt, again)
        assert asked_before | set(site.texts) == everything
    assert killed >= 15, "most were still running"


def test_an_interrupt_does_not_wait_for_the_endpoint(vector: Project, site: Site) -> None:
    vector.edit("gate.toml", "batch_texts = 4", "batch_texts = 1")
    site.faults = [Fault("slow", text="jammed", seconds=15.0, times=9)]
    process = subprocess.Popen(
        [sys.executable, "-m", "gate", "run", "--arm", "vector"],
        cwd=vector.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not any("jammed" in text for text in site.texts) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.strip() == "Interrupted."
    assert time.monotonic() - begin < 5.0
    answered = [text for text in site.texts if "jammed" not in text]
    site.faults = []
    site.forget()
    assert vector.report()[0] == 0
    assert len(set(answered) & set(site.texts)) <= 2, "what was paid for before is kept"


def test_what_went_wrong_with_the_cache_is_said_once(
    vector: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "vectors.sqlite3").write_bytes(b"a thing of somebody else" * 99)
    done = vector.gate("run", "--repeat", "2")
    assert done.code == 0
    assert done.err.count("set aside as vectors.sqlite3.aside-") == 1
    assert done.err.startswith("warning: the cache ")
    assert "set aside, yours to delete: " in vector.gate("cache", "stats").out
    assert vector.gate("run").err == ""
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache" / "vectors.sqlite3"))
    done = vector.gate("run", "--repeat", "2")
    assert done.code == 0
    assert done.err.count("warning: the cache ") == 1
    assert done.err.count("cannot be opened") == 1


def test_no_message_holds_the_key(vector: Project, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the key is stored, and whatever the endpoint does with it."""
    for key in ("sk-secret-0123456789\n", "sk-secret-01\n23456789", "sk-secret-0123456789é"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        site.faults = [Fault(status=401, times=99)]  # it says the key in its message
        done = vector.gate("run", "--debug", "--json", "report.json")
        assert done.code == 3
        for said in (done.out, done.err, vector.read("report.json")):
            assert "sk-secret" not in said
            assert "23456789" not in said


def test_three_pages_of_many_are_the_texts_of_three_pages(vector: Project, site: Site) -> None:
    for number in range(300):
        vector.write(f"docs/more/page-{number}.md", f"# Page {number}\n\nAbout the part numbered {number}.\n")
    assert vector.report("--no-baseline")[0] == 0
    site.forget()
    for number in (7, 70, 270):
        vector.edit(f"docs/more/page-{number}.md", "the part", "the spare part")
    assert vector.report("--no-baseline")[0] == 0
    assert sorted(text.split("numbered ")[1].strip(".\n") for text in site.texts) == ["270", "7", "70"]

"""The judging page in a real browser, and its server against whoever should not reach it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.chromium import Watched, browser
from small_project import Project

HOSTILE = """# <script>document.title = 'owned'</script> Hostile

<img src=x onerror="document.title='owned'"> <style>* { display: none !important }</style>

[click](javascript:document.title='owned') [data](data:text/html,<script>1</script>) ![picture](http://example.org/x.png)

<button style="position:fixed;inset:0">everything</button> <iframe src="http://example.org"></iframe> jammed widget

<a href="http://example.org" onmouseover="document.title='owned'">over</a>
"""


class Served:
    """A running `gate label judge`, as its own process."""

    def __init__(self, root: Path, judge: str = "ada", pool: str = "first") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gate", "label", "judge", pool, "--judge", judge],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if found := re.search(r"open (http://127\.0\.0\.1:(\d+)/\?token=(\S+))", line):
                self.address, self.port, self.token = found[1], int(found[2]), found[3]
                return
        raise AssertionError("".join(lines))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def end(self) -> str:
        """End it as Ctrl-C does; what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=20)
        return said

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        given = {
            "Host": f"127.0.0.1:{self.port}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content.decode()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture
def pooled(project: Project) -> Project:
    project.write("docs/hostile.md", HOSTILE)
    project.write("docs/large.md", "# Large\n\n" + "a jammed widget and much more text. " * 150_000)
    project.write(
        "q.txt",
        "the widget is jammed now\nE102 lost somewhere\nmax_size of it\npaint it blue please\ninstall with pip now\n",
    )
    done = project.gate("label", "pool", "q.txt", "--name", "first")
    assert done.code == 0, done.err
    return project


@pytest.fixture
def served(pooled: Project) -> Iterator[Served]:
    running = Served(pooled.root)
    yield running
    running.end()


def opened(chromium: Any, served: Served, width: int = 1100) -> Watched:
    context = chromium.new_context(viewport={"width": width, "height": 800})
    watched = Watched(context.new_page())
    watched.page.goto(served.address)
    watched.page.wait_for_selector("#candidates button")
    until(watched.page, "document.getElementById('title').textContent !== ''")
    return watched


def until(page: Any, expression: str) -> None:
    """Wait for it from outside: the page's own policy lets nobody evaluate a text inside."""
    deadline = time.monotonic() + 20
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        time.sleep(0.02)


def progress(page: Any) -> str:
    return str(page.text_content("#progress"))


def judge_all(page: Any, queries: int) -> None:
    """By keyboard alone: a kind, and a grade for every page that is shown."""
    for _ in range(queries):
        page.keyboard.press("s")
        page.wait_for_selector("#kinds button[aria-pressed=true]")
        while True:
            before = page.eval_on_selector_all("#candidates .grade", "all => all.length")
            total = page.eval_on_selector_all("#candidates li", "all => all.length")
            if before == total:
                break
            page.keyboard.press("2" if before == 0 else "0")
            until(page, f"document.querySelectorAll('#candidates .grade').length === {before + 1}")
        page.keyboard.press("n")


def test_a_whole_pool_by_keyboard_with_a_kill_in_the_middle(chromium: Any, pooled: Project) -> None:
    first = Served(pooled.root)
    watched = opened(chromium, first)
    judge_all(watched.page, 2)
    assert "2 done" in progress(watched.page)
    first.kill()
    watched.page.keyboard.press("1")
    watched.page.wait_for_selector("#trouble:not(:empty)")
    assert "Not saved" in watched.page.text_content("#trouble")
    second = Served(pooled.root)
    watched = opened(chromium, second)
    assert "query 3 of 5, 2 done" in progress(watched.page), "nothing lost, and it goes on where it was"
    judge_all(watched.page, 3)
    assert "5 done" in progress(watched.page)
    assert "5 of 5 queries are judged" in second.end()
    assert not [line for line in watched.said if "Failed to load" not in line]
    lines = [json.loads(line) for line in pooled.read("eval/judgements/first.ada.jsonl").splitlines()]
    pool = json.loads(pooled.read("eval/pools/first.json"))
    graded = {(line["query"], line["page"]) for line in lines if "page" in line}
    assert graded == {(query["id"], page) for query in pool["queries"] for page in query["candidates"]}


def test_two_tabs_overwrite_nothing_silently(chromium: Any, served: Served) -> None:
    one, other = opened(chromium, served), opened(chromium, served)
    one.page.keyboard.press("2")
    one.page.wait_for_selector("#candidates .grade")
    other.page.keyboard.press("0")
    other.page.wait_for_selector("#trouble:not(:empty)")
    assert "changed in another window" in other.page.text_content("#trouble")
    assert "[2]" in other.page.text_content("#candidates"), "the other tab shows what holds"
    other.page.keyboard.press("k")
    other.page.click("#candidates li:first-child button")
    other.page.keyboard.press("1")
    until(other.page, "document.getElementById('candidates').textContent.includes('[1]')")


def test_undo_note_kind_skip_and_search(chromium: Any, served: Served) -> None:
    watched = opened(chromium, served)
    page = watched.page
    page.keyboard.press("2")
    page.wait_for_selector("#candidates .grade")
    page.keyboard.press("u")
    until(page, "document.querySelectorAll('#candidates .grade').length === 0")
    page.keyboard.press("t")
    page.keyboard.type("ask ann")
    page.keyboard.press("Enter")
    page.keyboard.press("-")
    page.wait_for_selector("#skip[aria-pressed=true]")
    page.keyboard.press("x")
    page.wait_for_selector("#none[aria-pressed=true]")
    assert "1 done" in progress(page)
    page.reload()
    page.wait_for_selector("#candidates button")
    page.keyboard.press("p")
    until(page, "document.getElementById('note').value === 'ask ann'")
    shown = "document.querySelector('#candidates [aria-current=true]').firstChild.textContent"
    until(page, f"document.getElementById('name').textContent === {shown}")
    page.keyboard.press("/")
    page.keyboard.type("widget")
    page.wait_for_selector("mark.found")
    assert watched.said == []


def test_hostile_pages_do_nothing(chromium: Any, served: Served) -> None:
    watched = opened(chromium, served)
    page = watched.page
    page.click("#candidates button:text('hostile')")
    until(page, "document.getElementById('name').textContent === 'hostile'")
    assert page.title() == "Judging"
    assert page.is_visible("#grades button")
    text = page.query_selector("#text")
    assert text.query_selector("script, style, iframe, img, a, button, [onerror], [href], [style]") is None
    assert "[image: picture]" in text.text_content()
    for link in text.query_selector_all(".link"):
        link.click()
    assert {re.sub(r"/.*", "", url.removeprefix("http://")) for url in watched.asked} == {
        f"127.0.0.1:{served.port}"
    }
    assert watched.said == []
    page.click("#candidates button:text('large')")
    until(page, "document.getElementById('name').textContent === 'large'")
    assert "cut here: the page is longer" in page.text_content("#whole")


@pytest.mark.parametrize("width", [1100, 360])
def test_no_axe_violation(chromium: Any, served: Served, width: int) -> None:
    watched = opened(chromium, served, width)
    watched.page.keyboard.press("?")
    # The page may run its own script only; the checker comes in from outside of it.
    context = chromium.new_context(viewport={"width": width, "height": 800}, bypass_csp=True)
    checked = Watched(context.new_page())
    checked.page.goto(served.address)
    until(checked.page, "document.getElementById('title').textContent !== ''")
    checked.page.keyboard.press("?")
    assert checked.violations() == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width


def cookie(served: Served) -> str:
    status, headers, _ = served.ask("GET", f"/?token={served.token}")
    assert status == 303
    assert "SameSite=Strict" in headers["set-cookie"]
    assert "HttpOnly" in headers["set-cookie"]
    return headers["set-cookie"].partition(";")[0]


def test_only_who_was_let_in(served: Served) -> None:
    held = cookie(served)
    host = f"127.0.0.1:{served.port}"
    for path in ("/", "/state", "/judge.js", "/page?query=q-001&page=errors"):
        assert served.ask("GET", path)[0] == 403
        assert served.ask("GET", path, Cookie="gate-judge=wrong")[0] == 403
        assert served.ask("GET", path, Cookie=held)[0] == 200, path
        assert served.ask("GET", path, Cookie=held, Host="evil.example")[0] == 403
    assert served.ask("GET", "/?token=wrong")[0] == 403
    kind = {"Content_Type": "application/json"}
    action = {"query": "q-001", "kind": "semantic", "seen": 0}
    for origin in (None, "http://evil.example", f"http://localhost:{served.port}", "null"):
        given = {} if origin is None else {"Origin": origin}
        assert served.ask("POST", "/judge", action, Cookie=held, **kind, **given)[0] == 403, origin
    good = {"Cookie": held, "Origin": f"http://{host}"}
    assert served.ask("POST", "/judge", action, Content_Type="text/plain", **good)[0] == 403
    assert (
        served.ask("POST", "/judge", {"query": "q-001", "kind": "bogus", "seen": 0}, **kind, **good)[0] == 400
    )
    assert (
        served.ask(
            "POST", "/judge", {"query": "q-001", "page": "install", "grade": 7, "seen": 0}, **kind, **good
        )[0]
        == 400
    )
    assert served.ask("POST", "/judge", [1], **kind, **good)[0] == 400
    assert served.ask("POST", "/judge", {"query": "q-001", "kind": "semantic"}, **kind, **good)[0] == 400, (
        "unseen"
    )
    assert served.ask("POST", "/judge", {**action, "seen": 7}, **kind, **good)[0] == 409
    assert served.ask("POST", "/judge", {"note": "x" * 200_000}, **kind, **good)[0] == 413
    status, headers, _ = served.ask("POST", "/judge", action, **kind, **good)
    assert status == 200
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_nothing_tells_which_system_found_a_page(pooled: Project) -> None:
    """The same candidates, however the systems are mixed: every byte that reaches the judge is the same."""
    seen = []
    for mixed in (False, True):
        if mixed:
            path = pooled.root / "eval/pools/first.systems.json"
            systems = json.loads(path.read_text(encoding="utf-8"))
            for found in systems["found"].values():
                for page in found:
                    found[page] = ["keyword_pages"] if found[page] == ["keyword"] else ["keyword"]
            path.write_text(json.dumps(systems), encoding="utf-8")
        served = Served(pooled.root)
        held = cookie(served)
        state = served.ask("GET", "/state", Cookie=held)[2]
        pages = [
            served.ask("GET", f"/page?query={query['id']}&page={page}", Cookie=held)[2]
            for query in json.loads(state)["queries"]
            for page in query["pages"]
        ]
        static = [served.ask("GET", path, Cookie=held)[2] for path in ("/", "/judge.js", "/judge.css")]
        seen.append((state, pages, static))
        served.end()
    assert seen[0] == seen[1]
    state, pages, static = seen[0]
    for text in (state, *pages, *static):
        assert "keyword" not in text
    queries = json.loads(state)["queries"]
    assert any(query["pages"] != sorted(query["pages"]) for query in queries), "the order is a shuffle"

"""The local GitHub as a process of its own, seeded and dumped as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from local_github.caller import Caller
from local_github.gitstore import GitStore

TESTS = Path(__file__).parents[2]


def test_seed_run_and_dump(tmp_path: Path) -> None:
    store = GitStore(tmp_path / "widget.git")
    store.commit_files("main", {"a.md": "a"})
    head = store.commit_files("change", {"b.md": "b"}, start="main")
    pull = {
        "head": "change",
        "user": "ann",
        "comments": [{"user": "bob", "body": "nice"}],
        "labels": ["docs"],
    }
    run = {"head_branch": "change", "head_sha": head, "artifacts": [{"name": "r", "base64": "UEs="}]}
    repository = {
        "name": "acme/widget",
        "git": str(store.path),
        "protected": ["main"],
        "pulls": [pull],
        "runs": [run],
    }
    token = {"value": "ghs_x", "login": "github-actions[bot]", "permissions": {"issues": "write"}}
    seed, address, dump = (tmp_path / name for name in ("seed.json", "address.txt", "dump.json"))
    seed.write_text(json.dumps({"repositories": [repository], "tokens": [token]}))
    flags = ["--seed", str(seed), "--address", str(address), "--dump", str(dump), "--prefix", "/api/v3"]
    with subprocess.Popen(
        [sys.executable, "-m", "local_github", *flags],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            deadline = time.monotonic() + 20
            while not (address.exists() and address.read_text()):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            call = Caller(address.read_text(), "ghs_x")
            admin = Caller(address.read_text().removesuffix("/api/v3"))
            fault = {"status": 502, "body": "<html>"}
            admin("POST", "/_local/faults", {"method": "POST", "path": "*/comments", "fault": fault})
            assert call("POST", "/repos/acme/widget/issues/1/comments", {"body": "x"}).status == 502
            assert call("POST", "/repos/acme/widget/issues/1/comments", {"body": "x"}).status == 201
            assert [one["status"] for one in admin("GET", "/_local/requests").body] == [502, 201]
        finally:
            process.terminate()
    told = json.loads(dump.read_text())["repositories"]["acme/widget"]["issues"][0]
    assert [(one["author"], one["body"]) for one in told["comments"]] == [
        ("bob", "nice"),
        ("github-actions[bot]", "x"),
    ]
    assert (told["pull"]["head_sha"], told["labels"]) == (head, ["docs"])

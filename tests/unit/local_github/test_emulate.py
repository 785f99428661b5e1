"""The same comments on an independent emulator (npm `emulate`), so that the scenario is not of our making alone."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from github import Auth, Github, UnknownObjectException
from github.Repository import Repository as TheirRepository
from local_github.server import LocalGitHub
from local_github.state import Repository

FOLDER = Path(__file__).parents[2] / "local_github"
EMULATE = FOLDER / "node_modules/emulate/dist/index.js"
NODE = shutil.which("node")
SEED = """\
github:
  users: [{login: acme}]
  repos: [{owner: acme, name: widget, auto_init: true}]
tokens:
  test_acme: {login: acme, scopes: [repo]}
"""


def _scenario(repo: TheirRepository, number: int, me: str) -> None:
    """What the comment client relies on: order, pages, edit in place, delete."""
    issue = repo.get_issue(number)
    made = [issue.create_comment(f"comment {at}") for at in range(65)]
    assert [one.body for one in issue.get_comments()] == [f"comment {at}" for at in range(65)]
    assert {one.user.login for one in issue.get_comments()} == {me}
    made[40].edit("edited `|` @everyone <b>")
    assert issue.get_comment(made[40].id).body == "edited `|` @everyone <b>"
    assert [one.id for one in issue.get_comments()] == [one.id for one in made]
    made[64].delete()
    assert issue.get_comments().totalCount == 64
    with pytest.raises(UnknownObjectException):
        issue.get_comment(made[64].id)


def test_here(widget: Repository, client: Github) -> None:
    _scenario(client.get_repo("acme/widget"), 1, "github-actions[bot]")


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "seed.yaml").write_text(SEED)
    flags = ["start", "--service", "github", "--port", str(port), "--seed", str(tmp_path / "seed.yaml")]
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(
        [str(NODE), str(EMULATE), *flags, "--base-url", url],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                assert process.poll() is None
                assert time.monotonic() < deadline
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


@pytest.mark.skipif(
    NODE is None or not EMULATE.exists(),
    reason="emulate is not installed: npm ci --prefix tests/local_github (needs node)",
)
def test_there(emulator: str) -> None:
    auth = Auth.Token("test_acme")
    with Github(
        base_url=emulator, auth=auth, retry=None, seconds_between_requests=0, seconds_between_writes=0
    ) as client:
        repo = client.get_repo("acme/widget")
        _scenario(repo, repo.create_issue("A question").number, "acme")


def test_both_know_the_same_scenario(server: LocalGitHub, widget: Repository, client: Github) -> None:
    """An issue of its own here too, not only a pull request."""
    repo = client.get_repo("acme/widget")
    _scenario(repo, repo.create_issue("A question").number, "github-actions[bot]")
    assert server.faults.left() == []

"""`git clone`, `fetch` and `push` over HTTP, by git's own http-backend, with the server's tokens."""

from __future__ import annotations

import os
import re
import subprocess

from local_github.api import authenticate
from local_github.api_rules import permits
from local_github.gitstore import git_environment
from local_github.state import Token, World
from local_github.wire import Answer, ApiError, Request

PATH = re.compile(r"/(?P<name>[^/]+/[^/]+?)(?:\.git)?/(?P<rest>info/refs|git-upload-pack|git-receive-pack)")


def is_git(path: str) -> bool:
    return PATH.fullmatch(path) is not None


def answer(world: World, request: Request) -> tuple[Answer, Token]:
    """What github.com answers to a git client."""
    match = PATH.fullmatch(request.path)
    assert match is not None
    try:
        token = authenticate(world, request.headers)
    except ApiError:
        return _asks_for_login("Invalid username or token."), world.anonymous
    repository = world.repository(match["name"])
    if repository is None or not world.can_see(token, repository):
        known = token.kind != "anonymous"
        return (
            _plain(404, "Repository not found.") if known else _asks_for_login("Repository not found.")
        ), token
    pushes = "git-receive-pack" in (match["rest"], request.query.get("service"))
    if pushes and token.kind == "anonymous":
        return _asks_for_login("No anonymous write access."), token
    if (pushes or repository.private) and not permits(
        token, repository, f"contents:{'write' if pushes else 'read'}"
    ):
        said = f"Permission to {repository.full_name}.git denied to {token.login}."
        return _plain(403, said), token
    environment = {
        "GIT_PROJECT_ROOT": str(repository.git.path),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{match['rest']}",
        "QUERY_STRING": "&".join(f"{key}={value}" for key, value in request.query.items()),
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(request.raw)),
        "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "REMOTE_USER": token.login,
        "REMOTE_ADDR": "127.0.0.1",
        # The hook lets these logins through.
        "LOCAL_GITHUB_BYPASS": "1" if token.login in repository.bypass else "",
    }
    done = subprocess.run(
        ["git", "http-backend"],
        input=request.raw,
        capture_output=True,
        check=False,
        env=git_environment(environment),
        cwd=os.sep,
    )
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
    status = int(headers.pop("Status", "200 OK").split()[0])
    return Answer(status=status if head else 500, raw=body or done.stderr, headers=headers), token


def _plain(status: int, text: str) -> Answer:
    return Answer(status=status, raw=text.encode(), headers={"Content-Type": "text/plain; charset=utf-8"})


def _asks_for_login(text: str) -> Answer:
    denied = _plain(401, text)
    denied.headers["WWW-Authenticate"] = 'Basic realm="GitHub"'
    return denied

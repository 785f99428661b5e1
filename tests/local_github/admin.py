"""State in and out as JSON, for a server in another process: a seed, a dump, `/_local/*`."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any

from local_github.faults import Fault
from local_github.pulls import sync
from local_github.state import Issue, Repository
from local_github.wire import Answer, ApiError, Request

if TYPE_CHECKING:
    from local_github.server import LocalGitHub


def answer(server: LocalGitHub, request: Request) -> Answer:
    """`GET state`, `GET requests`, `GET faults`, `POST seed`, `POST faults` ({method, path, fault, times, skip})."""
    what = (request.method, request.path.removeprefix("/_local/"))
    try:
        body = request.json() if request.method == "POST" else {}
    except ApiError as error:
        return Answer(error.body, error.status)
    match what:
        case ("GET", "state"):
            return Answer(server.dump())
        case ("GET", "requests"):
            return Answer([exchange(one) for one in server.log])
        case ("GET", "faults"):
            return Answer(server.faults.left())
        case ("POST", "seed"):
            return Answer(seed(server, body))
        case ("POST", "faults"):
            fault = Fault(**body["fault"])
            server.fail_next(
                body["method"], body["path"], fault, body.get("times", 1), skip=body.get("skip", 0)
            )
            return Answer({"planned": len(server.faults.left())})
    return Answer({"message": f"no {what[0]} /_local/{what[1]}"}, 404)


def exchange(one: Any) -> dict[str, Any]:
    return {**dataclasses.asdict(one), "fault": one.fault and dataclasses.asdict(one.fault)}


def seed(server: LocalGitHub, data: dict[str, Any]) -> dict[str, Any]:
    """Make what is described; the numbers and ids of what was made, in order.

    {"repositories": [{"name": "acme/widget", "git": "/path/bare.git", "private": false, "default_branch": "main",
      "collaborators": {"ann": "write"}, "protected": ["main"], "bypass": [], "fork_of": null,
      "actions_may_open_pulls": true,
      "issues": [{"user", "title", "body", "labels", "locked", "comments": [{"user", "body"}]}],
      "pulls": [{"head", "base", "user", "title", "body", "labels", "locked", "comments": [...],
                 "reviews": [{"user", "state", "commit", "body"}]}],
      "runs": [{"head_branch", "head_sha", "head_repository", "event", "path", "name", "pulls",
                "artifacts": [{"name", "base64"}]}]}],
     "tokens": [{"value", "login", "kind", "permissions", "repositories", "edits_others", "limit"}]}
    """
    made: dict[str, list[Any]] = {
        "repositories": [],
        "issues": [],
        "pulls": [],
        "comments": [],
        "runs": [],
        "artifacts": [],
    }
    for one in data.get("repositories", []):
        repository = server.world.repository(one["name"]) or _repository(server, one)
        made["repositories"].append(repository.id)
        for wanted in one.get("issues", []):
            issue = server.add_issue(repository, **_only(wanted, "user", "title", "body"))
            made["issues"].append(issue.number)
            _fill(server, repository, issue, wanted, made)
        for wanted in one.get("pulls", []):
            pull = server.add_pull(
                repository, wanted["head"], **_only(wanted, "base", "user", "title", "body")
            )
            made["pulls"].append(pull.number)
            _fill(server, repository, pull, wanted, made)
            for review in wanted.get("reviews", []):
                server.add_review(repository, pull.number, **_only(review, "user", "state", "commit", "body"))
        for wanted in one.get("runs", []):
            source = server.world.repository(wanted.get("head_repository", one["name"]))
            keys = (
                "head_branch",
                "head_sha",
                "event",
                "path",
                "name",
                "actor",
                "attempt",
                "status",
                "conclusion",
                "pulls",
            )
            run = server.add_run(repository, head_repository=source, **_only(wanted, *keys))
            made["runs"].append(run.id)
            for file in wanted.get("artifacts", []):
                made["artifacts"].append(
                    server.add_artifact(run, file["name"], base64.b64decode(file["base64"])).id
                )
    for token in data.get("tokens", []):
        rest = _only(token, "value", "login", "kind", "permissions", "app", "edits_others", "limit")
        names = token.get("repositories")
        server.add_token(**rest, repositories=None if names is None else tuple(names))
    return made


def _repository(server: LocalGitHub, one: dict[str, Any]) -> Repository:
    parent = server.world.repository(one["fork_of"]) if one.get("fork_of") else None
    keys = ("git", "private", "default_branch", "collaborators")
    repository = server.add_repository(
        one["name"], parent=parent, protected=tuple(one.get("protected", ())), **_only(one, *keys)
    )
    repository.bypass.update(one.get("bypass", ()))
    repository.actions_may_open_pulls = one.get("actions_may_open_pulls", True)
    return repository


def _fill(
    server: LocalGitHub,
    repository: Repository,
    issue: Issue,
    wanted: dict[str, Any],
    made: dict[str, list[Any]],
) -> None:
    issue.labels = list(wanted.get("labels", ()))
    for comment in wanted.get("comments", ()):
        made["comments"].append(
            server.add_comment(repository, issue.number, **_only(comment, "user", "body")).id
        )
    issue.locked = wanted.get("locked", False)


def _only(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def dump(server: LocalGitHub) -> dict[str, Any]:
    return {
        "repositories": {one.full_name: _dump_repository(one) for one in server.world.repositories.values()},
        "requests": [exchange(one) for one in server.log],
        "downloads": server.downloads,
    }


def _dump_repository(one: Repository) -> dict[str, Any]:
    issues = []
    for issue in one.issues.values():
        body = {key: value for key, value in vars(issue).items() if key not in ("comments", "pull")}
        body["comments"] = [dataclasses.asdict(comment) for comment in issue.comments]
        if issue.pull:
            pull = sync(one, issue)
            names = ("head_ref", "base_ref", "head_sha", "merge_sha", "mergeable", "merged", "draft")
            body["pull"] = {name: getattr(pull, name) for name in names}
            body["pull"]["head_repository"] = pull.head_repository.full_name
            body["pull"]["reviews"] = [dataclasses.asdict(review) for review in pull.reviews]
        issues.append(body)
    return {
        "refs": one.git.refs(),
        "issues": issues,
        "checks": [dataclasses.asdict(check) for check in one.checks.values()],
        "statuses": one.statuses,
    }

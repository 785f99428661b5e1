"""Every endpoint once, over plain HTTP, held against GitHub's own OpenAPI description."""

from __future__ import annotations

import base64

import pytest
from local_github import openapi
from local_github.api import ROUTES
from local_github.caller import Caller, Heard
from local_github.server import LocalGitHub
from local_github.state import Repository

pytestmark = pytest.mark.skipif(
    not openapi.available(),
    reason="GitHub's description is not installed: npm ci --prefix tests/local_github",
)
REPO = "/repos/acme/widget"


def test_every_route_is_one_that_github_describes() -> None:
    ours = {(route.method, route.template) for route in ROUTES} - {("POST", "/graphql")}
    assert ours - openapi.paths() == set()


def _walk(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    """Good requests to every endpoint."""
    ann = Caller(server.api, "ghp_ann")
    git = widget.git
    main, head = git.branch("main") or "", git.branch("change") or ""
    run = server.add_run(widget, head_branch="change", head_sha=head, pulls=[1])
    artifact = server.add_artifact(run, "report", b"PK")
    widget.issues[1].labels.append("docs")

    ok(ann("GET", "/user"))
    ok(call("GET", "/users/ann"))
    ok(call("GET", "/rate_limit"))
    ok(call("POST", "/graphql", {"query": "query { viewer { login } }"}))
    for path in ("", "/branches", "/branches/main", "/commits", "/commits/main", f"/commits/{head}/pulls"):
        ok(call("GET", REPO + path))
    ok(call("GET", f"{REPO}/compare/main...change?per_page=1"))
    ok(call("GET", f"{REPO}/collaborators/ann/permission"))
    for path in ("README.md", "docs", "docs/config.md?ref=change"):
        ok(call("GET", f"{REPO}/contents/{path}"))

    ok(call("POST", f"{REPO}/issues", {"title": "A question", "body": "?", "labels": ["docs"]}))
    ok(call("GET", f"{REPO}/issues?state=all&labels=docs&per_page=1&sort=updated&direction=asc"))
    ok(call("GET", f"{REPO}/issues/1"))
    ok(call("PATCH", f"{REPO}/issues/2", {"state": "closed", "labels": ["a", "b"]}))
    ok(call("GET", f"{REPO}/issues/2/labels"))
    ok(call("POST", f"{REPO}/issues/2/labels", {"labels": ["c"]}))
    ok(call("DELETE", f"{REPO}/issues/2/labels/c"))
    comment = ok(call("POST", f"{REPO}/issues/1/comments", {"body": "hello"})).body["id"]
    ok(ann("POST", f"{REPO}/issues/1/comments", {"body": "hello back"}))
    ok(call("GET", f"{REPO}/issues/1/comments?per_page=1&page=2"))
    ok(call("GET", f"{REPO}/issues/comments/{comment}"))
    ok(call("PATCH", f"{REPO}/issues/comments/{comment}", {"body": "hello again"}))
    ok(call("DELETE", f"{REPO}/issues/comments/{comment}"))

    blob = ok(call("POST", f"{REPO}/git/blobs", {"content": "aGk=", "encoding": "base64"})).body["sha"]
    ok(call("GET", f"{REPO}/git/blobs/{blob}"))
    entries = [
        {"path": "docs/blob.md", "mode": "100644", "type": "blob", "sha": blob},
        {"path": "docs/text.md", "mode": "100644", "type": "blob", "content": "text\n"},
        {"path": "README.md", "mode": "100644", "type": "blob", "sha": None},
    ]
    tree = ok(call("POST", f"{REPO}/git/trees", {"base_tree": main, "tree": entries})).body["sha"]
    ok(call("GET", f"{REPO}/git/trees/{tree}?recursive=1"))
    commit = ok(call("POST", f"{REPO}/git/commits", {"message": "m", "tree": tree, "parents": [main]})).body[
        "sha"
    ]
    ok(call("GET", f"{REPO}/git/commits/{commit}"))
    ok(call("POST", f"{REPO}/git/refs", {"ref": "refs/heads/new/one", "sha": main}))
    ok(call("GET", f"{REPO}/git/ref/heads/new/one"))
    ok(call("GET", f"{REPO}/git/matching-refs/heads/new"))
    ok(call("PATCH", f"{REPO}/git/refs/heads/new/one", {"sha": commit, "force": False}))
    text = base64.b64encode(b"# More\n").decode()
    new = ok(
        call("PUT", f"{REPO}/contents/docs/more.md", {"message": "m", "content": text, "branch": "new/one"})
    )
    again = {"message": "m", "content": text, "branch": "new/one", "sha": new.body["content"]["sha"]}
    ok(call("PUT", f"{REPO}/contents/docs/more.md", again))

    made = ok(
        call("POST", f"{REPO}/pulls", {"title": "T", "body": "B", "head": "new/one", "base": "main"})
    ).body["number"]
    ok(call("GET", f"{REPO}/pulls?state=open&head=acme:new/one&base=main&sort=created&direction=desc"))
    for path in ("", "/files", "/commits", "/reviews"):
        ok(call("GET", f"{REPO}/pulls/{made}{path}"))
    ok(call("PATCH", f"{REPO}/pulls/{made}", {"title": "T2", "body": "B2"}))
    review = ok(ann("POST", f"{REPO}/pulls/{made}/reviews", {"event": "APPROVE", "body": ""})).body["id"]
    ok(call("GET", f"{REPO}/pulls/{made}/reviews"))
    ok(call("GET", f"{REPO}/pulls/{made}/reviews/{review}"))
    ok(call("PUT", f"{REPO}/pulls/{made}/merge", {}))
    ok(call("GET", f"{REPO}/pulls/{made}"))
    ok(call("DELETE", f"{REPO}/git/refs/heads/new/one"))

    note = {
        "path": "README.md",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "failure",
        "message": "lost",
    }
    output = {"title": "gate", "summary": "3 lost", "annotations": [note]}
    check = ok(
        call("POST", f"{REPO}/check-runs", {"name": "gate", "head_sha": head, "status": "in_progress"})
    ).body["id"]
    ok(call("PATCH", f"{REPO}/check-runs/{check}", {"conclusion": "failure", "output": output}))
    ok(call("GET", f"{REPO}/check-runs/{check}"))
    ok(call("GET", f"{REPO}/check-runs/{check}/annotations"))
    ok(call("GET", f"{REPO}/commits/{head}/check-runs"))
    ok(call("POST", f"{REPO}/statuses/{head}", {"state": "success", "context": "gate"}))
    ok(call("GET", f"{REPO}/commits/{head}/statuses"))
    ok(call("GET", f"{REPO}/actions/runs/{run.id}"))
    ok(call("GET", f"{REPO}/actions/runs/{run.id}/artifacts?name=report"))
    ok(call("GET", f"{REPO}/actions/artifacts"))
    ok(call("GET", f"{REPO}/actions/artifacts/{artifact.id}"))
    assert call("GET", f"{REPO}/actions/artifacts/{artifact.id}/zip").status == 302


def ok(heard: Heard) -> Heard:
    assert 200 <= heard.status < 300, heard.raw
    return heard


def test_every_endpoint_answers_as_described(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    _walk(server, widget, call)
    assert openapi.problems(server.log) == []
    walked = {(one.method, one.template) for one in server.log if one.status and one.status < 400}
    assert {(route.method, route.template) for route in ROUTES} - walked == set()


def test_refusals_are_described_too(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    head, main = widget.git.branch("change"), widget.git.branch("main")
    server.add_issue(widget).deleted = True
    run = server.add_run(widget, head_branch="change", head_sha=head or "")
    expired = server.add_artifact(run, "old", b"", expired=True)
    read = Caller(server.api, "ghs_read")
    expected = {
        401: [
            Caller(server.api, "nobody")("GET", REPO),
            Caller(server.api)("POST", f"{REPO}/issues/1/comments", {"body": "x"}),
        ],
        403: [
            read("POST", f"{REPO}/issues/1/comments", {"body": "x"}),
            read("POST", f"{REPO}/git/refs", {"ref": "refs/heads/x", "sha": main}),
            read("POST", f"{REPO}/pulls", {"title": "T", "head": "change", "base": "main"}),
            call("GET", "/user"),
        ],
        404: [
            call("GET", "/repos/acme/none"),
            call("GET", f"{REPO}/issues/99"),
            call("GET", f"{REPO}/issues/comments/1"),
        ],
        409: [call("PUT", f"{REPO}/contents/x.md", {"message": "m", "content": ""})],
        410: [call("GET", f"{REPO}/issues/2"), call("GET", f"{REPO}/actions/artifacts/{expired.id}/zip")],
        422: [
            call("POST", f"{REPO}/issues/1/comments", {"body": "x" * 65_537}),
            call("POST", f"{REPO}/issues/1/comments", {}),
            call("POST", f"{REPO}/git/refs", {"ref": "refs/heads/change", "sha": main}),
            call("PATCH", f"{REPO}/git/refs/heads/change", {"sha": main}),
            call("PATCH", f"{REPO}/git/refs/heads/main", {"sha": head}),
            call("DELETE", f"{REPO}/git/refs/heads/none"),
            call("POST", f"{REPO}/git/trees", {"tree": [{"path": "../x", "mode": "100644", "content": ""}]}),
            call("POST", f"{REPO}/pulls", {"title": "T", "head": "change", "base": "main"}),
            call("POST", f"{REPO}/pulls/1/reviews", {"event": "COMMENT"}),
            call("GET", f"{REPO}/commits/none"),
        ],
    }
    assert [{status} for status in expected] == [{one.status for one in heard} for heard in expected.values()]
    assert openapi.problems(server.log) == []


def test_a_lie_would_be_found(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    """The comparison itself: wrong types, missing and invented fields, unknown parameters, undescribed statuses."""
    call("GET", f"{REPO}/issues/1")
    call("GET", f"{REPO}/pulls/1/files?colour=red")
    issue, files = server.log
    issue.answer = {**issue.answer, "number": "1"}
    assert "number" in openapi.problems([issue])[0]
    issue.answer = {key: value for key, value in issue.answer.items() if key != "number"}
    assert "'number' is a required property" in openapi.problems([issue])[0]
    issue.answer = {**issue.answer, "number": 1, "mood": "good"}
    assert "'mood'" in openapi.problems([issue])[0]
    issue.status = 418
    assert "status is not described" in openapi.problems([issue])[0]
    assert "'colour' is not described" in openapi.problems([files])[0]

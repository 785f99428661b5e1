"""Permissions, limits, faults and the other rules that a client meets."""

from __future__ import annotations

import http.client
import time

import pytest
import requests
from github import Auth, Github, GithubException, GithubRetry, RateLimitExceededException
from local_github import faults, openapi
from local_github.caller import Caller
from local_github.server import LocalGitHub
from local_github.state import Repository

REPO = "/repos/acme/widget"
COMMENTS = f"{REPO}/issues/1/comments"


def test_a_token_may_what_it_may(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    for permissions, status in (
        ({}, 403),
        ({"issues": "read"}, 403),
        ({"issues": "write"}, 201),
        ({"pull_requests": "write"}, 201),
    ):
        server.add_token("ghs_x", permissions=permissions)
        heard = Caller(server.api, "ghs_x")("POST", COMMENTS, {"body": "x"})
        assert (permissions, heard.status) == (permissions, status)
    server.add_token("ghs_x", permissions={})
    refused = Caller(server.api, "ghs_x")("POST", COMMENTS, {"body": "x"})
    assert refused.body["message"] == "Resource not accessible by integration"
    assert refused.headers["x-accepted-github-permissions"] == "issues=write; pull_requests=write"
    assert Caller(server.api, "wrong")("GET", REPO).body["message"] == "Bad credentials"
    server.add_issue(widget)
    server.add_token("ghs_x", permissions={"pull_requests": "write"})
    assert Caller(server.api, "ghs_x")("POST", f"{REPO}/issues/2/comments", {"body": "x"}).status == 403


def test_a_private_repository_is_not_there_for_others(server: LocalGitHub) -> None:
    secret = server.add_repository("acme/secret", private=True, collaborators={"ann": "read"})
    secret.git.commit_files("main", {"a": "b"})
    server.add_token("ghs_none", permissions={})
    server.add_token("ghs_other", permissions={"contents": "read"}, repositories=("acme/widget",))
    server.add_token("ghp_bob", "bob", kind="user")
    statuses = {
        token: Caller(server.api, token)("GET", "/repos/acme/secret/branches/main").status
        for token in ("", "ghp_ann", "ghp_bob", "ghs_read", "ghs_none", "ghs_other")
    }
    assert statuses == {
        "": 404,
        "ghp_ann": 200,
        "ghp_bob": 404,
        "ghs_read": 200,
        "ghs_none": 403,
        "ghs_other": 404,
    }


def test_whose_comment_it_is(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    theirs = server.add_comment(widget, 1, "theirs", user="octocat")
    path = f"{REPO}/issues/comments/{theirs.id}"
    server.add_token("ghp_bob", "bob", kind="user")
    assert call("PATCH", path, {"body": "mine"}).status == 403
    assert (
        Caller(server.api, "ghp_bob")("DELETE", path).body["message"]
        == "Must have admin rights to Repository."
    )
    assert theirs.body == "theirs"
    assert Caller(server.api, "ghp_ann")("PATCH", path, {"body": "edited by a maintainer"}).status == 200
    server.add_token("ghs_strong", permissions={"issues": "write"}, edits_others=True)
    assert Caller(server.api, "ghs_strong")("DELETE", path).status == 204


def test_the_size_of_a_comment(call: Caller) -> None:
    assert call("POST", COMMENTS, {"body": "ü" * 65_536}).status == 201
    refused = call("POST", COMMENTS, {"body": "x" * 65_537})
    assert (refused.status, refused.body["errors"][0]["message"]) == (
        422,
        "Body is too long (maximum is 65536 characters)",
    )
    assert call("POST", COMMENTS, b"{").body["message"] == "Problems parsing JSON"


def test_locked_and_deleted(widget: Repository, call: Caller) -> None:
    widget.issues[1].locked = True
    refused = call("POST", COMMENTS, {"body": "x"})
    assert (refused.status, refused.body["message"]) == (
        403,
        "Unable to create comment because issue is locked.",
    )
    widget.issues[1].deleted = True
    assert call("GET", COMMENTS).status == 410


def test_pages(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    for number in range(250):
        server.add_comment(widget, 1, str(number))
    first = call("GET", f"{COMMENTS}?per_page=500")
    assert len(first.body) == 100
    links = {rel: url for url, rel in (part.split("; ") for part in first.headers["link"].split(", "))}
    assert set(links) == {'rel="next"', 'rel="last"'}
    last = call("GET", links['rel="last"'].strip("<>"))
    assert [one["body"] for one in last.body] == [str(number) for number in range(200, 250)]
    assert 'rel="first"' in last.headers["link"]
    assert call("GET", f"{COMMENTS}?page=99").body == []


def test_an_unchanged_answer_is_304_and_free(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    first = call("GET", COMMENTS)
    used = server.world.tokens["ghs_workflow"].used
    again = call("GET", COMMENTS, If_None_Match=first.headers["etag"])
    assert (again.status, again.raw, server.world.tokens["ghs_workflow"].used) == (304, b"", used)
    server.add_comment(widget, 1, "new")
    assert call("GET", COMMENTS, If_None_Match=first.headers["etag"]).status == 200


def test_the_primary_rate_limit(server: LocalGitHub, call: Caller) -> None:
    token = server.world.tokens["ghs_workflow"]
    token.limit, token.used = 100, 99
    assert call("GET", REPO).headers["x-ratelimit-remaining"] == "0"
    refused = call("GET", REPO)
    assert (refused.status, refused.body["message"]) == (
        403,
        "API rate limit exceeded for installation ID 12345.",
    )
    assert call("GET", "/rate_limit").body["rate"]["remaining"] == 0
    token.reset = int(time.time()) - 1
    assert call("GET", REPO).status == 200


def test_pygithubs_own_retries_are_seen(server: LocalGitHub, widget: Repository) -> None:
    server.fail_next("GET", COMMENTS, faults.secondary_limit(retry_after=0), times=2)
    retry = GithubRetry(total=3, secondary_rate_wait=0, backoff_factor=0)
    auth = Auth.Token("ghs_workflow")
    with Github(base_url=server.api, auth=auth, retry=retry, lazy=True, seconds_between_requests=0) as client:
        assert list(client.get_repo("acme/widget").get_issue(1).get_comments()) == []
    assert [one.status for one in server.requests("GET", COMMENTS)] == [403, 403, 200]
    assert server.faults.left() == []


@pytest.mark.parametrize(
    "fault", [faults.secondary_limit(), faults.secondary_limit(retry_after=None), faults.primary_limit()]
)
def test_pygithub_knows_a_rate_limit(server: LocalGitHub, client: Github, fault: faults.Fault) -> None:
    server.fail_next("*", COMMENTS, fault)
    with pytest.raises(RateLimitExceededException):
        client.get_repo("acme/widget").get_issue(1).create_comment("x")


@pytest.mark.parametrize(
    "fault",
    [faults.server_error(), faults.server_error(500), faults.secondary_limit(429), faults.refused(403, "no")],
)
def test_refusals_do_nothing(
    server: LocalGitHub, widget: Repository, client: Github, fault: faults.Fault
) -> None:
    server.fail_next("POST", COMMENTS, fault)
    with pytest.raises(GithubException) as raised:
        client.get_repo("acme/widget").get_issue(1).create_comment("x")
    assert raised.value.status == fault.status
    assert widget.issues[1].comments == []


@pytest.mark.parametrize(
    ("fault", "written"), [(faults.dropped(), 0), (faults.lost_answer(), 1), (faults.cut_short(), 1)]
)
def test_broken_connections(
    server: LocalGitHub, widget: Repository, client: Github, fault: faults.Fault, written: int
) -> None:
    server.fail_next("POST", COMMENTS, fault)
    with pytest.raises(requests.RequestException):
        client.get_repo("acme/widget").get_issue(1).create_comment("x")
    assert len(widget.issues[1].comments) == written
    assert client.get_repo("acme/widget").get_issue(1).create_comment("y").body == "y"


def test_a_slow_answer_and_a_quick_end(server: LocalGitHub, widget: Repository) -> None:
    server.fail_next("GET", REPO, faults.slow(30))
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rsplit(":", 1)[1]), timeout=0.2)
    connection.request("GET", REPO, headers={"User-Agent": "t"})
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    began = time.monotonic()
    server.close()
    assert time.monotonic() - began < 5


def test_a_fault_may_wait_for_its_turn(server: LocalGitHub, call: Caller) -> None:
    server.fail_next("GET", COMMENTS, faults.server_error(), skip=1)
    assert [call("GET", COMMENTS).status for _ in range(3)] == [200, 502, 200]


def test_a_race_can_be_arranged(server: LocalGitHub, widget: Repository, call: Caller) -> None:
    server.before_next("POST", COMMENTS, lambda: server.add_comment(widget, 1, "the other run's"))
    call("POST", COMMENTS, {"body": "ours"})
    assert [one.body for one in widget.issues[1].comments] == ["the other run's", "ours"]


def test_the_fault_itself_is_not_held_against_the_description(server: LocalGitHub, call: Caller) -> None:
    server.fail_next("GET", REPO, faults.server_error())
    call("GET", REPO)
    assert openapi.problems(server.log) == []

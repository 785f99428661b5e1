"""The client alone: bounded retries with an injected sleep, and one kind of error whatever GitHub does."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from github_site import READ_ONLY, TOKEN, Site
from local_github.faults import (
    Fault,
    cut_short,
    dropped,
    lost_answer,
    primary_limit,
    refused,
    secondary_limit,
    server_error,
    slow,
)

from gate.github import client as client_module
from gate.github.client import GitHubClient, GitHubError

COMMENTS = "/repos/acme/widget/issues/1/comments"
PULL = "/repos/acme/widget/pulls/1"
READS: dict[str, tuple[str, Callable[[GitHubClient], Any]]] = {
    "comments": (COMMENTS, lambda client: client.comments(1)),
    "pull": (PULL, lambda client: client.pull(1)),
    "open_pulls": ("/repos/acme/widget/pulls", lambda client: client.open_pulls("acme", "change")),
    "reviews": (f"{PULL}/reviews", lambda client: client.reviews(1)),
    "parents": ("/repos/acme/widget/commits/main", lambda client: client.parents("main")),
    "merge_base": ("/repos/acme/widget/compare/*", lambda client: client.merge_base("main", "change")),
    "may_write": ("/repos/acme/widget/collaborators/ann/permission", lambda client: client.may_write("ann")),
    "artifacts": ("/repos/acme/widget/actions/runs/*/artifacts", lambda client: client.artifacts(1)),
}


@pytest.fixture(autouse=True)
def _run_of_a_workflow(site: Site) -> None:
    site.repository.runs[1] = site.github.add_run(site.repository, head_branch="change", head_sha=site.head)


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize(
    "fault", [dropped(), cut_short(), server_error(500), server_error(502), server_error(504)]
)
def test_reading_is_tried_again_and_comes_through(site: Site, name: str, fault: Fault) -> None:
    path, read = READS[name]
    expected = read(site.client())
    site.github.fail_next("GET", path, fault, times=3)
    assert read(site.client()) == expected
    assert site.waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", READS)
def test_reading_gives_up_after_four_tries(site: Site, name: str) -> None:
    path, read = READS[name]
    site.github.fail_next("GET", path, server_error(502), times=9)
    with pytest.raises(GitHubError) as caught:
        read(site.client())
    assert caught.value.status == 502
    assert len(site.github.requests("GET", path)) == 4


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize(
    "answer",
    ["", "oops", "null", "[1, 2]", '{"half": ', "{}", '"text"', "7", "<html>a proxy's page</html>", "[{}]"],
)
def test_a_200_that_is_not_githubs_is_one_clear_error_or_nothing_found(
    site: Site, name: str, answer: str
) -> None:
    path, read = READS[name]
    site.github.fail_next("GET", path, Fault(200, answer), times=99)
    with contextlib.suppress(GitHubError):
        read(site.client())


def test_a_page_in_the_middle_that_fails_is_asked_again(site: Site) -> None:
    for number in range(250):
        site.github.add_comment(site.repository, 1, f"comment {number}")
    site.github.fail_next("GET", COMMENTS.replace("/repos/acme/widget", "/repositories/*"), server_error(502))
    assert [one.body for one in site.client().comments(1)] == [f"comment {number}" for number in range(250)]


def test_a_time_out_is_bounded(site: Site) -> None:
    site.github.fail_next("GET", PULL, slow(30), times=9)
    before = time.monotonic()
    with pytest.raises(GitHubError, match="no answer \\(ReadTimeout\\)"):
        site.client(timeout=1).pull(1)
    assert time.monotonic() - before < 15
    assert len(site.github.requests("GET", PULL)) == 4


def test_a_slow_answer_that_comes_is_an_answer(site: Site) -> None:
    site.github.fail_next("GET", PULL, slow(0.3))
    assert (site.client().pull(1).head_sha, site.waits) == (site.head, [])


def test_a_create_that_times_out_is_not_sent_again(site: Site) -> None:
    site.github.fail_next("POST", COMMENTS, slow(2.5), times=9)
    with pytest.raises(GitHubError):
        site.client(timeout=1).create_comment(1, "once")
    assert len(site.github.requests("POST", COMMENTS)) == 1


def test_nobody_there_at_all() -> None:
    waits: list[float] = []
    with pytest.raises(GitHubError, match="no answer \\(ConnectionError\\)"):
        GitHubClient(TOKEN, "acme/widget", "http://127.0.0.1:9", waits.append).pull(1)
    assert waits == [1.0, 2.0, 4.0]


def test_a_repository_that_moved_elsewhere_does_not_get_the_token(site: Site) -> None:
    away = Fault(301, "{}", {"Location": "http://elsewhere.invalid/repos/acme/widget/pulls/1"})
    site.github.fail_next("GET", PULL, away)
    with pytest.raises(GitHubError, match="cannot be read"):
        site.client().pull(1)


# -- rate limits


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_waits_as_long_as_it_says(site: Site, status: int) -> None:
    site.github.fail_next("POST", COMMENTS, secondary_limit(status, retry_after=7), times=2)
    site.client().create_comment(1, "text")
    assert site.waits == [7.0, 7.0]
    assert len(site.comments) == 1


def test_a_secondary_limit_that_says_nothing_waits_a_minute_once(site: Site) -> None:
    site.github.fail_next("GET", PULL, secondary_limit(retry_after=None), times=9)
    with pytest.raises(GitHubError, match="secondary rate limit"):
        site.client().pull(1)
    assert site.waits == [60.0]


def test_the_hour_s_reset_says_nothing_about_a_secondary_limit(site: Site) -> None:
    fault = secondary_limit(retry_after=None)
    left = {"x-ratelimit-remaining": "4000", "x-ratelimit-reset": str(int(time.time()) + 3000)}
    site.github.fail_next("GET", PULL, Fault(403, fault.body, left))
    assert site.client().pull(1).number == 1
    assert site.waits == [60.0]


@pytest.mark.parametrize("status", [403, 429])
def test_a_primary_limit_that_ends_soon_is_waited_for(site: Site, status: int) -> None:
    site.github.fail_next("GET", PULL, primary_limit(reset_in=30, status=status))
    assert site.client().pull(1).number == 1
    assert len(site.waits) == 1
    assert 25 < site.waits[0] <= 31


def test_a_primary_limit_that_ends_in_an_hour_is_not_waited_for(site: Site) -> None:
    site.github.world.tokens[TOKEN].used = site.github.world.tokens[TOKEN].limit
    with pytest.raises(GitHubError, match="API rate limit exceeded"):
        site.client().pull(1)
    assert site.waits == []


def test_all_waiting_of_one_client_is_bounded_together(site: Site) -> None:
    site.github.fail_next("GET", PULL, secondary_limit(retry_after=25), times=99)
    client = site.client()
    for _ in range(5):
        with pytest.raises(GitHubError):
            client.pull(1)
    assert sum(site.waits) <= client_module.LONGEST_WAIT_SECONDS


@pytest.mark.parametrize("value", ["-5", "soon", "١٢", "9" * 40, "Wed, 21 Oct 2026 07:28:00 GMT", "1e3"])
def test_a_waiting_hint_that_makes_no_sense_is_no_endless_wait(site: Site, value: str) -> None:
    fault = Fault(429, "{}", {"Retry-After": value.encode("ascii", "replace").decode()})
    site.github.fail_next("GET", PULL, fault, times=9)
    with pytest.raises(GitHubError):
        site.client().pull(1)
    assert sum(site.waits) <= client_module.LONGEST_WAIT_SECONDS


# -- what an error says


def test_the_token_is_in_no_error_text(site: Site) -> None:
    said = json.dumps(
        {"message": f"I was sent {TOKEN}", "errors": [{"message": f"again {TOKEN}"}, TOKEN, 7, None]}
    )
    for method, path, call in (
        ("GET", PULL, lambda: site.client().pull(1)),
        ("POST", COMMENTS, lambda: site.client().create_comment(1, "x")),
        ("POST", "/graphql", lambda: site.client().viewer()),
    ):
        site.github.fail_next(method, path, Fault(400, said))
        with pytest.raises(GitHubError) as caught:
            call()
        assert TOKEN not in str(caught.value)
        assert "***" in str(caught.value)
        assert caught.value.__cause__ is None


def test_an_error_is_one_line_of_bounded_length(site: Site) -> None:
    long = json.dumps({"message": "line\n::error::injected\n" * 1000})
    site.github.fail_next("GET", PULL, Fault(422, long))
    with pytest.raises(GitHubError) as caught:
        site.client().pull(1)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


# -- reading


def test_what_a_pull_request_is(site: Site) -> None:
    pull = site.client().pull(1)
    assert (pull.number, pull.head_sha, pull.head_ref, pull.head_repo, pull.base_ref, pull.open) == (
        1, site.head, "change", "acme/widget", "main", True,
    )  # fmt: skip
    assert site.client().parents(pull.merge_sha) == [pull.base_sha, pull.head_sha]


def test_open_pulls_of_a_branch_are_those_of_its_owner(site: Site) -> None:
    fork = site.github.fork(site.repository, "eve")
    fork.git.commit_files("change", {"docs/evil.md": "# Evil\n"})
    site.github.add_pull(site.repository, "eve:change", user="eve")
    client = site.client(READ_ONLY)
    assert [(one.number, one.head_repo) for one in client.open_pulls("eve", "change")] == [(2, "eve/widget")]
    assert [one.number for one in client.open_pulls("acme", "change")] == [1]
    assert client.open_pulls("nobody", "change") == []


def test_the_merge_base(site: Site) -> None:
    fork_point = site.repository.git.branch("main")
    newer = site.repository.git.commit_files("main", {"docs/other.md": "# Other\n"})
    client = site.client()
    assert client.merge_base(newer, site.head) == fork_point
    assert client.merge_base("f" * 40, site.head) is None


def test_a_lost_answer_to_an_update_is_asked_again_since_that_does_no_harm(site: Site) -> None:
    one = site.client().create_comment(1, "first")
    site.github.fail_next("PATCH", "/repos/acme/widget/issues/comments/*", lost_answer())
    assert site.client().update_comment(1, one.id, "second").body == "second"
    assert [(c.body, c.edits) for c in site.comments] == [("second", ["first"])]


def test_deleting_what_is_gone_is_a_404(site: Site) -> None:
    with pytest.raises(GitHubError) as caught:
        site.client().delete_comment(1, 12345)
    assert caught.value.status == 404


# -- artifacts


def test_the_artifact_is_fetched_from_the_other_origin_without_the_token(site: Site) -> None:
    run = site.repository.runs[1]
    made = site.github.add_artifact(run, "retrieval-gate--gate-1", b"zip" * 1000)
    client = site.client()
    (found,) = client.artifacts(1)
    assert (found.id, found.name, found.expired) == (made.id, "retrieval-gate--gate-1", False)
    assert client.artifact_zip(found.id, 10_000) == b"zip" * 1000
    assert [one["authorization"] for one in site.github.downloads] == [None]


def test_no_more_of_an_artifact_is_read_than_the_limit(site: Site) -> None:
    made = site.github.add_artifact(site.repository.runs[1], "a", b"x" * 3_000_000)
    assert site.client().artifact_zip(made.id, 1000) == b"x" * 1001


def test_only_so_many_artifacts_are_listed(site: Site) -> None:
    for number in range(450):
        site.github.add_artifact(site.repository.runs[1], f"a-{number}", b"")
    found = site.client().artifacts(1)
    assert (len(found), found[0].name) == (300, "a-449")


def test_an_expired_artifact_is_a_410(site: Site) -> None:
    made = site.github.add_artifact(site.repository.runs[1], "a", b"x", expired=True)
    with pytest.raises(GitHubError, match="410: Artifact has expired"):
        site.client().artifact_zip(made.id, 1000)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x", "", "//evil/x"])
def test_an_address_that_is_no_web_address_is_not_opened(site: Site, address: str) -> None:
    site.github.fail_next("GET", "*/zip", Fault(302, "", {"Location": address}))
    with pytest.raises(GitHubError):
        site.client().artifact_zip(1, 1000)


def test_the_storage_sends_nobody_on(site: Site) -> None:
    """It is GitHub's own page that answers here as a storage that redirects."""
    site.github.fail_next("GET", "*/zip", Fault(302, "", {"Location": f"{site.github.url}/elsewhere"}))
    site.github.fail_next("GET", "/elsewhere", Fault(302, "", {"Location": f"{site.github.url}/further"}))
    with pytest.raises(GitHubError, match="storage answered 302"):
        site.client().artifact_zip(1, 1000)
    (asked,) = site.github.requests("GET", "/elsewhere")
    assert "authorization" not in asked.headers
    assert site.github.requests("GET", "/further") == []


def test_a_storage_that_stumbles_is_asked_again(site: Site) -> None:
    made = site.github.add_artifact(site.repository.runs[1], "a", b"zip")
    site.github.fail_next("GET", "*/zip", Fault(302, "", {"Location": f"{site.github.url}/elsewhere"}))
    site.github.fail_next("GET", "/elsewhere", server_error(503))
    assert site.client().artifact_zip(made.id, 1000) == b"zip"


def test_refusals_of_the_artifact_are_told(site: Site) -> None:
    site.github.fail_next("GET", "*/zip", refused(403, "Resource not accessible by integration"))
    with pytest.raises(GitHubError, match="403"):
        site.client().artifact_zip(1, 1000)

"""Every event under every mode has a plan, and no payload makes an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.github.event import Activity, Event, Mode, plan, read_event

EVENTS = (
    "pull_request",
    "pull_request_target",
    "workflow_run",
    "merge_group",
    "push",
    "schedule",
    "workflow_dispatch",
    "issue_comment",
    "",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
KNOWN = st.sampled_from(
    ["repository", "pull_request", "workflow_run", "merge_group", "inputs", "number", "id", "head", "base",
     "repo", "sha", "ref", "full_name", "default_branch", "head_repository", "owner", "login", "path", "event", "actor"]
)  # fmt: skip
SHAPED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.dictionaries(KNOWN, inner, max_size=5),
    max_leaves=20,
)
VARIABLES = st.dictionaries(
    st.sampled_from(
        ["GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_REF", "GITHUB_ACTOR", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT",
         "GITHUB_API_URL", "GITHUB_SERVER_URL", "GITHUB_WORKFLOW", "GITHUB_JOB"]
    ),
    st.text(max_size=30),
)  # fmt: skip

HEAD, BASE = "a" * 40, "b" * 40


def pull_payload(head: str | None = "acme/widget", base: str = "acme/widget") -> dict[str, Any]:
    return {
        "repository": {"full_name": "acme/widget", "default_branch": "main"},
        "pull_request": {
            "number": 7,
            "head": {"sha": HEAD, "ref": "change", "repo": {"full_name": head} if head else None},
            "base": {"sha": BASE, "ref": "main", "repo": {"full_name": base}},
        },
    }


def run_payload(**more: Any) -> dict[str, Any]:
    run = {
        "id": 99,
        "event": "pull_request",
        "path": ".github/workflows/gate.yml@refs/heads/main",
        "head_sha": HEAD,
        "head_branch": "change",
        "head_repository": {"full_name": "eve/widget", "owner": {"login": "eve"}},
        "actor": {"login": "eve"},
    }
    return {
        "repository": {"full_name": "acme/widget", "default_branch": "main"},
        "workflow_run": {**run, **more},
    }


@given(st.sampled_from(EVENTS), st.sampled_from(Mode), VARIABLES, JSON | SHAPED)
def test_every_event_and_mode_has_a_plan(
    name: str, mode: Mode, variables: dict[str, str], payload: Any
) -> None:
    event = read_event({"GITHUB_EVENT_NAME": name, **variables}, payload if isinstance(payload, dict) else {})
    made = plan(event, mode)
    assert made.why
    assert (event.run_url, event.untrusted, event.commented_itself, event.head_sha) is not None
    if name == "pull_request_target" and mode is Mode.GATE:
        assert made.activity is Activity.REFUSE


@pytest.mark.parametrize(
    "payload",
    [
        {"pull_request": {"number": True}},
        {"pull_request": {"number": 1.0}},
        {"pull_request": {"number": "7"}},
        {"pull_request": {"number": -7}},
        {"pull_request": {"number": 10**4000}},
        {"pull_request": [7]},
        {"workflow_run": {"id": False}},
        {"workflow_run": {"id": 10**100}},
        {"workflow_run": None},
    ],
)
def test_what_is_no_number_is_no_pull_request(payload: dict[str, Any]) -> None:
    event = read_event({"GITHUB_EVENT_NAME": "pull_request"}, payload)
    assert (event.pull, event.finished) == (None, None)


def test_half_a_surrogate_pair_is_text_all_the_same() -> None:
    payload = json.loads('{"pull_request": {"number": 7, "head": {"ref": "\\ud83d"}}}')
    event = read_event({"GITHUB_ACTOR": "\udcff", "GITHUB_RUN_ID": "9" * 5000}, payload)
    assert event.pull is not None
    assert (event.pull.head_ref, event.actor, event.run_id) == ("?", "?", 0)


@pytest.mark.parametrize(
    ("head", "actor", "untrusted"),
    [
        ("acme/widget", "ann", False),
        ("Acme/Widget", "ann", False),
        ("eve/widget", "eve", True),
        (None, "eve", True),
        ("acme/widget", "dependabot[bot]", True),
    ],
)
def test_whose_pull_request_it_is(head: str | None, actor: str, untrusted: bool) -> None:
    environment = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_ACTOR": actor, "GITHUB_SHA": "c" * 40}
    event = read_event(environment, pull_payload(head))
    made = plan(event, Mode.GATE)
    assert (event.untrusted, made.comments, made.activity) == (untrusted, not untrusted, Activity.MEASURE)
    # Statuses and links are about the author's commit, not about the merge commit of the event.
    assert event.head_sha == HEAD


@pytest.mark.parametrize(
    ("mode", "name", "activity"),
    [
        (Mode.GATE, "pull_request", Activity.MEASURE),
        (Mode.GATE, "merge_group", Activity.MEASURE),
        (Mode.GATE, "push", Activity.MEASURE),
        (Mode.GATE, "schedule", Activity.MEASURE),
        (Mode.GATE, "workflow_dispatch", Activity.MEASURE),
        (Mode.GATE, "", Activity.MEASURE),
        (Mode.GATE, "pull_request_target", Activity.REFUSE),
        (Mode.GATE, "workflow_run", Activity.REFUSE),
        (Mode.COMMENT, "workflow_run", Activity.COMMENT),
        (Mode.COMMENT, "pull_request", Activity.REFUSE),
        (Mode.COMMENT, "pull_request_target", Activity.REFUSE),
        (Mode.REFRESH, "workflow_dispatch", Activity.REFRESH),
        (Mode.REFRESH, "schedule", Activity.REFRESH),
        (Mode.REFRESH, "pull_request", Activity.REFUSE),
        (Mode.PROPOSE, "workflow_dispatch", Activity.PROPOSE),
        (Mode.PROPOSE, "push", Activity.REFUSE),
    ],
)
def test_what_belongs_where(mode: Mode, name: str, activity: Activity) -> None:
    payload = run_payload() if name == "workflow_run" else pull_payload()
    assert plan(read_event({"GITHUB_EVENT_NAME": name}, payload), mode).activity is activity


def test_a_finished_run_that_was_for_no_pull_request_is_refused() -> None:
    event = read_event({"GITHUB_EVENT_NAME": "workflow_run"}, run_payload(event="push"))
    made = plan(event, Mode.COMMENT)
    assert (made.activity, made.why) == (
        Activity.REFUSE,
        "the finished run was not for a pull request but for push",
    )


@pytest.mark.parametrize(
    ("run", "itself"),
    [
        ({}, False),
        ({"head_repository": {"full_name": "Acme/Widget", "owner": {"login": "acme"}}}, True),
        (
            {
                "head_repository": {"full_name": "acme/widget", "owner": {"login": "acme"}},
                "actor": {"login": "dependabot[bot]"},
            },
            False,
        ),
        ({"head_repository": None}, False),
    ],
)
def test_a_run_with_a_token_that_writes_has_commented_itself(run: dict[str, Any], itself: bool) -> None:
    event = read_event({"GITHUB_EVENT_NAME": "workflow_run"}, run_payload(**run))
    assert event.commented_itself is itself
    assert event.finished is not None
    assert event.finished.path == ".github/workflows/gate.yml"


@pytest.mark.parametrize(
    ("name", "ref", "warns"),
    [
        ("push", "refs/heads/main", False),
        ("schedule", "refs/heads/main", False),
        ("push", "refs/heads/other", True),
        ("push", "refs/tags/main", True),
        ("workflow_dispatch", "refs/heads/other", False),
        ("repository_dispatch", "refs/heads/main", False),
    ],
)
def test_a_push_to_a_branch_of_its_own_is_no_judgement(name: str, ref: str, warns: bool) -> None:
    made = plan(read_event({"GITHUB_EVENT_NAME": name, "GITHUB_REF": ref}, pull_payload()), Mode.GATE)
    assert (made.activity, "own baseline" in made.warning) == (Activity.MEASURE, warns)


OTHER_EVENTS = [
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "gollum",
    "issue_comment",
    "issues",
    "label",
    "milestone",
    "page_build",
    "project",
    "public",
    "pull_request_comment",
    "pull_request_review_comment",
    "registry_package",
    "release",
    "status",
    "watch",
    "something_new",
]


@pytest.mark.parametrize("name", OTHER_EVENTS)
def test_an_event_without_a_base_is_refused(name: str) -> None:
    """Several of them run on a pull request's head: it would be held against the baseline that it brings."""
    made = plan(
        read_event({"GITHUB_EVENT_NAME": name, "GITHUB_REF": "refs/pull/7/merge"}, pull_payload()), Mode.GATE
    )
    assert made.activity is Activity.REFUSE
    assert name in made.why


@pytest.mark.parametrize("name", ["pull_request", "pull_request_review"])
def test_a_pull_request_event_that_names_none_is_refused(name: str) -> None:
    assert plan(read_event({"GITHUB_EVENT_NAME": name}, {}), Mode.GATE).activity is Activity.REFUSE
    made = plan(read_event({"GITHUB_EVENT_NAME": name}, pull_payload()), Mode.GATE)
    assert (made.activity, made.comments) == (Activity.MEASURE, True)


def test_outside_github_all_is_empty_and_the_work_tree_is_measured() -> None:
    event = read_event({}, {})
    assert event == Event()
    assert plan(event, Mode.GATE).activity is Activity.MEASURE


@pytest.mark.parametrize(
    ("ref", "number"),
    [
        (f"refs/heads/gh-readonly-queue/main/pr-12-{'a' * 40}", 12),
        (f"refs/heads/gh-readonly-queue/release/2.x/pr-9-{'0' * 40}", 9),
        (f"refs/heads/gh-readonly-queue/main/pr-12-{'a' * 40}/pr-13", None),
        (f"refs/heads/mine/gh-readonly-queue/main/pr-12-{'a' * 40}", None),
        ("refs/heads/gh-readonly-queue/main/pr--", None),
        ("", None),
    ],
)
def test_whose_entry_of_a_merge_queue_it_is(ref: str, number: int | None) -> None:
    assert read_event({}, {"merge_group": {"head_ref": ref}}).queued == number
    assert read_event({}, {"merge_group": ref}).queued is None

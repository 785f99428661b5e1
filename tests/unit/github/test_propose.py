"""The branch and the pull request of a proposal, against a GitHub on loopback with a real git repository behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from local_github import openapi
from local_github.faults import lost_answer, refused, secondary_limit, server_error
from local_github.server import LocalGitHub
from local_github.state import Repository

from gate.errors import InputError
from gate.github.client import GitHubError
from gate.github.propose import (
    Proposer,
    Target,
    Text,
    branch_name,
    commit_message,
    compare_link,
    is_ours,
)

BOT = "github-actions[bot]"
BRANCH = "retrieval-gate/baseline-docs"
MESSAGE = commit_message("Refresh", "Why: so", "docs")
TEXT = Text(title="Refresh", body="<!-- m -->\n\nbody\n", marker="<!-- m -->")
REFS = "/repos/acme/widget/git/refs"


@pytest.fixture
def github() -> Iterator[LocalGitHub]:
    with LocalGitHub() as github:
        github.add_token("ghs_writes", permissions={"contents": "write", "pull_requests": "write"})
        yield github
        if openapi.available():
            assert openapi.problems(github.log) == []


@pytest.fixture
def widget(github: LocalGitHub) -> Repository:
    widget = github.add_repository("acme/widget", protected=("main",), collaborators={"ann": "write"})
    widget.git.commit_files("main", {"a.txt": "a\n", "below/b.txt": "b\n", "below/old.txt": "old\n"})
    return widget


@pytest.fixture
def proposer(github: LocalGitHub, widget: Repository) -> Proposer:
    return Proposer("ghs_writes", "acme/widget", github.api, sleep=lambda _: None)


def target(widget: Repository) -> Target:
    """Into main as it is now."""
    sha = widget.git.branch("main") or ""
    return Target(suite="docs", name=BRANCH, base="main", base_sha=sha, default_branch="main")


def text_at(widget: Repository, path: str, branch: str = BRANCH) -> bytes | None:
    entry = widget.git.entry(f"refs/heads/{branch}", path)
    return widget.git.blob(entry["sha"]) if entry else None


def parents(widget: Repository, branch: str = BRANCH) -> tuple[str, ...]:
    return widget.git.commit(widget.git.branch(branch) or "").parents


# -- names


@pytest.mark.parametrize(
    ("suite", "name"),
    [("docs", "docs"), ("v1.2", "v1.2"), ("a..b", "a%2E%2Eb"), ("a.", "a%2E"), ("x.lock", "x%2Elock")],
)
def test_a_branch_name_is_one_that_git_takes(widget: Repository, suite: str, name: str) -> None:
    assert branch_name(suite) == f"retrieval-gate/baseline-{name}"
    assert widget.git.valid_ref(f"refs/heads/{branch_name(suite)}")
    assert branch_name(suite, 7) == f"retrieval-gate/baseline-{name}-for-7"


@pytest.mark.parametrize(
    ("message", "ours"),
    [
        (MESSAGE, True),
        (MESSAGE + "\n\n", True),
        (commit_message("Refresh", "so", "other"), False),
        (MESSAGE + "and more", False),
        ("Refresh", False),
        ("", False),
        (commit_message("x", "Retrieval-Gate-Refresh: docs\n\nmore", "docs2"), False),
    ],
)
def test_a_commit_is_ours_by_its_last_line(message: str, ours: bool) -> None:
    assert is_ours(message, "docs") is ours


@pytest.mark.parametrize("said", ["[skip ci]", "[CI skip]", "[no ci]", "[skip actions]", "[actions skip]"])
def test_a_message_switches_no_check_off(said: str) -> None:
    message = commit_message("Refresh", f"Why: {said} [a list] of what came", "docs")
    assert message == commit_message("Refresh", f"Why: ({said[1:-1]}) [a list] of what came", "docs")
    assert "[a list]" in message


def test_the_link_to_open_one_by_hand_holds_no_markup(widget: Repository) -> None:
    odd = target(widget).model_copy(update={"base": 'a"b) c', "name": "x%2Ey"})
    link = compare_link("https://github.com", "acme/widget", odd)
    assert link == "https://github.com/acme/widget/compare/a%22b%29%20c...x%252Ey?expand=1"


# -- the branch


def test_a_new_branch_has_one_commit_on_the_base(proposer: Proposer, widget: Repository) -> None:
    where = target(widget)
    pushed = proposer.push(where, {"new/x.json": b"{}\n", "below/old.txt": None}, MESSAGE)
    assert pushed.changed
    assert widget.git.branch(BRANCH) == pushed.sha
    assert parents(widget) == (where.base_sha,)
    assert text_at(widget, "new/x.json") == b"{}\n"
    assert text_at(widget, "below/old.txt") is None
    assert text_at(widget, "below/b.txt") == b"b\n"
    assert widget.git.branch("main") == where.base_sha


def test_the_same_again_is_no_commit(proposer: Proposer, widget: Repository, github: LocalGitHub) -> None:
    first = proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    github.clear_log()
    again = proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    assert (again.sha, again.changed) == (first.sha, False)
    assert not github.requests("*", "*/git/refs*")


def test_another_content_is_added_on_top(proposer: Proposer, widget: Repository) -> None:
    first = proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    proposer.push(target(widget), {"y": b"2\n"}, MESSAGE)
    assert parents(widget) == (first.sha,)
    assert text_at(widget, "x") is None, "what it holds is the base and these files, nothing of before"


def test_a_base_that_went_on_begins_the_branch_anew(proposer: Proposer, widget: Repository) -> None:
    proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    main = widget.git.commit_files("main", {"a.txt": "later\n"})
    proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    assert parents(widget) == (main,)
    assert text_at(widget, "a.txt") == b"later\n"


def test_a_merged_branch_goes_on_without_force(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    first = proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    merge = widget.git.merge(widget.git.branch("main") or "", first.sha, "Merge")
    widget.git.set_ref("refs/heads/main", merge or "")
    proposer.push(target(widget), {"x": b"2\n"}, MESSAGE)
    assert parents(widget) == (merge,)
    (moved,) = github.requests("PATCH", f"{REFS}/*")
    assert moved.body["force"] is False


def test_the_base_and_the_default_branch_are_never_ours(proposer: Proposer, widget: Repository) -> None:
    for name in ("main", "trunk"):
        where = target(widget).model_copy(update={"name": name, "default_branch": "trunk"})
        with pytest.raises(InputError, match="is the base itself"):
            proposer.push(where, {"x": b"1\n"}, MESSAGE)


def test_somebody_elses_commit_is_kept(proposer: Proposer, widget: Repository) -> None:
    proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    foreign = widget.git.commit_files(BRANCH, {"z": "z\n"}, "mine")
    with pytest.raises(InputError, match=foreign[:10]):
        proposer.push(target(widget), {"x": b"2\n"}, MESSAGE)
    ours_on_top = widget.git.commit_files(BRANCH, {"x": "3\n"}, MESSAGE)
    with pytest.raises(InputError, match=foreign[:10]):
        proposer.push(target(widget), {"x": b"2\n"}, MESSAGE)
    assert widget.git.branch(BRANCH) == ours_on_top


def test_a_person_who_is_faster_is_not_written_over(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    widget.git.commit_files("main", {"a.txt": "later\n"})
    pushed: list[str] = []
    # Between our last look and the forced write.
    github.before_next(
        "POST",
        "/repos/acme/widget/git/commits",
        lambda: pushed.append(widget.git.commit_files(BRANCH, {"z": "z\n"}, "mine")),
    )
    with pytest.raises(InputError, match="which is not the gate's"):
        proposer.push(target(widget), {"x": b"2\n"}, MESSAGE)
    assert widget.git.branch(BRANCH) == pushed[0]


def test_another_run_that_is_faster_is_taken_up(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    other: list[str] = []
    github.before_next(
        "POST", REFS, lambda: other.append(widget.git.commit_files(BRANCH, {"x": "0\n"}, MESSAGE, "main"))
    )
    proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    assert parents(widget) == (other[0],)
    assert text_at(widget, "x") == b"1\n"


def test_an_answer_that_is_lost_does_not_double_the_branch(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    github.fail_next("POST", REFS, lost_answer())
    where = target(widget)
    pushed = proposer.push(where, {"x": b"1\n"}, MESSAGE)
    assert not pushed.changed
    assert parents(widget) == (where.base_sha,)


def test_limits_and_faults_of_a_moment_are_waited_for(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    github.fail_next("POST", "*/git/blobs", secondary_limit())
    github.fail_next("POST", "*/git/trees", server_error(502))
    proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)
    assert text_at(widget, "x") == b"1\n"


def test_a_refused_branch_is_an_error(proposer: Proposer, widget: Repository, github: LocalGitHub) -> None:
    github.fail_next("POST", REFS, refused(422, "Reference update failed"), times=3)
    with pytest.raises(GitHubError, match="Reference update failed"):
        proposer.push(target(widget), {"x": b"1\n"}, MESSAGE)


# -- the pull request


def test_one_is_opened_and_then_brought_up_to_date(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    first = proposer.propose(where, TEXT, BOT)
    assert first.created
    assert first.url == f"{github.url}/acme/widget/pull/{first.number}"
    github.clear_log()
    assert not proposer.propose(where, TEXT, BOT).created
    assert github.writes() == []
    proposer.propose(where, TEXT.model_copy(update={"body": "<!-- m -->\nnew\n", "title": "New"}), BOT)
    issue = widget.issues[first.number]
    assert (issue.title, issue.body) == ("New", "<!-- m -->\nnew\n")
    assert len(list(widget.pulls())) == 1


def test_a_closed_one_is_followed_by_a_new_one(proposer: Proposer, widget: Repository) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    first = proposer.propose(where, TEXT, BOT)
    widget.issues[first.number].state = "closed"
    assert proposer.propose(where, TEXT, BOT).number != first.number


def test_a_forks_branch_of_the_same_name_is_not_ours(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    fork = github.fork(widget, "mallory")
    fork.git.commit_files(BRANCH, {"y": "y\n"}, "theirs")
    theirs = github.add_pull(widget, f"mallory:{BRANCH}", user="mallory", body="<!-- m -->\ntheirs")
    opened = proposer.propose(where, TEXT, BOT)
    assert opened.created
    assert opened.number != theirs.number
    assert theirs.body == "<!-- m -->\ntheirs"


def test_a_lost_answer_opens_only_one(proposer: Proposer, widget: Repository, github: LocalGitHub) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    github.fail_next("POST", "/repos/acme/widget/pulls", lost_answer())
    opened = proposer.propose(where, TEXT, BOT)
    assert opened.number
    assert len(list(widget.pulls())) == 1


def test_another_run_that_opened_it_first_is_found(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    github.before_next(
        "POST", "/repos/acme/widget/pulls", lambda: github.add_pull(widget, BRANCH, user=BOT, body="old")
    )
    opened = proposer.propose(where, TEXT, BOT)
    assert not opened.created
    assert widget.issues[opened.number].body == TEXT.body


def test_what_may_not_be_opened_says_why(proposer: Proposer, widget: Repository) -> None:
    widget.actions_may_open_pulls = False
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    opened = proposer.propose(where, TEXT, BOT)
    assert (opened.url, opened.number) == ("", 0)
    assert "not permitted to create or approve pull requests" in opened.why


def test_a_rate_limit_is_no_missing_permission(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    github.fail_next("POST", "/repos/acme/widget/pulls", secondary_limit(retry_after=1000))
    with pytest.raises(GitHubError, match="rate limit"):
        proposer.propose(where, TEXT, BOT)


def test_no_request_leaves_the_branch_and_its_pull_request(
    proposer: Proposer, widget: Repository, github: LocalGitHub
) -> None:
    where = target(widget)
    proposer.push(where, {"x": b"1\n"}, MESSAGE)
    widget.git.commit_files("main", {"a.txt": "later\n"})
    proposer.push(target(widget), {"x": b"2\n"}, MESSAGE)
    proposer.propose(where, TEXT, BOT)
    named = {one.body.get("ref") or one.path for one in github.writes() if "/refs" in one.path}
    assert named == {f"refs/heads/{BRANCH}", f"{REFS}/heads/{BRANCH}"}

"""One comment on a pull request, whatever else happens there: the real client against a GitHub on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from github_site import READ_ONLY, US, Site
from local_github.faults import cut_short, dropped, lost_answer, refused, server_error

from gate.github.client import GitHubError
from gate.github.comment import Stamp, Step, When, read_stamp
from gate.github.post import Wanted, approved, clear, post
from gate.model.verdict import Verdict

COMMENTS = "/repos/acme/widget/issues/1/comments"
ONE = "/repos/acme/widget/issues/comments/*"


def test_created_updated_and_left_alone(site: Site) -> None:
    first = site.post("first")
    assert (first.step, len(site.comments)) == (Step.CREATE, 1)
    assert first.url == f"{site.github.url}/acme/widget/pull/1#issuecomment-{site.comments[0].id}"
    second = site.post("second", run=8)
    assert (second.step, second.url, len(site.comments)) == (Step.UPDATE, first.url, 1)
    assert site.comments[0].body.splitlines()[1] == "second"
    site.github.clear_log()
    third = site.post("second", run=9)
    assert (third.step, third.why, third.url) == (Step.NOTHING, "the comment says this already", first.url)
    assert site.github.writes() == []


def test_line_ends_that_github_rewrote_are_no_change(site: Site) -> None:
    site.post("one\ntwo")
    site.comments[0].body = site.comments[0].body.replace("\n", "\r\n").rstrip()
    assert site.post("one\ntwo", run=8).step is Step.NOTHING


@pytest.mark.parametrize(
    ("when", "verdict", "writes"),
    [
        (When.ALWAYS, Verdict.PASS, True),
        (When.CHANGES, Verdict.PASS, False),
        (When.CHANGES, Verdict.REGRESSION, True),
        (When.FAILURE, Verdict.PASS, False),
        (When.FAILURE, Verdict.UNJUDGED, False),
        (When.FAILURE, Verdict.PARTIAL, True),
        (When.FAILURE, Verdict.NOT_MEASURED, True),
        (When.NEVER, Verdict.INVALID, False),
    ],
)
def test_when_a_first_comment_is_worth_it(site: Site, when: When, verdict: Verdict, writes: bool) -> None:
    posted = site.post(when=when, verdict=verdict)
    assert (posted.step is Step.CREATE, len(site.comments)) == (writes, int(writes))


def test_an_old_failure_is_brought_up_to_date_even_where_a_pass_is_not_worth_a_comment(site: Site) -> None:
    site.post("regression", verdict=Verdict.REGRESSION, when=When.FAILURE)
    assert site.post("pass", run=8, when=When.FAILURE).step is Step.UPDATE


def test_the_old_body_is_what_the_new_one_is_rendered_over(site: Site) -> None:
    site.post("regression")
    seen: list[str | None] = []

    def body(old: str | None) -> str:
        seen.append(old)
        return f"{site.stamp(8).line()}\nresolved"

    wanted = Wanted(stamp=site.stamp(8), when=When.ALWAYS, verdict=Verdict.PASS, changed=False)
    post(site.client(), 1, wanted, US, body)
    assert seen == [f"{site.stamp(7).line()}\nregression\n"]


def test_among_250_foreign_comments_there_is_one_of_ours_and_the_others_are_untouched(site: Site) -> None:
    # This token could edit them all, as an App's often can: nothing but the rule keeps it from that.
    site.github.add_token("ghs_mighty", US, permissions=site.github.world.tokens["ghs_the_token_that_writes"].permissions, edits_others=True)  # fmt: skip
    marker = site.stamp().line()
    imitations = [
        f"{marker}\nours, honestly",
        f"{marker}\ntext",
        marker,
        f"  {marker}\ntext",
        f"\ufeff{marker}\ntext",
        f"```\n{marker}\n```",
        f"<!-- retrieval-gate {'a=' * 500}\n",
        f"<!-- retrieval-gate suite=docs key= head={site.head} run=999999 attempt=9 -->\nnewer",
        "an ordinary remark",
        "",
    ]
    for number in range(250):
        user = ("octocat", "github-actions", "github-actions-bot", "ann")[number % 4]
        site.github.add_comment(site.repository, 1, imitations[number % len(imitations)] or "-", user=user)
    before = [(one.id, one.author, one.body, one.edits) for one in site.comments]
    client = site.client("ghs_mighty")
    author = client.viewer()
    assert author == US
    assert site.post("first", client=client, author=author).step is Step.CREATE
    assert site.post("second", run=8, client=client, author=author).step is Step.UPDATE
    assert site.post("second", run=9, client=client, author=author).step is Step.NOTHING
    assert [(one.id, one.author, one.body, one.edits) for one in site.comments[:250]] == before
    assert [one.body.splitlines()[1] for one in site.mine()] == ["second"]
    pages = site.github.requests("GET", "*/issues/1/comments")
    assert {one.query.get("page", "1") for one in pages} == {"1", "2", "3"}
    assert {one.query["per_page"] for one in pages} == {"100"}


def test_imitations_of_our_own_author_that_are_not_the_first_line_are_left(site: Site) -> None:
    for body in (
        f"see below\n{site.stamp().line()}",
        f"> {site.stamp().line()}",
        site.stamp(suite="api").line(),
    ):
        site.github.add_comment(site.repository, 1, body, user=US)
    site.post()
    assert [len(one.edits) for one in site.comments] == [0, 0, 0, 0]


def test_the_author_is_asked_by_graphql_since_user_is_forbidden(site: Site) -> None:
    client = site.client()
    assert client.viewer() == US
    assert [one.path for one in site.github.log] == ["/graphql"]


@pytest.mark.parametrize(
    "answer", ['{"data": {"viewer": null}}', '{"data": null}', "{}", "[]", "oops", '{"data": ']
)
def test_a_viewer_that_is_not_told_is_one_clear_error(site: Site, answer: str) -> None:
    from local_github.faults import Fault

    site.github.fail_next("POST", "/graphql", Fault(200, answer), times=9)
    with pytest.raises(GitHubError):
        site.client().viewer()


def test_comment_author_may_leave_out_the_bot_and_ignores_case(site: Site) -> None:
    site.post("first", author="GitHub-Actions")
    assert site.post("second", run=8, author="github-actions[BOT]").step is Step.UPDATE
    assert len(site.comments) == 1


def test_a_person_called_like_the_app_is_not_the_app(site: Site) -> None:
    site.github.add_comment(site.repository, 1, f"{site.stamp().line()}\nhers", user="github-actions")
    assert site.post("ours").step is Step.CREATE
    assert [one.author for one in site.comments] == ["github-actions", US]


def test_a_wrong_comment_author_leaves_no_growing_pile(site: Site) -> None:
    for run in (7, 8, 9):
        with pytest.raises(GitHubError, match="written as 'github-actions\\[bot\\]', not as 'my-bot'"):
            site.post(run=run, author="my-bot")
    assert site.comments == []


# -- races


def test_a_head_that_moved_while_rendering_stops_the_comment(site: Site) -> None:
    site.post("old")
    stamp = site.stamp(8)

    def body(_old: str | None) -> str:
        site.push()
        return f"{stamp.line()}\nnew"

    wanted = Wanted(stamp=stamp, when=When.ALWAYS, verdict=Verdict.PASS, changed=False)
    site.github.clear_log()
    posted = post(site.client(), 1, wanted, US, body)
    assert (posted.step, posted.why) == (
        Step.NOTHING,
        "the pull request's head has moved on; a newer run reports",
    )
    assert site.github.writes() == []


def test_a_newer_run_that_has_written_is_left_alone(site: Site) -> None:
    site.post("newer", run=9)
    site.github.clear_log()
    posted = site.post("older", run=8)
    assert (posted.step, posted.why) == (Step.NOTHING, "run 9 is newer and has written already")
    assert site.github.writes() == []
    assert site.post("again", run=9).step is Step.UPDATE


def test_a_newer_run_that_writes_while_this_one_renders_is_left_alone(site: Site) -> None:
    for create in (True, False):
        stamp = site.stamp(10 if create else 20)

        def body(_old: str | None, stamp: Stamp = stamp) -> str:
            site.post(f"newer than {stamp.run}", run=stamp.run + 1)
            return f"{stamp.line()}\nolder"

        wanted = Wanted(stamp=stamp, when=When.ALWAYS, verdict=Verdict.PASS, changed=False)
        assert post(site.client(), 1, wanted, US, body).step is Step.NOTHING
        assert [one.body.splitlines()[1] for one in site.comments] == [f"newer than {stamp.run}"]


@pytest.mark.parametrize("late", [7, 8])
def test_two_runs_that_create_at_once_leave_one_comment_with_the_newer_text(site: Site, late: int) -> None:
    """Both have seen no comment, and both send one; whoever comes second, the newer run's text stays."""
    early = 15 - late
    site.github.before_next("POST", COMMENTS, lambda: site.post(f"run {early}", run=early))
    site.post(f"run {late}", run=late)
    assert [one.body.splitlines()[1] for one in site.comments] == ["run 8"]
    assert read_stamp(site.comments[0].body) == site.stamp(8)


@pytest.mark.parametrize("turn", range(6))
def test_two_runs_in_threads_leave_one_comment(site: Site, turn: int) -> None:
    barrier = threading.Barrier(2, timeout=20)
    site.github.before_next("POST", COMMENTS, barrier.wait, times=2)
    faults: list[BaseException] = []

    def run(number: int) -> None:
        try:
            site.post(f"run {number}", run=number)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(number,)) for number in (7, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert [one.body.splitlines()[1] for one in site.comments] == ["run 8"]


def test_a_run_whose_comment_the_other_swept_away_brings_its_newer_text_back(site: Site) -> None:
    """The other run lists both, keeps the oldest with what it knows, and deletes ours before we look again."""

    def swept() -> None:
        del site.comments[1:]

    site.github.before_next("POST", COMMENTS, lambda: site.post("run 7", run=7))
    site.github.before_next("GET", COMMENTS, swept, skip=5)
    site.post("run 8", run=8)
    assert [one.body.splitlines()[1] for one in site.comments] == ["run 8"]


def test_own_duplicates_are_deleted_even_where_the_text_is_the_same(site: Site) -> None:
    for run in (3, 4, 5):
        site.github.add_comment(site.repository, 1, f"{site.stamp(run).line()}\ntext", user=US)
    kept = site.comments[0].id
    site.post("text")
    assert [one.id for one in site.comments] == [kept]


def test_a_comment_deleted_before_the_update_is_created_anew(site: Site) -> None:
    site.post("first")
    site.github.before_next("PATCH", ONE, site.comments.clear)
    assert site.post("second", run=8).step is Step.UPDATE
    assert [one.body.splitlines()[1] for one in site.comments] == ["second"]


def test_a_duplicate_that_somebody_deletes_first_is_no_fault(site: Site) -> None:
    for run in (3, 4):
        site.github.add_comment(site.repository, 1, f"{site.stamp(run).line()}\nold", user=US)
    site.github.before_next("DELETE", ONE, site.comments.pop)
    site.post("new")
    assert len(site.comments) == 1


# -- a create whose answer is lost


def test_a_create_is_not_sent_again_but_found_where_its_answer_was_lost(site: Site) -> None:
    site.github.fail_next("POST", COMMENTS, lost_answer())
    posted = site.post("once")
    assert (posted.step, posted.url) == (
        Step.CREATE,
        f"{site.github.url}/acme/widget/pull/1#issuecomment-{site.comments[0].id}",
    )
    assert len(site.github.requests("POST", COMMENTS)) == len(site.comments) == 1


@pytest.mark.parametrize("fault", [dropped(), server_error(500), server_error(502), server_error(503)])
def test_a_create_that_was_not_carried_out_is_a_fault_and_not_sent_again(site: Site, fault: object) -> None:
    site.github.fail_next("POST", COMMENTS, fault)  # type: ignore[arg-type]
    with pytest.raises(GitHubError):
        site.post()
    assert (len(site.github.requests("POST", COMMENTS)), site.comments) == (1, [])
    assert site.post(run=8).step is Step.CREATE


def test_a_create_whose_answer_is_cut_short_is_found_again(site: Site) -> None:
    site.github.fail_next("POST", COMMENTS, cut_short())
    site.post("once")
    assert len(site.github.requests("POST", COMMENTS)) == len(site.comments) == 1


def test_an_unknown_outcome_is_left_to_the_next_run_where_nothing_can_be_read(site: Site) -> None:
    site.github.fail_next("POST", COMMENTS, lost_answer())
    site.github.fail_next("GET", COMMENTS, refused(401, "Bad credentials"), skip=2)
    with pytest.raises(GitHubError):
        site.post("once")
    assert len(site.comments) == 1
    assert site.post("once", run=8).step is Step.NOTHING
    assert len(site.comments) == 1


# -- what stays shut


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", COMMENTS, 401, "Bad credentials"),
        ("GET", COMMENTS, 404, "Not Found"),
        ("GET", COMMENTS, 410, "This issue was deleted"),
        ("GET", "/repos/acme/widget/pulls/1", 403, "Resource not accessible by integration"),
        ("POST", COMMENTS, 403, "Resource not accessible by integration"),
        ("POST", COMMENTS, 404, "Not Found"),
        ("POST", COMMENTS, 410, "Gone"),
        ("POST", COMMENTS, 422, "Validation Failed"),
    ],
)
def test_a_refusal_is_one_clear_error_and_asked_once(
    site: Site, method: str, path: str, status: int, said: str
) -> None:
    site.github.fail_next(method, path, refused(status, said), times=9)
    with pytest.raises(GitHubError, match=said) as caught:
        site.post()
    assert caught.value.status == status
    assert (site.waits, site.comments) == ([], [])
    assert len(site.github.requests(method, path)) == 1


def test_a_read_only_token_says_so(site: Site) -> None:
    with pytest.raises(GitHubError, match="403: Resource not accessible by integration"):
        site.post(client=site.client(READ_ONLY))


def test_a_bad_token_is_not_repeated_back(site: Site) -> None:
    with pytest.raises(GitHubError, match="401: Bad credentials") as caught:
        site.post(client=site.client("ghp_wrong_secret"))
    assert "ghp_wrong_secret" not in str(caught.value)


def test_a_locked_conversation_is_told(site: Site) -> None:
    site.repository.issues[1].locked = True
    with pytest.raises(GitHubError, match="locked"):
        site.post()


def test_a_body_over_the_limit_is_told_with_its_reason(site: Site) -> None:
    with pytest.raises(GitHubError, match="422: Validation Failed; Body is too long"):
        site.post("x" * 65_537)


def test_a_pull_request_that_is_gone_is_told(site: Site) -> None:
    site.repository.issues[1].deleted = True
    with pytest.raises(GitHubError) as caught:
        site.post()
    assert caught.value.status in (404, 410)


# -- what is over, and who approves


def test_clearing_spares_others_newer_runs_and_a_head_that_moved(site: Site) -> None:
    for run in (3, 9):
        site.github.add_comment(site.repository, 1, f"{site.stamp(run, suite='*').line()}\nx", user=US)
    site.github.add_comment(site.repository, 1, f"{site.stamp(3, suite='*').line()}\nx", user="ann")
    site.github.add_comment(site.repository, 1, f"{site.stamp(3).line()}\nx", user=US)
    clear(site.client(), 1, US, site.stamp(7, head="f" * 40), lambda said: said.suite == "*")
    assert len(site.comments) == 4
    clear(site.client(), 1, US, site.stamp(7), lambda said: said.suite == "*")
    assert [(one.author, getattr(read_stamp(one.body), "run", 0)) for one in site.comments] == [
        (US, 9),
        ("ann", 3),
        (US, 3),
    ]


def _approve(site: Site, user: str, state: str = "APPROVED", commit: str | None = None) -> None:
    site.github.add_review(site.repository, 1, user=user, state=state, commit=commit)


@pytest.mark.parametrize(
    ("reviews", "expected"),
    [
        (lambda site: None, False),
        (lambda site: _approve(site, "ann"), True),
        (lambda site: _approve(site, "bob"), False),
        (lambda site: _approve(site, "ann", commit="0" * 40), False),
        (lambda site: (_approve(site, "ann"), _approve(site, "ann", "CHANGES_REQUESTED")), False),
        (lambda site: (_approve(site, "ann"), _approve(site, "ann", "DISMISSED")), False),
        (lambda site: (_approve(site, "ann"), _approve(site, "ann", "COMMENTED")), True),
        (lambda site: (_approve(site, "ann", "CHANGES_REQUESTED"), _approve(site, "ann")), True),
        (lambda site: (_approve(site, "ann"), _approve(site, "bob", "CHANGES_REQUESTED")), True),
    ],
)
def test_who_approves(site: Site, reviews: Callable[[Site], object], expected: bool) -> None:
    reviews(site)
    assert approved(site.client(), 1, site.head) is expected


def test_a_reviewer_of_whom_nothing_is_known_hinders_nobody(site: Site) -> None:
    """Such as an app, or an account that is gone: GitHub answers 404 about its permissions."""
    _approve(site, "review-app[bot]")
    site.github.fail_next(
        "GET",
        "*/collaborators/review-app*/permission",
        refused(404, "review-app[bot] is not a user"),
        times=9,
    )
    assert approved(site.client(), 1, site.head) is False
    _approve(site, "ann")
    assert approved(site.client(), 1, site.head) is True
    site.github.fail_next(
        "GET", "*/collaborators/ann/permission", refused(403, "Must have push access"), times=9
    )
    with pytest.raises(GitHubError, match="403"):
        approved(site.client(), 1, site.head)


def test_an_approval_of_an_older_head_does_not_count(site: Site) -> None:
    _approve(site, "ann")
    site.push()
    assert approved(site.client(), 1, site.head) is False

"""Pull requests: list, open, edit, files, commits, reviews, merge."""

from __future__ import annotations

from typing import Any

from local_github import git_shapes
from local_github.api_rules import changed, text_of
from local_github.pulls import merge, open_pull, sync
from local_github.routes_issues import apply_edit
from local_github.state import Issue, Pull, Review
from local_github.wire import Answer, ApiError, Context, Router, invalid

route = Router()
READ, WRITE = "pull_requests:read", "pull_requests:write"
PULLS = "/repos/{owner}/{repo}/pulls"
ONE = PULLS + "/{pull_number:int}"
EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def _pull(context: Context, number: int) -> tuple[Issue, Pull]:
    issue = context.issue(number, pull=True)
    return issue, sync(context.repo, issue)


def _full(context: Context, issue: Issue) -> dict[str, Any]:
    assert issue.pull is not None
    return git_shapes.pull(context, context.repo, issue, issue.pull, full=True)


@route("GET", PULLS, READ)
def list_pulls(context: Context) -> Answer:
    query = context.request.query
    state, head, base = query.get("state", "open"), query.get("head", ""), query.get("base")
    owner, colon, branch = head.partition(":")
    found = []
    for issue, _ in context.repo.pulls():
        pull = sync(context.repo, issue)
        if state not in ("all", issue.state) or (base and base != pull.base_ref):
            continue
        # A head without its owner is no filter at all: GitHub then answers with every pull request.
        if colon and (pull.head_repository.owner.lower(), pull.head_ref) != (owner.lower(), branch):
            continue
        found.append(issue)
    sort = query.get("sort", "created")
    newest = query.get("direction", "desc" if sort == "created" else "asc") == "desc"
    found.sort(
        key=lambda issue: (issue.updated_at if sort == "updated" else issue.created_at, issue.number),
        reverse=newest,
    )
    return context.page(found, lambda issue: git_shapes.pull(context, context.repo, issue, issue.pull))


@route("POST", PULLS, WRITE)
def create_pull(context: Context) -> Answer:
    body = context.body()
    missing = [name for name in ("head", "base") if not body.get(name)]
    if missing:
        names = ", ".join(f'"{name}"' for name in missing)
        raise ApiError(422, f"Invalid request.\n\n{names} wasn't supplied.")
    _actions_may(context)
    title = text_of(body, "title")
    if not title:
        raise invalid({"resource": "PullRequest", "code": "missing_field", "field": "title"})
    issue = open_pull(
        context,
        title=title,
        body=body.get("body"),
        head=body["head"],
        base=body["base"],
        draft=bool(body.get("draft")),
    )
    answer = _full(context, issue)
    return Answer(answer, 201, {"Location": answer["url"]})


def _actions_may(context: Context) -> None:
    if context.login == "github-actions[bot]" and not context.repo.actions_may_open_pulls:
        raise ApiError(403, "GitHub Actions is not permitted to create or approve pull requests.")


@route("GET", ONE, READ)
def get_pull(context: Context, pull_number: int) -> Answer:
    issue, _ = _pull(context, pull_number)
    return Answer(_full(context, issue))


@route("PATCH", ONE, WRITE)
def edit_pull(context: Context, pull_number: int) -> Answer:
    issue, pull = _pull(context, pull_number)
    body = context.body()
    base = text_of(body, "base", pull.base_ref)
    if context.repo.git.branch(base) is None:
        raise invalid({"resource": "PullRequest", "field": "base", "code": "invalid"})
    if body.get("state") == "open" and issue.state == "closed" and pull.merged:
        raise invalid({"resource": "PullRequest", "field": "state", "code": "invalid"})
    pull.base_ref = base
    apply_edit(context, issue, body)
    sync(context.repo, issue)
    return Answer(_full(context, issue))


@route("GET", ONE + "/files", READ)
def files(context: Context, pull_number: int) -> Answer:
    _, pull = _pull(context, pull_number)
    git = context.repo.git
    base = git.merge_base(_base(context, pull), pull.head_sha) or _base(context, pull)
    changes = git.diff(base, pull.head_sha)[:3000]
    return context.page(
        changes, lambda change: git_shapes.diff_entry(context, context.repo, change, pull.head_sha)
    )


@route("GET", ONE + "/commits", READ)
def commits(context: Context, pull_number: int) -> Answer:
    _, pull = _pull(context, pull_number)
    shas = context.repo.git.between(_base(context, pull), pull.head_sha)[:250]
    return context.page(shas, lambda sha: git_shapes.commit(context, context.repo, sha))


def _base(context: Context, pull: Pull) -> str:
    """The base as it was before a merge."""
    if pull.merged and pull.merge_sha:
        return context.repo.git.commit(pull.merge_sha).parents[0]
    return context.repo.git.branch(pull.base_ref) or pull.head_sha


@route("PUT", ONE + "/merge", "contents:write")
def merge_pull(context: Context, pull_number: int) -> Answer:
    issue, _ = _pull(context, pull_number)
    body = context.body()
    sha = merge(context, issue, message=body.get("commit_message"), sha=body.get("sha"))
    return Answer({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@route("GET", ONE + "/reviews", READ)
def list_reviews(context: Context, pull_number: int) -> Answer:
    issue, pull = _pull(context, pull_number)
    return context.page(pull.reviews, lambda review: git_shapes.review(context, context.repo, issue, review))


@route("GET", ONE + "/reviews/{review_id:int}", READ)
def get_review(context: Context, pull_number: int, review_id: int) -> Answer:
    issue, pull = _pull(context, pull_number)
    for review in pull.reviews:
        if review.id == review_id:
            return Answer(git_shapes.review(context, context.repo, issue, review))
    raise ApiError(404, "Not Found")


@route("POST", ONE + "/reviews", WRITE)
def create_review(context: Context, pull_number: int) -> Answer:
    issue, pull = _pull(context, pull_number)
    body = context.body()
    event, said = body.get("event"), text_of(body, "body")
    if event is not None and event not in EVENTS:
        raise ApiError(
            422,
            "Unprocessable Entity",
            errors=[f"Variable $event of type PullRequestReviewEvent was provided invalid value {event}"],
        )
    if event == "APPROVE":
        if context.login.lower() == issue.user.lower():
            raise ApiError(422, "Unprocessable Entity", errors=["Can not approve your own pull request"])
        _actions_may(context)
    if event in ("REQUEST_CHANGES", "COMMENT") and not said:
        raise ApiError(422, "Unprocessable Entity", errors=["Body can't be blank"])
    commit = text_of(body, "commit_id", pull.head_sha)
    state = EVENTS.get(event or "", "PENDING")
    review = Review(context.world.next_id(), context.login, state, said, commit, changed(context, issue))
    pull.reviews.append(review)
    return Answer(git_shapes.review(context, context.repo, issue, review))

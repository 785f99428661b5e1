"""Issues, their comments and labels. Every pull request is an issue too."""

from __future__ import annotations

from typing import Any

from local_github import shapes
from local_github.api_rules import changed, permits, text_of
from local_github.state import Comment, Issue
from local_github.wire import Answer, ApiError, Context, Router, invalid, not_found

route = Router()
READ = ("issues:read", "pull_requests:read")
WRITE = ("issues:write", "pull_requests:write")
ISSUES = "/repos/{owner}/{repo}/issues"
BODY_LIMIT = 65_536


@route("GET", ISSUES, *READ)
def list_issues(context: Context) -> Answer:
    query, repo = context.request.query, context.repo
    wanted = set(filter(None, query.get("labels", "").split(",")))
    state = query.get("state", "open")
    issues = [
        issue
        for issue in repo.issues.values()
        if not issue.deleted
        and state in ("all", issue.state)
        and wanted <= set(issue.labels)
        and query.get("creator", issue.user).lower() == issue.user.lower()
        and issue.updated_at >= query.get("since", "")
    ]
    key = {"updated": lambda i: i.updated_at, "comments": lambda i: len(i.comments)}.get(
        query.get("sort", ""), _age
    )
    issues.sort(key=key, reverse=query.get("direction", "desc") == "desc")
    return context.page(issues, lambda issue: shapes.issue(context, repo, issue))


def _age(issue: Issue) -> Any:
    return (issue.created_at, issue.number)


@route("POST", ISSUES, "issues:write")
def create_issue(context: Context) -> Answer:
    body = context.body()
    title = text_of(body, "title")
    if not title:
        raise invalid({"resource": "Issue", "field": "title", "code": "missing_field"})
    issue = new_issue(context, title, body.get("body"))
    issue.labels = [name if isinstance(name, str) else name["name"] for name in body.get("labels", [])]
    return Answer(shapes.issue(context, context.repo, issue), 201)


def new_issue(context: Context, title: str, body: str | None) -> Issue:
    now = context.world.clock.tick()
    number = max(context.repo.issues, default=0) + 1
    issue = Issue(context.world.next_id(), number, title, body, context.login, now, now)
    context.repo.issues[number] = issue
    return issue


# Before `/issues/{number}`: GitHub's comments live beside the issues' numbers.
@route("GET", ISSUES + "/comments/{comment_id:int}", *READ)
def get_comment(context: Context, comment_id: int) -> Answer:
    issue, comment = _comment(context, comment_id)
    return Answer(shapes.comment(context, context.repo, issue, comment))


@route("PATCH", ISSUES + "/comments/{comment_id:int}", *WRITE)
def edit_comment(context: Context, comment_id: int) -> Answer:
    issue, comment = _comment(context, comment_id)
    _may_write(context, issue)
    _owns(context, comment)
    body = _comment_body(context)
    if body != comment.body:
        comment.edits.append(comment.body)
    comment.body, comment.updated_at = body, changed(context, issue)
    return Answer(shapes.comment(context, context.repo, issue, comment))


@route("DELETE", ISSUES + "/comments/{comment_id:int}", *WRITE)
def delete_comment(context: Context, comment_id: int) -> Answer:
    issue, comment = _comment(context, comment_id)
    _may_write(context, issue)
    _owns(context, comment)
    issue.comments.remove(comment)
    changed(context, issue)
    return Answer(status=204)


def _comment(context: Context, number: int) -> tuple[Issue, Comment]:
    found = context.repo.find_comment(number)
    if found is None or found[0].deleted:
        raise not_found()
    return found


def _owns(context: Context, comment: Comment) -> None:
    token = context.token
    if comment.author.lower() == token.login.lower() or token.edits_others:
        return
    if token.kind == "installation":
        raise ApiError(403, "Resource not accessible by integration")
    if not context.repo.has_role(token.login, "write"):
        raise ApiError(403, "Must have admin rights to Repository.")


def _may_write(context: Context, issue: Issue) -> None:
    """`pull_requests:write` is enough on a pull request, not on an issue."""
    needs = WRITE if issue.pull else WRITE[:1]
    if context.token.kind != "user" and not any(permits(context.token, context.repo, need) for need in needs):
        raise ApiError(403, "Resource not accessible by integration")


def _comment_body(context: Context) -> str:
    body = context.body().get("body")
    if body is None:
        raise invalid({"resource": "IssueComment", "code": "missing_field", "field": "body"})
    if not isinstance(body, str):
        raise ApiError(422, f"Invalid request.\n\nFor 'properties/body', {body!r} is not a string.")
    if not body.strip():
        raise _unprocessable("Body cannot be blank")
    if len(body) > BODY_LIMIT:
        raise _unprocessable(f"Body is too long (maximum is {BODY_LIMIT} characters)")
    return body


def _unprocessable(message: str) -> ApiError:
    return invalid({"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message})


@route("GET", ISSUES + "/{issue_number:int}", *READ)
def get_issue(context: Context, issue_number: int) -> Answer:
    return Answer(shapes.issue(context, context.repo, context.issue(issue_number)))


@route("PATCH", ISSUES + "/{issue_number:int}", *WRITE)
def edit_issue(context: Context, issue_number: int) -> Answer:
    issue, body = context.issue(issue_number), context.body()
    _may_write(context, issue)
    apply_edit(context, issue, body)
    if "labels" in body:
        issue.labels = [name if isinstance(name, str) else name["name"] for name in body["labels"]]
    return Answer(shapes.issue(context, context.repo, issue))


def apply_edit(context: Context, issue: Issue, body: dict[str, Any]) -> None:
    """What issues and pull requests have in common: title, body, state."""
    issue.title = text_of(body, "title") or issue.title
    issue.body = body.get("body", issue.body)
    now = changed(context, issue)
    state = body.get("state", issue.state)
    if state not in ("open", "closed"):
        raise invalid({"resource": "Issue", "code": "invalid", "field": "state"})
    if state != issue.state:
        issue.state = state
        issue.closed_at, issue.closed_by = (now, context.login) if state == "closed" else (None, None)


@route("GET", ISSUES + "/{issue_number:int}/comments", *READ)
def list_comments(context: Context, issue_number: int) -> Answer:
    issue, since = context.issue(issue_number), context.request.query.get("since", "")
    comments = [comment for comment in issue.comments if comment.updated_at >= since]
    return context.page(comments, lambda comment: shapes.comment(context, context.repo, issue, comment))


@route("POST", ISSUES + "/{issue_number:int}/comments", *WRITE)
def create_comment(context: Context, issue_number: int) -> Answer:
    issue, token = context.issue(issue_number), context.token
    _may_write(context, issue)
    if issue.locked and (token.kind == "installation" or not context.repo.has_role(token.login, "write")):
        raise ApiError(
            403,
            "Unable to create comment because issue is locked.",
            docs="https://docs.github.com/articles/locking-conversations/",
        )
    body = _comment_body(context)
    now = changed(context, issue)
    app = token.app if token.kind == "installation" else None
    comment = Comment(
        context.world.next_id(), token.login, body, now, now, context.repo.association(token.login), app
    )
    issue.comments.append(comment)
    answer = shapes.comment(context, context.repo, issue, comment)
    return Answer(answer, 201, {"Location": answer["url"]})


@route("GET", ISSUES + "/{issue_number:int}/labels", *READ)
def list_labels(context: Context, issue_number: int) -> Answer:
    return context.page(
        context.issue(issue_number).labels, lambda name: shapes.label(context, context.repo, name)
    )


@route("POST", ISSUES + "/{issue_number:int}/labels", *WRITE)
def add_labels(context: Context, issue_number: int) -> Answer:
    issue, body = context.issue(issue_number), context.body()
    _may_write(context, issue)
    for name in body.get("labels", []):
        if name not in issue.labels:
            issue.labels.append(name)
    changed(context, issue)
    return Answer([shapes.label(context, context.repo, name) for name in issue.labels])


@route("DELETE", ISSUES + "/{issue_number:int}/labels/{name}", *WRITE)
def remove_label(context: Context, issue_number: int, name: str) -> Answer:
    issue = context.issue(issue_number)
    _may_write(context, issue)
    if name not in issue.labels:
        raise ApiError(404, "Label does not exist")
    issue.labels.remove(name)
    changed(context, issue)
    return Answer([shapes.label(context, context.repo, label) for label in issue.labels])

"""From a request to an answer: who asks, whether they may, and what is added to every answer."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Mapping

from local_github import routes_actions, routes_git, routes_issues, routes_pulls, routes_repos, routes_viewer
from local_github.api_rules import permits
from local_github.gitstore import GitError
from local_github.state import Token, World
from local_github.wire import DOCS, Answer, ApiError, Context, Route, matching, not_found

ROUTES: list[Route] = [
    route
    for module in (routes_viewer, routes_issues, routes_pulls, routes_git, routes_actions, routes_repos)
    for route in module.route.routes
]


def respond(context: Context) -> tuple[Answer, str | None]:
    """The answer, and the OpenAPI template of the route that gave it."""
    template = None
    try:
        if not context.request.headers.get("user-agent"):
            raise ApiError(
                403,
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
            )
        context.token = authenticate(context.world, context.request.headers)
        _spend(context)
        route, values = _route(context)
        template = route.template
        _open(context, values)
        _may(context, route)
        answer = route.handler(
            context, **{key: int(v) if key in route.numbers else v for key, v in values.items()}
        )
    except ApiError as error:
        answer = Answer(error.body, error.status, error.headers)
    except GitError as error:
        answer = Answer(
            {"message": f"Server Error: {error}", "documentation_url": DOCS, "status": "500"}, 500
        )
    return _finish(context, answer), template


def authenticate(world: World, headers: Mapping[str, str]) -> Token:
    given = headers.get("authorization", "")
    if not given:
        return world.anonymous
    kind, _, value = given.partition(" ")
    if kind.lower() == "basic":
        try:
            value = base64.b64decode(value).decode().partition(":")[2]
        except ValueError:
            value = ""
    token = world.tokens.get(value.strip())
    if token is None:
        raise ApiError(401, "Bad credentials")
    return token


def _spend(context: Context) -> None:
    """The primary rate limit. Asking for the limits is free."""
    token = context.token
    if token.reset <= time.time():
        token.used, token.reset = 0, int(time.time()) + 3600
    if context.request.path == "/rate_limit":
        return
    if token.used >= token.limit:
        whose = {"installation": "installation ID 12345", "anonymous": "127.0.0.1"}.get(
            token.kind, "user ID 12345"
        )
        raise ApiError(
            403, f"API rate limit exceeded for {whose}.", docs=f"{DOCS}/overview/rate-limits-for-the-rest-api"
        )
    token.used += 1


def _route(context: Context) -> tuple[Route, dict[str, str]]:
    request = context.request
    by_id = re.match(r"/repositories/(\d+)(?=/|$)", request.path)
    if by_id:
        repository = context.world.repository_by_id(int(by_id[1]))
        if repository is None:
            raise not_found()
        request.path = f"/repos/{repository.full_name}{request.path[by_id.end() :]}"
    found = matching(ROUTES, request)
    if found is None:
        raise not_found()
    return found


def _open(context: Context, values: dict[str, str]) -> None:
    """Find the repository; one that the token may not see does not exist."""
    if "owner" not in values:
        return
    repository = context.world.repository(f"{values.pop('owner')}/{values.pop('repo')}")
    if repository is None or not context.world.can_see(context.token, repository):
        raise not_found()
    context.found = repository


def _may(context: Context, route: Route) -> None:
    token, repository = context.token, context.found
    writes = context.request.method not in ("GET", "HEAD") and bool(route.need)
    if writes and token.kind == "anonymous":
        raise ApiError(401, "Requires authentication")
    if writes and repository and repository.archived:
        raise ApiError(403, "Repository was archived so is read-only.")
    if (
        not route.need
        or repository is None
        or (not writes and not repository.private and "actions:download" not in route.need)
    ):
        return
    if token.kind == "anonymous":
        raise ApiError(401, "Requires authentication")
    needs = [need.replace(":download", ":read") for need in route.need]
    if not any(permits(token, repository, need) for need in needs):
        if token.kind == "user" and route.need == ("checks:write",):
            raise ApiError(403, "You must authenticate via a GitHub App.")
        if token.kind == "user":
            raise not_found()
        whose = "integration" if token.kind == "installation" else "personal access token"
        accepted = "; ".join(need.replace(":", "=") for need in needs)
        raise ApiError(
            403, f"Resource not accessible by {whose}", headers={"X-Accepted-GitHub-Permissions": accepted}
        )


def _finish(context: Context, answer: Answer) -> Answer:
    token, headers = context.token, answer.headers
    headers.setdefault("Content-Type", "application/json; charset=utf-8")
    headers.setdefault("X-GitHub-Media-Type", "github.v3; format=json")
    if answer.status != 401:
        limits = {
            "limit": token.limit,
            "remaining": max(0, token.limit - token.used),
            "used": token.used,
            "reset": token.reset,
        }
        headers.update({f"x-ratelimit-{name}": str(value) for name, value in limits.items()})
        headers["x-ratelimit-resource"] = "core"
    if context.request.method == "GET" and answer.status == 200:
        etag = f'W/"{hashlib.sha256(answer.data() + headers.get("Link", "").encode()).hexdigest()}"'
        headers["ETag"] = etag
        wanted = [part.strip() for part in context.request.headers.get("if-none-match", "").split(",")]
        if etag in wanted:
            token.used = max(0, token.used - 1)  # an unchanged answer is free
            headers["x-ratelimit-remaining"] = str(token.limit - token.used)
            return Answer(status=304, headers={key: v for key, v in headers.items() if key != "Content-Type"})
    return answer

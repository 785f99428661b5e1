"""Who am I, and what is left of my rate limit: /user, /rate_limit, /graphql."""

from __future__ import annotations

import re
from typing import Any

from local_github import shapes
from local_github.wire import Answer, ApiError, Context, Router

route = Router()


@route("GET", "/user")
def user(context: Context) -> Answer:
    if context.token.kind == "anonymous":
        raise ApiError(401, "Requires authentication")
    if context.token.kind == "installation":
        raise ApiError(403, "Resource not accessible by integration")
    return Answer(shapes.private_user(context, context.login))


@route("GET", "/users/{username}")
def any_user(context: Context, username: str) -> Answer:
    if username.lower() not in context.world.users:
        raise ApiError(404, "Not Found")
    private = shapes.private_user(context, username)
    hidden = ("private_gists", "total_private_repos", "owned_private_repos", "disk_usage", "collaborators")
    return Answer(
        {key: value for key, value in private.items() if key not in (*hidden, "two_factor_authentication")}
    )


@route("GET", "/rate_limit")
def rate_limit(context: Context) -> Answer:
    token = context.token
    core = {
        "limit": token.limit,
        "used": token.used,
        "remaining": token.limit - token.used,
        "reset": token.reset,
    }
    other = {"limit": 30, "used": 0, "remaining": 30, "reset": token.reset}
    return Answer(
        {
            "resources": {
                "core": core,
                "search": other,
                "graphql": {**other, "limit": 5000, "remaining": 5000},
            },
            "rate": core,
        }
    )


@route("POST", "/graphql")
def graphql(context: Context) -> Answer:
    """Only the viewer; anything else gets GraphQL's own error."""
    if context.token.kind == "anonymous":
        raise ApiError(
            401, "This endpoint requires you to be authenticated.", docs="https://docs.github.com/graphql"
        )
    query = context.body().get("query")
    if not isinstance(query, str):
        return Answer({"errors": [{"message": "A query attribute must be specified and must be a string."}]})
    match = re.fullmatch(r"\s*(?:query\s*\w*\s*)?\{\s*(\w+)[^{]*(?:\{([^{}]*)\})?\s*\}\s*", query)
    if match is None:
        return Answer(
            {
                "errors": [
                    {
                        "message": "Parse error on a query that is more than one field",
                        "locations": [_place(1, 1)],
                    }
                ]
            }
        )
    name, fields = match[1], (match[2] or "").replace(",", " ").split()
    if name != "viewer":
        return Answer({"errors": [_undefined("Query", name, ["query"])]})
    who = context.world.user(context.login)
    known: dict[str, Any] = {
        "login": who.login,
        "id": f"U_{who.id}",
        "databaseId": who.id,
        "url": f"{context.web}/{who.login}",
        "__typename": "User",
    }
    unknown = [field for field in fields if field not in known]
    if unknown:
        return Answer({"errors": [_undefined("User", field, ["query", "viewer"]) for field in unknown]})
    return Answer({"data": {"viewer": {field: known[field] for field in fields}}})


def _undefined(kind: str, field: str, path: list[str]) -> dict[str, Any]:
    return {
        "path": [*path, field],
        "extensions": {"code": "undefinedField", "typeName": kind, "fieldName": field},
        "locations": [_place(1, 3)],
        "message": f"Field '{field}' doesn't exist on type '{kind}'",
    }


def _place(line: int, column: int) -> dict[str, int]:
    return {"line": line, "column": column}

"""Small rules that several endpoints share."""

from __future__ import annotations

from typing import Any

from local_github.state import Issue, Repository, Token
from local_github.wire import ApiError, Context

# What a person needs in a repository for a scope, where it is not simply to see it.
ROLE_FOR = {"contents:write": "write", "statuses:write": "write", "actions:write": "write"}


def permits(token: Token, repository: Repository, need: str) -> bool:
    """Whether a token may do `scope:level` in a repository."""
    scope, _, level = need.partition(":")
    if (
        token.repositories is not None
        and repository.full_name.lower() not in token.repositories
        and level == "write"
    ):
        return False
    if token.kind == "installation":
        return token.allows(scope, level)
    if need == "checks:write" or not repository.has_role(token.login, ROLE_FOR.get(need, "read")):
        return False
    return token.kind == "user" or token.allows(scope, level)


def may_change_branch(context: Context, branch: str) -> bool:
    return branch not in context.repo.protected or context.login in context.repo.bypass


def changed(context: Context, issue: Issue) -> str:
    """An issue was touched: its time, which is the clock's next."""
    issue.updated_at = context.world.clock.tick()
    return issue.updated_at


def text_of(body: dict[str, Any], name: str, default: str = "") -> str:
    value = body.get(name, default)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ApiError(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not a string.")
    return value

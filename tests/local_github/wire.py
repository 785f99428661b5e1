"""Requests, answers, errors, routes and paging: what is the same for every endpoint."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local_github.state import Issue, Repository, Token, World

DOCS = "https://docs.github.com/rest"


class ApiError(Exception):
    """An answer that is not the wanted one."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: Sequence[Any] | None = None,
        docs: str = DOCS,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body: dict[str, Any] = {"message": message}
        if errors is not None:
            self.body["errors"] = list(errors)
        self.body.update({"documentation_url": docs, "status": str(status)})


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def invalid(*errors: Mapping[str, Any]) -> ApiError:
    return ApiError(422, "Validation Failed", errors=errors)


@dataclass
class Request:
    method: str
    path: str
    """Decoded, without the API prefix."""
    query: dict[str, str]
    headers: Mapping[str, str]
    raw: bytes = b""

    def json(self) -> dict[str, Any]:
        try:
            body = json.loads(self.raw or b"{}")
        except ValueError:
            raise ApiError(400, "Problems parsing JSON") from None
        if not isinstance(body, dict):
            raise ApiError(400, "Body should be a JSON object")
        return body


@dataclass
class Answer:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None

    def data(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()


@dataclass
class Context:
    """What a handler gets."""

    world: World
    request: Request
    token: Token
    api: str
    """Where the API is, without a slash at the end."""
    web: str
    storage: Callable[[bytes], str]
    """Puts bytes on the other origin; their address."""
    found: Repository | None = None

    @property
    def repo(self) -> Repository:
        if self.found is None:
            raise not_found()
        return self.found

    @property
    def login(self) -> str:
        return self.token.login

    def body(self) -> dict[str, Any]:
        return self.request.json()

    def issue(self, number: int, *, pull: bool = False) -> Issue:
        issue = self.repo.issues.get(number)
        if issue is None or (pull and issue.pull is None):
            raise not_found()
        if issue.deleted:
            raise ApiError(
                410, "This issue was deleted", docs="https://docs.github.com/v3/issues/#get-an-issue"
            )
        return issue

    def page(self, items: Sequence[Any], view: Callable[[Any], Any], wrap: str | None = None) -> Answer:
        """One page of a list, with GitHub's Link header (which names the repository by its id)."""
        per_page = _number(self.request.query.get("per_page"), 30, 100)
        page = _number(self.request.query.get("page"), 1, 10**6)
        last = max(1, -(-len(items) // per_page))
        part = [view(item) for item in items[(page - 1) * per_page : page * per_page]]
        body: Any = part if wrap is None else {"total_count": len(items), wrap: part}
        return Answer(body, headers=self._links(page, last))

    def _links(self, page: int, last: int) -> dict[str, str]:
        path = urllib.parse.quote(self.request.path)
        if self.found:
            path = re.sub(r"^/repos/[^/]+/[^/]+", f"/repositories/{self.found.id}", path)
        targets = {}
        if page > 1:
            targets["prev"] = min(page - 1, last)
        if page < last:
            targets |= {"next": page + 1, "last": last}
        if page > 1:
            targets["first"] = 1
        links = []
        for rel, number in targets.items():
            query = urllib.parse.urlencode({**self.request.query, "page": number})
            links.append(f'<{self.api}{path}?{query}>; rel="{rel}"')
        return {"Link": ", ".join(links)} if links else {}


def _number(text: str | None, default: int, most: int) -> int:
    try:
        value = int(text or default)
    except ValueError:
        value = default
    return min(value, most) if value > 0 else default


Handler = Callable[..., Answer]


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    """As the OpenAPI description spells it."""
    pattern: re.Pattern[str]
    handler: Handler
    need: tuple[str, ...]
    """Scopes with levels (`issues:write`), any one of which is enough."""
    numbers: frozenset[str]
    """The parameters that are numbers."""


class Router:
    """The routes of one module."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def __call__(self, method: str, template: str, *need: str) -> Callable[[Handler], Handler]:
        """`{name}` is one segment, `{name:int}` a number, `{name:rest}` all that follows."""
        kinds = {"int": r"\d+", "rest": r".*", "": r"[^/]+"}

        def part(match: re.Match[str]) -> str:
            name, _, kind = match[1].partition(":")
            return f"(?P<{name}>{kinds[kind]})"

        pattern = re.compile(re.sub(r"\{([^}]+)\}", part, template))
        plain = re.sub(r":(int|rest)\}", "}", template)

        def add(handler: Handler) -> Handler:
            numbers = frozenset(re.findall(r"\{(\w+):int\}", template))
            self.routes.append(Route(method, plain, pattern, handler, need, numbers))
            return handler

        return add


def matching(routes: Sequence[Route], request: Request) -> tuple[Route, dict[str, str]] | None:
    for route in routes:
        match = route.pattern.fullmatch(request.path)
        if match and route.method == request.method:
            return route, match.groupdict()
    return None

"""State as the JSON that GitHub sends: people, repositories, issues, comments."""

from __future__ import annotations

from typing import Any

from local_github.state import Comment, Issue, Repository
from local_github.wire import Context

# What follows the repository's own address in the fields `<name>_url`.
REPOSITORY_LINKS = {
    "archive": "/{archive_format}{/ref}",
    "assignees": "/assignees{/user}",
    "blobs": "/git/blobs{/sha}",
    "branches": "/branches{/branch}",
    "collaborators": "/collaborators{/collaborator}",
    "comments": "/comments{/number}",
    "commits": "/commits{/sha}",
    "compare": "/compare/{base}...{head}",
    "contents": "/contents/{+path}",
    "contributors": "/contributors",
    "deployments": "/deployments",
    "downloads": "/downloads",
    "events": "/events",
    "forks": "/forks",
    "git_commits": "/git/commits{/sha}",
    "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "hooks": "/hooks",
    "issue_comment": "/issues/comments{/number}",
    "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}",
    "keys": "/keys{/key_id}",
    "labels": "/labels{/name}",
    "languages": "/languages",
    "merges": "/merges",
    "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "pulls": "/pulls{/number}",
    "releases": "/releases{/id}",
    "stargazers": "/stargazers",
    "statuses": "/statuses/{sha}",
    "subscribers": "/subscribers",
    "subscription": "/subscription",
    "tags": "/tags",
    "teams": "/teams",
    "trees": "/git/trees{/sha}",
}
USER_LINKS = {
    "followers": "/followers",
    "following": "/following{/other_user}",
    "gists": "/gists{/gist_id}",
    "starred": "/starred{/owner}{/repo}",
    "subscriptions": "/subscriptions",
    "organizations": "/orgs",
    "repos": "/repos",
    "events": "/events{/privacy}",
    "received_events": "/received_events",
}


def repo_url(context: Context, repository: Repository) -> str:
    return f"{context.api}/repos/{repository.full_name}"


def repo_web(context: Context, repository: Repository) -> str:
    return f"{context.web}/{repository.full_name}"


def user(context: Context, login: str) -> dict[str, Any]:
    who = context.world.user(login)
    url = f"{context.api}/users/{who.login}"
    return {
        "login": who.login,
        "id": who.id,
        "node_id": f"U_{who.id}",
        "avatar_url": f"{context.web}/avatars/u/{who.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{context.web}/{who.login.replace('[bot]', '')}",
        **{f"{name}_url": url + tail for name, tail in USER_LINKS.items()},
        "type": who.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def private_user(context: Context, login: str) -> dict[str, Any]:
    empty = ("name", "company", "blog", "location", "email", "hireable", "bio")
    counts = (
        "public_repos",
        "public_gists",
        "followers",
        "following",
        "private_gists",
        "total_private_repos",
    )
    return {
        **user(context, login),
        "user_view_type": "private",
        **dict.fromkeys(empty),
        **dict.fromkeys(counts, 0),
        "owned_private_repos": 0,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": True,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
    }


def permissions(role: str) -> dict[str, bool]:
    order = ("pull", "triage", "push", "maintain", "admin")
    level = {"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}[role]
    return {name: at < level for at, name in enumerate(order)}


def minimal_repository(context: Context, repository: Repository) -> dict[str, Any]:
    url = repo_url(context, repository)
    return {
        "id": repository.id,
        "node_id": f"R_{repository.id}",
        "name": repository.name,
        "full_name": repository.full_name,
        "private": repository.private,
        "owner": user(context, repository.owner),
        "html_url": repo_web(context, repository),
        "description": None,
        "fork": repository.parent is not None,
        "url": url,
        **{f"{name}_url": url + tail for name, tail in REPOSITORY_LINKS.items()},
    }


def repository(context: Context, one: Repository) -> dict[str, Any]:
    """The schema `repository`: what stands in a pull request's head and base."""
    web, host = repo_web(context, one), context.web.split("://", 1)[-1]
    opened = sum(1 for issue in one.issues.values() if issue.state == "open" and not issue.deleted)
    zeros = ("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size")
    now = context.world.clock.now()
    return {
        **minimal_repository(context, one),
        "clone_url": f"{web}.git",
        "git_url": f"git://{host}/{one.full_name}.git",
        "ssh_url": f"git@{host}:{one.full_name}.git",
        "svn_url": web,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        **dict.fromkeys(zeros, 0),
        "open_issues": opened,
        "open_issues_count": opened,
        "default_branch": one.default_branch,
        "visibility": "private" if one.private else "public",
        "topics": [],
        "is_template": False,
        "has_issues": True,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "archived": one.archived,
        "disabled": False,
        "allow_forking": True,
        "web_commit_signoff_required": False,
        "created_at": one.created_at,
        "updated_at": now,
        "pushed_at": now,
    }


def full_repository(context: Context, one: Repository) -> dict[str, Any]:
    body = {**repository(context, one), "network_count": 0, "subscribers_count": 0, "temp_clone_token": None}
    if context.token.kind != "anonymous":
        installed = "write" if context.token.allows("contents", "write") else "read"
        body["permissions"] = permissions(
            installed if context.token.kind == "installation" else one.role(context.login)
        )
    if one.parent:
        body["parent"] = repository(context, one.parent)
        body["source"] = repository(context, one.root)
    return body


def app(context: Context, slug: str) -> dict[str, Any]:
    return {
        "id": 15368,
        "node_id": f"A_{slug}",
        "slug": slug,
        "client_id": "Iv1.0123456789abcdef",
        "owner": user(context, "github"),
        "name": slug.replace("-", " ").title(),
        "description": None,
        "external_url": f"{context.web}/features",
        "html_url": f"{context.web}/apps/{slug}",
        "created_at": "2018-07-30T09:30:17Z",
        "updated_at": "2018-07-30T09:30:17Z",
        "permissions": {"checks": "write", "contents": "read", "issues": "write", "metadata": "read"},
        "events": [],
    }


def comment(context: Context, one: Repository, issue: Issue, said: Comment) -> dict[str, Any]:
    url = f"{repo_url(context, one)}/issues/comments/{said.id}"
    place = "pull" if issue.pull else "issues"
    counts = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {
        "id": said.id,
        "node_id": f"IC_{said.id}",
        "url": url,
        "html_url": f"{repo_web(context, one)}/{place}/{issue.number}#issuecomment-{said.id}",
        "issue_url": f"{repo_url(context, one)}/issues/{issue.number}",
        "user": user(context, said.author),
        "created_at": said.created_at,
        "updated_at": said.updated_at,
        "body": said.body,
        "author_association": said.association,
        "reactions": {"url": f"{url}/reactions", "total_count": 0, **dict.fromkeys(counts, 0)},
        "performed_via_github_app": app(context, said.app) if said.app else None,
    }


def label(context: Context, one: Repository, name: str) -> dict[str, Any]:
    number = one.labels.setdefault(name, context.world.next_id())
    return {
        "id": number,
        "node_id": f"LA_{number}",
        "url": f"{repo_url(context, one)}/labels/{name}",
        "name": name,
        "description": "",
        "color": "ededed",
        "default": False,
    }


def issue(context: Context, one: Repository, what: Issue) -> dict[str, Any]:
    url = f"{repo_url(context, one)}/issues/{what.number}"
    web = f"{repo_web(context, one)}/{'pull' if what.pull else 'issues'}/{what.number}"
    body: dict[str, Any] = {
        "id": what.id,
        "node_id": f"I_{what.id}",
        "number": what.number,
        "url": url,
        "repository_url": repo_url(context, one),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": web,
        "state": what.state,
        "state_reason": None,
        "title": what.title,
        "body": what.body,
        "user": user(context, what.user),
        "labels": [label(context, one, name) for name in what.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": what.locked,
        "active_lock_reason": None,
        "comments": len(what.comments),
        "closed_at": what.closed_at,
        "closed_by": user(context, what.closed_by) if what.closed_by else None,
        "created_at": what.created_at,
        "updated_at": what.updated_at,
        "author_association": one.association(what.user),
        "performed_via_github_app": None,
    }
    if what.pull:
        api = f"{repo_url(context, one)}/pulls/{what.number}"
        body["draft"] = what.pull.draft
        body["pull_request"] = {
            "url": api,
            "html_url": web,
            "diff_url": f"{web}.diff",
            "patch_url": f"{web}.patch",
            "merged_at": what.pull.merged_at,
        }
    return body

"""Repositories: branches, commits, comparisons, contents, permissions."""

from __future__ import annotations

import base64
from typing import Any

from local_github import git_shapes, shapes
from local_github.api_rules import may_change_branch, text_of
from local_github.pulls import head_of, sync
from local_github.routes_git import signatures
from local_github.wire import Answer, ApiError, Context, Router, not_found

route = Router()
READ, WRITE = "contents:read", "contents:write"
REPO = "/repos/{owner}/{repo}"


@route("GET", REPO)
def get_repository(context: Context) -> Answer:
    return Answer(shapes.full_repository(context, context.repo))


@route("GET", REPO + "/branches", READ)
def list_branches(context: Context) -> Answer:
    url = shapes.repo_url(context, context.repo)
    branches = list(context.repo.git.refs().items())

    def view(branch: tuple[str, str]) -> dict[str, Any]:
        name, sha = branch[0].removeprefix("refs/heads/"), branch[1]
        commit = {"sha": sha, "url": f"{url}/commits/{sha}"}
        return {"name": name, "commit": commit, "protected": name in context.repo.protected}

    return context.page(branches, view)


@route("GET", REPO + "/branches/{branch:rest}", READ)
def get_branch(context: Context, branch: str) -> Answer:
    sha = context.repo.git.branch(branch)
    if sha is None:
        raise ApiError(404, "Branch not found")
    url, guarded = (
        f"{shapes.repo_url(context, context.repo)}/branches/{branch}",
        branch in context.repo.protected,
    )
    return Answer(
        {
            "name": branch,
            "commit": git_shapes.commit(context, context.repo, sha),
            "_links": {"self": url, "html": f"{shapes.repo_web(context, context.repo)}/tree/{branch}"},
            "protected": guarded,
            "protection": {"enabled": guarded},
            "protection_url": f"{url}/protection",
        }
    )


@route("GET", REPO + "/collaborators/{username}/permission")
def permission(context: Context, username: str) -> Answer:
    if context.token.kind == "anonymous":
        raise ApiError(401, "Requires authentication")
    if username.lower() not in context.world.users:
        raise ApiError(404, f"{username} is not a user")
    role = context.repo.role(username)
    broad = {"triage": "read", "maintain": "write"}.get(role, role)
    user = {**shapes.user(context, username), "permissions": shapes.permissions(role), "role_name": role}
    return Answer({"permission": broad, "role_name": role, "user": user})


@route("GET", REPO + "/commits/{commit_sha}/pulls", "pull_requests:read")
def pulls_of_commit(context: Context, commit_sha: str) -> Answer:
    git = context.repo.git
    if git.kind(commit_sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {commit_sha}")
    found = []
    for issue, _ in context.repo.pulls():
        pull = sync(context.repo, issue)
        base = (
            git.commit(pull.merge_sha).parents[0]
            if pull.merged and pull.merge_sha
            else git.branch(pull.base_ref)
        )
        inside = base and commit_sha in git.between(base, pull.head_sha)
        if inside or (pull.merged and commit_sha == pull.merge_sha):
            found.append((issue, pull))
    return context.page(found, lambda pair: git_shapes.pull(context, context.repo, *pair))


@route("GET", REPO + "/commits", READ)
def list_commits(context: Context) -> Answer:
    query, git = context.request.query, context.repo.git
    start = git.resolve(query.get("sha", context.repo.default_branch))
    if start is None:
        raise not_found()
    paths = ["--", query["path"]] if query.get("path") else []
    shas = git.text("rev-list", start, *paths).split()
    return context.page(shas, lambda sha: git_shapes.commit(context, context.repo, sha))


@route("GET", REPO + "/commits/{ref:rest}", READ)
def get_commit(context: Context, ref: str) -> Answer:
    sha = context.repo.git.resolve(ref)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    return Answer(git_shapes.commit(context, context.repo, sha, files=True))


@route("GET", REPO + "/compare/{basehead:rest}", READ)
def compare(context: Context, basehead: str) -> Answer:
    repo, git = context.repo, context.repo.git
    left, dots, right = basehead.partition("...")
    base, head = _across(context, left), _across(context, right)
    if not dots or base is None or head is None:
        raise not_found()
    fork = git.merge_base(base, head)
    if fork is None:
        raise ApiError(404, f"No common ancestor between {left} and {right}.")
    ahead, behind = git.between(base, head), git.between(head, base)
    page = context.page(ahead, lambda sha: git_shapes.commit(context, repo, sha))
    status = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}
    url, web = (
        f"{shapes.repo_url(context, repo)}/compare/{basehead}",
        f"{shapes.repo_web(context, repo)}/compare/{basehead}",
    )
    changes = git.diff(fork, head)[:300] if context.request.query.get("page", "1") == "1" else []
    page.body = {
        "url": url,
        "html_url": web,
        "permalink_url": f"{shapes.repo_web(context, repo)}/compare/{base[:7]}...{head[:7]}",
        "diff_url": f"{web}.diff",
        "patch_url": f"{web}.patch",
        "base_commit": git_shapes.commit(context, repo, base),
        "merge_base_commit": git_shapes.commit(context, repo, fork),
        "status": status.get((bool(ahead), bool(behind)), "identical"),
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": page.body,
        "files": [git_shapes.diff_entry(context, repo, change, head) for change in changes],
    }
    return page


def _across(context: Context, spec: str) -> str | None:
    """A commit of this repository, or `owner:branch` of another of its network."""
    try:
        source, ref = head_of(context.world, context.repo, spec)
    except ApiError:
        return None
    return (
        context.repo.git.resolve(ref) if source is context.repo else context.repo.git.fetch(source.git, ref)
    )


@route("GET", REPO + "/contents/{path:rest}", READ)
def get_contents(context: Context, path: str) -> Answer:
    git, path = context.repo.git, path.strip("/")
    ref = context.request.query.get("ref", context.repo.default_branch)
    commit = git.resolve(ref)
    if commit is None:
        raise ApiError(404, f"No commit found for the ref {ref}")
    entry = git.entry(commit, path)
    if entry is None:
        raise not_found()
    raw = "raw" in context.request.headers.get("accept", "")
    if entry["type"] == "tree":
        inside = git.tree(entry["sha"])
        return Answer(
            [_content(context, {**one, "path": f"{path}/{one['path']}".lstrip("/")}, ref) for one in inside]
        )
    data = git.blob(entry["sha"])
    if raw:
        return Answer(raw=data, headers={"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})
    large = len(data) > 1024 * 1024
    text = "" if large else base64.encodebytes(data).decode()
    return Answer(
        {**_content(context, entry, ref), "content": text, "encoding": "none" if large else "base64"}
    )


def _content(context: Context, entry: dict[str, Any], ref: str) -> dict[str, Any]:
    url, web = shapes.repo_url(context, context.repo), shapes.repo_web(context, context.repo)
    path, folder = entry["path"], entry["type"] == "tree"
    own, git = f"{url}/contents/{path}?ref={ref}", f"{url}/git/{entry['type']}s/{entry['sha']}"
    html = f"{web}/{'tree' if folder else 'blob'}/{ref}/{path}"
    return {
        "type": {"tree": "dir", "commit": "submodule"}.get(entry["type"], "file"),
        "size": entry.get("size", 0),
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": entry["sha"],
        "url": own,
        "git_url": git,
        "html_url": html,
        "download_url": None if folder else f"{web}/raw/{ref}/{path}",
        "_links": {"self": own, "git": git, "html": html},
    }


@route("PUT", REPO + "/contents/{path:rest}", WRITE)
def put_contents(context: Context, path: str) -> Answer:
    body, git = context.body(), context.repo.git
    branch = text_of(body, "branch", context.repo.default_branch)
    message = text_of(body, "message")
    if not message or "content" not in body:
        raise ApiError(422, 'Invalid request.\n\n"message", "content" weren\'t supplied.')
    tip = git.branch(branch)
    if tip is None:
        raise ApiError(404, f"Branch {branch} not found")
    if not may_change_branch(context, branch):
        raise ApiError(409, "Could not update file: Changes must be made through a pull request.")
    old = git.entry(tip, path)
    if old and not body.get("sha"):
        raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if body.get("sha") and (old is None or old["sha"] != body["sha"]):
        raise ApiError(409, f"{path} does not match {body['sha']}")
    try:
        data = base64.b64decode(body["content"])
    except ValueError:
        raise ApiError(422, "content is not valid Base64") from None
    tree = git.write_tree(tip, [(path, "100644", git.write_blob(data))])
    sha = git.write_commit(tree, [tip], message, *signatures(context, body))
    git.set_ref(f"refs/heads/{branch}", sha)
    new = git.entry(sha, path)
    assert new is not None
    commit = git_shapes.git_commit(context, context.repo, git.commit(sha))
    return Answer({"content": _content(context, new, branch), "commit": commit}, 200 if old else 201)

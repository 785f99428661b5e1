"""The git database: refs, blobs, trees, commits."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from local_github import git_shapes
from local_github.api_rules import may_change_branch, text_of
from local_github.shapes import repo_url
from local_github.wire import Answer, ApiError, Context, Router, invalid, not_found

route = Router()
READ, WRITE = "contents:read", "contents:write"
GIT = "/repos/{owner}/{repo}/git"
MODES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}


def protected() -> ApiError:
    return ApiError(
        422,
        "Changes must be made through a pull request.",
        docs="https://docs.github.com/articles/about-protected-branches",
    )


@route("GET", GIT + "/ref/{ref:rest}", READ)
def get_ref(context: Context, ref: str) -> Answer:
    sha = context.repo.git.refs("refs/").get(f"refs/{ref}")
    if sha is None:
        raise not_found()
    return Answer(git_shapes.git_ref(context, context.repo, f"refs/{ref}", sha))


@route("GET", GIT + "/matching-refs/{ref:rest}", READ)
def matching_refs(context: Context, ref: str) -> Answer:
    found = context.repo.git.refs(f"refs/{ref}").items()
    return Answer([git_shapes.git_ref(context, context.repo, name, sha) for name, sha in found])


@route("POST", GIT + "/refs", WRITE)
def create_ref(context: Context) -> Answer:
    body, git = context.body(), context.repo.git
    name, sha = text_of(body, "ref"), text_of(body, "sha")
    if not name.startswith("refs/") or name.count("/") < 2 or not git.valid_ref(name):
        raise ApiError(422, f"{name} is not a valid ref name.")
    if git.kind(sha) is None:
        raise ApiError(422, "Object does not exist")
    if git.ref(name):
        raise ApiError(422, "Reference already exists")
    if not may_change_branch(context, name.removeprefix("refs/heads/")):
        raise ApiError(422, "Reference update failed")
    git.set_ref(name, sha)
    context.world.clock.tick()
    answer = git_shapes.git_ref(context, context.repo, name, sha)
    return Answer(answer, 201, {"Location": answer["url"]})


@route("PATCH", GIT + "/refs/{ref:rest}", WRITE)
def update_ref(context: Context, ref: str) -> Answer:
    body, git, name = context.body(), context.repo.git, f"refs/{ref}"
    sha, old = text_of(body, "sha"), git.ref(name)
    if git.kind(sha) is None:
        raise ApiError(422, "Object does not exist")
    if old is None:
        raise ApiError(422, "Reference does not exist")
    if not may_change_branch(context, ref.removeprefix("heads/")):
        raise protected()
    if not body.get("force") and not git.is_ancestor(old, sha):
        raise ApiError(422, "Update is not a fast forward")
    git.set_ref(name, sha)
    context.world.clock.tick()
    return Answer(git_shapes.git_ref(context, context.repo, name, sha))


@route("DELETE", GIT + "/refs/{ref:rest}", WRITE)
def delete_ref(context: Context, ref: str) -> Answer:
    if context.repo.git.ref(f"refs/{ref}") is None:
        raise ApiError(422, "Reference does not exist")
    if not may_change_branch(context, ref.removeprefix("heads/")):
        raise ApiError(422, "Cannot delete protected branch")
    context.repo.git.delete_ref(f"refs/{ref}")
    return Answer(status=204)


@route("POST", GIT + "/blobs", WRITE)
def create_blob(context: Context) -> Answer:
    body = context.body()
    content = text_of(body, "content")
    if body.get("encoding", "utf-8") == "base64":
        try:
            data = base64.b64decode(content, validate=False)
        except (binascii.Error, ValueError):
            raise invalid({"resource": "Blob", "code": "invalid", "field": "content"}) from None
    else:
        data = content.encode()
    sha = context.repo.git.write_blob(data)
    url = f"{repo_url(context, context.repo)}/git/blobs/{sha}"
    return Answer({"sha": sha, "url": url}, 201, {"Location": url})


@route("GET", GIT + "/blobs/{file_sha}", READ)
def get_blob(context: Context, file_sha: str) -> Answer:
    if context.repo.git.kind(file_sha) != "blob":
        raise not_found()
    data = context.repo.git.blob(file_sha)
    return Answer(
        {
            "sha": file_sha,
            "node_id": f"B_{file_sha[:12]}",
            "size": len(data),
            "url": f"{repo_url(context, context.repo)}/git/blobs/{file_sha}",
            "content": base64.encodebytes(data).decode(),
            "encoding": "base64",
        }
    )


@route("GET", GIT + "/trees/{tree_sha:rest}", READ)
def get_tree(context: Context, tree_sha: str) -> Answer:
    git = context.repo.git
    tree = git.ref(f"{git.resolve(tree_sha) or tree_sha}^{{tree}}")
    if tree is None:
        raise not_found()
    return Answer(_tree(context, tree, recursive=bool(context.request.query.get("recursive"))))


def _tree(context: Context, sha: str, *, recursive: bool = False) -> dict[str, Any]:
    url = f"{repo_url(context, context.repo)}/git"
    entries = [
        {**entry, **({"url": f"{url}/{entry['type']}s/{entry['sha']}"} if entry["type"] != "commit" else {})}
        for entry in context.repo.git.tree(sha, recursive=recursive)
    ]
    return {"sha": sha, "url": f"{url}/trees/{sha}", "tree": entries, "truncated": False}


@route("POST", GIT + "/trees", WRITE)
def create_tree(context: Context) -> Answer:
    body, git = context.body(), context.repo.git
    if not isinstance(body.get("tree"), list):
        raise ApiError(422, 'Invalid request.\n\n"tree" wasn\'t supplied.')
    base = body.get("base_tree")
    if base and git.ref(f"{base}^{{tree}}") is None:
        raise not_found()
    entries: list[tuple[str, str, str | None]] = []
    for entry in body["tree"]:
        path, mode = entry.get("path"), entry.get("mode", "100644")
        if not path or path.startswith("/") or ".." in path.split("/") or ".git" in path.lower().split("/"):
            raise ApiError(422, f"tree.path contains a malformed path component: {path}")
        if mode not in MODES or (entry.get("type") and entry["type"] != MODES[mode]):
            raise ApiError(422, "Must supply a valid tree.mode")
        if "content" in entry and entry.get("sha"):
            raise ApiError(422, "Must supply either tree.sha or tree.content")
        sha = git.write_blob(entry["content"].encode()) if "content" in entry else entry.get("sha")
        if sha is not None and git.kind(sha) != MODES[mode]:
            raise ApiError(422, f"tree.sha {sha} is not a valid {MODES[mode]}")
        entries.append((path, mode, sha))
    answer = _tree(context, git.write_tree(base, entries))
    return Answer(answer, 201, {"Location": answer["url"]})


@route("GET", GIT + "/commits/{commit_sha}", READ)
def get_commit(context: Context, commit_sha: str) -> Answer:
    if context.repo.git.kind(commit_sha) != "commit":
        raise not_found()
    return Answer(git_shapes.git_commit(context, context.repo, context.repo.git.commit(commit_sha)))


@route("POST", GIT + "/commits", WRITE)
def create_commit(context: Context) -> Answer:
    body, git = context.body(), context.repo.git
    message, tree, parents = text_of(body, "message"), text_of(body, "tree"), body.get("parents", [])
    if not message or not tree:
        raise ApiError(422, 'Invalid request.\n\n"message", "tree" weren\'t supplied.')
    if git.kind(tree) != "tree":
        raise ApiError(422, "Tree SHA does not exist")
    for parent in parents:
        if git.kind(parent) != "commit":
            raise ApiError(422, "Parent SHA does not exist or is not a commit object")
    sha = git.write_commit(tree, parents, message, *signatures(context, body))
    answer = git_shapes.git_commit(context, context.repo, git.commit(sha))
    return Answer(answer, 201, {"Location": answer["url"]})


def signatures(context: Context, body: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Author and committer: given, else the token's login."""
    who = context.world.user(context.login)
    own = {
        "name": who.login,
        "email": f"{who.id}+{who.login}@users.noreply.github.com",
        "date": context.world.clock.tick(),
    }
    author = {**own, **(body.get("author") or {})}
    return author, {**author, **(body.get("committer") or {})}

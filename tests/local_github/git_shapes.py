"""Git objects and pull requests as the JSON that GitHub sends."""

from __future__ import annotations

import hashlib
from typing import Any

from local_github.gitdiff import Change
from local_github.gitstore import Commit
from local_github.shapes import label, repo_url, repo_web, repository, user
from local_github.state import Issue, Pull, Repository, Review
from local_github.wire import Context

UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def git_commit(context: Context, one: Repository, what: Commit) -> dict[str, Any]:
    """The git database's commit (`/git/commits`)."""
    url, web = repo_url(context, one), repo_web(context, one)
    return {
        "sha": what.sha,
        "node_id": f"C_{what.sha[:12]}",
        "url": f"{url}/git/commits/{what.sha}",
        "html_url": f"{web}/commit/{what.sha}",
        "author": what.author,
        "committer": what.committer,
        "tree": {"sha": what.tree, "url": f"{url}/git/trees/{what.tree}"},
        "message": what.message,
        "parents": [
            {"sha": sha, "url": f"{url}/git/commits/{sha}", "html_url": f"{web}/commit/{sha}"}
            for sha in what.parents
        ],
        "verification": UNSIGNED,
    }


def commit(context: Context, one: Repository, sha: str, *, files: bool = False) -> dict[str, Any]:
    """A commit of the repository (`/commits`), with its diff to the first parent where asked."""
    what = one.git.commit(sha)
    url, web = repo_url(context, one), repo_web(context, one)
    body: dict[str, Any] = {
        "sha": sha,
        "node_id": f"C_{sha[:12]}",
        "url": f"{url}/commits/{sha}",
        "html_url": f"{web}/commit/{sha}",
        "comments_url": f"{url}/commits/{sha}/comments",
        "commit": {
            "url": f"{url}/git/commits/{sha}",
            "author": what.author,
            "committer": what.committer,
            "message": what.message,
            "tree": {"sha": what.tree, "url": f"{url}/git/trees/{what.tree}"},
            "comment_count": 0,
            "verification": UNSIGNED,
        },
        "author": None,
        "committer": None,
        "parents": [
            {"sha": s, "url": f"{url}/commits/{s}", "html_url": f"{web}/commit/{s}"} for s in what.parents
        ],
    }
    if files:
        empty = one.git.write_tree(None, [])
        changes = one.git.diff(what.parents[0] if what.parents else empty, sha)
        added, removed = sum(c.additions for c in changes), sum(c.deletions for c in changes)
        body["stats"] = {"additions": added, "deletions": removed, "total": added + removed}
        body["files"] = [diff_entry(context, one, change, sha) for change in changes]
    return body


def diff_entry(context: Context, one: Repository, change: Change, head: str) -> dict[str, Any]:
    web = repo_web(context, one)
    body: dict[str, Any] = {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{web}/blob/{head}/{change.path}",
        "raw_url": f"{web}/raw/{head}/{change.path}",
        "contents_url": f"{repo_url(context, one)}/contents/{change.path}?ref={head}",
    }
    if change.patch is not None:
        body["patch"] = change.patch
    if change.previous is not None:
        body["previous_filename"] = change.previous
    return body


def git_ref(context: Context, one: Repository, name: str, sha: str) -> dict[str, Any]:
    url, kind = repo_url(context, one), one.git.kind(sha) or "commit"
    return {
        "ref": name,
        "node_id": f"REF_{hashlib.sha1(name.encode()).hexdigest()[:12]}",
        "url": f"{url}/git/{name}",
        "object": {"type": kind, "sha": sha, "url": f"{url}/git/{kind}s/{sha}"},
    }


def side(context: Context, one: Repository, ref: str, sha: str) -> dict[str, Any]:
    return {
        "label": f"{one.owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(context, one.owner),
        "repo": repository(context, one),
    }


def pull(
    context: Context, one: Repository, issue: Issue, what: Pull, *, full: bool = False
) -> dict[str, Any]:
    url, web = (
        f"{repo_url(context, one)}/pulls/{issue.number}",
        f"{repo_web(context, one)}/pull/{issue.number}",
    )
    issue_url = f"{repo_url(context, one)}/issues/{issue.number}"
    base_sha = one.git.branch(what.base_ref) or what.head_sha
    links = {
        "self": url,
        "html": web,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{repo_url(context, one)}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{repo_url(context, one)}/statuses/{what.head_sha}",
    }
    body: dict[str, Any] = {
        "id": issue.id,
        "node_id": f"PR_{issue.id}",
        "number": issue.number,
        "url": url,
        "html_url": web,
        "diff_url": f"{web}.diff",
        "patch_url": f"{web}.patch",
        "issue_url": issue_url,
        **{
            f"{name}_url": links[name]
            for name in ("commits", "review_comments", "review_comment", "comments", "statuses")
        },
        "state": issue.state,
        "locked": issue.locked,
        "active_lock_reason": None,
        "title": issue.title,
        "body": issue.body,
        "user": user(context, issue.user),
        "labels": [label(context, one, name) for name in issue.labels],
        "milestone": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "merged_at": what.merged_at,
        "merge_commit_sha": what.merge_sha,
        "head": side(context, what.head_repository, what.head_ref, what.head_sha),
        "base": side(context, one, what.base_ref, base_sha),
        "_links": {name: {"href": href} for name, href in links.items()},
        "author_association": one.association(issue.user),
        "auto_merge": None,
        "draft": what.draft,
    }
    if full:
        fork = one.git.merge_base(base_sha, what.head_sha) or base_sha
        changes = one.git.diff(fork, what.head_sha)
        body |= {
            "merged": what.merged,
            "mergeable": what.mergeable,
            "rebaseable": what.mergeable,
            "mergeable_state": {True: "clean", False: "dirty", None: "unknown"}[what.mergeable],
            "merged_by": user(context, what.merged_by) if what.merged_by else None,
            "comments": len(issue.comments),
            "review_comments": 0,
            "maintainer_can_modify": False,
            "commits": len(one.git.between(base_sha, what.head_sha)),
            "additions": sum(change.additions for change in changes),
            "deletions": sum(change.deletions for change in changes),
            "changed_files": len(changes),
        }
    return body


def review(context: Context, one: Repository, issue: Issue, what: Review) -> dict[str, Any]:
    web = f"{repo_web(context, one)}/pull/{issue.number}#pullrequestreview-{what.id}"
    url = f"{repo_url(context, one)}/pulls/{issue.number}"
    return {
        "id": what.id,
        "node_id": f"PRR_{what.id}",
        "user": user(context, what.user),
        "body": what.body,
        "state": what.state,
        "html_url": web,
        "pull_request_url": url,
        "_links": {"html": {"href": web}, "pull_request": {"href": url}},
        "submitted_at": what.submitted_at,
        "commit_id": what.commit_id,
        "author_association": one.association(what.user),
    }

"""Git objects, pull requests, checks and runs as the JSON that GitHub sends."""

from __future__ import annotations

import hashlib
from typing import Any

from local_github.gitstore import Change, Commit
from local_github.shapes import app, label, minimal_repository, repo_url, repo_web, repository, user
from local_github.state import Artifact, CheckRun, Issue, Pull, Repository, Review, Run
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


def check_run(context: Context, one: Repository, what: CheckRun) -> dict[str, Any]:
    url, fields = f"{repo_url(context, one)}/check-runs/{what.id}", what.fields
    output = fields.get("output") or {}
    web = f"{repo_web(context, one)}/runs/{what.id}"
    return {
        "id": what.id,
        "node_id": f"CR_{what.id}",
        "name": what.name,
        "head_sha": what.head_sha,
        "external_id": fields.get("external_id", ""),
        "url": url,
        "html_url": web,
        "details_url": fields.get("details_url", web),
        "status": fields["status"],
        "conclusion": fields.get("conclusion"),
        "started_at": fields["started_at"],
        "completed_at": fields.get("completed_at"),
        "output": {
            "title": output.get("title"),
            "summary": output.get("summary"),
            "text": output.get("text"),
            "annotations_count": len(what.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": one.id},
        "app": app(context, what.app),
        "pull_requests": [],
    }


def run(context: Context, one: Repository, what: Run) -> dict[str, Any]:
    url, web = (
        f"{repo_url(context, one)}/actions/runs/{what.id}",
        f"{repo_web(context, one)}/actions/runs/{what.id}",
    )
    head = what.head_repository.git.commit(what.head_sha)
    pulls = [
        {
            "id": issue.id,
            "number": issue.number,
            "url": f"{repo_url(context, one)}/pulls/{issue.number}",
            "head": _tip(context, request.head_repository, request.head_ref, request.head_sha),
            "base": _tip(context, one, request.base_ref, one.git.branch(request.base_ref) or ""),
        }
        for issue, request in one.pulls()
        if issue.number in what.pulls
    ]
    tails = {"jobs": "jobs", "logs": "logs", "artifacts": "artifacts", "cancel": "cancel", "rerun": "rerun"}
    return {
        "id": what.id,
        "node_id": f"WFR_{what.id}",
        "name": what.name,
        "display_title": head.message.split("\n")[0],
        "path": what.path,
        "event": what.event,
        "head_branch": what.head_branch,
        "head_sha": what.head_sha,
        "head_commit": {
            "id": head.sha,
            "tree_id": head.tree,
            "message": head.message,
            "timestamp": head.committer["date"],
            "author": {key: head.author[key] for key in ("name", "email")},
            "committer": {key: head.committer[key] for key in ("name", "email")},
        },
        "repository": minimal_repository(context, one),
        "head_repository": minimal_repository(context, what.head_repository),
        "run_number": what.number,
        "run_attempt": what.attempt,
        "status": what.status,
        "conclusion": what.conclusion,
        "workflow_id": one.id,
        "check_suite_id": what.id,
        "check_suite_node_id": f"CS_{what.id}",
        "url": url,
        "html_url": web,
        **{f"{name}_url": f"{url}/{tail}" for name, tail in tails.items()},
        "check_suite_url": f"{repo_url(context, one)}/check-suites/{what.id}",
        "workflow_url": f"{repo_url(context, one)}/actions/workflows/{one.id}",
        "previous_attempt_url": None,
        "pull_requests": pulls,
        "created_at": what.created_at,
        "updated_at": what.created_at,
        "run_started_at": what.created_at,
        "actor": user(context, what.actor),
        "triggering_actor": user(context, what.actor),
    }


def artifact(context: Context, one: Repository, of: Run, what: Artifact) -> dict[str, Any]:
    url = f"{repo_url(context, one)}/actions/artifacts/{what.id}"
    return {
        "id": what.id,
        "node_id": f"AR_{what.id}",
        "name": what.name,
        "size_in_bytes": len(what.data),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": what.expired,
        "digest": f"sha256:{hashlib.sha256(what.data).hexdigest()}",
        "created_at": what.created_at,
        "updated_at": what.created_at,
        "expires_at": what.created_at.replace("2026", "2027", 1),
        "workflow_run": {
            "id": of.id,
            "repository_id": one.id,
            "head_repository_id": of.head_repository.id,
            "head_branch": of.head_branch,
            "head_sha": of.head_sha,
        },
    }


def _tip(context: Context, one: Repository, ref: str, sha: str) -> dict[str, Any]:
    return {"ref": ref, "sha": sha, "repo": {"id": one.id, "url": repo_url(context, one), "name": one.name}}

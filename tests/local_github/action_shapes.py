"""Checks, workflow runs and artifacts as the JSON that GitHub sends."""

from __future__ import annotations

import hashlib
from typing import Any

from local_github.shapes import app, minimal_repository, repo_url, repo_web, user
from local_github.state import Artifact, CheckRun, Repository, Run
from local_github.wire import Context


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

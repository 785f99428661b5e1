"""Checks, statuses, workflow runs and their artifacts."""

from __future__ import annotations

from typing import Any

from local_github import action_shapes, shapes
from local_github.api_rules import text_of
from local_github.state import Artifact, CheckRun, Run
from local_github.wire import Answer, ApiError, Context, Router, not_found

route = Router()
REPO = "/repos/{owner}/{repo}"
FIELDS = ("details_url", "external_id", "status", "conclusion", "started_at", "completed_at", "actions")


@route("POST", REPO + "/check-runs", "checks:write")
def create_check(context: Context) -> Answer:
    body = context.body()
    if context.repo.git.kind(text_of(body, "head_sha")) != "commit":
        raise ApiError(422, f"No commit found for SHA: {body.get('head_sha')}")
    if not body.get("name"):
        raise ApiError(422, 'Invalid request.\n\n"name" wasn\'t supplied.')
    check = CheckRun(
        context.world.next_id(), body["name"], body["head_sha"], context.token.app, {"status": "queued"}
    )
    check.fields["started_at"] = context.world.clock.tick()
    _update(context, check, body)
    context.repo.checks[check.id] = check
    answer = action_shapes.check_run(context, context.repo, check)
    return Answer(answer, 201, {"Location": answer["url"]})


@route("PATCH", REPO + "/check-runs/{check_run_id:int}", "checks:write")
def update_check(context: Context, check_run_id: int) -> Answer:
    check = _check(context, check_run_id)
    if check.app != context.token.app:
        raise ApiError(
            403, "Invalid app_id `15368` - check run can only be modified by the GitHub App that created it."
        )
    _update(context, check, context.body())
    return Answer(action_shapes.check_run(context, context.repo, check))


@route("GET", REPO + "/check-runs/{check_run_id:int}", "checks:read")
def get_check(context: Context, check_run_id: int) -> Answer:
    return Answer(action_shapes.check_run(context, context.repo, _check(context, check_run_id)))


@route("GET", REPO + "/check-runs/{check_run_id:int}/annotations", "checks:read")
def list_annotations(context: Context, check_run_id: int) -> Answer:
    check = _check(context, check_run_id)
    web = f"{shapes.repo_web(context, context.repo)}/blob/{check.head_sha}"
    optional = ("start_column", "end_column", "title", "raw_details")
    return context.page(
        check.annotations,
        lambda note: {**dict.fromkeys(optional), **note, "blob_href": f"{web}/{note['path']}"},
    )


@route("GET", REPO + "/commits/{ref}/check-runs", "checks:read")
def checks_of_commit(context: Context, ref: str) -> Answer:
    sha, name = context.repo.git.resolve(ref), context.request.query.get("check_name")
    checks = [one for one in context.repo.checks.values() if one.head_sha == sha and name in (None, one.name)]
    return context.page(
        checks, lambda check: action_shapes.check_run(context, context.repo, check), "check_runs"
    )


def _check(context: Context, number: int) -> CheckRun:
    check = context.repo.checks.get(number)
    if check is None:
        raise not_found()
    return check


def _update(context: Context, check: CheckRun, body: dict[str, Any]) -> None:
    if body.get("status") == "completed" and not body.get("conclusion"):
        raise ApiError(422, 'Invalid request.\n\n"conclusion" wasn\'t supplied.')
    output = body.get("output")
    if output is not None:
        if not output.get("title") or not output.get("summary"):
            raise ApiError(422, 'Invalid request.\n\n"title", "summary" weren\'t supplied.')
        for name in ("summary", "text"):
            if len(output.get(name) or "") > 65_535:
                raise ApiError(
                    422,
                    f"Invalid request.\n\nOnly 65535 characters are allowed; {len(output[name])} were supplied.",
                )
        notes = output.get("annotations", [])
        if len(notes) > 50:
            raise ApiError(
                422, f"Invalid request.\n\nNo more than 50 items are allowed; {len(notes)} were supplied."
            )
        check.annotations.extend(notes)
        check.fields["output"] = {**check.fields.get("output", {}), **output}
    check.name = body.get("name", check.name)
    check.fields.update({name: body[name] for name in FIELDS if name in body})
    if body.get("conclusion"):
        check.fields["status"] = "completed"
        check.fields.setdefault("completed_at", context.world.clock.tick())


@route("POST", REPO + "/statuses/{sha}", "statuses:write")
def create_status(context: Context, sha: str) -> Answer:
    body = context.body()
    if context.repo.git.kind(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    if body.get("state") not in ("error", "failure", "pending", "success"):
        raise ApiError(
            422, "Validation Failed", errors=[{"resource": "Status", "code": "custom", "field": "state"}]
        )
    now, number = context.world.clock.tick(), context.world.next_id()
    status = {
        "id": number,
        "node_id": f"SC_{number}",
        "url": f"{shapes.repo_url(context, context.repo)}/statuses/{sha}",
        "avatar_url": shapes.user(context, context.login)["avatar_url"],
        "state": body["state"],
        "description": body.get("description"),
        "target_url": body.get("target_url"),
        "context": body.get("context", "default"),
        "created_at": now,
        "updated_at": now,
        "creator": shapes.user(context, context.login),
    }
    context.repo.statuses.insert(0, status)
    return Answer(status, 201)


@route("GET", REPO + "/commits/{ref}/statuses", "statuses:read")
def list_statuses(context: Context, ref: str) -> Answer:
    sha = context.repo.git.resolve(ref)
    return context.page(
        [one for one in context.repo.statuses if one["url"].endswith(f"/{sha}")], lambda status: status
    )


@route("GET", REPO + "/actions/runs/{run_id:int}", "actions:read")
def get_run(context: Context, run_id: int) -> Answer:
    return Answer(action_shapes.run(context, context.repo, _run(context, run_id)))


@route("GET", REPO + "/actions/runs/{run_id:int}/artifacts", "actions:read")
def artifacts_of_run(context: Context, run_id: int) -> Answer:
    run = _run(context, run_id)
    return _artifacts(context, [(run, artifact) for artifact in run.artifacts])


@route("GET", REPO + "/actions/artifacts", "actions:read")
def artifacts_of_repository(context: Context) -> Answer:
    return _artifacts(
        context, [(run, artifact) for run in context.repo.runs.values() for artifact in run.artifacts]
    )


def _artifacts(context: Context, pairs: list[tuple[Run, Artifact]]) -> Answer:
    name = context.request.query.get("name")
    wanted = [pair for pair in reversed(pairs) if name in (None, pair[1].name)]
    return context.page(
        wanted, lambda pair: action_shapes.artifact(context, context.repo, *pair), "artifacts"
    )


@route("GET", REPO + "/actions/artifacts/{artifact_id:int}", "actions:read")
def get_artifact(context: Context, artifact_id: int) -> Answer:
    return Answer(action_shapes.artifact(context, context.repo, *_artifact(context, artifact_id)))


@route("GET", REPO + "/actions/artifacts/{artifact_id:int}/{archive_format}", "actions:download")
def download(context: Context, artifact_id: int, archive_format: str) -> Answer:
    """A redirect to another origin, which must not be sent the token."""
    _, artifact = _artifact(context, artifact_id)
    if archive_format != "zip":
        raise not_found()
    if artifact.expired:
        raise ApiError(410, "Artifact has expired")
    return Answer(status=302, headers={"Location": context.storage(artifact.data)})


def _run(context: Context, number: int) -> Run:
    run = context.repo.runs.get(number)
    if run is None:
        raise not_found()
    return run


def _artifact(context: Context, number: int) -> tuple[Run, Artifact]:
    for run in context.repo.runs.values():
        for artifact in run.artifacts:
            if artifact.id == number:
                return run, artifact
    raise not_found()

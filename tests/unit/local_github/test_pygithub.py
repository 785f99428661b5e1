"""The real PyGithub against the local GitHub; what it sent and got is held against GitHub's description."""

from __future__ import annotations

import io
import urllib.request
import zipfile
from collections.abc import Iterator

import pytest
from github import Auth, Github, GithubException, InputGitTreeElement, UnknownObjectException
from local_github import openapi
from local_github.server import LocalGitHub
from local_github.state import Repository


@pytest.fixture(autouse=True)
def _as_described(server: LocalGitHub) -> Iterator[None]:
    yield
    if openapi.available():
        assert openapi.problems(server.log) == []


def test_comments_over_three_pages(server: LocalGitHub, widget: Repository, client: Github) -> None:
    for number in range(75):
        server.add_comment(widget, 1, f"comment {number}")
    issue = client.get_repo("acme/widget").get_issue(1)
    assert [one.body for one in issue.get_comments()] == [f"comment {number}" for number in range(75)]
    asked = server.requests("GET", "*/comments")
    assert [one.query.get("page", "1") for one in asked] == ["1", "2", "3"]
    # GitHub's Link header goes by the repository's id, not its name.
    assert asked[1].path == f"/repositories/{widget.id}/issues/1/comments"


def test_a_comment_is_created_edited_and_deleted(
    server: LocalGitHub, widget: Repository, client: Github
) -> None:
    pull = client.get_repo("acme/widget").get_pull(1)
    comment = pull.create_issue_comment("first")
    assert (comment.user.login, comment.user.type) == ("github-actions[bot]", "Bot")
    comment.edit("second")
    assert comment.updated_at > comment.created_at
    assert [one.body for one in widget.issues[1].comments] == ["second"]
    assert widget.issues[1].comments[0].edits == ["first"]
    comment.delete()
    assert widget.issues[1].comments == []
    with pytest.raises(UnknownObjectException):
        comment.edit("third")
    assert [one.method for one in server.writes()] == ["POST", "PATCH", "DELETE", "PATCH"]


def test_the_viewer_is_known_by_graphql_alone(client: Github) -> None:
    with pytest.raises(GithubException, match="403"):
        _ = client.get_user().login
    _, data = client.requester.graphql_query("query { viewer { login } }", {})
    assert data["data"]["viewer"]["login"] == "github-actions[bot]"
    with pytest.raises(GithubException, match="doesn't exist on type 'Query'"):
        client.requester.graphql_query("query { weather }", {})


def test_reviews_and_who_may_write(server: LocalGitHub, widget: Repository, client: Github) -> None:
    old = widget.git.branch("change")
    server.add_review(widget, 1, user="bob", state="CHANGES_REQUESTED")
    widget.git.commit_files("change", {"docs/new.md": "# Newer\n"})
    server.add_review(widget, 1, user="bob", state="APPROVED")
    repo = client.get_repo("acme/widget")
    reviews = list(repo.get_pull(1).get_reviews())
    assert [(one.user.login, one.state) for one in reviews] == [
        ("bob", "CHANGES_REQUESTED"),
        ("bob", "APPROVED"),
    ]
    assert [one.commit_id for one in reviews] == [old, repo.get_pull(1).head.sha]
    assert repo.get_collaborator_permission("ann") == "write"
    assert repo.get_collaborator_permission("bob") == "read"


def test_a_pull_request_follows_its_branch(widget: Repository, client: Github) -> None:
    repo = client.get_repo("acme/widget")
    pull = repo.get_pull(1)
    assert {one.filename: one.status for one in pull.get_files()} == {
        "docs/config.md": "modified",
        "docs/new.md": "added",
    }
    merge = repo.get_commit(pull.merge_commit_sha)
    assert [one.sha for one in merge.parents] == [pull.base.sha, pull.head.sha]
    pushed = widget.git.commit_files("change", {"docs/new.md": None})
    assert repo.get_pull(1).head.sha == pushed
    assert widget.git.ref("refs/pull/1/head") == pushed


def test_renamed_binary_and_oddly_named_files(
    server: LocalGitHub, widget: Repository, client: Github
) -> None:
    text = "".join(f"line {at}\n" for at in range(20))
    widget.git.commit_files("main", {"docs/old name.md": text, "a.png": b"\x00\x01", "gone.md": "gone\n"})
    files = {"docs/old name.md": None, "docs/größer.md": text, "a.png": b"\x00\x02", "gone.md": None}
    widget.git.commit_files("moved", files, start="main")
    server.add_pull(widget, "moved")
    found = {one.filename: one for one in client.get_repo("acme/widget").get_pull(2).get_files()}
    told = {name: (one.status, one.additions, one.deletions) for name, one in found.items()}
    assert told == {
        "docs/größer.md": ("renamed", 0, 0),
        "a.png": ("modified", 0, 0),
        "gone.md": ("removed", 0, 1),
    }
    assert found["docs/größer.md"].previous_filename == "docs/old name.md"
    assert found["gone.md"].patch == "@@ -1 +0,0 @@\n-gone"


def test_a_branch_is_committed_and_proposed(server: LocalGitHub, widget: Repository, client: Github) -> None:
    repo = client.get_repo("acme/widget")
    main = repo.get_branch("main").commit
    element = InputGitTreeElement("baselines/docs.json", "100644", "blob", content="{}\n")
    tree = repo.create_git_tree([element], repo.get_git_tree(main.sha))
    commit = repo.create_git_commit("Refresh", tree, [main.commit])
    ref = repo.create_git_ref("refs/heads/gate/refresh", commit.sha)
    pull = repo.create_pull("main", "gate/refresh", title="Refresh", body="Why")
    assert pull.number == 2
    assert [one.filename for one in pull.get_files()] == ["baselines/docs.json"]
    assert repo.get_contents("baselines/docs.json", ref="gate/refresh").decoded_content == b"{}\n"  # type: ignore[union-attr]
    with pytest.raises(GithubException, match="already exists for acme:gate/refresh"):
        repo.create_pull("main", "gate/refresh", title="Again")
    with pytest.raises(GithubException, match="Reference already exists"):
        repo.create_git_ref("refs/heads/gate/refresh", commit.sha)
    with pytest.raises(GithubException, match="not a fast forward"):
        ref.edit(main.sha)
    ref.edit(main.sha, force=True)
    assert widget.git.branch("gate/refresh") == main.sha
    with pytest.raises(GithubException, match="through a pull request"):
        repo.get_git_ref("heads/main").edit(commit.sha)
    widget.actions_may_open_pulls = False
    with pytest.raises(GithubException, match="not permitted to create or approve pull requests"):
        repo.create_pull("main", "gate/refresh", title="Again")


def test_a_fork_is_found_by_owner_and_branch(server: LocalGitHub, widget: Repository, client: Github) -> None:
    fork = server.fork(widget, "mallory")
    head = fork.git.commit_files("patch", {"docs/new.md": "# Mine\n"}, start="main")
    server.add_pull(widget, "mallory:patch", user="mallory")
    run = server.add_run(widget, head_branch="patch", head_sha=head, head_repository=fork, actor="mallory")
    repo = client.get_repo("acme/widget")
    told = repo.get_workflow_run(run.id)
    assert (told.event, told.path, told.head_sha, told.pull_requests) == ("pull_request", run.path, head, [])
    found = list(repo.get_pulls(state="open", head="mallory:patch"))
    assert [(one.number, one.head.sha, one.head.repo.full_name) for one in found] == [
        (2, head, "mallory/widget")
    ]
    # A head without its owner filters nothing; a client must not rely on it.
    assert len(list(repo.get_pulls(state="open", head="patch"))) == 2


def test_an_artifact_comes_from_another_origin_without_the_token(
    server: LocalGitHub, widget: Repository, client: Github
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("report.json", "{}")
    run = server.add_run(widget, head_branch="change", head_sha=widget.git.branch("change") or "")
    server.add_artifact(run, "gate-report", packed.getvalue())
    repo = client.get_repo("acme/widget")
    (artifact,) = repo.get_workflow_run(run.id).get_artifacts()
    assert (artifact.name, artifact.size_in_bytes) == ("gate-report", len(packed.getvalue()))
    # PyGithub itself refuses to follow to a foreign origin, so the address is taken and fetched bare.
    status, headers, _ = client.requester.requestJson("GET", artifact.archive_download_url)
    assert status == 302
    assert not headers["location"].startswith(server.url)
    with urllib.request.urlopen(headers["location"], timeout=5) as answer:
        assert zipfile.ZipFile(io.BytesIO(answer.read())).namelist() == ["report.json"]
    assert [one["authorization"] for one in server.downloads] == [None]


def test_a_leaked_token_is_seen(server: LocalGitHub, widget: Repository, client: Github) -> None:
    run = server.add_run(widget, head_branch="change", head_sha=widget.git.branch("change") or "")
    artifact = server.add_artifact(run, "r", b"PK")
    _, headers, _ = client.requester.requestJson(
        "GET", f"/repos/acme/widget/actions/artifacts/{artifact.id}/zip"
    )
    careless = urllib.request.Request(headers["location"], headers={"Authorization": "Bearer ghs_workflow"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(careless, timeout=5)
    refused.value.close()
    assert [one["authorization"] for one in server.downloads] == ["Bearer ghs_workflow"]


def test_the_paths_of_github_enterprise() -> None:
    with LocalGitHub(prefix="/api/v3") as server:
        server.add_repository("acme/widget").git.commit_files("main", {"a": "b"})
        server.add_token("ghs_x", permissions={"issues": "write"})
        assert server.api.endswith("/api/v3")
        auth = Auth.Token("ghs_x")
        with Github(base_url=server.api, auth=auth, retry=None, seconds_between_writes=0) as client:
            repo = client.get_repo("acme/widget")
            repo.create_issue("A question").create_comment("An answer")
            assert (
                client.requester.graphql_query("{ viewer { login } }", {})[1]["data"]["viewer"]["login"]
                == "github-actions[bot]"
            )
        assert [one.path for one in server.log][-1] == "/graphql"

"""`mode: comment`: a fork's run has ended, and its artifact is judged and posted, on a GitHub on loopback."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from local_github import openapi
from local_github.faults import Fault, refused, secondary_limit, server_error
from local_github.server import LocalGitHub
from local_github.state import Comment, Issue, Repository, Run
from small_project import Outcome, Project

from gate.commands._project import load_metrics
from gate.errors import NotMeasuredError, Problem
from gate.store import baselines

TOKEN = "ghs_the_token_that_writes"
US = "github-actions[bot]"
NAME = "acme/widget"
NOT_VERIFIED = "**measured by the fork's own run, not verified**"
NOTHING_OF_THE_HEAD = ("/git/", "/contents/")


@dataclass
class Fork:
    """acme/widget, eve's fork with an open pull request, and the step on workflow_run."""

    project: Project
    github: LocalGitHub
    repository: Repository
    fork: Repository
    temporary: Path
    environment: pytest.MonkeyPatch
    pull: Issue
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    runs: int = 100

    def push(self, message: str = "change") -> str:
        """Commit the work tree and push it to eve's branch."""
        commit = self.project.commit(message)
        self.fork.git.run("fetch", "--quiet", str(self.project.root), "+HEAD:refs/heads/change")
        return commit

    @property
    def head(self) -> str:
        return self.fork.git.branch("change") or ""

    def measured(self, base: str = "main") -> str:
        """What the gate leaves behind in the fork's own run."""
        done = self.project.gate("run", "--base", base, "--json", "-")
        assert done.out, done.err
        return done.out

    def finished(
        self, report: str | bytes | None, *, name: str = "retrieval-gate--gate-1", **more: Any
    ) -> Run:
        """The run has ended and left an artifact (None: none)."""
        run = self.github.add_run(
            self.repository, head_branch="change", head_sha=self.head, head_repository=self.fork, actor="eve", **more
        )  # fmt: skip
        if report is not None:
            self.github.add_artifact(run, name, zipped(report))
        return run

    def step(self, run: Run, payload: dict[str, Any] | None = None, **inputs: str) -> Outcome:
        """The step of action.yml, as a run of its own."""
        self.runs += 1
        out, summary, event = (self.temporary / name for name in ("outputs", "summary.md", "event.json"))
        out.write_text("")
        summary.write_text("")
        event.write_text(json.dumps(payload if payload is not None else self.payload(run)))
        values = {
            "GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_EVENT_PATH": str(event),
            "GITHUB_EVENT_NAME": "workflow_run", "GITHUB_REPOSITORY": NAME, "GITHUB_API_URL": self.github.api,
            "GITHUB_SERVER_URL": self.github.url, "GITHUB_RUN_ID": str(self.runs), "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.temporary / "empty"), "GATE_TOKEN": TOKEN,
            "RUNNER_TEMP": str(self.temporary), "INPUT_MODE": "comment",
        }  # fmt: skip
        for key, value in {
            **values,
            **{f"INPUT_{key.upper()}": value for key, value in inputs.items()},
        }.items():
            self.environment.setenv(key, value)
        elsewhere = Project(self.temporary / "empty", self.project.capture)
        elsewhere.root.mkdir(exist_ok=True)
        done = elsewhere.gate("action", "fork")
        assert list(elsewhere.root.iterdir()) == []
        for key in (*values, *(f"INPUT_{key.upper()}" for key in inputs)):
            self.environment.delenv(key)
        text = out.read_text(encoding="utf-8")
        self.outputs = dict(re.findall(r"^([\w-]+)<<(?:gate-\w+)\n(.*)\ngate-\w+$", text, re.MULTILINE))
        self.summary = summary.read_text(encoding="utf-8")
        assert TOKEN not in done.out.replace(f"::add-mask::{TOKEN}\n", "") + done.err + self.summary + text
        return done

    def payload(self, run: Run, **more: Any) -> dict[str, Any]:
        finished = {
            "id": run.id, "event": run.event, "path": run.path, "head_sha": run.head_sha, "head_branch": run.head_branch,
            "head_repository": {
                "full_name": run.head_repository.full_name, "owner": {"login": run.head_repository.owner},
            },
            "actor": {"login": run.actor},
        }  # fmt: skip
        return {
            "repository": {"full_name": NAME, "default_branch": "main"},
            "workflow_run": {**finished, **more},
        }

    @property
    def comments(self) -> list[Comment]:
        return self.pull.comments

    @property
    def comment(self) -> str:
        (only,) = self.comments
        assert only.author == US
        return only.body


def zipped(report: str | bytes) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("report.json", report)
        opened.writestr("templates/docs/comment.md.j2", "{{ evil }}")
        opened.writestr("fault.md", "### pass @everyone")
    return into.getvalue()


@pytest.fixture
def fork(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fork]:
    with LocalGitHub() as github:
        github.add_token(TOKEN, permissions={"contents": "read", "pull_requests": "write", "actions": "read"})
        repository = github.add_repository(NAME, collaborators={"ann": "write"})
        repository.git.run("fetch", "--quiet", str(project.root), "+refs/heads/main:refs/heads/main")
        theirs = github.fork(repository, "eve")
        project.edit("docs/news.md", "grew", "grew a lot")
        project.commit("news")
        theirs.git.run("fetch", "--quiet", str(project.root), "+HEAD:refs/heads/change")
        pull = github.add_pull(repository, "eve:change", user="eve", title="A change")
        github.clear_log()
        temporary = tmp_path / "runner"
        temporary.mkdir()
        yield Fork(project, github, repository, theirs, temporary, monkeypatch, pull)
        if openapi.available():
            assert openapi.problems([one for one in github.log if one.fault is None]) == []


def lose_a_case(fork: Fork) -> None:
    fork.project.edit("docs/errors.md", "E101", "E909")
    fork.project.edit("docs/errors.md", "WidgetJam", "Jam")
    fork.push("lose a case")


def unclaimed(fork: Fork, report: str) -> str:
    """The report without a base that GitHub knows."""
    return report.replace(fork.project.git("rev-parse", "main").strip(), "0" * 40)


def test_what_a_fork_measured_is_judged_and_posted(fork: Fork) -> None:
    run = fork.finished(fork.measured())
    done = fork.step(run)
    assert done.code == 0, done.out + done.err
    lines = fork.comment.splitlines()
    assert lines[0].startswith(f"<!-- retrieval-gate suite=docs key= head={fork.head} run=101 ")
    assert lines[1:3] == [NOT_VERIFIED, ""]
    assert "### ✅ pass" in fork.comment
    assert fork.outputs == {
        "verdict": "pass",
        "exit-code": "0",
        "comment-url": f"{fork.github.url}/{NAME}/pull/1#issuecomment-{fork.comments[0].id}",
    }
    assert f"{NOT_VERIFIED} · [its log]({fork.github.url}/{NAME}/actions/runs/{run.id})" in fork.summary
    assert "### ✅ pass" in fork.summary
    # The storage was not shown the token, and nothing was written but the comment.
    assert [one["authorization"] for one in fork.github.downloads] == [None]
    assert [one.method for one in fork.github.writes()] == ["POST"]


def test_a_regression_of_a_fork_is_told_and_later_resolved_in_the_same_comment(fork: Fork) -> None:
    lose_a_case(fork)
    report = fork.measured()
    assert json.loads(report)["verdict"] == "regression"
    done = fork.step(fork.finished(report))
    # The fork's own check has failed; this job did what it was for.
    assert (done.code, fork.outputs["verdict"], fork.outputs["exit-code"]) == (0, "regression", "0")
    assert "\n### ❌ regression: " in fork.comment
    assert "q-02" in fork.comment
    fork.project.git("revert", "--no-edit", "HEAD")
    fork.push()
    fork.step(fork.finished(fork.measured()))
    assert "**Resolved: the regression that stood here is gone.**" in fork.comment
    assert fork.comment.splitlines()[1].startswith(NOT_VERIFIED)
    fork.github.clear_log()
    done = fork.step(fork.finished(fork.measured()))
    assert "comment: nothing, the comment says this already" in done.out
    assert fork.github.writes() == []


def test_a_verdict_that_the_fork_wrote_itself_is_not_believed(fork: Fork) -> None:
    lose_a_case(fork)
    report = json.loads(fork.measured())
    report["verdict"] = report["suites"][0]["verdict"] = "pass"
    report["suites"][0]["comparison"], report["suites"][0]["findings"] = {}, []
    fork.step(fork.finished(json.dumps(report)))
    assert fork.outputs["verdict"] == "regression"


def test_the_rules_are_those_of_the_base(fork: Fork) -> None:
    lose_a_case(fork)
    fork.project.write(
        "gate.toml", fork.project.read("gate.toml") + '[suite.docs.policy]\nkinds = ["semantic"]\n'
    )
    assert fork.project.gate("baseline", "docs", "--reason", "mine").code == 0
    fork.push("lower the bar")
    fork.step(fork.finished(fork.measured()))
    assert fork.outputs["verdict"] == "regression"
    heads = {fork.head, fork.repository.git.ref("refs/pull/1/head")}
    assert not [
        one
        for one in fork.github.log
        if any(head and head in one.path for head in heads) and "/git/" in one.path
    ]


def test_an_accepted_loss_of_the_base_counts(fork: Fork) -> None:
    lose_a_case(fork)
    report = json.loads(fork.measured())
    suite = report["suites"][0]
    lost = suite["comparison"]["keyword"]["lost"]
    entries = [
        f'[[accepted]]\nname = "{move["id"]}"\narm = "keyword"\nreason = "meant"\n'
        f'case_sha256 = "{suite["labels"][move["id"]]["sha256"]}"\nbaseline_sha256 = "{suite["baseline"]["sha256"]}"\n'
        f"down_to = {{ recall = {move['scores']['recall'][1]} }}\n"
        for move in lost
    ]
    assert entries
    fork.repository.git.commit_files("main", {"baselines/docs.accepted.toml": "".join(entries)})
    suite["verdict"] = "pass"
    fork.step(fork.finished(unclaimed(fork, json.dumps(report))))
    assert fork.outputs["verdict"] == "pass"
    assert "meant" in fork.comment


def test_the_base_may_have_gone_on_since_the_run(fork: Fork) -> None:
    report = fork.measured(fork.project.git("rev-parse", "main").strip())
    baseline = json.loads(fork.project.read("baselines/docs.json"))
    del baseline["cases"]["q-02"]
    fork.repository.git.commit_files("main", {"baselines/docs.json": json.dumps(baseline)})
    done = fork.step(fork.finished(report))
    # Main's new baseline would be refused (it contradicts itself); the one of the run's own base decides.
    assert fork.outputs["verdict"] == "pass", done.out


def test_a_monorepo(fork: Fork) -> None:
    files = {
        f"team/{name}": content.decode()
        for name, content in fork.project.files().items()
        if name != "README.md"
    }
    fork.repository.git.commit_files("main", {**files, "gate.toml": "not for us"})
    report = unclaimed(fork, fork.measured())
    for inputs in (
        {"working_directory": "team"},
        {"working_directory": "team/docs"},
        {"config": "team/gate.toml"},
    ):
        fork.step(fork.finished(report), **inputs)
        assert fork.outputs["verdict"] == "pass", inputs
    for inputs in (
        {"working_directory": "../x"},
        {"config": "/etc/passwd"},
        {"config": "nowhere.toml"},
        {"suite": "dcos"},
    ):
        assert fork.step(fork.finished(report), **inputs).code == 2, inputs


def test_a_combined_comment_and_a_key(fork: Fork) -> None:
    report = fork.measured()
    run = fork.finished(report, name="retrieval-gate-en-gate-1")
    fork.github.add_artifact(run, "retrieval-gate-de-gate-1", b"")
    fork.step(run, comment_layout="combined", comment_key="en")
    assert fork.comment.startswith("<!-- retrieval-gate suite=%2A key=en ")
    assert fork.step(run).code == 2


# -- whose run it was


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"event": "push"}, "the finished run was for 'push', not pull_request"),
        ({"event": "pull_request_target"}, "not pull_request"),
        ({"path": ".github/workflows/evil.yml"}, "the finished run was of '.github/workflows/evil.yml'"),
        ({"path": ".github/workflows/gate.yml/../evil.yml"}, "the finished run was of"),
        ({"head_branch": None}, "does not say whose branch was measured"),
        ({"head_repository": None}, "does not say whose branch was measured"),
        ({"id": None}, "belongs to workflow_run"),
    ],
)
def test_another_run_is_refused(fork: Fork, payload: dict[str, Any], said: str) -> None:
    run = fork.finished(fork.measured())
    done = fork.step(run, fork.payload(run, **payload))
    assert (done.code, fork.outputs) == (2, {"verdict": "invalid", "exit-code": "2"})
    assert said in done.out
    assert fork.github.log == []


def test_another_workflow_may_be_named(fork: Fork) -> None:
    run = fork.finished(fork.measured(), path=".github/workflows/search.yml")
    assert fork.step(run).code == 2
    assert fork.step(run, workflow=".github/workflows/search.yml").code == 0


def test_a_run_of_the_repository_itself_has_commented_itself(fork: Fork) -> None:
    fork.repository.git.run("fetch", "--quiet", str(fork.project.root), "+HEAD:refs/heads/change")
    run = fork.finished(fork.measured())
    own = {"full_name": NAME, "owner": {"login": "acme"}}
    done = fork.step(run, fork.payload(run, head_repository=own, actor={"login": "ann"}))
    assert (done.code, fork.outputs) == (0, {"exit-code": "0"})
    assert "has commented itself" in done.out
    assert fork.github.log == []


def test_dependabot_counts_as_a_fork(fork: Fork) -> None:
    fork.repository.git.run("fetch", "--quiet", str(fork.project.root), "+HEAD:refs/heads/bump")
    pull = fork.github.add_pull(fork.repository, "bump", user="dependabot[bot]")
    run = fork.finished(fork.measured())
    own = {"full_name": NAME, "owner": {"login": "acme"}}
    who = {"login": "dependabot[bot]"}
    done = fork.step(run, fork.payload(run, head_repository=own, head_branch="bump", actor=who))
    assert done.code == 0, done.out
    assert [comment.author for comment in pull.comments] == [US]


def test_a_head_that_has_moved_on_gets_no_comment(fork: Fork) -> None:
    run = fork.finished(fork.measured())
    fork.project.write("docs/other.md", "# Other\n")
    fork.push()
    done = fork.step(run)
    assert (done.code, fork.outputs) == (0, {"exit-code": "0"})
    assert "no open pull request has this commit as its head any more" in done.out
    assert fork.comments == []


def test_a_head_that_moves_on_meanwhile_gets_no_comment(fork: Fork) -> None:
    run = fork.finished(fork.measured())
    fork.project.write("docs/other.md", "# Other\n")
    fork.github.before_next("GET", "/repos/acme/widget/actions/artifacts/*", fork.push)
    done = fork.step(run)
    assert done.code == 0
    assert "the pull request's head has moved on" in done.out
    assert fork.comments == []


def test_a_closed_pull_request_gets_no_comment(fork: Fork) -> None:
    run = fork.finished(fork.measured())
    fork.pull.state = "closed"
    assert fork.step(run).code == 0
    assert fork.comments == []


def test_two_pull_requests_of_one_head_are_refused(fork: Fork) -> None:
    fork.repository.git.run("branch", "stable", "main")
    other = fork.github.add_pull(fork.repository, "eve:change", "stable", user="eve")
    done = fork.step(fork.finished(fork.measured()))
    assert done.code == 2
    assert f"several open pull requests have this commit as their head (#{other.number}, #1)" in done.out
    for comments in (fork.comments, other.comments):
        (comment,) = comments
        assert "### ⛔ invalid: nothing could be judged" in comment.body


def test_a_pull_request_that_the_artifact_names_is_not_asked_about(fork: Fork) -> None:
    """Another person's pull request is never written to, whatever stands in the artifact."""
    fork.repository.git.commit_files("ann", {"docs/ann.md": "# Ann\n"}, "ann", "main")
    victim = fork.github.add_pull(fork.repository, "ann", user="ann")
    run = fork.finished(fork.measured())
    fork.github.add_artifact(run, "pull-request-number", b"2")
    payload = fork.payload(run, pull_requests=[{"number": victim.number}])
    fork.step(run, payload)
    assert (len(fork.comments), victim.comments) == (1, [])


# -- hostile artifacts


def test_no_artifact_and_an_expired_one(fork: Fork) -> None:
    fork.step(fork.finished(fork.measured()))
    assert "### ✅ pass" in fork.comment
    done = fork.step(fork.finished(None))
    assert done.code == 2
    assert "is missing" in done.out
    # The green comment of the run before does not stand for this one.
    assert "### ⛔ invalid: nothing could be judged" in fork.comment
    assert fork.comment.splitlines()[0].startswith("<!-- retrieval-gate suite=docs ")
    run = fork.finished(None)
    fork.github.add_artifact(run, "retrieval-gate--gate-1", b"x", expired=True)
    assert fork.step(run).code == 2
    assert "has expired" in fork.comment


def test_the_newest_attempt_is_read(fork: Fork) -> None:
    run = fork.finished("{}", name="retrieval-gate--gate-1")
    fork.github.add_artifact(run, "retrieval-gate--gate-2", zipped(fork.measured()))
    fork.step(run)
    assert fork.outputs["verdict"] == "pass"


@pytest.mark.parametrize(
    "report",
    ["{}", "", "[" * 100_000, '{"schema": "retrieval-gate/report/1", "verdict": "@everyone", "suites": []}', b"\xff\xfe",
     '{"schema": "retrieval-gate/report/1", "verdict": "pass", "suites": [], "@everyone\\n::error::x <b>": 1}'],
)  # fmt: skip
def test_a_report_that_is_none(fork: Fork, report: str | bytes) -> None:
    done = fork.step(fork.finished(report))
    assert (done.code, fork.outputs) == (2, {"verdict": "invalid", "exit-code": "2"})
    assert fork.comment.splitlines()[1].startswith(NOT_VERIFIED)
    assert "### ⛔ invalid: nothing could be judged" in fork.comment
    assert "@everyone" not in fork.comment
    assert "<b>" not in fork.comment
    lines = [line for line in done.out.splitlines() if line.startswith("::")]
    assert [line.split("::")[1] for line in lines] == ["add-mask", "error"]


def test_a_bomb_and_an_artifact_that_is_too_large(fork: Fork) -> None:
    run = fork.finished(bytes(120_000_000))
    assert fork.step(run).code == 2
    assert "unpacks to more than 100,000,000 bytes" in fork.comment
    run = fork.finished(None)
    fork.github.add_artifact(run, "retrieval-gate--gate-1", b"PK" * 11_000_000)
    assert fork.step(run).code == 2
    assert "is larger than 20,000,000 bytes" in fork.comment


def test_a_hostile_artifact_leaves_no_file_and_runs_no_template(fork: Fork) -> None:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as opened:
        opened.writestr("report.json", fork.measured())
        for name in ("../../evil", "/tmp/retrieval-gate-evil", "templates/docs/comment.md.j2"):
            opened.writestr(name, "{% block title %}@everyone{% endblock %}")
    run = fork.finished(None)
    fork.github.add_artifact(run, "retrieval-gate--gate-1", into.getvalue())
    assert fork.step(run).code == 0
    left = sorted(path.relative_to(fork.temporary).as_posix() for path in fork.temporary.rglob("*"))
    assert left == ["empty", "event.json", "outputs", "summary.md"]
    assert "@everyone" not in fork.comment
    assert not Path("/tmp/retrieval-gate-evil").exists()


# -- a base that is of no use, and a GitHub that does not answer


def test_a_policy_of_the_base_s_own_code_cannot_decide_here(fork: Fork) -> None:
    text = fork.project.git("show", "main:gate.toml") + '[suite.docs.policy]\nrule = "own.rule:policy"\n'
    report = fork.measured()
    fork.repository.git.commit_files("main", {"gate.toml": text})
    done = fork.step(fork.finished(unclaimed(fork, report)))
    assert done.code == 2
    assert "the policy 'own.rule:policy' is code that is not checked out here" in done.out


@pytest.mark.parametrize("text", ["not toml [", None])
def test_a_base_without_a_readable_config(fork: Fork, text: str | None) -> None:
    report = unclaimed(fork, fork.measured())
    if text is None:
        tip = fork.repository.git.branch("main") or ""
        tree = fork.repository.git.write_tree(tip, [("gate.toml", "100644", None)])
        fork.repository.git.set_ref("refs/heads/main", fork.repository.git.write_commit(tree, [tip], "gone"))
    else:
        fork.repository.git.commit_files("main", {"gate.toml": text})
    assert fork.step(fork.finished(report)).code == 2
    assert "gate.toml" in fork.comment


@pytest.mark.parametrize(
    ("method", "path", "fault"),
    [
        ("GET", "/repos/acme/widget/pulls", refused(401, "Bad credentials")),
        ("GET", "/repos/acme/widget/actions/runs/*", refused(403, "Resource not accessible by integration")),
        ("GET", "/repos/acme/widget/actions/artifacts/*", refused(404, "Not Found")),
        ("GET", "/repos/acme/widget/git/trees/*", refused(404, "Not Found")),
        ("GET", "/repos/acme/widget/pulls", Fault(200, "oops")),
    ],
)
def test_a_github_that_says_no_is_not_measured(fork: Fork, method: str, path: str, fault: Fault) -> None:
    run = fork.finished(fork.measured())
    fork.github.fail_next(method, path, fault, times=99)
    done = fork.step(run)
    assert (done.code, fork.outputs) == (3, {"verdict": "not_measured", "exit-code": "3"})
    assert "::error::the run's report could not be read" in done.out
    assert fork.comments == []


@pytest.mark.parametrize(
    "fault", [refused(404, "Not Found"), refused(422, "No commit found for SHA: 0123")], ids=["404", "422"]
)
def test_a_merge_commit_that_github_has_forgotten_leads_to_the_merge_base(fork: Fork, fault: Fault) -> None:
    run = fork.finished(fork.measured())
    fork.github.fail_next("GET", "/repos/acme/widget/commits/*", fault, times=99)
    done = fork.step(run)
    assert (done.code, fork.outputs["verdict"]) == (0, "pass"), done.out
    assert [one for one in fork.github.log if "/compare/" in one.path]


def test_other_faults_about_the_merge_commit_are_githubs(fork: Fork) -> None:
    run = fork.finished(fork.measured())
    fork.github.fail_next("GET", "/repos/acme/widget/commits/*", refused(403, "Not for you"), times=99)
    assert fork.step(run).code == 3
    assert fork.outputs["verdict"] == "not_measured"


def test_a_fault_says_itself_how_it_ends(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is judged here fails like this today; what a metric of tomorrow may raise must not read as invalid."""

    def failing(*_: object) -> None:
        raise NotMeasuredError(Problem("metric 'judge'", "did not answer"))

    run = fork.finished(fork.measured())
    monkeypatch.setattr("gate.github.fork.judge", failing)
    done = fork.step(run)
    assert (done.code, fork.outputs) == (3, {"verdict": "not_measured", "exit-code": "3"})
    assert "### ⛔ not measured: nothing could be judged" in fork.comment
    assert "verdict=not_measured" in fork.comment


@pytest.mark.parametrize(
    "fault",
    [
        refused(403, "Resource not accessible by integration"),
        refused(404, "Not Found"),
        refused(422, "Validation Failed"),
        server_error(502),
        secondary_limit(retry_after=500),
    ],
)
def test_a_comment_that_cannot_be_written_is_a_warning(fork: Fork, fault: Fault) -> None:
    run = fork.finished(fork.measured())
    fork.github.fail_next("POST", "*/comments", fault, times=99)
    done = fork.step(run)
    assert (done.code, fork.outputs) == (0, {"verdict": "pass", "exit-code": "0"})
    assert "::warning::the comment could not be written; the job summary has it" in done.out
    assert "### ✅ pass" in fork.summary


# -- what the repository's own people say meanwhile


def accept_it(fork: Fork) -> None:
    """The fork loses a case and accepts that itself."""
    fork.project.edit("docs/errors.md", "E101", "E909")
    fork.project.edit("docs/errors.md", "WidgetJam", "Jam")
    baseline = fork.project.read("baselines/docs.json")
    assert fork.project.gate("baseline", "docs", "--reason", "E101 was retired").code == 0
    fork.project.write("baselines/docs.json", baseline)
    fork.push("accept a loss")


def policy(fork: Fork, text: str) -> None:
    """Main gets a policy; the fork had it already when it branched off."""
    config = f"{fork.project.read('gate.toml')}\n[suite.docs.policy]\n{text}\n"
    fork.repository.git.commit_files("main", {"gate.toml": config})
    fork.project.git("fetch", "--quiet", str(fork.repository.git.path), "+refs/heads/main:main")
    fork.project.git("rebase", "--quiet", "main")
    fork.push()


@pytest.mark.parametrize(
    ("reviewer", "state", "of_head", "verdict"),
    [
        ("ann", "APPROVED", True, "pass"),
        ("ann", "APPROVED", False, "regression"),
        ("ann", "CHANGES_REQUESTED", True, "regression"),
        ("eve", "APPROVED", True, "regression"),
        (None, "", True, "regression"),
    ],
)
@pytest.mark.parametrize("rule", ["approval = true", "approval = false"])
def test_losses_that_a_fork_accepts_count_once_a_maintainer_has_approved_its_head(
    fork: Fork, reviewer: str | None, state: str, of_head: bool, verdict: str, rule: str
) -> None:
    policy(fork, rule)
    earlier = fork.head
    accept_it(fork)
    if reviewer is not None:
        commit = fork.head if of_head else earlier
        fork.github.add_review(fork.repository, 1, user=reviewer, state=state, commit=commit)
    report = json.loads(fork.measured())
    report["verdict"] = report["suites"][0]["verdict"] = (
        "pass"  # what its run says once that has seen the review
    )
    fork.step(fork.finished(json.dumps(report)))
    assert fork.outputs["verdict"] == verdict
    told = "this change accepts 1 of its own losses" in fork.comment
    assert told == (verdict == "pass")
    assert ("E101 was retired" in fork.comment) == (verdict == "pass")
    assert "await an approving review" not in fork.comment


def test_a_base_that_takes_no_accepted_losses_from_a_change(fork: Fork) -> None:
    policy(fork, 'accept = "base"')
    accept_it(fork)
    fork.github.add_review(fork.repository, 1, user="ann")
    fork.step(fork.finished(fork.measured()))
    assert fork.outputs["verdict"] == "regression"
    assert "takes no accepted losses from a change" in fork.comment


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[accepted]]\nname = 7\n", "entry 1: 'reason' is missing"),
        ("\x00", "baselines/docs.accepted.toml"),
        (
            "x" * 1_000_001,
            "baselines/docs.accepted.toml: has 1,000,001 bytes, more than the 1,000,000 that are read.",
        ),
    ],
    ids=["no entry", "no text", "too large"],
)
def test_approved_losses_that_cannot_be_read_excuse_nothing(fork: Fork, text: str, said: str) -> None:
    lose_a_case(fork)
    report = fork.measured()
    fork.project.write("baselines/docs.accepted.toml", text)
    fork.push()
    fork.github.add_review(fork.repository, 1, user="ann")
    done = fork.step(fork.finished(report))
    assert (done.code, fork.outputs["verdict"]) == (0, "regression")
    (warning,) = [line for line in done.out.splitlines() if line.startswith("::warning::")]
    assert warning.startswith(
        "::warning::docs: what the change accepts is not read, so it excuses no loss here: "
    )
    assert said in warning


def test_losses_of_one_suite_that_cannot_be_read_leave_the_others_theirs(fork: Fork) -> None:
    second_suite(fork, baseline=True)
    fork.project.write("gate.toml", fork.project.git("show", "main:gate.toml"))
    accept_it(fork)
    assert fork.project.gate("baseline", "second", "--reason", "E101 was retired").code == 0
    fork.project.write("baselines/second.json", fork.project.git("show", "main:baselines/second.json"))
    report = json.loads(fork.measured())
    for suite in (report, *report["suites"]):
        suite["verdict"] = "pass"  # what a run says once it has seen the review
    fork.project.write("baselines/docs.accepted.toml", "[[accepted]]\nname = 7\n")
    fork.push()
    fork.github.add_review(fork.repository, 1, user="ann")
    fork.step(fork.finished(json.dumps(report)))
    bodies = {
        suite: one.body
        for one in fork.comments
        for suite in ("docs", "second")
        if f"suite={suite} " in one.body
    }
    found = {suite: body.partition(" verdict=")[2].split(" ")[0] for suite, body in bodies.items()}
    assert found == {"docs": "regression", "second": "pass"}


def test_reviews_that_cannot_be_read_approve_nothing(fork: Fork) -> None:
    accept_it(fork)
    fork.github.add_review(fork.repository, 1, user="ann")
    fork.github.fail_next(
        "GET", "*/pulls/1/reviews", refused(403, "Resource not accessible by integration"), 9
    )
    done = fork.step(fork.finished(fork.measured()))
    assert (done.code, fork.outputs["verdict"]) == (0, "regression")
    assert "::warning::the reviews could not be read, so nothing is approved (GitHub answered 403" in done.out


FOOTER = '{% extends "gate/comment.md.j2" %}\n{% block footer %}\nAsk in the docs channel.\n{% endblock %}\n'


def with_templates(fork: Fork, files: dict[str, str]) -> None:
    config = fork.project.read("gate.toml").replace("k = 2", 'templates = "words"\nk = 2')
    named = {f"words/{name}": text for name, text in files.items()}
    fork.repository.git.commit_files("main", {"gate.toml": config, **named})


def test_templates_are_those_of_the_default_branch(fork: Fork) -> None:
    with_templates(
        fork, {"comment.md.j2": FOOTER, "notes.txt": "no template", "deep/er.j2": "{{ no template }}"}
    )
    theirs = fork.project.read("gate.toml").replace("k = 2", 'templates = "mine"\nk = 2')
    fork.project.write("gate.toml", theirs)
    fork.project.write("mine/comment.md.j2", FOOTER.replace("Ask in the docs channel.", "Merge me."))
    fork.push()
    done = fork.step(fork.finished(fork.measured()))
    assert "warning" not in done.out
    assert fork.comment.rstrip().endswith("Ask in the docs channel.")
    assert "Merge me." not in fork.comment
    assert fork.comment.splitlines()[1] == NOT_VERIFIED


@pytest.mark.parametrize(
    "template", ["{% block nothing %}{% endblock %}", "{% extends 'gate/comment.md.j2' %}{{", "{{ evil }}"]
)
def test_a_broken_template_is_a_warning_and_the_comment_stands_without_it(fork: Fork, template: str) -> None:
    with_templates(fork, {"comment.md.j2": template})
    done = fork.step(fork.finished(fork.measured()))
    assert (done.code, fork.outputs["verdict"]) == (0, "pass")
    assert "::warning::the templates of docs are not used: " in done.out
    assert "### ✅ pass" in fork.comment


def test_a_folder_of_templates_that_is_not_there_is_a_warning(fork: Fork) -> None:
    with_templates(fork, {})
    done = fork.step(fork.finished(fork.measured()))
    assert "::warning::the templates of the default branch are not used: words: is no folder" in done.out
    assert "### ✅ pass" in fork.comment


# -- a suite that the fork removes


def second_suite(fork: Fork, *, baseline: bool, accepted: str = "") -> None:
    """Main gets a second suite; the fork had it already when it branched off."""
    text = fork.project.read("gate.toml")
    fork.project.write("gate.toml", text + text.replace("suite.docs", "suite.second"))
    if baseline:
        assert fork.project.gate("baseline", "second").code == 0
    if accepted:
        fork.project.write(
            "baselines/second.accepted.toml",
            f'[[accepted]]\nwhat = "suite"\nname = "second"\nreason = "{accepted}"\n'
            f'baseline_sha256 = "{digest(fork, "second")}"\n',
        )
    fork.push("a second suite")
    fork.repository.git.run("fetch", "--quiet", str(fork.project.root), "+HEAD:refs/heads/main")
    fork.project.git("branch", "--quiet", "--force", "main", "HEAD")
    fork.project.write("gate.toml", text)


def digest(fork: Fork, suite: str) -> str:
    metrics = load_metrics()
    return baselines.parse(fork.project.read(f"baselines/{suite}.json"), "x", suite, metrics).sha256()


def told(report: str | dict[str, Any], suite: str) -> tuple[str, list[tuple[str, str, str]]]:
    """The verdict of a suite in a report of `gate run`, and what it found."""
    whole = json.loads(report) if isinstance(report, str) else report
    (one,) = [found for found in whole["suites"] if found["suite"] == suite]
    return one["verdict"], [(found["level"], found["code"], found["text"]) for found in one["findings"]]


@pytest.mark.parametrize("left", ["as it was", "left out"])
@pytest.mark.parametrize(
    ("baseline", "accepted", "verdict", "said"),
    [
        (True, "", "invalid", "the suite 'second' of the base is absent here"),
        (
            True,
            "moved to the handbook",
            "pass",
            "the suite 'second' is gone, accepted: moved to the handbook",
        ),
        (False, "", "pass", "the base had no baseline of it, so it guarded nothing"),
    ],
)
def test_a_removed_suite_is_judged_as_on_a_branch(
    fork: Fork, baseline: bool, accepted: str, verdict: str, said: str, left: str
) -> None:
    second_suite(fork, baseline=baseline, accepted=accepted)
    fork.push("remove it")
    report = fork.measured()
    on_branch, ((_, code, text),) = told(report, "second")
    assert (on_branch, code) == (verdict, "suite-absent")
    assert said in text
    if left == "left out":
        whole = json.loads(report)
        whole["suites"] = [suite for suite in whole["suites"] if suite["suite"] != "second"]
        whole["verdict"] = "pass"
        report = json.dumps(whole)
    fork.step(fork.finished(report))
    assert fork.outputs["verdict"] == verdict, fork.summary
    (comment,) = [one.body for one in fork.comments if "suite=second " in one.body]
    assert said.replace("'", "&#39;") in comment or said in comment


@pytest.mark.parametrize(("reviewed", "verdict"), [(True, "pass"), (False, "invalid")])
def test_a_removal_that_the_fork_accepts_counts_once_it_is_approved(
    fork: Fork, reviewed: bool, verdict: str
) -> None:
    second_suite(fork, baseline=True)
    fork.project.write(
        "baselines/second.accepted.toml",
        f'[[accepted]]\nwhat = "suite"\nname = "second"\nreason = "moved"\nbaseline_sha256 = "{digest(fork, "second")}"\n',
    )
    fork.push("remove it")
    if reviewed:
        fork.github.add_review(fork.repository, 1, user="ann")
    report = fork.measured()
    assert told(report, "second")[0] == "pass"
    fork.step(fork.finished(report))
    assert fork.outputs["verdict"] == verdict


def test_a_run_that_calls_an_absent_suite_worse_is_heard(fork: Fork) -> None:
    second_suite(fork, baseline=False)
    fork.push("remove it")
    report = json.loads(fork.measured())
    report["suites"][1]["verdict"] = report["verdict"] = "regression"
    fork.step(fork.finished(json.dumps(report)))
    assert fork.outputs["verdict"] == "regression"

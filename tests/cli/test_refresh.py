"""Refreshing a baseline: one job measures twice, the other proposes what it left, on a GitHub on loopback."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from local_github import openapi
from local_github.faults import refused
from local_github.server import LocalGitHub
from local_github.state import Issue, Repository
from small_project import Outcome, Project

NAME = "acme/widget"
TOKEN = "ghs_the_token_that_writes"
BRANCH = "retrieval-gate/baseline-docs"
BASELINE = "baselines/docs.json"
ACCEPTED = "baselines/docs.accepted.toml"
REASON = "max_size was renamed"
EVIL = '"; rm -rf / #`id` ${{ github.token }} @everyone fixes #1 <b>|[skip ci]'


@dataclass
class Refresh:
    """A repository on a local GitHub, its clone, and the two jobs of the workflow."""

    project: Project
    github: LocalGitHub
    repository: Repository
    temporary: Path
    environment: pytest.MonkeyPatch
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""

    @property
    def folder(self) -> Path:
        return self.temporary / "retrieval-gate"

    def push(self) -> str:
        """Commit the work tree and make it the main branch of the repository."""
        commit = self.project.commit()
        self.repository.git.run("fetch", "--quiet", str(self.project.root), "+HEAD:refs/heads/main")
        return commit

    def step(self, name: str, *, token: str = "", event: str = "workflow_dispatch", **inputs: Any) -> Outcome:
        """One step of action.yml with these inputs; `outputs` and `summary` are what it left."""
        out, summary = self.temporary / "outputs", self.temporary / "summary.md"
        out.write_text("")
        summary.write_text("")
        payload = self.temporary / "event.json"
        payload.write_text(
            json.dumps({"repository": {"full_name": NAME, "default_branch": "main"}, "inputs": {}})
        )
        values = {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_REF": inputs.pop("ref", "refs/heads/main"),
            "GITHUB_SHA": self.project.git("rev-parse", "HEAD").strip(),
            "GITHUB_RUN_ID": "7001",
            "GITHUB_API_URL": self.github.api,
            "GITHUB_SERVER_URL": self.github.url,
            "GITHUB_OUTPUT": str(out),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(self.temporary),
        }
        values |= {f"INPUT_{key.upper()}": str(value) for key, value in inputs.items()}
        with self.environment.context() as patch:
            for key, value in values.items():
                patch.setenv(key, value)
            if token:
                patch.setenv("GATE_TOKEN", token)
            done = self.project.gate("action", name)
        found = re.findall(r"^([\w-]+)<<(gate-\w+)\n(.*?)\n\2$", out.read_text(), re.MULTILINE | re.DOTALL)
        self.outputs = {name: value for name, _, value in found}
        self.summary = summary.read_text()
        return done

    def measure(self, **inputs: Any) -> Outcome:
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.step("measure", mode="refresh", **inputs)

    def propose(self, *, token: str = TOKEN, **inputs: Any) -> Outcome:
        return self.step("propose", mode="propose", token=token, **inputs)

    def both(self, **inputs: Any) -> Outcome:
        done = self.measure(**inputs)
        assert (done.code, self.outputs["exit-code"]) == (0, "0"), done.out
        return self.propose(**inputs)

    @property
    def pulls(self) -> list[Issue]:
        return [issue for issue, _ in self.repository.pulls()]

    def at(self, path: str, branch: str = BRANCH) -> str | None:
        """The text of a file on a branch of the repository."""
        entry = self.repository.git.entry(f"refs/heads/{branch}", path)
        return self.repository.git.blob(entry["sha"]).decode() if entry else None

    def changed(self, branch: str = BRANCH) -> set[str]:
        """The files in which a branch differs from main."""
        names = self.repository.git.text("diff", "--name-only", "main", branch)
        return set(names.split())

    def branches(self) -> set[str]:
        return {name.removeprefix("refs/heads/") for name in self.repository.git.refs()}

    def outcome(self) -> tuple[str, str]:
        return self.outputs["verdict"], self.outputs["exit-code"]


@pytest.fixture
def refresh(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Refresh]:
    """acme/widget with the small project on a protected main; the clone stands on the same commit."""
    with LocalGitHub() as github:
        github.add_token(TOKEN, permissions={"contents": "write", "pull_requests": "write"})
        github.add_token(
            "ghs_app", "gate-app[bot]", permissions={"contents": "write", "pull_requests": "write"}
        )
        github.add_token("ghs_read", permissions={"contents": "read", "pull_requests": "read"})
        github.add_token("ghs_push", permissions={"contents": "write", "pull_requests": "read"})
        repository = github.add_repository(NAME, protected=("main",), collaborators={"ann": "write"})
        (tmp_path / "runner").mkdir()
        made = Refresh(project, github, repository, tmp_path / "runner", monkeypatch)
        made.push()
        yield made
        if openapi.available():
            assert openapi.problems(github.log) == []


def gain(project: Project) -> None:
    """q-12 finds another of its pages."""
    project.edit("docs/api.md", "frees it.", "frees it: how to free it, by shaking.")


def lose(project: Project) -> None:
    """q-04 no longer finds its page."""
    project.edit("docs/config.md", "`max_size` is", "It is")
    project.edit("docs/config.md", "## max_size", "## The largest")


# -- the measuring job


def test_measuring_leaves_a_baseline_a_report_and_no_request(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    done = refresh.measure()
    assert done.code == 0, done.err
    assert refresh.outcome() == ("unjudged", "0")
    assert {path.name for path in refresh.folder.iterdir()} == {
        "docs.baseline.json",
        "refresh.json",
        "report.json",
        "summary.md",
    }
    assert json.loads((refresh.folder / "refresh.json").read_text()) == {
        "schema": "retrieval-gate/refresh/1",
        "commit": refresh.project.git("rev-parse", "HEAD").strip(),
        "suites": [{"suite": "docs", "baseline": BASELINE, "reason": None, "unstable": {}}],
    }
    left = (refresh.folder / "docs.baseline.json").read_text()
    assert refresh.project.gate("baseline").code == 0
    assert left == refresh.project.read(BASELINE), "the very bytes that 'gate baseline' writes"
    summary = (refresh.folder / "summary.md").read_text()
    assert "6 cases of the test split compared, without a verdict" in summary
    assert "keyword: 1 won, 0 lost, 5 tied" in summary
    assert refresh.github.log == []
    refresh.step("publish", mode="refresh")
    assert "keyword: 1 won, 0 lost, 5 tied" in refresh.summary


def test_lowering_needs_a_reason(refresh: Refresh) -> None:
    lose(refresh.project)
    refresh.push()
    done = refresh.measure()
    assert done.code == 0
    assert refresh.outcome() == ("invalid", "2")
    assert "1 case would be lowered: q-04 (keyword: recall@2 1.00 -> 0.00)" in done.out
    assert not (refresh.folder / "docs.baseline.json").exists()
    assert not (refresh.folder / "report.json").exists()
    refresh.measure(reason=REASON)
    assert refresh.outcome() == ("unjudged", "0")
    assert REASON in (refresh.folder / "refresh.json").read_text()


@pytest.mark.parametrize("reason", ["two\nlines", "an \x1b[31m escape", "right\u202eleft", "x" * 501])
def test_a_reason_is_one_line_of_plain_text(refresh: Refresh, reason: str) -> None:
    done = refresh.measure(reason=reason)
    assert "input 'reason'" in done.out + done.err
    assert refresh.outputs.get("exit-code", str(done.code)) == "2"
    assert not (refresh.folder / "docs.baseline.json").exists()


FLAKY = """\
import os
from gate.model.ranking import Hit

class Flaky:
    def __init__(self, materials):
        self.chunks = materials.chunks(None)

    def search(self, query, pool):
        fails = os.environ.get("FLAKY") == "fails" and os.environ.get("GATE_NO_CACHE")
        if fails and query == "max_size":
            raise RuntimeError("gone")
        page = "config" if query == "max_size" and not os.environ.get("GATE_NO_CACHE") else "news"
        return [Hit(c.chunk_id, c.doc_id, c.text, 1.0) for c in self.chunks if c.doc_id == page][:pool]

class arm:
    @staticmethod
    def build(materials, settings):
        return Flaky(materials)
"""


def flaky(project: Project) -> None:
    project.write("mine.py", FLAKY)
    project.write(
        "gate.toml", project.read("gate.toml") + '\n[suite.docs.arms.mine]\ntype = "mine:arm"\ngate = false\n'
    )


def test_cases_that_move_between_the_two_times_are_unstable(refresh: Refresh) -> None:
    flaky(refresh.project)
    refresh.push()
    done = refresh.both(reason="a new arm")
    assert done.code == 0, done.out
    (told,) = json.loads((refresh.folder / "refresh.json").read_text())["suites"]
    assert told["unstable"] == {"mine": ["q-04"]}
    assert "scored differently when measured again" in (refresh.folder / "summary.md").read_text()
    baseline = json.loads(refresh.at(BASELINE) or "")
    assert baseline["arms"]["mine"]["unstable"] == ["q-04"]
    assert "unstable" not in baseline["arms"]["keyword"]
    assert "Unstable under `mine`, scored differently the second time: `q-04`." in (
        refresh.pulls[0].body or ""
    )


def test_what_was_not_measured_the_second_time_is_no_baseline(
    refresh: Refresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAKY", "fails")
    flaky(refresh.project)
    refresh.push()
    refresh.measure()
    assert refresh.outcome() == ("not_measured", "3")
    assert {path.name for path in refresh.folder.iterdir()} == {"fault.md"}
    refresh.propose()
    assert refresh.outcome() == ("not_measured", "3")
    assert refresh.github.writes() == []


def test_changed_cases_are_what_a_refresh_is_for(refresh: Refresh) -> None:
    refresh.project.cases.append(
        {"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"}
    )
    refresh.project.save_cases()
    refresh.push()
    refresh.both()
    assert refresh.outcome() == ("unjudged", "0")
    body = refresh.pulls[0].body or ""
    assert "q-14" in body
    assert '"q-14"' in (refresh.at(BASELINE) or "")


# -- the proposing job


def test_a_gain_is_proposed_as_a_pull_request(refresh: Refresh) -> None:
    gain(refresh.project)
    main = refresh.push()
    done = refresh.both(reason="the guide got better")
    assert done.code == 0
    assert refresh.outcome() == ("unjudged", "0")
    (pull,) = refresh.pulls
    assert refresh.outputs["comment-url"] == f"{refresh.github.url}/acme/widget/pull/{pull.number}"
    assert f"docs: opened: {refresh.outputs['comment-url']}" in done.out
    assert pull.title == "Refresh the baseline of docs"
    body = pull.body or ""
    assert body.splitlines()[0] == "<!-- retrieval-gate suite=docs key=refresh -->"
    assert "**Why:** the guide got better" in body
    assert "keyword: 1 won, 0 lost, 5 tied" in body
    assert "checks on it wait for somebody's approval" in body
    assert f"[this run]({refresh.github.url}/acme/widget/actions/runs/7001)" in body
    assert refresh.changed() == {BASELINE}
    assert refresh.at(BASELINE) == (refresh.folder / "docs.baseline.json").read_text()
    assert refresh.branches() == {"main", BRANCH}
    assert refresh.repository.git.branch("main") == main
    commit = refresh.repository.git.commit(refresh.repository.git.branch(BRANCH) or "")
    assert commit.parents == (main,)
    assert commit.message.endswith("\n\nRetrieval-Gate-Refresh: docs")
    assert "Why: the guide got better" in commit.message
    assert f"[#{pull.number}](" in refresh.summary
    assert TOKEN not in done.out.replace(f"::add-mask::{TOKEN}", "")


def test_with_an_apps_token_nothing_is_said_about_checks(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.measure()
    refresh.propose(token="ghs_app")
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.pulls[0].user == "gate-app[bot]"
    assert "approval" not in (refresh.pulls[0].body or "")


def test_a_second_refresh_brings_the_same_pull_request_up_to_date(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.both(reason="first")
    first = refresh.repository.git.branch(BRANCH)
    refresh.github.clear_log()
    again = refresh.propose(reason="first")
    assert refresh.repository.git.branch(BRANCH) == first, "nothing new, so no commit"
    assert "docs: up to date" in again.out
    assert not refresh.github.requests("PATCH")
    refresh.project.edit("docs/guide.md", "Polish slowly", "Polish very slowly")
    main = refresh.push()
    done = refresh.both(reason="second")
    assert "docs: updated" in done.out
    (pull,) = refresh.pulls
    assert "**Why:** second" in (pull.body or "")
    assert refresh.changed() == {BASELINE}
    commit = refresh.repository.git.commit(refresh.repository.git.branch(BRANCH) or "")
    assert commit.parents == (main,), "main went on, so the branch begins anew from it"
    assert refresh.outputs["comment-url"].endswith(f"/pull/{pull.number}")


def test_while_main_stands_still_the_branch_is_never_forced(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.both()
    first = refresh.repository.git.branch(BRANCH)
    left = refresh.folder / "docs.baseline.json"
    flat = json.loads(left.read_text())
    flat["arms"]["keyword"]["unstable"] = ["q-04"]
    left.write_text(json.dumps(flat))
    refresh.github.clear_log()
    refresh.propose()
    commit = refresh.repository.git.commit(refresh.repository.git.branch(BRANCH) or "")
    assert commit.parents == (first,)
    (moved,) = refresh.github.requests("PATCH", "*/git/refs/*")
    assert moved.body["force"] is False


def test_nothing_changed_writes_nothing(refresh: Refresh) -> None:
    done = refresh.both(reason="just in case")
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.outputs["comment-url"] == ""
    assert "docs: nothing changed" in done.out
    assert refresh.github.writes() == []
    assert refresh.branches() == {"main"}


def test_lowered_cases_are_accepted_with_the_reason(refresh: Refresh) -> None:
    before = json.loads(refresh.project.read(BASELINE))
    lose(refresh.project)
    refresh.push()
    refresh.both(reason=REASON)
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.changed() == {BASELINE, ACCEPTED}
    (entry,) = tomllib.loads(refresh.at(ACCEPTED) or "")["accepted"]
    assert (entry["name"], entry["arm"], entry["reason"]) == ("q-04", "keyword", REASON)
    assert entry["case_sha256"] == before["cases"]["q-04"]["sha256"]
    (pull,) = refresh.pulls
    assert pull.title == "Refresh the baseline of docs (lowers 1 case)"
    assert f"**It lowers 1 case**, accepted with a reason in `{ACCEPTED}`: `q-04 (keyword)`." in (
        pull.body or ""
    )
    project = refresh.project
    project.write(BASELINE, refresh.at(BASELINE) or "")
    project.write(ACCEPTED, refresh.at(ACCEPTED) or "")
    done = project.gate("run", "--base", "main")
    assert done.code == 0, done.out


def test_the_proposing_job_finds_out_itself_what_is_lowered(refresh: Refresh) -> None:
    lose(refresh.project)
    refresh.push()
    refresh.measure(reason=REASON)
    done = refresh.propose()
    assert refresh.outcome() == ("invalid", "2")
    assert "1 case would be lowered: q-04 (keyword: recall@2 1.00 -> 0.00)" in done.out
    assert "q-04" in refresh.summary
    assert refresh.github.writes() == []


def test_a_loss_that_was_undone_takes_its_entry_away(refresh: Refresh) -> None:
    lose(refresh.project)
    refresh.project.gate("baseline", "--reason", REASON)
    assert (refresh.project.root / ACCEPTED).exists()
    refresh.push()
    gain(refresh.project)
    refresh.push()
    refresh.both()
    assert refresh.changed() == {BASELINE, ACCEPTED}
    assert refresh.at(ACCEPTED) is None


def test_without_permission_to_open_one_the_branch_is_pushed_and_the_link_shown(refresh: Refresh) -> None:
    refresh.repository.actions_may_open_pulls = False
    gain(refresh.project)
    refresh.push()
    done = refresh.both()
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.pulls == []
    link = f"{refresh.github.url}/acme/widget/compare/main...{BRANCH}?expand=1"
    assert link in done.out
    assert "not permitted to create or approve pull requests" in done.out
    assert link in refresh.summary
    assert refresh.changed() == {BASELINE}
    assert refresh.outputs["comment-url"] == ""
    by_hand = refresh.github.add_pull(refresh.repository, BRANCH, user="ann", title="Mine", body="My words")
    done = refresh.propose()
    assert refresh.outputs["comment-url"].endswith(f"/pull/{by_hand.number}")
    assert (by_hand.title, by_hand.body) == ("Mine", "My words")
    assert "somebody opened it by hand" in done.out


def test_a_token_without_pull_request_rights_still_pushes(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.measure()
    done = refresh.propose(token="ghs_push")
    assert refresh.outcome() == ("unjudged", "0")
    assert "Resource not accessible by integration" in done.out
    assert BRANCH in refresh.branches()


def test_a_token_that_only_reads_is_told_what_the_job_needs(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.measure()
    done = refresh.propose(token="ghs_read")
    assert refresh.outcome() == ("not_measured", "3")
    assert "contents: write" in done.out
    assert refresh.branches() == {"main"}


def test_an_unreachable_github_is_no_success(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.measure()
    refresh.github.fail_next("GET", "/repos/acme/widget", refused(404, "Not Found"))
    refresh.propose()
    assert refresh.outcome() == ("not_measured", "3")


def test_a_foreign_commit_on_the_branch_is_named_and_left_alone(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.both()
    foreign = refresh.repository.git.commit_files(BRANCH, {"README.md": "mine\n"}, "by a person")
    refresh.project.edit("docs/guide.md", "Polish slowly", "Polish very slowly")
    refresh.push()
    done = refresh.both()
    assert refresh.outcome() == ("invalid", "2")
    assert foreign[:10] in done.out
    assert BRANCH in done.out
    assert refresh.repository.git.branch(BRANCH) == foreign


def test_a_protected_branch_is_left_alone(refresh: Refresh) -> None:
    gain(refresh.project)
    main = refresh.push()
    sha = refresh.repository.git.commit_files(BRANCH, {"x": "y\n"}, "kept", "main")
    refresh.repository.protect("main", BRANCH)
    refresh.repository.bypass.add("github-actions[bot]")
    done = refresh.both()
    assert refresh.outcome() == ("invalid", "2")
    assert "is protected" in done.out
    assert refresh.repository.git.branch(BRANCH) == sha
    assert refresh.repository.git.branch("main") == main


def test_a_default_branch_of_our_name_is_left_alone(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.repository.git.set_ref(f"refs/heads/{BRANCH}", refresh.repository.git.branch("main") or "")
    refresh.repository.default_branch = BRANCH
    refresh.measure()
    refresh.propose(ref=f"refs/heads/{BRANCH}")
    assert refresh.outcome() == ("invalid", "2")
    assert not refresh.github.requests("PATCH")


def test_only_the_default_branch_or_a_pull_request_is_refreshed(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.measure()
    done = refresh.propose(ref="refs/heads/other")
    assert refresh.outcome() == ("invalid", "2")
    assert "'main'" in done.out


def test_a_pull_requests_baseline_is_proposed_to_its_own_branch(refresh: Refresh) -> None:
    project, repository = refresh.project, refresh.repository
    gain(project)
    head = project.commit()
    repository.git.run("fetch", "--quiet", str(project.root), "+HEAD:refs/heads/better")
    asked = refresh.github.add_pull(repository, "better", user="ann")
    refresh.both(pull_request=asked.number)
    assert refresh.outcome() == ("unjudged", "0")
    ours = f"{BRANCH}-for-{asked.number}"
    assert refresh.branches() == {"main", "better", ours}
    made = refresh.pulls[-1]
    assert made.pull is not None
    assert (made.pull.base_ref, made.pull.head_ref) == ("better", ours)
    assert repository.git.commit(repository.git.branch(ours) or "").parents == (head,)
    assert repository.git.branch("better") == head


def asked_for(refresh: Refresh) -> tuple[Issue, str]:
    """A pull request of the repository with a gain, measured; and its head."""
    gain(refresh.project)
    head = refresh.project.commit()
    refresh.repository.git.run("fetch", "--quiet", str(refresh.project.root), "+HEAD:refs/heads/better")
    asked = refresh.github.add_pull(refresh.repository, "better", user="ann")
    refresh.measure(pull_request=asked.number)
    assert refresh.outcome() == ("unjudged", "0")
    return asked, head


def test_the_proposal_to_a_pull_request_names_the_commit_that_was_measured(refresh: Refresh) -> None:
    asked, head = asked_for(refresh)
    refresh.propose(pull_request=asked.number)
    assert f"measured of `{head[:12]}`, twice" in (refresh.pulls[-1].body or "")


def test_a_pull_request_that_moved_on_since_it_was_measured_is_proposed_nothing(refresh: Refresh) -> None:
    asked, head = asked_for(refresh)
    refresh.repository.git.commit_files("better", {"docs/news.md": "# News\n\nNone.\n"})
    new = refresh.repository.git.branch("better") or ""
    done = refresh.propose(pull_request=asked.number)
    assert refresh.outcome() == ("invalid", "2")
    assert (
        f"pull request #{asked.number}: was measured at {head[:10]}, and its head is {new[:10]} now. "
        "Start the workflow again." in done.out
    )
    assert refresh.github.writes() == []


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (None, "refresh.json: is not among what the first job left"),
        ('{"suites": []}', "refresh.json: does not say which commit was measured"),
        ('{"commit": null}', "refresh.json: does not say which commit was measured"),
        ('{"commit": "main"}', "refresh.json: does not say which commit was measured"),
        ("[]", "refresh.json: does not say which commit was measured"),
        ("{", "refresh.json: not JSON"),
        ('"' + "x" * 10_000_000 + '"', "refresh.json: is too large"),
        ("link", "refresh.json: is a link"),
    ],
    ids=["none", "no commit", "outside git", "no sha", "no object", "no JSON", "too large", "a link"],
)
def test_what_does_not_say_which_head_was_measured_is_proposed_to_none(
    refresh: Refresh, note: str | None, said: str
) -> None:
    asked, _ = asked_for(refresh)
    path = refresh.folder / "refresh.json"
    path.unlink()
    if note == "link":
        path.symlink_to(refresh.project.root / BASELINE)
    elif note is not None:
        path.write_text(note)
    done = refresh.propose(pull_request=asked.number)
    assert refresh.outcome() == ("invalid", "2")
    assert said in done.out
    assert refresh.github.writes() == []


def test_a_pull_requests_gate_toml_sends_no_secret_anywhere(
    refresh: Refresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no base beside it: only the action's inputs say which secret may go where."""
    monkeypatch.setenv("MY_SECRET", "hunter2-hunter2")
    for name, value in {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(refresh.project.root)}.items():
        monkeypatch.setenv(name, value)
    project = refresh.project
    project.write(
        "mine.py", "import os\ndef search(query):\n    return [os.environ.get('MY_SECRET', 'errors')]\n"
    )
    arm = '\n[suite.docs.arms.mine]\ntype = "python"\ntarget = "mine:search"\nenv = ["MY_SECRET"]\n'
    project.write("gate.toml", project.read("gate.toml") + arm)
    refresh.push()
    done = refresh.measure(reason="mine", pull_request=7)
    assert refresh.outcome() == ("not_measured", "3")
    assert "MY_SECRET" in done.out
    assert "hunter2" not in done.out + (refresh.folder / "fault.md").read_text()
    monkeypatch.setenv("GATE_HEADER_ENV", "MY_SECRET")
    refresh.measure(reason="mine", pull_request=7)
    assert refresh.outcome() == ("unjudged", "0")
    monkeypatch.delenv("GATE_HEADER_ENV")
    refresh.measure(reason="mine")
    assert refresh.outcome() == ("unjudged", "0"), "the default branch's own file is trusted"


def test_a_forks_branch_is_not_ours_to_write(refresh: Refresh) -> None:
    fork = refresh.github.fork(refresh.repository, "mallory")
    fork.git.commit_files("patch", {"docs/new.md": "# New\n"}, start="main")
    asked = refresh.github.add_pull(refresh.repository, "mallory:patch", user="mallory")
    refresh.measure()
    done = refresh.propose(pull_request=asked.number)
    assert refresh.outcome() == ("invalid", "2")
    assert "comes from a fork" in done.out
    assert refresh.github.writes() == []


# -- hostile texts and tampered artifacts


def test_the_commit_says_the_reason_as_it_was_given(refresh: Refresh) -> None:
    gain(refresh.project)
    refresh.push()
    refresh.both(reason="dropped *old* pages [see #12] <of v1> & more")
    message = refresh.repository.git.commit(refresh.repository.git.branch(BRANCH) or "").message
    assert "\n\nWhy: dropped *old* pages [see #12] <of v1> & more\n\n" in message
    (pull,) = refresh.pulls
    assert "**Why:** dropped &#42;old&#42; pages &#91;see #\u200b12&#93; &lt;of v1&gt; &amp; more" in (
        pull.body or ""
    )


def test_a_hostile_reason_does_nothing(refresh: Refresh) -> None:
    lose(refresh.project)
    refresh.push()
    done = refresh.both(reason=EVIL)
    assert refresh.outcome() == ("unjudged", "0")
    (entry,) = tomllib.loads(refresh.at(ACCEPTED) or "")["accepted"]
    assert entry["reason"] == EVIL, "in the file it is a string"
    (pull,) = refresh.pulls
    message = refresh.repository.git.commit(refresh.repository.git.branch(BRANCH) or "").message
    for text in (pull.title, pull.body or ""):
        assert "@everyone" not in text
        assert "fixes #1" not in text
        assert "[skip ci]" not in text
        assert "<b>" not in text
        assert "`id`" not in text
    assert "**Why:** " in (pull.body or "")
    assert message.splitlines()[-1] == "Retrieval-Gate-Refresh: docs"
    assert "[skip ci]" not in message, "the checks on the proposal run"
    assert BRANCH in refresh.branches()
    assert not [line for line in done.out.splitlines() if line.startswith("::") and "add-mask" not in line]


def test_a_hostile_case_name_does_nothing(refresh: Refresh) -> None:
    name = "q|`@everyone`-#2"
    refresh.project.cases.append(
        {
            "id": name,
            "query": "::error::x @everyone `a` | #1",
            "relevant_doc_ids": ["news"],
            "kind": "exact_term",
        }
    )
    refresh.project.save_cases()
    refresh.push()
    refresh.both()
    assert refresh.outcome() == ("unjudged", "0")
    body = refresh.pulls[0].body or ""
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
    assert "@everyone" not in outside
    assert "#2" not in outside


def tampered(refresh: Refresh, edit: Any) -> str:
    """Measure, let `edit` change the baseline the first job left, propose."""
    gain(refresh.project)
    refresh.push()
    refresh.measure(reason=REASON)
    path = refresh.folder / "docs.baseline.json"
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))
    return refresh.propose(reason=REASON).out


def raise_score(value: dict[str, Any]) -> None:
    value["arms"]["keyword"]["rows"]["q-02"]["recall"] = 0.1


def drop_row(value: dict[str, Any]) -> None:
    del value["arms"]["keyword"]["rows"]["q-02"]


def other_suite(value: dict[str, Any]) -> None:
    value["suite"] = "other"


def other_k(value: dict[str, Any]) -> None:
    value["settings"]["context"] = 4


def other_arm(value: dict[str, Any]) -> None:
    value["arms"]["mine"] = value["arms"].pop("keyword")


def unknown_key(value: dict[str, Any]) -> None:
    value["path"] = ".github/workflows/evil.yml"


@pytest.mark.parametrize("edit", [raise_score, drop_row, other_suite, other_k, other_arm, unknown_key])
def test_a_tampered_baseline_is_refused(refresh: Refresh, edit: Any) -> None:
    out = tampered(refresh, edit)
    assert refresh.outcome() == ("invalid", "2"), out
    assert "docs.baseline.json" in out
    assert refresh.github.writes() == []


@pytest.mark.parametrize(
    "text", ["", "not json", "[]", "[" * 100_000, '{"schema": "retrieval-gate/baseline/2"}']
)
def test_what_is_no_baseline_is_refused(refresh: Refresh, text: str) -> None:
    refresh.folder.mkdir()
    (refresh.folder / "docs.baseline.json").write_text(text)
    refresh.propose(reason=REASON)
    assert refresh.outcome() == ("invalid", "2")
    assert refresh.github.writes() == []


def test_nothing_else_in_the_artifact_counts(refresh: Refresh) -> None:
    lose(refresh.project)
    refresh.push()
    refresh.measure(reason="the reason of the measuring job")
    evil = {"suite": "docs", "baseline": ".github/workflows/evil.yml", "reason": "another", "unstable": {}}
    (refresh.folder / "refresh.json").write_text(json.dumps({"suites": [evil, {**evil, "suite": "../../x"}]}))
    (refresh.folder / "other.baseline.json").write_text((refresh.folder / "docs.baseline.json").read_text())
    (refresh.folder / "report.json").write_text("{}")
    refresh.propose(reason=REASON)
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.changed() == {BASELINE, ACCEPTED}
    assert "another" not in (refresh.at(ACCEPTED) or "")
    assert refresh.branches() == {"main", BRANCH}


def test_a_link_in_the_artifact_is_refused(refresh: Refresh) -> None:
    refresh.folder.mkdir()
    (refresh.folder / "docs.baseline.json").symlink_to(refresh.project.root / BASELINE)
    refresh.propose()
    assert refresh.outcome() == ("invalid", "2")


def test_the_paths_are_those_of_the_default_branch(refresh: Refresh) -> None:
    refresh.project.edit("gate.toml", "k = 2", 'baseline = "elsewhere/mine.json"\nk = 2')
    gain(refresh.project)
    refresh.project.commit("not pushed: the work tree of the measuring job alone")
    refresh.measure()
    refresh.propose()
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.changed() == {BASELINE}


def test_a_baseline_behind_a_link_is_refused(refresh: Refresh) -> None:
    project = refresh.project
    project.git("mv", "baselines", "kept")
    (project.root / "baselines").symlink_to("kept")
    gain(project)
    refresh.push()
    refresh.measure()
    refresh.propose()
    assert refresh.outcome() == ("invalid", "2")
    assert refresh.github.writes() == []


def test_a_monorepo_has_its_gate_toml_below(refresh: Refresh) -> None:
    project = refresh.project
    project.git("rm", "--quiet", "--cached", "-r", ".")
    (project.root / "service").mkdir()
    for name in ("docs", "eval", "baselines", "gate.toml"):
        (project.root / name).rename(project.root / "service" / name)
    project.edit("service/docs/api.md", "frees it.", "frees it: how to free it, by shaking.")
    refresh.push()
    refresh.both(working_directory="service")
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.changed() == {"service/baselines/docs.json"}
    for wrong in ({"working_directory": "../x"}, {"working_directory": "service", "config": "/etc/passwd"}):
        refresh.propose(**wrong)
        assert refresh.outcome() == ("invalid", "2")
    refresh.propose(config="service")
    assert refresh.outcome() == ("unjudged", "0")


def test_each_suite_has_its_own_pull_request(refresh: Refresh) -> None:
    project = refresh.project
    text = project.read("gate.toml")
    project.write("gate.toml", text + text.replace("suite.docs", "suite.deadbeef"))
    assert project.gate("baseline").code == 0
    refresh.push()
    gain(project)
    refresh.push()
    refresh.both()
    assert refresh.branches() == {"main", BRANCH, "retrieval-gate/baseline-deadbeef"}
    assert {pull.title for pull in refresh.pulls} == {
        "Refresh the baseline of docs",
        "Refresh the baseline of deadbeef",
    }
    refresh.measure(suite="docs")
    assert [path.name for path in refresh.folder.glob("*.baseline.json")] == ["docs.baseline.json"]
    refresh.propose(suite="docs,deadbeef")
    assert refresh.outcome() == ("invalid", "2")
    done = refresh.propose(suite="dosc")
    assert "Did you mean 'docs'?" in done.out


def test_the_first_baseline_is_proposed_as_such(refresh: Refresh) -> None:
    refresh.project.remove(BASELINE)
    refresh.push()
    refresh.both()
    assert refresh.outcome() == ("unjudged", "0")
    assert "The committed baseline is missing or cannot be read" in (refresh.pulls[0].body or "")
    assert refresh.changed() == {BASELINE}


def test_a_broken_committed_baseline_is_replaced_with_a_reason(refresh: Refresh) -> None:
    refresh.project.write(BASELINE, "<<<<<<< ours\n")
    refresh.push()
    refresh.measure()
    refresh.propose()
    assert refresh.outcome() == ("invalid", "2")
    refresh.propose(reason="a merge broke it")
    assert refresh.outcome() == ("unjudged", "0")
    assert refresh.changed() == {BASELINE}


def test_a_schedule_refreshes_too_and_nothing_else_does(refresh: Refresh) -> None:
    for event, activity in (("schedule", "refresh"), ("push", "refuse"), ("pull_request_target", "refuse")):
        refresh.step("plan", mode="refresh", event=event)
        assert refresh.outputs["activity"] == activity


# -- ordinary runs


def test_an_ordinary_run_says_that_the_baseline_lies_below(refresh: Refresh) -> None:
    gain(refresh.project)
    code, suite = refresh.project.report("--base", "main")
    assert code == 0
    (found,) = [one for one in suite["findings"] if one["code"] == "baseline-below"]
    assert (found["level"], found["cases"]) == ("notice", ["q-12"])
    assert found["text"] == "keyword: 1 case scores higher than the baseline records (q-12)"
    assert refresh.project.gate("baseline").code == 0
    _, suite = refresh.project.report("--base", "main")
    assert "baseline-below" not in {one["code"] for one in suite["findings"]}


# -- what several refreshes lowered in sum


def lose_more(project: Project) -> None:
    """q-02 no longer finds its page."""
    project.edit("docs/errors.md", "E101", "E909")
    project.edit("docs/errors.md", "WidgetJam", "Jam")


def drifted(refresh: Refresh) -> None:
    """Two refreshes on main, each lowering a case of exact_term, each with its reason."""
    for edit, reason in ((lose, "it was renamed"), (lose_more, "it was retired")):
        edit(refresh.project)
        assert refresh.project.gate("baseline", "--reason", reason).code == 0
        refresh.push()


def drift_of(refresh: Refresh, *arguments: str) -> list[dict[str, Any]]:
    _, suite = refresh.project.report(*arguments)
    return [one for one in suite["findings"] if one["code"] == "baseline-drifted"]


def test_an_ordinary_run_says_that_refreshes_drifted_down_in_sum(refresh: Refresh) -> None:
    lose(refresh.project)
    assert refresh.project.gate("baseline", "--reason", "it was renamed").code == 0
    refresh.push()
    assert drift_of(refresh, "--base", "HEAD") == [], "one lowering is no series"
    lose_more(refresh.project)
    assert refresh.project.gate("baseline", "--reason", "it was retired").code == 0
    head = refresh.push()
    (found,) = drift_of(refresh, "--base", "HEAD")
    assert found["level"] == "warning"
    assert (found["arm"], found["kind"], found["cases"]) == ("keyword", "exact_term", ["q-02", "q-04"])
    assert "2 refreshes since" in found["text"]
    assert "lowered exact_term by 2 of 3 cases in sum (recall@2: q-02, q-04; in " in found["text"]
    assert head[:10] in found["text"]
    assert "gate history docs" in found["todo"]
    done = refresh.project.gate("run", "--base", "HEAD")
    assert (done.code, "lowered exact_term by 2 of 3 cases" in done.out) == (0, True)
    refresh.project.git("checkout", "--quiet", "HEAD~1", "--", "docs/errors.md")
    assert refresh.project.gate("baseline").code == 0
    refresh.push()
    assert drift_of(refresh, "--base", "HEAD") == [], "one of them came back"


def test_history_that_is_not_in_the_checkout_is_not_fetched(refresh: Refresh, tmp_path: Path) -> None:
    drifted(refresh)
    address = (refresh.project.root / ".git").as_uri()
    for name, flags in (("shallow", ["--depth", "1"]), ("whole", [])):
        refresh.project.git("clone", "--quiet", *flags, address, str(tmp_path / name))
        clone = Project(tmp_path / name, refresh.project.capture)
        _, suite = clone.report("--base", "HEAD")
        found = [one for one in suite["findings"] if one["code"] == "baseline-drifted"]
        assert len(found) == (name == "whole")


def test_a_proposal_says_what_the_refreshes_before_it_lowered_too(refresh: Refresh) -> None:
    lose(refresh.project)
    assert refresh.project.gate("baseline", "--reason", "it was renamed").code == 0
    refresh.push()
    lose_more(refresh.project)
    refresh.push()
    refresh.both(reason="it was retired")
    assert refresh.outcome() == ("unjudged", "0")
    body = refresh.pulls[0].body or ""
    assert "\n> [!WARNING]\n> keyword: 2 refreshes since " in body
    assert (
        "lowered exact\\_term by 2 of 3 cases in sum" in body or "exact_term by 2 of 3 cases in sum" in body
    )
    assert "this one)" in body
    assert "2 refreshes since" in (refresh.folder / "summary.md").read_text()


def test_a_history_that_cannot_be_read_hinders_no_proposal(refresh: Refresh) -> None:
    drifted(refresh)
    gain(refresh.project)
    refresh.push()
    refresh.measure()
    refresh.github.fail_next("GET", "/repos/acme/widget/commits", refused(409, "Git Repository is empty."))
    done = refresh.propose()
    assert refresh.outcome() == ("unjudged", "0")
    assert "::notice::the baseline's history could not be read" in done.out
    assert len(refresh.pulls) == 1
    assert "in sum" not in (refresh.pulls[0].body or "")


def test_old_versions_that_are_no_baseline_are_left_out(refresh: Refresh) -> None:
    text = refresh.project.read(BASELINE)
    for broken in ("<<<<<<< ours\n", "\x00\xff"):
        refresh.project.write(BASELINE, broken)
        refresh.push()
    refresh.project.write(BASELINE, text)
    refresh.push()
    drifted(refresh)
    (found,) = drift_of(refresh, "--base", "HEAD")
    assert found["cases"] == ["q-02", "q-04"]
    gain(refresh.project)
    refresh.push()
    refresh.both()
    assert "2 refreshes since" in (refresh.pulls[0].body or "")

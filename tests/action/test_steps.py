"""The steps of action.yml in this process: what GitHub may answer to a comment, and odd environments.

`act` runs the main ways (see the other files); here stand the variants, which need no runner.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from action.edits import TWO_ARMS, add_page, break_e101, losing_2000_cases, mend_e101, record
from action.job import READ_ONLY, TOKEN, US, Site, command
from local_github import faults
from local_github.faults import Fault
from small_project import GATE_TOML, PAGES

from gate import cli
from gate.github import client


@dataclass
class Stepped:
    """What one step did."""

    code: int
    outputs: dict[str, str]
    log: str


@dataclass
class Steps:
    """Runs single steps on the checkout `site.project`, as the job of one pull request."""

    site: Site
    temp: Path
    monkeypatch: pytest.MonkeyPatch
    environment: dict[str, str]

    def __call__(self, step: str, **more: str) -> Stepped:
        output, summary = self.temp / f"{step}.out", self.temp / f"{step}.md"
        for path in (output, summary):
            path.write_text("", encoding="utf-8")
        variables = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        with self.monkeypatch.context() as patch:
            for key, value in {**self.environment, **variables, **more}.items():
                patch.setenv(key, value)
            patch.chdir(self.site.project.root)
            self.site.project.capture.readouterr()
            code = cli.main(["action", step])
        captured = self.site.project.capture.readouterr()
        return Stepped(code, read_outputs(output), captured.out + captured.err)

    def on(self, number: int, run: int = 1) -> None:
        """The event of pull request `number`, as it is now."""
        (self.temp / "event.json").write_text(json.dumps(self.site.pull_event(number)), encoding="utf-8")
        self.environment["GITHUB_RUN_ID"] = str(run)

    def measured(self, number: int, run: int = 1) -> Stepped:
        self.on(number, run)
        return self("measure", GATE_BASE=self.site.project.git("rev-parse", "origin/main").strip())


def read_outputs(path: Path) -> dict[str, str]:
    """`name<<token`, the value, `token`: as the runner reads the file."""
    found, lines = {}, iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        name, _, token = line.partition("<<")
        value = []
        for more in lines:
            if more == token:
                break
            value.append(more)
        found[name] = "\n".join(value)
    return found


@pytest.fixture
def steps(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    temp = tmp_path / "temp"
    temp.mkdir()
    # Waiting is not what is tested here: no sleep, and one second for an answer.
    quick = {time.sleep: lambda _: None, client.TIMEOUT_SECONDS: 1}
    defaults = tuple(quick.get(one, one) for one in client.GitHubClient.__init__.__defaults__ or ())
    monkeypatch.setattr(client.GitHubClient.__init__, "__defaults__", defaults)
    environment: Mapping[str, str] = {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(temp / "event.json"),
        "GITHUB_REPOSITORY": "acme/widget",
        "GITHUB_API_URL": site.github.api,
        "GITHUB_ACTOR": "octocat",
        "GITHUB_RUN_ATTEMPT": "1",
        "RUNNER_TEMP": str(temp),
        "GATE_TOKEN": TOKEN,
    }
    return Steps(site, temp, monkeypatch, dict(environment))


def lost_pull(site: Site) -> int:
    break_e101(site.project)
    site.push()
    return site.open_pull()


COMMENTS = "/repos/acme/widget/issues/*"


@pytest.mark.parametrize(
    ("method", "path", "fault"),
    [
        ("POST", "/graphql", faults.refused(401, "Bad credentials")),
        ("POST", "/graphql", Fault(200, '{"data": null}')),
        ("POST", "/graphql", Fault(200, "<html>not the API</html>")),
        ("GET", COMMENTS, faults.refused(404, "Not Found")),
        ("GET", COMMENTS, Fault(200, "<html>a proxy's page</html>")),
        ("GET", COMMENTS, faults.cut_short()),
        ("GET", COMMENTS, faults.server_error(502)),
        ("GET", "/repos/acme/widget/pulls/*", faults.server_error(500)),
        ("GET", "/repos/acme/widget/pulls/*", Fault(200, '{"head": 7}')),
        ("POST", COMMENTS, faults.refused(403, "Unable to create comment because issue is locked.")),
        ("POST", COMMENTS, faults.refused(410, "This issue was deleted")),
        ("POST", COMMENTS, faults.refused(422, "Validation Failed")),
        ("POST", COMMENTS, faults.server_error(503)),
        ("POST", COMMENTS, faults.dropped()),
        ("POST", COMMENTS, faults.slow(1.5)),
        ("POST", COMMENTS, faults.secondary_limit(retry_after=3600)),
        ("POST", COMMENTS, faults.primary_limit(reset_in=3600)),
    ],
)
def test_whatever_github_answers_is_a_warning_and_no_verdict(
    steps: Steps, method: str, path: str, fault: Fault
) -> None:
    number = lost_pull(steps.site)
    assert steps.measured(number).outputs["exit-code"] == "1"
    steps.site.github.fail_next(method, path, fault, times=99)
    done = steps("comment")
    assert done.code == 0, done.log
    assert "::warning::the comment could not be written; the job summary has it" in done.log
    assert TOKEN not in done.log.replace(f"::add-mask::{TOKEN}\n", "", 1)
    assert not {"verdict", "exit-code"} & done.outputs.keys()
    finished = steps("finish", GATE_EXIT_CODE="1", GATE_VERDICT="regression")
    assert finished.code == 1


@pytest.mark.parametrize(
    "fault", [faults.server_error(502), faults.dropped(), faults.cut_short(), faults.secondary_limit()]
)
def test_reading_is_tried_again(steps: Steps, fault: Fault) -> None:
    number = lost_pull(steps.site)
    steps.measured(number)
    steps.site.github.fail_next("GET", COMMENTS, fault, times=2)
    done = steps("comment")
    assert done.code == 0
    assert "warning" not in done.log
    assert len(steps.site.comments(number)) == 1


def test_a_comment_whose_answer_was_lost_is_not_doubled_for_ever(steps: Steps) -> None:
    number = lost_pull(steps.site)
    steps.measured(number)
    steps.site.github.fail_next("POST", COMMENTS, faults.lost_answer())
    steps("comment")
    steps.measured(number, run=2)
    steps("comment")
    assert len(steps.site.comments(number)) == 1


def test_two_runs_that_race_leave_one_comment(steps: Steps) -> None:
    number = lost_pull(steps.site)
    steps.measured(number, run=2)
    pull = steps.site.pull_event(number)
    other = f"<!-- retrieval-gate suite=docs key= head={pull['pull_request']['head']['sha']} run=1 attempt=1 -->\n\nold"

    def comes_in_between() -> None:
        steps.site.github.add_comment(steps.site.repository, number, user=US, body=other)

    steps.site.github.before_next("POST", COMMENTS, comes_in_between)
    done = steps("comment")
    body = steps.site.comment(number)
    assert "### ❌ regression" in body
    assert done.outputs["comment-url"].endswith(str(steps.site.comments(number)[0].id))


def test_a_newer_run_and_a_head_that_moved_on_are_left_alone(steps: Steps) -> None:
    number = lost_pull(steps.site)
    steps.measured(number, run=9)
    steps("comment")
    body = steps.site.comment(number)
    steps.on(number, run=8)
    done = steps("comment")
    assert "run 9 is newer and has written already" in done.log
    add_page(steps.site.project)
    steps.environment["GITHUB_RUN_ID"] = "10"
    steps.site.push()  # the event tells of the head before this push
    done = steps("comment")
    assert "the pull request's head has moved on" in done.log
    assert steps.site.comment(number) == body


@pytest.mark.parametrize(
    ("when", "lost", "written"),
    [
        ("always", False, 1),
        ("changes", False, 0),
        ("changes", True, 1),
        ("failure", False, 0),
        ("failure", True, 1),
        ("never", True, 0),
    ],
)
def test_when_to_comment(steps: Steps, when: str, lost: bool, written: int) -> None:
    (break_e101 if lost else add_page)(steps.site.project)
    steps.site.push()
    number = steps.site.open_pull()
    steps.measured(number)
    steps("comment", INPUT_COMMENT=when)
    assert len(steps.site.comments(number)) == written


def test_two_suites_have_a_comment_each_or_one_together(steps: Steps) -> None:
    project = steps.site.project
    more = project.read("gate.toml").replace("suite.docs", "suite.second")
    project.write("gate.toml", project.read("gate.toml") + more)
    assert project.gate("baseline", "second").code == 0
    number = lost_pull(steps.site)
    done = steps.measured(number)
    assert done.outputs["exit-code"] == "2", "the new suite's baseline was recorded before the loss"
    steps("comment", INPUT_COMMENT_LAYOUT="suite")
    assert [one.body.split()[2] for one in steps.site.comments(number)] == ["suite=docs", "suite=second"]
    steps("comment", INPUT_COMMENT_LAYOUT="combined", INPUT_COMMENT_KEY="all")
    assert steps.site.comments(number)[2].body.startswith("<!-- retrieval-gate suite=%2A key=all ")
    assert steps("publish").code == 0
    assert "| second |" in (steps.temp / "publish.md").read_text(encoding="utf-8")


def test_in_a_combined_comment_each_suite_is_resolved_by_itself(steps: Steps) -> None:
    project = steps.site.project
    project.git("checkout", "--quiet", "main")
    text = project.read("gate.toml")
    calm = text.replace("suite.docs", "suite.calm").replace('corpus = "docs"', 'corpus = "calm"')
    project.write("gate.toml", text + calm)
    for page in ("errors", "config", "guide", "faq", "api", "install", "news"):
        project.write(f"calm/{page}.md", project.read(f"docs/{page}.md"))
    assert project.gate("baseline", "calm").code == 0
    steps.site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    number = lost_pull(steps.site)
    texts = []
    for run in (1, 2, 3):
        steps.measured(number, run)
        assert steps("comment", INPUT_COMMENT_LAYOUT="combined").code == 0
        texts.append(steps.site.comment(number))
        if run == 1:
            mend_e101(project)
            add_page(project)
            steps.site.push()
    assert "### ❌ regression" in texts[0]
    assert texts[0].count("### ✅ pass") == 1
    assert "Resolved" not in texts[0]
    assert texts[1].count("### ✅ pass") == 2
    assert texts[1].count("**Resolved: the regression that stood here is gone.**") == 1
    assert texts[2] == texts[1], "nothing new, nothing written"


HOSTILE_KEY = "".join(f'"{sign * 900}" = 1\n' for sign in "<>&|*_[]@#`~")


def test_faults_that_are_long_fit_into_a_comment(steps: Steps) -> None:
    """An old green comment may not stand because the list of what is wrong is too long for GitHub."""
    project = steps.site.project
    add_page(project)
    steps.site.push()
    number = steps.site.open_pull()
    steps.measured(number)
    steps("comment")
    more = "".join(f'[suite.docs.arms.a{n}]\ntype = "bm25"\n{HOSTILE_KEY}' for n in range(20))
    project.write("gate.toml", f"{project.read('gate.toml')}\n{more}")
    steps.site.push()
    done = steps.measured(number, run=2)
    assert done.outputs["verdict"] == "invalid"
    done = steps("comment")
    assert "warning" not in done.log
    body = steps.site.comment(number)
    assert "invalid: nothing was measured" in body
    assert len(body.encode()) < 65_000
    assert re.search(r"^- and \d+ more$", body, re.MULTILINE)


def test_the_named_author_is_asked_of_nobody(steps: Steps) -> None:
    number = lost_pull(steps.site)
    steps.measured(number)
    steps.site.github.clear_log()
    steps("comment", INPUT_COMMENT_AUTHOR=US)
    assert steps.site.github.requests("POST", "/graphql") == []
    assert len(steps.site.comments(number)) == 1


@pytest.mark.parametrize(
    ("reviewer", "state", "of_head", "code"),
    [
        ("ann", "APPROVED", True, "0"),
        ("ann", "APPROVED", False, "1"),
        ("ann", "CHANGES_REQUESTED", True, "1"),
        ("mallory", "APPROVED", True, "1"),
        (None, "", True, "1"),
    ],
)
def test_a_policy_may_ask_for_an_approving_review_of_the_head(
    steps: Steps, reviewer: str | None, state: str, of_head: bool, code: str
) -> None:
    number, earlier, head = accepting_pull(steps.site)
    if reviewer is not None:
        commit = head if of_head else earlier
        steps.site.github.add_review(steps.site.repository, number, user=reviewer, state=state, commit=commit)
    measured = steps.measured(number)
    assert (measured.outputs["exit-code"], measured.outputs["approval-needed"]) == ("1", "true")
    done = steps("comment")
    assert done.outputs["exit-code"] == code, done.log
    assert done.outputs["verdict"] == ("pass" if code == "0" else "regression")
    assert f"verdict={done.outputs['verdict']}" in steps.site.comment(number)
    # What the summary and the artifact say is what the check says.
    steps("publish")
    summary = (steps.temp / "publish.md").read_text(encoding="utf-8")
    assert ("### ✅ pass" in summary) == (code == "0")
    left = steps.temp / "retrieval-gate"
    report = json.loads((left / "report.json").read_text(encoding="utf-8"))
    assert report["verdict"] == done.outputs["verdict"]
    assert f"<title>docs: {report['verdict']}" in (left / "report.html").read_text(encoding="utf-8")
    assert {path.name for path in left.glob("*.html")} == {"report.html"}


def test_an_approval_is_read_where_nothing_may_be_posted(steps: Steps) -> None:
    """With `comment: never`, and on a fork, whose token reads."""
    number, _, _ = accepting_pull(steps.site)
    steps.site.github.add_review(steps.site.repository, number, user="ann")
    for more in (
        {"INPUT_COMMENT": "never"},
        {"GITHUB_ACTOR": "dependabot[bot]", "GATE_TOKEN": READ_ONLY},
    ):
        steps.measured(number)
        assert steps("plan", **more).outputs["comments"] == "false"
        steps.site.github.clear_log()
        done = steps("comment", GATE_COMMENTS="false", **more)
        assert (done.outputs["verdict"], done.outputs["exit-code"]) == ("pass", "0"), done.log
        assert done.outputs["comment-url"] == ""
        assert steps.site.github.requests("POST") == []
    assert steps.site.comments(number, None) == []


def test_the_review_that_a_merge_queue_waits_for_is_that_of_its_pull_request(steps: Steps) -> None:
    number, _, head = accepting_pull(steps.site)
    base = steps.site.project.git("rev-parse", "origin/main").strip()
    ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{base}"
    group = {"head_sha": head, "head_ref": ref, "base_sha": base, "base_ref": "refs/heads/main"}
    for approves, verdict in ((False, "regression"), (True, "pass")):
        if approves:
            steps.site.github.add_review(steps.site.repository, number, user="ann")
        assert steps.measured(number).outputs["approval-needed"] == "true"
        payload = {"action": "checks_requested", "merge_group": group, **steps.site.repository_event()}
        (steps.temp / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        done = steps("comment", GITHUB_EVENT_NAME="merge_group", GATE_COMMENTS="false")
        assert done.outputs["verdict"] == verdict, done.log
    assert steps.site.comments(number, None) == []


def accepting_pull(site: Site) -> tuple[int, str, str]:
    """A pull request that accepts its own loss under a policy that wants a review: its number, an earlier head, its head."""
    project = site.project
    project.git("checkout", "--quiet", "main")
    project.write("gate.toml", project.read("gate.toml") + "\n[suite.docs.policy]\napproval = true\n")
    site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    add_page(project)
    earlier = site.push()
    break_e101(project)
    assert project.gate("baseline", "--reason", "E101 was retired").code == 0
    head = site.push()
    return site.open_pull(), earlier, head


# -- what has no report


def passing(site: Site) -> int:
    """A pull request with our green comment of an earlier run."""
    add_page(site.project)
    site.push()
    return site.open_pull()


def test_an_internal_error_leaves_no_green_comment(steps: Steps) -> None:
    number = passing(steps.site)
    steps.measured(number)
    steps("comment")
    assert "✅ pass" in steps.site.comment(number)
    steps.measured(number, run=2)
    for path in (steps.temp / "retrieval-gate").iterdir():  # as where the measuring step breaks or is stopped
        path.unlink()
    steps("comment")
    assert "### ⛔ not measured" in steps.site.comment(number)
    assert "✅" not in steps.site.comment(number)
    steps("publish")
    assert "The gate broke, or was stopped" in (steps.temp / "publish.md").read_text(encoding="utf-8")


def test_a_plan_that_fails_leaves_no_green_comment(steps: Steps) -> None:
    number = passing(steps.site)
    steps.measured(number)
    steps("comment")
    steps.on(number, run=2)
    planned = steps("plan", INPUT_WORKING_DIRECTORY="handbok").outputs
    assert (planned["comments"], planned["verdict"], planned["cost-usd"]) == ("true", "invalid", "0")
    shutil.rmtree(steps.temp / "retrieval-gate" / "report.json", ignore_errors=True)
    (steps.temp / "retrieval-gate" / "report.json").unlink(missing_ok=True)  # another job's temp has none
    steps("comment")
    assert "no such folder in the checkout" in steps.site.comment(number)


def test_the_comment_of_a_suite_that_is_gone_goes_too(steps: Steps) -> None:
    project = steps.site.project
    project.write("gate.toml", f"{GATE_TOML}\n{GATE_TOML.replace('suite.docs', 'suite.second')}")
    assert project.gate("baseline", "second").code == 0
    steps.site.push()
    number = steps.site.open_pull()
    steps.measured(number)
    steps("comment")
    assert len(steps.site.comments(number)) == 2
    other = "<!-- retrieval-gate suite=second key= head=0 run=1 attempt=1 home=handbook -->\nof another job"
    steps.site.github.add_comment(steps.site.repository, number, user=US, body=other)
    project.write("gate.toml", GATE_TOML)
    steps.site.push()
    steps.measured(number, run=2)
    steps("comment", INPUT_SUITE="docs")
    assert len(steps.site.comments(number)) == 3, "a job of some suites knows only its own"
    steps("comment")
    assert [one.body.splitlines()[-1] for one in steps.site.comments(number)][-1] == "of another job"
    assert len(steps.site.comments(number)) == 2


def test_a_step_outside_a_job_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "retrieval-gate").mkdir()
    (tmp_path / "retrieval-gate" / "file").write_text("mine", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for step in ("plan", "measure", "publish"):
        assert cli.main(["action", step]) == 2
    assert "RUNNER_TEMP: is not set" in capsys.readouterr().err
    assert (tmp_path / "retrieval-gate" / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("folder", "inputs"),
    [
        ("services", {"INPUT_CONFIG": "services"}),
        ("services", {"INPUT_WORKING_DIRECTORY": "services"}),
        (".", {"INPUT_WORKING_DIRECTORY": "services"}),
    ],
)
def test_annotations_name_files_as_the_repository_does(
    steps: Steps, folder: str, inputs: dict[str, str]
) -> None:
    """Wherever gate.toml stands and from wherever it is found."""
    project = steps.site.project
    project.git("checkout", "--quiet", "main")
    project.write("services/readme.txt", "Services.")
    if folder != ".":
        for part in ("docs", "eval", "baselines", "gate.toml"):
            project.git("mv", part, f"services/{part}")
    steps.site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    page = "docs/errors.md" if folder == "." else "services/docs/errors.md"
    project.write(page, "# Errors\n\nNothing.\n")
    steps.site.push()
    steps.environment |= inputs
    measured = steps.measured(steps.site.open_pull())
    assert measured.outputs["verdict"] == "regression", measured.log
    told = command(steps("publish", GATE_FOLDER=measured.outputs["folder"]).log.splitlines()[0])
    assert (project.root / str(told.properties["file"])).is_file()


# -- odd environments


def test_a_checkout_without_git_says_so(steps: Steps) -> None:
    number = lost_pull(steps.site)
    steps.on(number)
    (steps.site.project.root / ".git").rename(steps.temp / "gone")
    done = steps("plan", GITHUB_SHA=steps.site.pull_event(number)["pull_request"]["merge_commit_sha"])
    assert (done.code, done.outputs["exit-code"], done.outputs["activity"]) == (0, "3", "refuse")
    assert "is not in the checkout and cannot be fetched" in done.log


def test_a_working_directory_that_is_not_there(steps: Steps) -> None:
    steps.on(lost_pull(steps.site))
    for event in ("pull_request", "push"):
        done = steps("plan", INPUT_WORKING_DIRECTORY="handbok", GITHUB_EVENT_NAME=event)
        assert (done.outputs["exit-code"], done.outputs["activity"]) == ("2", "refuse")
        assert "input 'working-directory': no such folder in the checkout ('handbok')." in done.log


@pytest.mark.parametrize("folder", ["/etc", "../other", "~", "a/../.."])
def test_a_working_directory_outside_is_refused(steps: Steps, folder: str) -> None:
    steps.on(lost_pull(steps.site))
    outputs = steps("plan", INPUT_WORKING_DIRECTORY=folder).outputs
    assert (outputs["exit-code"], outputs["activity"]) == ("2", "refuse")


def test_no_verdict_at_all_is_an_internal_error(steps: Steps) -> None:
    assert steps("finish").code == 70
    assert steps("finish", GATE_EXIT_CODE="1; exit 0").code == 70


@pytest.mark.parametrize("payload", ["[]", "{}", '{"pull_request": 7}', '{"pull_request": {"number": 1}}'])
def test_an_event_file_that_says_nothing_is_no_pass(steps: Steps, payload: str) -> None:
    (steps.temp / "event.json").write_text(payload, encoding="utf-8")
    outputs = steps("plan").outputs
    assert (outputs["exit-code"], outputs["activity"]) == ("2", "refuse")


def test_an_event_file_that_is_none_is_invalid(steps: Steps) -> None:
    (steps.temp / "event.json").write_text("", encoding="utf-8")
    done = steps("plan")
    assert done.code == 2
    assert "event.json" in done.log


def test_a_large_regression_fits_into_a_comment(steps: Steps) -> None:
    """2,000 lost cases in 50 pages; through act, see test_pull_request."""
    number = losing_2000_cases(steps.site)
    done = steps.measured(number)
    assert done.outputs["verdict"] == "regression"
    assert len(json.loads(done.outputs["regressed"])[0]["cases"]) == 2000
    published = steps("publish")
    assert len([line for line in published.log.splitlines() if line.startswith("::error ")]) == 8
    assert "1992 more lost cases in the report" in published.log
    assert (steps.temp / "publish.md").stat().st_size < 1_000_000


def test_annotations_are_one_a_case_and_8_for_the_whole_run(steps: Steps) -> None:
    """Two suites with two arms each lose every case; GitHub shows ten of a step and drops the rest."""
    project = steps.site.project
    project.git("checkout", "--quiet", "main")
    arms = GATE_TOML.replace("[suite.docs.arms.keyword]", TWO_ARMS)
    project.write("gate.toml", f"{arms}\n{arms.replace('suite.docs', 'suite.more')}")
    record(project)
    steps.site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    for page in PAGES:
        project.write(f"docs/{page}.md", "# Nothing\n\nNothing is left.\n")
    steps.site.push()
    assert steps.measured(steps.site.open_pull()).outputs["exit-code"] == "1"
    lines = [command(line) for line in steps("publish").log.splitlines()]
    assert [line.level for line in lines] == ["error"] * 8 + ["notice"]
    assert lines[0].message.startswith("second, keyword: q-02 is lost (E101 WidgetJam); fallen: errors")
    assert lines[-1].message == "4 more lost cases in the report"
    placed = [(line.properties["file"], line.properties["line"]) for line in lines[:6]]
    assert len(set(placed)) == 6

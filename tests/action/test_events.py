"""The events beside a plain pull request, and the ways in which a checkout can lie."""

from __future__ import annotations

import pytest
from action.edits import add_page, break_e101, record
from action.job import Site
from action.test_steps import accepting_pull


def main_moves_on(site: Site) -> str:
    """Main gets a new case with a page that answers it, while `change` stays where it was; the new tip."""
    project = site.project
    project.git("checkout", "--quiet", "main")
    project.write("docs/purple.md", "# Purple\n\nA purple widget is a rare thing.\n")
    project.cases.append(
        {"id": "q-16", "query": "purple", "relevant_doc_ids": ["purple"], "kind": "exact_term"}
    )
    project.save_cases()
    record(project)
    tip = site.push("main")
    project.git("checkout", "--quiet", "change")
    return tip


def test_a_merge_queue_entry_is_held_against_the_queues_base(site: Site) -> None:
    break_e101(site.project)
    head = site.push()
    number = site.open_pull()
    base = site.project.git("rev-parse", "main").strip()
    ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{base}"
    merge = site.repository.git.ref(f"refs/pull/{number}/merge")
    assert merge is not None
    site.repository.git.set_ref(ref, merge)
    group = {"head_sha": merge, "head_ref": ref, "base_sha": base, "base_ref": "refs/heads/main"}
    payload = {"action": "checks_requested", "merge_group": group, **site.repository_event()}
    ran = site.run("merge_group", payload, ref=ref, sha=merge)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 1, "regression")
    assert ran.report()["suites"][0]["baseline"]["commit"] == base
    assert ran.writes == []
    assert ran.outputs["comment-url"] == ""
    assert head != merge


def test_a_merge_queue_entry_passes_with_an_approved_loss(site: Site) -> None:
    """Also with `comment: never`: the review is read in the step that holds the token, and nothing is posted."""
    number, _, _ = accepting_pull(site)
    base = site.project.git("rev-parse", "origin/main").strip()
    ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{base}"
    merge = site.repository.git.ref(f"refs/pull/{number}/merge")
    assert merge is not None
    site.repository.git.set_ref(ref, merge)
    group = {"head_sha": merge, "head_ref": ref, "base_sha": base, "base_ref": "refs/heads/main"}
    payload = {"action": "checks_requested", "merge_group": group, **site.repository_event()}
    ran = site.run("merge_group", payload, ref=ref, sha=merge)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 1, "regression")
    assert "await an approving review" in ran.summary
    site.github.add_review(site.repository, number, user="ann")
    ran = site.run("merge_group", payload, ref=ref, sha=merge, inputs={"comment": "never"})
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("success", 0, "pass")
    assert "### ✅ pass" in ran.summary
    assert ran.report()["verdict"] == "pass"
    assert ran.writes == []


def test_a_push_to_main_is_held_against_its_own_baseline(site: Site) -> None:
    site.project.git("checkout", "--quiet", "main")
    add_page(site.project)
    sha = site.push("main")
    payload = {"ref": "refs/heads/main", "after": sha, "deleted": False, **site.repository_event()}
    ran = site.run("push", payload, ref="refs/heads/main", sha=sha, depth=1)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("success", 0, "pass")
    assert ran.report()["suites"][0]["baseline"]["commit"] is None
    assert ran.writes == []
    assert "### ✅ pass" in ran.summary


def test_a_workflow_dispatch_gates_by_hand(site: Site) -> None:
    break_e101(site.project)
    sha = site.push()
    payload = {"ref": "refs/heads/change", "inputs": {}, **site.repository_event()}
    ran = site.run("workflow_dispatch", payload, ref="refs/heads/change", sha=sha, inputs={"mode": "gate"})
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 1, "regression")
    assert ran.writes == []


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_events_with_secrets_are_refused_before_anything_is_measured(site: Site, event: str) -> None:
    break_e101(site.project)
    head = site.push()
    number = site.open_pull()
    payload = site.pull_event(number)
    base = payload["pull_request"]["base"]["sha"]
    ran = site.run(event, payload, ref="refs/heads/main", sha=base, checkout=head)
    assert (ran.job, ran.exit_code) == ("failure", 2)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("invalid", "2")
    assert any(one.level == "error" and event in one.message for one in ran.annotations)
    assert ran.writes == []
    assert list(ran.artifacts.iterdir()) == []
    assert "E101" not in ran.log


def test_a_bad_input_is_refused_before_anything_is_measured(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, inputs={"comment-layout": "combind", "timeout-minutes": "soon"})
    assert (ran.job, ran.exit_code) == ("failure", 2)
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("invalid", "2")
    said = [one.message for one in ran.annotations]
    assert said[0].startswith("input 'comment-layout': no such value ('combind'). Did you mean 'combined'?")
    assert said[1].startswith("input 'timeout-minutes'")
    assert "input 'timeout-minutes'" in ran.summary
    assert (ran.outputs["regressed"], ran.outputs["unmeasured"], ran.outputs["cost-usd"]) == ("[]", "[]", "0")
    assert ran.writes == []


def test_a_review_is_judged_like_the_pull_request_it_is_about(site: Site) -> None:
    """So that the run after an approval needs nobody to press a button; what the change brings decides nothing."""
    break_e101(site.project)
    record(site.project)
    site.push()
    number = site.open_pull()
    event = site.pull_event(number)
    where = {"ref": f"refs/pull/{number}/merge", "sha": event["pull_request"]["merge_commit_sha"]}
    ran = site.run("pull_request_review", {**event, "action": "submitted"}, **where)
    assert (ran.exit_code, ran.outputs["verdict"]) == (1, "regression")
    assert "### ❌ regression" in site.comment(number)
    for name in ("issue_comment", "pull_request_review_comment"):
        ran = site.run(name, {**event, "action": "created"}, **where)
        assert (ran.exit_code, ran.outputs["verdict"], ran.outputs["regressed"]) == (2, "invalid", "[]")
        assert name in ran.summary
        assert ran.writes == []


# -- which commit is the base


def test_main_moved_on_and_the_merge_commit_is_checked_out(site: Site) -> None:
    add_page(site.project)
    site.push()
    tip = main_moves_on(site)
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.exit_code, ran.outputs["verdict"]) == (0, "pass")
    assert f"base {tip}: first parent of the merge commit" in ran.log


def test_a_head_that_merged_main_itself(site: Site) -> None:
    """Its own merge has two parents too, but it is not GitHub's: its first parent is the author's, with a lower bar."""
    break_e101(site.project)
    record(site.project)
    lowered = site.push()
    tip = main_moves_on(site)
    site.project.git("merge", "--quiet", "--no-edit", "--strategy-option", "theirs", "main")
    site.project.git("checkout", "--quiet", lowered, "--", "baselines")
    head = site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert f"base {tip}: first parent of the merge commit" in ran.log
    assert (ran.job, ran.outputs["verdict"] in ("regression", "invalid")) == ("failure", True)
    # And where only that head is checked out: its first parent is never taken for the base.
    ran = site.run_pull(number, checkout=head)
    assert f"base {tip}: merge base of head and base" in ran.log
    assert ran.job == "failure"


def test_a_checkout_of_the_head_alone_is_held_against_the_merge_base(site: Site) -> None:
    fork_point = site.project.git("rev-parse", "main").strip()
    add_page(site.project)
    head = site.push()
    main_moves_on(site)
    number = site.open_pull()
    ran = site.run_pull(number, checkout=head, depth=1)
    assert f"base {fork_point}: merge base of head and base" in ran.log
    assert (ran.exit_code, ran.outputs["verdict"]) == (0, "pass")
    assert [one for one in ran.annotations if one.level != "notice"] == []


def test_a_shallow_checkout_of_the_merge_commit_names_its_parents_all_the_same(site: Site) -> None:
    """As actions/checkout leaves it without fetch-depth. Where the pull request begins, its author chooses; not here."""
    break_e101(site.project)
    site.push()
    tip = main_moves_on(site)
    number = site.open_pull()
    ran = site.run_pull(number, depth=1)
    assert f"base {tip}: first parent of the merge commit" in ran.log
    assert (ran.exit_code, ran.outputs["verdict"]) == (1, "regression")


def test_a_full_clone(site: Site) -> None:
    add_page(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, depth=0)
    assert (ran.exit_code, ran.outputs["verdict"]) == (0, "pass")
    assert "first parent of the merge commit" in ran.log

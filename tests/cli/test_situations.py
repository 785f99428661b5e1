"""Every row of DESIGN section 6's table, in a real repository with a base (`main`) and a change.

None of the tampering may be green unseen: each test says which verdict, and which finding makes it seen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_project import Project

from gate.commands._step import regressed
from gate.store import git, reports


def codes(suite: dict[str, Any], level: str | None = None) -> set[str]:
    return {f["code"] for f in suite["findings"] if level is None or f["level"] == level}


def break_e101(project: Project) -> None:
    """Rewrite the section that answers q-02, so that it no longer does."""
    project.edit("docs/errors.md", "## E101 WidgetJam\n\nE101 means", "## A jam\n\nIt means")
    project.edit("docs/faq.md", "See the errors page.", "See the WidgetJam page on E101.")
    project.edit("docs/news.md", "grew.", "grew. E101 WidgetJam went.")


def record(project: Project, *arguments: str) -> None:
    done = project.gate("baseline", *arguments)
    assert done.code == 0, done.err


def failing(project: Project) -> list[dict[str, Any]]:
    """The action's output `regressed` of a run against main."""
    project.gate("run", "--base", "main", "--json", "report.json")
    return regressed(reports.parse(project.read("report.json"), "report.json"))


def test_equal_cases_and_no_change_is_a_pass(project: Project) -> None:
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    assert suite["comparison"]["keyword"]["ties"] == 6
    assert suite["baseline"]["commit"] == project.git("rev-parse", "main").strip()


def test_equal_cases_and_a_lost_case_is_a_regression(project: Project) -> None:
    break_e101(project)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    comparison = suite["comparison"]["keyword"]
    assert comparison["dropped_kinds"] == ["exact_term"]
    lost = next(case for case in comparison["lost"] if case["id"] == "q-02")
    assert lost["pages"] == [
        {
            "doc_id": "errors",
            "before": 1,
            "after": lost["pages"][0]["after"],
            "cause": "edited",
            "renamed_to": None,
            "moved_to": None,
            "legs": {},
        }
    ]
    assert lost["by"] == "pages"
    assert set(lost["overtaken_by"]) == {"faq", "news"}
    assert set(lost["touched"]) == {"errors", "faq", "news"}


def test_cases_changed_and_baseline_not_is_invalid_and_leaves_a_candidate(project: Project) -> None:
    project.cases.append({"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"})
    project.case("q-04")["kind"] = "semantic"
    project.cases.remove(project.case("q-12"))
    project.save_cases()
    done = project.gate("run", "--base", "main", "--json", "report.json")
    suite = json.loads(project.read("report.json"))["suites"][0]
    assert (done.code, suite["verdict"]) == (2, "invalid")
    finding = next(f for f in suite["findings"] if f["code"] == "cases-changed")
    assert finding["cases"] == ["q-14", "q-12", "q-04"]
    assert "1 added: q-14; 1 removed: q-12; 1 changed: q-04" in finding["text"]
    taken = project.gate("baseline", "--from-report", "report.docs.baseline.json")
    assert taken.code == 0, taken.err
    code, suite = project.report("--base", "main")
    assert code == 0
    assert "cases-and-baseline-changed" in codes(suite, "banner")


def test_cases_and_baseline_changed_together_added_case_passes_with_a_banner(project: Project) -> None:
    project.cases.append({"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"})
    project.save_cases()
    record(project)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    assert suite["case_changes"]["added"] == ["q-14"]
    assert "cases-and-baseline-changed" in codes(suite, "banner")


def test_a_new_baseline_that_does_not_reproduce_is_invalid(project: Project) -> None:
    project.cases.append({"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"})
    project.save_cases()
    record(project)
    project.edit("docs/news.md", "green", "grey")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "baseline-not-reproduced" in codes(suite, "invalid")


@pytest.mark.parametrize("tampering", ["removed", "relabelled", "rekinded", "moved to dev"])
def test_the_failing_case_cannot_be_talked_away(project: Project, tampering: str) -> None:
    break_e101(project)
    if tampering == "removed":
        project.cases.remove(project.case("q-02"))
    elif tampering == "relabelled":
        project.case("q-02")["relevant_doc_ids"] = ["faq"]
    elif tampering == "rekinded":
        project.case("q-02")["kind"] = "semantic"
    else:
        project.case("q-02")["split"] = "dev"
    project.save_cases()
    code, suite = project.report("--base", "main")
    assert code == 2, "the baseline was not refreshed"
    record(project, "--reason", "it is only a demo")
    project.remove("baselines/docs.accepted.toml") if (
        project.root / "baselines/docs.accepted.toml"
    ).exists() else None
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "q-02" in {case["id"] for case in suite["comparison"]["keyword"]["lost"]}
    assert any(f["kind"] == "exact_term" for f in suite["findings"] if f["level"] == "regression")
    assert "cases-and-baseline-changed" in codes(suite, "banner")


def test_only_the_baseline_changed_is_still_gated_against_the_base(project: Project) -> None:
    break_e101(project)
    record(project, "--reason", "worse on purpose")
    project.remove("baselines/docs.accepted.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    banner = next(f for f in suite["findings"] if f["code"] == "baseline-edited")
    assert banner["level"] == "banner"
    assert "lowers keyword: q-02" in banner["text"]


def test_a_baseline_lowered_by_hand_is_seen(project: Project) -> None:
    text = project.read("baselines/docs.json")
    row = next(line for line in text.splitlines() if '"q-02": {"at"' in line)
    project.write("baselines/docs.json", text.replace(row, row.replace('"recall": 1.0', '"recall": 0.0')))
    done = project.gate("run", "--base", "main")
    assert done.code == 2
    assert "baselines/docs.json: contradicts itself" in done.err
    assert "q-02" in done.err


def test_a_baseline_lowered_below_what_is_measured_is_a_regression(project: Project) -> None:
    break_e101(project)
    record(project, "--reason", "x")
    project.remove("baselines/docs.accepted.toml")
    project.git("checkout", "--", "docs")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression"), "it would let the next change lose q-02 unseen"
    banner = next(f for f in suite["findings"] if f["code"] == "baseline-edited")
    assert "lowers keyword: q-02" in banner["text"]
    assert next(f["cases"] for f in suite["findings"] if f["code"] == "baseline-lowered") == ["q-02"]


def test_k_changed_without_the_baseline_is_invalid(project: Project) -> None:
    project.edit("gate.toml", "k = 2", "k = 7")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "k 2 -> 7" in next(f["text"] for f in suite["findings"] if f["code"] == "settings-changed")


def test_k_changed_with_the_baseline_is_rescored_and_gated(project: Project) -> None:
    project.edit("gate.toml", "k = 2", "k = 1")
    record(project, "--reason", "x")
    code, suite = project.report("--base", "main")
    assert code == 0
    assert "settings-changed" in codes(suite, "banner")
    break_e101(project)
    record(project, "--reason", "x")
    project.remove("baselines/docs.accepted.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    comparison = suite["comparison"]["keyword"]
    assert comparison["metrics"]["recall"]["before"] != comparison["metrics"]["recall"]["after"]


@pytest.mark.parametrize(("old", "new"), [("pool = 8", "pool = 9"), ("k = 2", 'split = "dev"\nk = 2')])
def test_settings_that_stored_rankings_cannot_answer_are_invalid(
    project: Project, old: str, new: str
) -> None:
    project.edit("gate.toml", old, new)
    record(project, "--reason", "x")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "settings-not-comparable" in codes(suite, "invalid")


def test_a_smaller_pool_is_rescored(project: Project) -> None:
    project.edit("gate.toml", "pool = 8", "pool = 4")
    record(project, "--reason", "x")
    code, suite = project.report("--base", "main")
    assert code == 0, suite["findings"]
    assert suite["comparison"]["keyword"]["metrics"]["rr"]["total"] == 0.0


def test_a_dropped_arm_is_invalid_unless_accepted(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.edit(
        "gate.toml",
        "[suite.docs.arms.keyword]",
        '[suite.docs.arms.second]\ntype = "bm25"\nk1 = 1.2\n\n[suite.docs.arms.keyword]',
    )
    record(project)
    project.commit("two arms")
    project.git("checkout", "--quiet", "-B", "change")
    project.edit("gate.toml", '[suite.docs.arms.second]\ntype = "bm25"\nk1 = 1.2\n', "")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "the arm 'second' of the base is absent here" in next(
        f["text"] for f in suite["findings"] if f["code"] == "arm-absent"
    )
    project.write("baselines/docs.accepted.toml", entry("arm", "second", suite["baseline"]["sha256"]))
    code, suite = project.report("--base", "main")
    assert code == 0
    assert "arm-absent" in codes(suite, "banner")


def entry(what: str, name: str, baseline: str, **more: str) -> str:
    values = {"what": what, "name": name, "reason": "retired knowingly", "baseline_sha256": baseline, **more}
    return "[[accepted]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def test_a_kind_that_vanishes_is_invalid_unless_accepted(project: Project) -> None:
    for case in project.cases:
        case["kind"] = "semantic"
    project.save_cases()
    refused = project.gate("baseline")
    assert refused.code == 2
    assert "the kind 'exact_term' of the last baseline would be gone" in refused.err
    record(project, "--reason", "one kind is enough")
    accepted = project.read("baselines/docs.accepted.toml")
    project.remove("baselines/docs.accepted.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "kind-absent" in codes(suite, "invalid")
    project.write("baselines/docs.accepted.toml", accepted)
    code, suite = project.report("--base", "main")
    assert code == 0
    assert "kind-absent" in codes(suite, "banner")


def test_a_dropped_qa_set_is_invalid(project: Project) -> None:
    project.edit("gate.toml", 'qa = "eval/qa.jsonl"\n', "")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "qa-absent" in codes(suite, "invalid")


def test_a_dropped_or_renamed_suite_is_invalid_unless_accepted(project: Project) -> None:
    project.write("gate.toml", project.read("gate.toml").replace("suite.docs", "suite.other"))
    project.git("mv", "baselines/docs.json", "baselines/other.json")
    project.edit("baselines/other.json", '"suite": "docs"', '"suite": "other"')
    done = project.gate("run", "--base", "main", "--json", "-")
    report = json.loads(done.out)
    assert done.code == 2
    assert [(s["suite"], s["verdict"]) for s in report["suites"]] == [("other", "pass"), ("docs", "invalid")]
    digest = baseline_digest(project)
    project.write("baselines/docs.accepted.toml", entry("suite", "docs", digest))
    done = project.gate("run", "--base", "main", "--json", "-")
    assert done.code == 0
    assert "suite-absent" in codes(json.loads(done.out)["suites"][1], "banner")


def baseline_digest(project: Project, ref: str = "main") -> str:
    from gate.commands._project import load_metrics
    from gate.store import baselines

    return baselines.parse(
        project.git("show", f"{ref}:baselines/docs.json"), "x", "docs", load_metrics()
    ).sha256()


def test_a_new_suite_passes_with_a_notice_when_its_baseline_reproduces(project: Project) -> None:
    more = project.read("gate.toml").replace("suite.docs", "suite.second")
    project.write("gate.toml", project.read("gate.toml") + more)
    done = project.gate("run", "--base", "main", "--suite", "second", "--json", "-")
    assert done.code == 2
    assert "no-baseline" in codes(json.loads(done.out)["suites"][0], "invalid")
    record(project, "second")
    code, suite = project.report("--base", "main", "--suite", "second")
    assert (code, suite["verdict"]) == (0, "pass")
    assert "new-baseline" in codes(suite, "notice")
    break_e101(project)
    code, suite = project.report("--base", "main", "--suite", "second")
    assert code == 2
    assert "baseline-not-reproduced" in codes(suite, "invalid")


def test_no_baseline_at_all_is_invalid_and_no_baseline_flag_only_measures(empty_project: Project) -> None:
    code, suite = empty_project.report()
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "gate baseline docs" in next(f["todo"] for f in suite["findings"] if f["code"] == "no-baseline")
    code, suite = empty_project.report("--no-baseline")
    assert (code, suite["verdict"]) == (0, "unjudged")


def test_arm_settings_may_change_and_are_named(project: Project) -> None:
    project.edit("gate.toml", 'type = "bm25"', 'type = "bm25"\nk1 = 1.6')
    code, suite = project.report("--base", "main")
    assert code == 0
    assert suite["comparison"]["keyword"]["settings_changed"] == ["k1: 1.5 -> 1.6"]


@pytest.mark.parametrize("stance", ["fail", "warn"])
def test_a_loss_that_the_base_tree_has_too_is_marked(project: Project, stance: str) -> None:
    project.git("checkout", "--quiet", "main")
    project.write(
        "gate.toml",
        project.read("gate.toml") + f'\n[suite.docs.policy]\nrule = "any-drop"\nalready_lost = "{stance}"\n',
    )
    break_e101(project)
    project.commit("main broke it without looking")
    project.git("checkout", "--quiet", "-B", "change")
    project.write("docs/extra.md", "# Extra\n\nNothing.\n")
    code, suite = project.report("--base", "main")
    lost = next(case for case in suite["comparison"]["keyword"]["lost"] if case["id"] == "q-02")
    assert lost["already_lost"] is True, suite
    assert code == (1 if stance == "fail" else 0)


@pytest.mark.parametrize("split", ["dev", "all"])
def test_another_split_is_measured_and_never_judged(project: Project, split: str) -> None:
    break_e101(project)
    code, suite = project.report("--base", "main", "--split", split)
    assert (code, suite["verdict"]) == (0, "unjudged")
    assert suite["comparison"] == {}


def test_another_split_is_compared_with_a_report_and_still_not_judged(project: Project) -> None:
    project.gate("run", "--split", "all", "--json", "before.json")
    break_e101(project)
    code, suite = project.report("--split", "all", "--against", "before.json")
    assert (code, suite["verdict"]) == (0, "unjudged")
    assert suite["comparison"]["keyword"]["losses"] >= 1


def test_a_weaker_policy_of_the_change_does_not_help(project: Project) -> None:
    break_e101(project)
    project.write(
        "gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\nrule = "max-drop"\nmax_drop = 1.0\n'
    )
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "policy-changed" in codes(suite, "banner")


def test_a_stricter_policy_of_the_change_applies_as_well(project: Project) -> None:
    project.write(
        "gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\nrule = "floor"\nfloor = 1.0\n'
    )
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "below-floor" in codes(suite, "regression")


def test_gate_false_and_required_false_of_the_change_do_not_help(project: Project) -> None:
    break_e101(project)
    project.edit(
        "gate.toml",
        'type = "bm25"',
        'type = "bm25"\ngate = false\nrequired = false\n\n[suite.docs.arms.other]\ntype = "bm25"',
    )
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "arm-rules-changed" in codes(suite, "banner")


def test_a_repointed_baseline_path_does_not_help(project: Project) -> None:
    break_e101(project)
    project.edit("gate.toml", "k = 2", 'baseline = "elsewhere/mine.json"\nk = 2')
    record(project)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert {"baseline-moved", "baseline-edited"} <= codes(suite, "banner")


def test_an_accepted_loss_passes_with_a_banner(project: Project) -> None:
    break_e101(project)
    refused = project.gate("baseline")
    assert refused.code == 2
    assert "would be lowered" in refused.err
    record(project, "--reason", "E101 was retired")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    lost = next(case for case in suite["comparison"]["keyword"]["lost"] if case["id"] == "q-02")
    assert lost["accepted"] == "E101 was retired"
    assert "E101 was retired" in next(f["text"] for f in suite["findings"] if f["code"] == "accepted-here")


@pytest.mark.parametrize("stale", ["baseline", "case"])
def test_accepting_with_a_stale_digest_does_not_help(project: Project, stale: str) -> None:
    break_e101(project)
    _, suite = project.report("--base", "main")
    digest = "0" * 64 if stale == "baseline" else suite["baseline"]["sha256"]
    case = suite["labels"]["q-02"]["sha256"] if stale == "baseline" else "0" * 64
    project.write(
        "baselines/docs.accepted.toml", entry("case", "q-02", digest, arm="keyword", case_sha256=case)
    )
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    stale_finding = next(f for f in suite["findings"] if f["code"] == "accepted-stale")
    assert stale_finding["cases"] == ["q-02"]


def test_a_policy_may_take_accepted_losses_only_from_the_base(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.write("gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\naccept = "base"\n')
    project.commit("strict")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    record(project, "--reason", "mine")
    code, suite = project.report("--base", "main")
    assert code == 1
    assert "accepted-ignored" in codes(suite, "banner")


@pytest.mark.parametrize("how", ["deleted", "renamed", "renamed and edited"])
def test_a_page_that_is_gone_is_measured_as_missing(project: Project, how: str) -> None:
    if how == "deleted":
        project.remove("docs/config.md")
    else:
        project.git("mv", "docs/config.md", "docs/settings.md")
        if how == "renamed and edited":
            project.edit("docs/settings.md", "40 by default.", "41 by default.")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    lost = {case["id"]: case for case in suite["comparison"]["keyword"]["lost"]}
    page = lost["q-04"]["pages"][0]
    assert page["cause"] == how.split(maxsplit=1)[0]
    assert page["renamed_to"] == (None if how == "deleted" else "settings")
    assert (page["before"], page["after"]) == (1, None)
    assert "labelled-page-gone" in codes(suite, "warning")


def test_a_label_for_a_page_that_never_was_is_an_input_error(project: Project) -> None:
    project.case("q-04")["relevant_doc_ids"] = ["confg"]
    project.save_cases()
    done = project.gate("run", "--base", "main")
    assert done.code == 2
    assert "cases.jsonl:2: case 'q-04' labels 'confg', no such page. Closest: 'config'." in done.err


def test_local_run_without_base_uses_the_work_tree(project: Project) -> None:
    code, suite = project.report()
    assert (code, suite["verdict"]) == (0, "pass")
    assert suite["baseline"]["commit"] is None
    break_e101(project)
    code, suite = project.report()
    assert code == 1


def test_an_arm_left_out_by_hand_is_partial_not_a_pass(project: Project) -> None:
    project.edit(
        "gate.toml",
        "[suite.docs.arms.keyword]",
        '[suite.docs.arms.second]\ntype = "bm25"\n\n[suite.docs.arms.keyword]',
    )
    record(project)
    code, suite = project.report("--arm", "keyword")
    assert (code, suite["verdict"]) == (0, "partial")


SECOND = '[suite.docs.arms.second]\ntype = "bm25"\n\n[suite.docs.arms.keyword]'


def test_a_new_arm_has_no_before_and_says_so(project: Project) -> None:
    project.edit("gate.toml", "[suite.docs.arms.keyword]", SECOND)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    assert "second" not in suite["comparison"]
    assert "arm-new" in codes(suite, "banner"), "nobody recorded it yet"
    record(project)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    assert "arm-new" in codes(suite, "notice")


def test_an_arm_that_nobody_recorded_is_invalid_after_the_merge(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", "[suite.docs.arms.keyword]", SECOND)
    project.commit("an arm without rows")
    project.git("checkout", "--quiet", "-B", "change")
    for flags in ((), ("--base", "main")):
        code, suite = project.report(*flags)
        assert (code, suite["verdict"]) == (2, "invalid")
        assert "arm-without-rows" in codes(suite, "invalid")


def test_a_base_without_gate_toml_is_a_new_suite(project: Project) -> None:
    project.git("checkout", "--quiet", "--orphan", "empty")
    project.git("rm", "-rq", "--cached", ".")
    project.git("commit", "--quiet", "--allow-empty", "--message", "nothing")
    code, suite = project.report("--base", "empty")
    assert (code, suite["verdict"]) == (0, "pass")
    assert "new-baseline" in codes(suite, "banner")


def test_a_base_that_was_not_fetched_is_fetched_by_its_own_name(project: Project) -> None:
    assert "git fetch origin nowhere" in project.gate("run", "--base", "origin/nowhere").err


@pytest.mark.parametrize("ref", ["nowhere", "-x", "main:gate.toml"])
def test_a_base_that_is_no_commit_is_an_input_error(project: Project, ref: str) -> None:
    done = project.gate("run", f"--base={ref}")
    assert done.code == 2
    assert f"--base {ref}" in done.err


OVERRIDE = '{% extends "gate/comment.md.j2" %}\n{% block footer %}\nWritten by WHO.\n{% endblock %}\n'


def test_template_overrides_come_from_the_base(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", "k = 2", 'templates = "words"\nk = 2')
    project.write("words/comment.md.j2", OVERRIDE.replace("WHO", "the base"))
    project.commit("own words")
    project.git("checkout", "--quiet", "-B", "change")
    project.write("words/comment.md.j2", OVERRIDE.replace("WHO", "the change"))
    assert project.gate("run", "--base", "main", "--markdown", "comment.md").code == 0
    assert "Written by the base." in project.read("comment.md")
    assert project.gate("run", "--markdown", "comment.md").code == 0
    assert "Written by the change." in project.read("comment.md")


def test_a_raised_k_does_not_hide_a_loss_at_the_base_s_k(project: Project) -> None:
    break_e101(project)
    project.edit("gate.toml", "k = 2", "k = 7")
    record(project, "--reason", "x")
    (project.root / "baselines/docs.accepted.toml").unlink(missing_ok=True)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    own = next(f for f in suite["findings"] if f["code"] == "kind-dropped-under-base")
    assert "exact_term" in own["text"]
    assert "k = 2" in own["text"]
    assert failing(project)[-1] == {
        "suite": "docs",
        "arm": None,
        "kind": None,
        "metric": "recall",
        "before": None,
        "after": None,
        "cases": ["q-02"],
        "code": "kind-dropped-under-base",
    }


def test_the_page_shows_the_scores_before_as_the_comparison_has_them(project: Project) -> None:
    """Under another k the baseline's rows are scored again; its own numbers beside today's would read as losses."""
    project.edit("gate.toml", "k = 2", "k = 1")
    record(project, "--reason", "x")
    done = project.gate("run", "--base", "main", "--json", "report.json", "--html", "report.html")
    assert done.code == 0, done.err
    (suite,) = json.loads(project.read("report.json"))["suites"]
    found = suite["comparison"]["keyword"]
    assert (found["wins"], found["losses"], found["ties"]) == (0, 0, 6)
    block = project.read("report.html").partition('id="s0-data">')[2].partition("</script>")[0]
    rows = json.loads(block)["rows"]
    assert {row[4] for row in rows} == {"tie"}
    assert all(row[2] == row[3] for row in rows)


def test_a_baseline_recorded_under_other_settings_is_invalid(project: Project) -> None:
    project.edit("gate.toml", "k = 2", "k = 1")
    record(project, "--reason", "x")
    project.git("checkout", "--", "gate.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "baseline-not-reproduced" in codes(suite, "invalid")


def test_a_config_of_another_name_is_held_against_the_base_s_file_of_that_name(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.git("mv", "gate.toml", "search.toml")
    project.commit("another name")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    assert project.gate("baseline", "--config", "search.toml", "--reason", "x").code == 0
    project.remove("baselines/docs.accepted.toml")
    code, suite = project.report("--base", "main", "--config", "search.toml")
    assert (code, suite["verdict"]) == (1, "regression")


def test_a_brought_baseline_cannot_excuse_itself_as_unstable(project: Project) -> None:
    project.write(
        "gate.toml",
        project.read("gate.toml") + project.read("gate.toml").replace("suite.docs", "suite.second"),
    )
    record(project, "second")
    value = json.loads(project.read("baselines/second.json"))
    value["arms"]["keyword"]["unstable"] = list(value["cases"])
    project.write("baselines/second.json", json.dumps(value))
    break_e101(project)
    code, suite = project.report("--base", "main", "--suite", "second")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "baseline-not-reproduced" in codes(suite, "invalid")


def test_rows_stripped_of_their_scores_do_not_reproduce(project: Project) -> None:
    project.write(
        "gate.toml",
        project.read("gate.toml") + project.read("gate.toml").replace("suite.docs", "suite.second"),
    )
    record(project, "second")
    value = json.loads(project.read("baselines/second.json"))
    for row in value["arms"]["keyword"]["rows"].values():
        for name in set(row) - {"ranked", "at"}:
            del row[name]
        row["ranked"], row["at"] = [], []
    project.write("baselines/second.json", json.dumps(value))
    done = project.gate("run", "--base", "main", "--suite", "second")
    assert done.code == 2
    assert "contradicts itself" in done.err


def test_an_accepted_loss_covers_no_deeper_one(project: Project) -> None:
    project.edit("docs/faq.md", "A jammed widget wants to be shaken.", "See there.")
    project.edit("docs/faq.md", "stuck", "so")
    record(project, "--reason", "the questions moved")
    code, suite = project.report("--base", "main")
    lost = {case["id"]: case for case in suite["comparison"]["keyword"]["lost"]}
    assert code == 0
    assert lost["q-08"]["accepted"] == "the questions moved"
    project.edit("docs/errors.md", "that the widget is jammed", "nothing good")
    refused = project.gate("baseline")
    assert refused.code == 2, "the old reason does not cover the deeper loss"
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")


def test_an_accepted_loss_that_was_undone_excuses_nothing_later(project: Project) -> None:
    break_e101(project)
    record(project, "--reason", "for now")
    project.git("checkout", "--", "docs")
    record(project)
    assert not (project.root / "baselines/docs.accepted.toml").exists()


def test_a_reference_with_failed_cases_is_no_reference(project: Project) -> None:
    project.gate("run", "--json", "before.json")
    value = json.loads(project.read("before.json"))
    arm = value["suites"][0]["arms"]["keyword"]
    arm["failed"] = {"q-02": "TimeoutError"}
    arm["cases"] = [row for row in arm["cases"] if row["id"] != "q-02"]
    project.write("before.json", json.dumps(value))
    code, suite = project.report("--against", "before.json")
    assert (code, suite["verdict"]) == (3, "not_measured")
    project.gate("run", "--json", "after.json")
    assert project.gate("compare", "before.json", "after.json").code == 3


def test_nothing_compared_is_no_pass(project: Project) -> None:
    _, suite = project.report("--base", "main")
    project.edit("gate.toml", "arms.keyword", "arms.kw2")
    break_e101(project)
    project.write("baselines/docs.accepted.toml", entry("arm", "keyword", suite["baseline"]["sha256"]))
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "nothing-compared" in codes(suite, "invalid")


def test_a_floor_judges_an_arm_without_a_before(project: Project) -> None:
    more = project.read("gate.toml").replace("suite.docs", "suite.second")
    project.write(
        "gate.toml",
        project.read("gate.toml") + more + '\n[suite.second.policy]\nrule = "floor"\nfloor = 1.0\n',
    )
    record(project, "second")
    code, suite = project.report("--base", "main", "--suite", "second")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "below-floor" in codes(suite, "regression")


def test_base_and_against_exclude_each_other(project: Project) -> None:
    project.gate("run", "--json", "before.json")
    done = project.gate("run", "--base", "main", "--against", "before.json")
    assert done.code == 2
    assert "both name what to compare with" in done.err


def test_a_required_arm_left_out_against_a_base_is_not_measured(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", "[suite.docs.arms.keyword]", SECOND)
    record(project)
    project.commit("two arms")
    project.git("checkout", "--quiet", "-B", "change")
    code, suite = project.report("--base", "main", "--arm", "keyword")
    assert (code, suite["verdict"]) == (3, "not_measured")


def test_a_policy_in_the_tree_cannot_judge_the_tree(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.write("mine.py", "from gate.policies.any_drop import Settings, judge\n")
    project.write("judges.py", "import mine as rule\n")
    project.write("gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\nrule = "judges:rule"\n')
    project.commit("own policy")
    project.git("checkout", "--quiet", "-B", "change")
    done = project.gate("run", "--base", "main")
    assert done.code == 2
    assert "could rewrite what judges it" in done.err
    assert project.gate("run").code == 0


def test_a_reworded_question_does_not_hide_that_it_fell(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.write("gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\ndiagnosis = "fail"\n')
    project.commit("questions decide")
    project.git("checkout", "--quiet", "-B", "change")
    project.edit("eval/qa.jsonl", "The widget is lost.", "It is lost.")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "questions-changed" in codes(suite, "invalid")


def test_a_question_that_falls_back_is_told_among_what_fails(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.write("gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\ndiagnosis = "fail"\n')
    project.commit("questions decide")
    project.git("checkout", "--quiet", "-B", "change")
    project.edit("docs/errors.md", "E102 means that nobody knows where the widget went.", "Gone.")
    project.edit("docs/errors.md", "## E102 WidgetLost", "## Lost")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "diagnosis-worse" in codes(suite, "regression")
    (fallen,) = [entry for entry in failing(project) if entry["code"] == "diagnosis-worse"]
    assert (fallen["arm"], fallen["kind"], fallen["metric"], fallen["cases"]) == ("keyword", None, None, [])


def relabel(project: Project, old: str, new: str) -> None:
    """Give a page another name in every label and citation."""
    for path in ("eval/cases.jsonl", "eval/qa.jsonl"):
        project.edit(path, f'"{old}"', f'"{new}"')


def drop_labels(project: Project, page: str) -> None:
    """Remove every case and question that names a page."""
    for path in ("eval/cases.jsonl", "eval/qa.jsonl"):
        kept = [line for line in project.read(path).splitlines(keepends=True) if f'"{page}"' not in line]
        project.write(path, "".join(kept))


def merge(project: Project) -> None:
    project.commit("change")
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "change")


@pytest.mark.parametrize("edited", [False, True])
def test_a_page_renamed_together_with_its_labels_has_lost_nothing(project: Project, edited: bool) -> None:
    project.git("mv", "docs/config.md", "docs/settings.md")
    if edited:
        project.edit("docs/settings.md", "40 by default.", "41 by default.")
    relabel(project, "config", "settings")
    done = project.gate("baseline", "--reason", "renamed", "--base", "main")
    assert done.code == 0
    assert "no loss, since the labels were renamed with their pages: q-04, q-06" in done.out
    assert "--reason: nothing new is lowered" in done.out
    assert not (project.root / "baselines/docs.accepted.toml").exists()
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    told = next(f for f in suite["findings"] if f["code"] == "labels-follow-renames")
    assert (told["level"], told["cases"]) == ("notice", ["q-04", "q-06"])
    assert "config -> settings" in told["text"]
    merge(project)
    assert project.report()[0] == 0


def test_a_renamed_page_that_answers_no_more_is_a_loss_of_its_relabelled_cases(project: Project) -> None:
    project.git("mv", "docs/config.md", "docs/settings.md")
    project.edit("docs/settings.md", "## max_size\n\n`max_size` is", "## The largest\n\nIt is")
    relabel(project, "config", "settings")
    assert "q-04 (keyword: recall@2 1.00 -> 0.00)" in project.gate("baseline").err
    record(project, "--reason", "reworded")
    project.remove("baselines/docs.accepted.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    lost = {case["id"]: case for case in suite["comparison"]["keyword"]["lost"]}
    assert set(lost) == {"q-04"}
    assert (lost["q-04"]["pages"][0]["renamed_to"], lost["q-04"]["pages"][0]["after"]) == ("settings", None)
    shown = project.gate("run", "--base", "main").out
    assert "config (now settings): 1 -> outside the pool" in shown
    assert "old name" not in shown


def test_a_relabelling_beyond_the_new_name_is_scored_as_the_base_labels_it(project: Project) -> None:
    project.git("mv", "docs/config.md", "docs/settings.md")
    relabel(project, "config", "settings")
    project.edit("eval/cases.jsonl", '"query": "max_size", "relevant_doc_ids": ["settings"]',
                 '"query": "max_size", "relevant_doc_ids": ["news"]')  # fmt: skip
    refused = project.gate("baseline")
    assert "1 case would be lowered: q-04 (keyword: recall@2 1.00 -> 0.00)" in refused.err
    record(project, "--reason", "another page answers it")
    assert project.report("--base", "main")[0] == 0
    shown = project.gate("run", "--base", "main").out
    assert "renamed to settings; the label was changed, and not only to that name" in shown


def test_a_page_deleted_with_its_cases_can_be_merged_with_a_reason(project: Project) -> None:
    project.remove("docs/config.md")
    drop_labels(project, "config")
    refused = project.gate("baseline")
    assert refused.code == 2
    assert "2 cases would be lowered" in refused.err
    record(project, "--reason", "the page was retired")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    assert {case["accepted"] for case in suite["comparison"]["keyword"]["lost"]} == {"the page was retired"}
    merge(project)
    assert project.report()[0] == 0


@pytest.mark.parametrize("tampering", ["removed", "relabelled", "rekinded", "moved to dev"])
def test_a_lost_case_that_is_talked_away_needs_a_reason(project: Project, tampering: str) -> None:
    break_e101(project)
    case = project.case("q-02")
    if tampering == "removed":
        project.cases.remove(case)
    else:
        key, value = {
            "relabelled": ("relevant_doc_ids", ["faq"]),
            "rekinded": ("kind", "semantic"),
            "moved to dev": ("split", "dev"),
        }[tampering]
        case[key] = value
    project.save_cases()
    refused = project.gate("baseline", "--base", "main")
    assert refused.code == 2
    assert "q-02 (keyword: recall@2 1.00 -> 0.00)" in refused.err
    record(project, "--base", "main", "--reason", "not asked any more")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    assert suite["comparison"]["keyword"]["lost"][0]["accepted"] == "not asked any more"


def test_no_baseline_is_recorded_while_labels_name_a_page_that_is_gone(project: Project) -> None:
    project.remove("docs/config.md")
    checked = project.gate("check")
    assert checked.code == 0
    assert "eval/cases.jsonl:2: case 'q-04' labels 'config', a page that is gone" in checked.out
    assert "3 labels to change or remove before a merge" in checked.out
    before = project.files()
    refused = project.gate("baseline", "--reason", "the page was retired")
    assert refused.code == 2
    for line in ("eval/cases.jsonl:2: case 'q-04' labels", "eval/qa.jsonl:2: question 'qa-2' cites"):
        assert line in refused.err
    assert project.files() == before
    _, suite = project.report("--base", "main")
    gone = next(f for f in suite["findings"] if f["code"] == "labelled-page-gone")
    assert gone["level"] == "warning"
    assert "eval/cases.jsonl:2 case 'q-04' labels 'config'" in gone["text"]
    assert "eval/qa.jsonl:2 question 'qa-2' cites 'config'" in gone["text"]
    project.gate("run", "--no-baseline", "--json", "report.json")
    assert project.gate("baseline", "--reason", "x", "--from-report", "report.json").code == 2


def test_a_renamed_page_is_named_where_its_labels_are_refused(project: Project) -> None:
    project.git("mv", "docs/config.md", "docs/settings.md")
    refused = project.gate("baseline")
    assert "labels 'config', a page that is gone. It is 'settings' now: rename the label." in refused.err


def test_a_baseline_without_a_page_that_labels_still_name_is_never_green(project: Project) -> None:
    """However it was made: after the merge no run could start."""
    project.remove("docs/config.md")
    labels = {path: project.read(path) for path in ("eval/cases.jsonl", "eval/qa.jsonl")}
    _, suite = project.report("--base", "main")
    drop_labels(project, "config")
    record(project, "--reason", "the page was retired")
    for path, text in labels.items():
        project.write(path, text)
    baseline = json.loads(project.git("show", "main:baselines/docs.json"))
    brought = json.loads(project.read("baselines/docs.json"))
    row = {**brought["arms"]["keyword"]["rows"]["q-02"], "ranked": [], "at": []}
    row |= {name: 0.0 for name in row if name not in ("ranked", "at")}
    brought["arms"]["keyword"]["rows"] |= {"q-04": row, "q-06": row}
    now = {case["id"]: case for case in suite["arms"]["keyword"]["cases"]}
    for name in ("q-04", "q-06"):
        same = {key: now[name][key] for key in row if key in now[name]}
        brought["arms"]["keyword"]["rows"][name] = {**row, **same}
    brought["cases"], brought["cases_version"] = baseline["cases"], baseline["cases_version"]
    brought["qa_version"] = baseline["qa_version"]
    project.write("baselines/docs.json", json.dumps(brought))
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "labels-without-page" in codes(suite, "invalid")


def test_a_deleted_page_whose_labels_stay_leaves_a_main_that_runs(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.remove("docs/install.md")
    project.cases.append({"id": "q-05", "query": "pip", "relevant_doc_ids": ["install"], "kind": "semantic"})
    project.git("checkout", "--", "docs")
    project.save_cases()
    project.commit("a case of the dev split")
    project.git("checkout", "--quiet", "-B", "change")
    project.remove("docs/install.md")
    code, suite = project.report("--base", "main")
    assert code == 0
    gone = next(f for f in suite["findings"] if f["code"] == "labelled-page-gone")
    assert "case 'q-05' labels 'install'" in gone["text"]
    merge(project)
    assert project.report()[0] == 0


def test_a_removed_baseline_is_invalid(project: Project) -> None:
    project.remove("baselines/docs.json")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "baseline-removed" in codes(suite, "invalid")


def test_a_loss_deeper_than_the_brought_baseline_does_not_lower_it_below_what_is_measured(
    project: Project,
) -> None:
    project.edit("docs/faq.md", "A jammed widget wants to be shaken.", "See there.")
    project.edit("docs/faq.md", "stuck", "so")
    record(project, "--reason", "the questions moved")
    project.edit("docs/errors.md", "that the widget is jammed", "nothing good")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "baseline-lowered" not in codes(suite)
    above = next(f for f in suite["findings"] if f["code"] == "baseline-above")
    assert above["cases"] == ["q-08"]


def test_a_baseline_above_what_is_measured_would_fail_every_later_run(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    break_e101(project)
    record(project, "--reason", "x")
    merge(project)
    project.git("checkout", "--quiet", "-B", "change")
    broken = {name: project.read(f"docs/{name}.md") for name in ("errors", "faq", "news")}
    project.git("checkout", "--quiet", "main~1", "--", "docs")
    record(project)
    for name, text in broken.items():
        project.write(f"docs/{name}.md", text)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    assert "baseline-above" in codes(suite, "regression")


def test_a_loss_that_is_accepted_in_advance_is_seen(project: Project) -> None:
    _, suite = project.report("--base", "main")
    accepted = entry(
        "case",
        "q-02",
        suite["baseline"]["sha256"],
        arm="keyword",
        case_sha256=suite["labels"]["q-02"]["sha256"],
    )
    project.write("baselines/docs.accepted.toml", accepted)
    code, suite = project.report("--base", "main")
    assert code == 0
    banner = next(f for f in suite["findings"] if f["code"] == "accepted-in-advance")
    assert (banner["level"], "q-02 (keyword)" in banner["text"]) == ("banner", True)
    assert "accepted-here" not in codes(suite)


def test_a_loss_under_the_base_s_own_k_is_accepted_with_a_reason(project: Project) -> None:
    break_e101(project)
    project.edit("docs/errors.md", "It means", f"WidgetJam{' and so on' * 20}: it means")
    project.edit("gate.toml", "k = 2", "k = 7")
    assert "q-02 (keyword: recall@2 1.00 -> 0.00)" in project.gate("baseline").err
    record(project, "--reason", "E101 was retired")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass"), suite["findings"]


def test_only_losses_that_decide_need_a_reason(project: Project) -> None:
    """q-04 falls to the second rank: recall@2 holds, MRR does not decide."""
    project.write("docs/more.md", "# max_size\n\nmax_size, max_size.\n")
    done = project.gate("baseline", "--base", "main")
    assert done.code == 0, done.err
    assert not (project.root / "baselines/docs.accepted.toml").exists()
    code, suite = project.report("--base", "main")
    fell = next(f for f in suite["findings"] if f["code"] == "metric-fell" and f["kind"] == "exact_term")
    assert (code, fell["level"]) == (0, "warning")
    assert "q-04 (ndcg, MRR)" in next(f["text"] for f in suite["findings"] if f["code"] == "baseline-edited")


def test_an_arm_that_is_only_shown_needs_no_reason(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", 'type = "bm25"', 'type = "bm25"\ngate = false')
    project.edit(
        "gate.toml",
        "[suite.docs.arms.keyword]",
        '[suite.docs.arms.other]\ntype = "bm25"\n\n[suite.docs.arms.keyword]',
    )
    record(project)
    project.commit("one is only shown")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    refused = project.gate("baseline").err
    assert "q-02 (other: " in refused
    assert "keyword" not in refused


def test_what_the_banner_counts_is_what_the_headline_counts(project: Project) -> None:
    project.edit("docs/faq.md", "A jammed widget wants to be shaken.", "See there.")
    project.edit("docs/faq.md", "stuck", "so")
    project.write("docs/more.md", "# max_size\n\nmax_size, max_size.\n")
    record(project, "--reason", "the questions moved")
    done = project.gate("run", "--base", "main", "--json", "report.json")
    suite = json.loads(project.read("report.json"))["suites"][0]
    banner = next(f for f in suite["findings"] if f["code"] == "accepted-here")
    assert banner["text"].startswith("this change accepts 1 of its own losses: q-08 (keyword)")
    assert "nothing dropped but 1 accepted loss (" in done.out.splitlines()[0]


def test_empty_variables_are_not_read_as_unset(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_BASE", "")
    done = project.gate("run")
    assert done.code == 2
    assert done.err.startswith("GATE_BASE: is empty")


def test_outputs_never_replace_a_file_that_is_no_output(project: Project) -> None:
    before = project.files()
    for target in ("baselines/docs.json", "gate.toml", "docs/faq.md"):
        assert project.gate("run", "--json", target).code == 2
        assert project.gate("run", "--markdown", target).code == 2
    assert project.files() == before


def test_measuring_another_corpus_than_the_base_is_seen(project: Project) -> None:
    for name in ("errors", "faq", "news", "config", "guide", "api", "install"):
        project.write(f"frozen/{name}.md", project.read(f"docs/{name}.md"))
    project.edit("gate.toml", 'corpus = "docs"', 'corpus = "frozen"')
    break_e101(project)
    code, suite = project.report("--base", "main")
    assert code == 0
    moved = next(f for f in suite["findings"] if f["code"] == "inputs-moved")
    assert (moved["level"], moved["text"]) == (
        "banner",
        "this change sets corpus = frozen; the base has docs",
    )


@pytest.mark.parametrize("home", ["gate.toml", "pyproject.toml"])
def test_a_config_that_moves_into_a_folder_takes_no_rule_of_the_base_along(
    project: Project, home: str
) -> None:
    settings = project.read("gate.toml")
    if home == "pyproject.toml":
        project.git("checkout", "--quiet", "main")
        project.remove("gate.toml")
        project.write(home, settings.replace("[suite", "[tool.gate.suite"))
        project.commit("in pyproject.toml")
        project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    below = settings.replace('"docs"', '"../docs"').replace('"eval/', '"../eval/')
    project.write("sub/gate.toml", below)
    assert project.gate("baseline", "--config", "sub").code == 0
    code, suite = project.report("--base", "main", "--config", "sub")
    assert code == 0, "a further config beside the base's is a project of its own"
    assert "new-baseline" in codes(suite, "banner")
    if home == "pyproject.toml":
        project.write(home, "[project]\n")
    else:
        project.remove(home)
    code, suite = project.report("--base", "main", "--config", "sub")
    assert (code, suite["verdict"]) == (2, "invalid")
    moved = next(f for f in suite["findings"] if f["code"] == "config-moved")
    assert f"../{home}" in moved["text"]


@pytest.mark.parametrize("upper", ["kept", "gone"])
def test_a_nearer_config_does_not_switch_the_bases_off(project: Project, upper: str) -> None:
    """A job with a working-directory finds the file of the folder above; a change may not put its own before it."""
    settings = project.read("gate.toml")
    project.git("checkout", "--quiet", "main")
    project.write("svc/readme.txt", "A service.")
    project.commit("a service")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    project.below = "svc"
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    below = settings.replace('"docs"', '"../docs"').replace('"eval/', '"../eval/')
    project.write("svc/gate.toml", below)
    assert project.gate("baseline").code == 0
    if upper == "gone":
        project.remove("gate.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    moved = next(f for f in suite["findings"] if f["code"] == "config-moved")
    assert "../gate.toml" in moved["text"]


def test_the_nearer_config_of_the_base_may_not_go(project: Project) -> None:
    settings = project.read("gate.toml")
    project.git("checkout", "--quiet", "main")
    project.write("svc/gate.toml", settings.replace('"docs"', '"../docs"').replace('"eval/', '"../eval/'))
    project.below = "svc"
    assert project.gate("baseline").code == 0
    project.commit("a service with rules of its own")
    project.git("checkout", "--quiet", "-B", "change")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (0, "pass")
    project.remove("svc/gate.toml")
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "svc/gate.toml" in next(f for f in suite["findings"] if f["code"] == "config-moved")["text"]


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_config_behind_a_link_is_not_read_against_a_base(project: Project, linked: str) -> None:
    """Resolved it would stand in a folder of the change's, where the base has no rules."""
    flags: tuple[str, ...] = ()
    if linked == "file":
        project.git("checkout", "--quiet", "-B", "change")
        for part in ("gate.toml", "docs", "eval"):
            project.git("mv", part, f"evil-{part}")
        (project.root / "evil").mkdir()
        for part in ("gate.toml", "docs", "eval"):
            (project.root / f"evil-{part}").rename(project.root / "evil" / part)
        (project.root / "gate.toml").symlink_to("evil/gate.toml")
    else:
        project.git("checkout", "--quiet", "main")
        (project.root / "svc").mkdir()
        for part in ("gate.toml", "docs", "eval", "baselines"):
            project.git("mv", part, f"svc/{part}")
        project.commit("a service")
        project.git("checkout", "--quiet", "-B", "change")
        project.git("mv", "svc", "svc2")
        (project.root / "svc").symlink_to("svc2")
        flags = ("--config", "svc")
    assert project.gate("baseline", *flags).code == 0
    done = project.gate("run", "--base", "main", *flags)
    assert done.code == 2
    assert "is a link, so the base's settings would be looked for in another place" in done.err
    assert project.gate("run", *flags).code == 0, "without a base a link is a person's own affair"


def test_what_lies_behind_a_link_of_the_base_is_not_absent(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.git("mv", "baselines", "kept")
    (project.root / "baselines").symlink_to("kept")
    project.commit("linked")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    record(project)
    done = project.gate("run", "--base", "main")
    assert done.code == 2
    assert "lies behind the link 'baselines', which git does not follow" in done.err


def test_a_folder_that_looks_like_a_repository_runs_nothing(project: Project, tmp_path: Path) -> None:
    """Git would take `svc` for a bare repository and obey its config: here it would run a command when it fetches."""
    project.git("checkout", "--quiet", "main")
    project.git("mv", "gate.toml", "svc-gate.toml")
    (project.root / "svc").mkdir()
    (project.root / "svc-gate.toml").rename(project.root / "svc" / "gate.toml")
    text = project.read("svc/gate.toml").replace('"docs"', '"../docs"').replace('"eval/', '"../eval/')
    project.write("svc/gate.toml", text)
    project.below = "svc"
    assert project.gate("baseline").code == 0
    sha = project.commit("a service")
    project.git("checkout", "--quiet", "-B", "change")
    pwned = tmp_path / "PWNED"
    project.write("svc/HEAD", "ref: refs/heads/main\n")
    for folder in ("objects", "refs"):
        project.write(f"svc/{folder}/keep", "")
    project.write(
        "svc/config",
        "[core]\n\tbare = false\n\tworktree = .\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\tpromisor = true\n\turl = "ext::touch {pwned}"\n[protocol]\n\tallow = always\n',
    )
    project.write("svc/refs/heads/main", "1" * 40 + "\n")
    for command in (("run", "--base", sha), ("history",), ("run",)):
        project.gate(*command)
        assert not pwned.exists(), command
    assert not git.fetch(project.root / "svc", "1" * 40, 1)
    assert not pwned.exists()


def test_a_baseline_outside_the_repository_is_none_that_a_base_has(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", "k = 2", 'baseline = "../outside.json"\nk = 2')
    project.commit("kept elsewhere")
    project.git("checkout", "--quiet", "-B", "change")
    break_e101(project)
    record(project)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (2, "invalid")
    assert "baseline-outside" in codes(suite, "invalid")


def test_a_new_suite_does_not_word_what_is_said_of_it(project: Project) -> None:
    """The comment is the bot's: overrides come from the base, and of a suite that it does not know it has none."""
    settings = project.read("gate.toml")
    second = settings.replace("suite.docs", "suite.second").replace("k = 2", 'templates = "words"\nk = 2')
    project.write("gate.toml", f"{settings}\n{second}")
    project.write(
        "words/comment.md.j2",
        "{% block lost %}\n{% endblock %}{% block won %}## Approved by all{% endblock %}",
    )
    assert project.gate("baseline", "second").code == 0
    project.commit()
    done = project.gate("run", "--base", "main", "--suite", "second", "--markdown", "-")
    assert done.code == 0, done.err
    assert "Approved by all" not in done.out


def test_a_smaller_pool_does_not_switch_the_bases_k_off(project: Project) -> None:
    """k goes up and the pool down by one: the page that fell from rank 1 to 5 is still inside the new k."""
    for position in range(4):
        project.write(f"docs/decoy{position}.md", "# E101 WidgetJam\n\nE101 WidgetJam E101 WidgetJam.\n")
    project.edit("gate.toml", "k = 2\npool = 8", "k = 6\npool = 7")
    record(project, "--reason", "a larger k")
    (project.root / "baselines" / "docs.accepted.toml").unlink(missing_ok=True)
    code, suite = project.report("--base", "main")
    assert (code, suite["verdict"]) == (1, "regression")
    told = [f["text"] for f in suite["findings"] if f["code"].endswith("-under-base")]
    assert any("k = 2, pool = 7" in text for text in told), told


def test_a_larger_context_does_not_hide_questions_that_fell_back(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    project.write("gate.toml", project.read("gate.toml") + '\n[suite.docs.policy]\ndiagnosis = "fail"\n')
    project.commit("questions decide")
    project.git("checkout", "--quiet", "-B", "change")
    for position in range(3):
        text = "# What is the default of max_size\n\nWhat is the default of max_size? What default is max_size?\n"
        project.write(f"docs/decoy{position}.md", text)
    code, suite = project.report("--base", "main")
    assert "diagnosis-worse" in codes(suite, "regression"), suite["findings"]
    project.edit("gate.toml", "context = 3", "context = 8")
    project.gate("baseline", "--reason", "a larger context")
    (project.root / "baselines" / "docs.accepted.toml").unlink(missing_ok=True)
    code, suite = project.report("--base", "main")
    assert code == 1
    assert "diagnosis-worse-under-base" in codes(suite, "regression")


# -- a base that went on without the checkout


def main_gains(project: Project) -> None:
    """On main a page gets a section, with a case for it and its baseline; `change` is checked out again, without it."""
    project.git("checkout", "--quiet", "main")
    project.write("docs/errors.md", project.read("docs/errors.md") + "\n## E103\n\nE103 is a bent widget.\n")
    project.cases.append(
        {"id": "q-14", "query": "E103", "relevant_doc_ids": ["errors"], "kind": "exact_term"}
    )
    project.save_cases()
    record(project)
    project.commit("E103")
    project.git("checkout", "--quiet", "change")


def test_what_the_base_gained_is_no_loss_to_accept_but_a_merge_to_make(project: Project) -> None:
    main_gains(project)
    done = project.gate("run", "--base", "main", "--markdown", "comment.md")
    assert done.code == 1, "the verdict is the same"
    head, _, rest = done.out.partition("\narm ")
    assert "main has 1 commit that this checkout lacks; what it brought shows here as your loss." in head
    assert "Merge it first, or: gate run --base $(git merge-base HEAD main)" in head
    assert "If a loss stays after the merge and is meant" in rest
    assert "gate explain q-14" not in rest, "the case is not in this checkout"
    assert "this checkout lacks" not in rest
    assert project.read("comment.md").index("This checkout is behind") < project.read("comment.md").index(
        "| arm"
    )
    fork_point = project.git("merge-base", "HEAD", "main").strip()
    assert project.gate("run", "--base", fork_point).out.startswith("pass")


def test_nothing_is_said_of_an_ancestor_of_a_merge_under_way_or_of_cut_off_history(
    project: Project, tmp_path: Path
) -> None:
    main_gains(project)
    project.write("docs/extra.md", "# Extra\n\nNothing to see.\n")
    project.commit("mine")
    before = "base-ahead"
    assert before in codes(project.report("--base", "main")[1], "warning")
    url = f"file://{project.root}"
    project.git("clone", "--quiet", "--depth=1", "--no-single-branch", url, str(tmp_path / "shallow"))
    shallow = Project(tmp_path / "shallow", project.capture)
    assert before not in codes(shallow.report("--base", "origin/main")[1]), "nobody can tell there"
    project.git("merge", "--quiet", "--no-commit", "--no-ff", "main")
    assert before not in codes(project.report("--base", "main")[1])
    project.commit("merged")
    code, suite = project.report("--base", project.git("rev-parse", "HEAD^2").strip())
    assert (code, before in codes(suite)) == (0, False)


# -- what is said about accepting a loss holds


@pytest.mark.parametrize("medium", ["console", "comment"])
def test_a_renamed_page_is_accepted_by_changing_its_label_as_the_hint_says(
    project: Project, medium: str
) -> None:
    project.git("mv", "docs/faq.md", "docs/questions.md")
    done = project.gate("run", "--base", "main", "--markdown", "comment.md")
    assert done.code == 1
    quoted = "'{}'" if medium == "console" else "`{}`"
    text = done.out if medium == "console" else project.read("comment.md")
    old, new = ("faq", "questions") if medium == "console" else ("`faq`", "`questions`")
    said = f"change {old} to {new} in eval/cases.jsonl:4 and eval/cases.jsonl:6, then: "
    assert f"If a loss is meant: {said}{quoted.format('gate baseline docs')}." in text
    project.edit("eval/cases.jsonl", '"faq"', '"questions"')
    assert project.gate("baseline", "docs").code == 0
    assert project.gate("run", "--base", "main").code == 0


def test_a_deleted_page_is_accepted_by_removing_its_label_as_the_hint_says(project: Project) -> None:
    project.remove("docs/faq.md")
    done = project.gate("run", "--base", "main")
    said = "remove or change the label faq in eval/cases.jsonl:4 and eval/cases.jsonl:6, then: "
    assert f"If a loss is meant: {said}'gate baseline docs --reason \"why\"'." in done.out
    project.edit("eval/cases.jsonl", ', "faq"', "")
    record(project, "--reason", "nobody asked")
    assert project.gate("run", "--base", "main").code == 0


def test_a_gone_page_that_only_dev_or_the_qa_gold_labels_is_in_the_hint_too(project: Project) -> None:
    project.case("q-01")["relevant_doc_ids"] = ["news"]
    project.save_cases()
    project.commit("a dev case on news")
    project.git("branch", "--force", "main")
    break_e101(project)
    project.remove("docs/news.md")
    done = project.gate("run", "--base", "main")
    assert done.code == 1
    assert (
        "change or remove the labels of gone pages that the warning names, then: 'gate baseline" in done.out
    )


def test_a_refresh_that_will_ask_for_a_reason_is_named_with_one(project: Project) -> None:
    project.cases.append({"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"})
    project.save_cases()
    assert "Refresh it with 'gate baseline docs'." in project.gate("run", "--base", "main").out
    break_e101(project)
    done = project.gate("run", "--base", "main")
    assert done.code == 2
    assert "Refresh it with 'gate baseline docs --reason \"why\"'." in done.out
    assert project.gate("baseline", "docs").code == 2


def test_a_regression_names_the_command_that_explains_it(project: Project) -> None:
    break_e101(project)
    done = project.gate("run", "--base", "main")
    commit = project.git("rev-parse", "main")[:12]
    assert f"'gate explain q-02 --base {commit}' shows how a case was lost." in done.out
    assert project.gate("explain", "q-02", "--base", commit).code == 0
    assert "'gate explain q-02' shows" in project.gate("run").out


def test_how_added_cases_score_is_seen_although_the_baseline_is_not_refreshed(project: Project) -> None:
    project.cases += [
        {"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"},
        {"id": "q-16", "query": "cloth", "relevant_doc_ids": ["guide", "install"], "kind": "semantic"},
    ]
    project.save_cases()
    done = project.gate("run", "--base", "main", "--markdown", "comment.md")
    assert done.code == 2
    title = "Added cases: 2 (all pages found: by keyword for 1)"
    assert title in done.out
    assert f"<summary>{title}</summary>" in project.read("comment.md"), "without unfolding anything"
    assert 'q-14  "green"  semantic: keyword found all (rank 1)' in done.out
    assert 'q-16  "cloth"  semantic: keyword missed install (outside the pool)' in done.out
    assert done.out.index("Added cases") < done.out.index("All misses")


# -- a page that says less and is still found


def test_a_page_that_lost_its_passage_and_is_still_found_is_a_notice(project: Project) -> None:
    project.edit("docs/errors.md", "E102 means that nobody knows where the widget went.\n", "Hm.\n")
    done = project.gate("run", "--base", "main", "--json", "report.json")
    assert done.code == 0
    suite = json.loads(project.read("report.json"))["suites"][0]
    found = next(f for f in suite["findings"] if f["code"] == "answering-page-shorter")
    assert (suite["verdict"], found["level"]) == ("pass", "notice")
    assert found["text"] == "errors was edited and is shorter now; it answers q-02, q-08, and qa-1 cites it"
    assert "look whether the passage that answers is still there" in done.out
    assert "answering-page-shorter" not in codes(project.report()[1]), "without a base nobody knows its text"


@pytest.mark.parametrize(
    ("page", "old", "new", "said"),
    [
        ("errors", "Shake it.", "Shake it well.", False),
        ("errors", "Shake it.", "Rattle it.", False),
        ("errors", "## E102 WidgetLost", "## Lost, which is E102", True),
        ("news", "The widget can be painted green now, and", "And", False),
    ],
)
def test_only_a_page_that_answers_and_says_less_is_named(
    project: Project, page: str, old: str, new: str, said: bool
) -> None:
    project.edit(f"docs/{page}.md", old, new)
    assert ("answering-page-shorter" in codes(project.report("--base", "main")[1])) is said


def test_a_page_whose_loss_is_shown_is_not_named_again(project: Project) -> None:
    break_e101(project)
    project.edit("docs/errors.md", "Shake it.", "")
    code, suite = project.report("--base", "main")
    assert (code, "answering-page-shorter" in codes(suite)) == (1, False)

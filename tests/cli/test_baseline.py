"""Recording a baseline: a refresh reviews as a diff, and nothing is lowered without a reason."""

from __future__ import annotations

import json

from small_project import Project


def changed_lines(project: Project) -> list[str]:
    diff = project.git("diff", "--unified=0", "--", "baselines")
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_an_added_case_is_named_and_its_refresh_is_one_row_per_arm_one_fingerprint_and_the_version(
    project: Project,
) -> None:
    project.cases.append({"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"})
    project.save_cases()
    done = project.gate("run")
    assert done.code == 2
    assert "q-14" in done.out
    assert "gate baseline docs" in done.out
    assert project.gate("baseline", "docs").code == 0
    lines = changed_lines(project)
    added = [line for line in lines if line.startswith("+")]
    removed = [line for line in lines if line.startswith("-")]
    assert len(added) == 3, lines
    assert len(removed) == 1, lines
    assert "cases_version" in removed[0]
    assert sum("cases_version" in line for line in added) == 1
    assert sum('"q-14": {"at"' in line for line in added) == 1
    assert sum('"q-14": {"kind"' in line for line in added) == 1


def test_recording_twice_changes_nothing(project: Project) -> None:
    before = project.read("baselines/docs.json")
    assert project.gate("baseline").code == 0
    assert project.read("baselines/docs.json") == before


def test_lowering_needs_a_reason_and_writes_it_down(project: Project) -> None:
    project.edit("docs/config.md", "`max_size` is", "It is")
    project.edit("docs/config.md", "## max_size", "## The largest")
    before = project.files()
    refused = project.gate("baseline")
    assert refused.code == 2
    assert "q-04 (keyword: recall@2 1.00 -> 0.00)" in refused.err
    assert project.files() == before, "nothing was written"
    done = project.gate("baseline", "--reason", "max_size was renamed")
    assert done.code == 0
    assert 'reason = "max_size was renamed"' in project.read("baselines/docs.accepted.toml")
    project.edit("docs/guide.md", "Polish slowly", "Polish very slowly")
    again = project.gate("baseline")
    assert again.code == 0, "a second refresh on the branch keeps the reasons that still hold"
    assert 'reason = "max_size was renamed"' in project.read("baselines/docs.accepted.toml")


def test_a_raised_case_needs_no_reason(project: Project) -> None:
    project.edit("docs/guide.md", "blue", "in the colour blue, a colour of the widget")
    done = project.gate("baseline")
    assert done.code == 0, done.err


def test_a_baseline_is_not_taken_from_a_report_of_other_settings(project: Project) -> None:
    project.gate("run", "--json", "report.json")
    project.edit("gate.toml", "k = 2", "k = 3")
    done = project.gate("baseline", "--from-report", "report.json")
    assert done.code == 2
    assert "under other settings" in done.err


def test_a_report_gives_back_the_baseline_that_measuring_gives(project: Project) -> None:
    before = project.read("baselines/docs.json")
    project.gate("run", "--json", "report.json")
    project.remove("baselines/docs.json")
    assert project.gate("baseline", "--from-report", "report.json").code == 0
    assert project.read("baselines/docs.json") == before
    assert json.loads(before)["schema"] == "retrieval-gate/baseline/1"


def test_lowering_keeps_what_else_was_accepted_against_the_same_baseline(project: Project) -> None:
    digest = project.report()[1]["baseline"]["sha256"]
    other = f'[[accepted]]\nwhat = "kind"\nname = "exact_term"\nreason = "no more"\nbaseline_sha256 = "{digest}"\n'
    project.write("baselines/docs.accepted.toml", other)
    project.edit("docs/config.md", "`max_size` is", "It is")
    project.edit("docs/config.md", "## max_size", "## The largest")
    assert project.gate("baseline", "--reason", "max_size was renamed").code == 0
    written = project.read("baselines/docs.accepted.toml")
    assert 'reason = "max_size was renamed"' in written
    assert 'reason = "no more"' in written


def test_a_broken_accepted_file_does_not_excuse_from_a_reason(project: Project) -> None:
    project.edit("docs/config.md", "`max_size` is", "It is")
    project.edit("docs/config.md", "## max_size", "## The largest")
    project.write("baselines/docs.accepted.toml", "broken")
    before = project.files()
    done = project.gate("baseline")
    assert done.code == 2
    assert "baselines/docs.accepted.toml: not TOML" in done.err
    assert project.files() == before


def test_a_second_refresh_after_a_commit_keeps_what_the_base_still_needs(project: Project) -> None:
    project.edit("docs/config.md", "`max_size` is", "It is")
    project.edit("docs/config.md", "## max_size", "## The largest")
    assert project.gate("baseline", "--reason", "max_size was renamed").code == 0
    project.commit("first refresh")
    assert project.gate("run", "--base", "main").code == 0
    assert project.gate("baseline").code == 0
    assert project.gate("run", "--base", "main").code == 0


def test_a_reason_that_nothing_needs_is_said(project: Project) -> None:
    done = project.gate("baseline", "--reason", "just in case")
    assert done.code == 0
    assert "--reason: nothing new is lowered, so it was not needed and is not recorded" in done.out
    assert not (project.root / "baselines/docs.accepted.toml").exists()


def test_what_is_gated_and_what_is_not_is_counted(project: Project) -> None:
    said = "6 cases in test gated; 2 cases in dev not gated"
    assert said in project.gate("baseline").out
    assert (
        "6 cases in test gated (exact_term 3, semantic 3); 2 cases in dev not gated"
        in project.gate("check").out
    )


def lose_max_size(project: Project) -> None:
    project.edit("docs/config.md", "`max_size` is", "It is")
    project.edit("docs/config.md", "## max_size", "## The largest")


def test_entries_that_neither_baseline_needs_are_dropped_with_base(project: Project) -> None:
    lose_max_size(project)
    assert project.gate("baseline", "--reason", "max_size was renamed").code == 0
    project.commit("lowered")
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "change")
    project.git("checkout", "--quiet", "-B", "later")
    kept = project.gate("baseline")
    assert (
        "kept 1 accepted entry of another baseline: q-04 (keyword); 'gate baseline docs --base REF' drops"
        in kept.out
    )
    _, suite = project.report("--base", "main")
    stale = next(f for f in suite["findings"] if f["code"] == "accepted-stale")
    assert "'gate baseline docs --base REF' drops" in stale["todo"]
    dropped = project.gate("baseline", "--base", "main")
    assert "dropped 1 accepted entry of another baseline: q-04 (keyword)" in dropped.out
    assert not (project.root / "baselines/docs.accepted.toml").exists()


def test_a_removed_case_that_a_report_did_not_measure_is_named(project: Project) -> None:
    project.cases.remove(project.case("q-12"))
    project.save_cases()
    project.gate("run", "--no-baseline", "--json", "report.json")
    done = project.gate("baseline", "--from-report", "report.json")
    assert done.code == 0
    assert "not measured, so nothing is accepted for them: q-12 of the last baseline" in done.out


def test_a_relabelled_case_of_a_report_is_scored_under_the_base_s_label(project: Project) -> None:
    lose_max_size(project)
    project.case("q-04")["relevant_doc_ids"] = ["news"]
    project.save_cases()
    project.gate("run", "--no-baseline", "--json", "report.json")
    refused = project.gate("baseline", "--from-report", "report.json")
    assert refused.code == 2
    assert "q-04 (keyword: recall@2 1.00 -> 0.00)" in refused.err


def test_an_absent_arm_is_accepted_with_a_reason(project: Project) -> None:
    project.git("checkout", "--quiet", "main")
    second = '[suite.docs.arms.second]\ntype = "bm25"\n\n'
    project.edit("gate.toml", "[suite.docs.arms.keyword]", f"{second}[suite.docs.arms.keyword]")
    assert project.gate("baseline").code == 0
    project.commit("two arms")
    project.git("checkout", "--quiet", "-B", "change")
    project.edit("gate.toml", second, "")
    assert "the arm 'second' of the last baseline would be gone" in project.gate("baseline").err
    done = project.gate("baseline", "--reason", "one is enough")
    assert "1 accepted absence" in done.out
    assert project.gate("run", "--base", "main").code == 0

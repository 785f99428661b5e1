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
    assert "q-04 (keyword)" in refused.err
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

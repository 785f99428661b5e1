"""Retrievers that do not repeat: how they are found out, which losses are excused, and who may say so.

The arm `mine` is noisy on purpose and yet deterministic: each start of its process takes the next line of a plan, which
names the queries that it answers wrongly this time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import pytest
from small_project import Outcome, Project

ARM = """\
[suite.docs.arms.mine]
type = "python"
target = "mine:search"
timeout_seconds = 20
"""

CODE = """
import json
from pathlib import Path

PLAN = json.loads(Path("plan.json").read_text())
STARTS = Path("starts.txt")
WRONG = PLAN[min(len(STARTS.read_text()), len(PLAN) - 1)]
STARTS.write_text(STARTS.read_text() + "x")
if WRONG == "down":
    raise OSError("the index is down")
RIGHT = {
    case["query"]: case["relevant_doc_ids"]
    for case in map(json.loads, Path("eval/cases.jsonl").read_text().splitlines())
}
IDS = {case["query"]: case["id"] for case in map(json.loads, Path("eval/cases.jsonl").read_text().splitlines())}

def search(query, pool):
    if IDS.get(query) in WRONG:
        return ["install", "news"]
    return RIGHT.get(query, ["errors"])
"""

# Writes down, at each start, what the code is told about caches.
TELL = "import os\n\nwith open('told.txt', 'a') as told:\n    told.write(os.environ.get('GATE_NO_CACHE', '-') + ' ')\n"

RIGHT: Sequence[str] = ()


@pytest.fixture
def noisy(empty_project: Project) -> Project:
    """The small project with the arm `mine` alone, without a baseline."""
    project = empty_project
    project.git("init", "--quiet", "--initial-branch=main")
    project.edit("gate.toml", '[suite.docs.arms.keyword]\ntype = "bm25"\n', ARM)
    project.write("mine.py", CODE)
    project.write(".gitignore", "plan.json\nstarts.txt\ntold.txt\n__pycache__/\n")
    return project


def plan(project: Project, *starts: Sequence[str] | str) -> None:
    """What the arm gets wrong at each start; the last one holds from then on."""
    project.write("plan.json", json.dumps(starts))
    project.write("starts.txt", "")


def starts(project: Project) -> int:
    return len(project.read("starts.txt"))


def known_noise(project: Project) -> None:
    """A committed baseline in which q-08 scores full and is known as unstable."""
    plan(project, RIGHT, ["q-08"])
    done = project.gate("baseline", "--repeat", "2")
    assert done.code == 0, done.err
    project.commit("baseline")


def stable(project: Project) -> None:
    """A committed baseline in which every case scores full and none is unstable."""
    plan(project, RIGHT)
    assert project.gate("baseline").code == 0
    project.commit("baseline")


def finding(suite: dict[str, Any], code: str) -> dict[str, Any]:
    [found] = [one for one in suite["findings"] if one["code"] == code]
    return dict(found)


def codes(suite: dict[str, Any]) -> set[str]:
    return {one["code"] for one in suite["findings"]}


# -- finding out


def test_a_baseline_records_what_moves_in_any_of_its_measurements(noisy: Project) -> None:
    plan(noisy, RIGHT, ["q-08"], ["q-12", "q-08"])
    done = noisy.gate("baseline", "--repeat", "3")
    assert done.code == 0, done.err
    assert starts(noisy) == 3
    assert "mine: 2 unstable: q-08, q-12" in done.out
    arm = json.loads(noisy.read("baselines/docs.json"))["arms"]["mine"]
    assert arm["unstable"] == ["q-08", "q-12"]
    assert {row["recall"] for row in arm["rows"].values()} == {1.0}, (
        "the first measurement is the one that counts"
    )
    assert os.environ.get("GATE_NO_CACHE") is None


def test_a_baseline_of_one_measurement_keeps_what_is_known(noisy: Project) -> None:
    known_noise(noisy)
    plan(noisy, RIGHT)
    done = noisy.gate("baseline")
    assert "mine: 1 unstable, known from the last one" in done.out
    assert noisy.git("status", "--porcelain") == ""
    done = noisy.gate("baseline", "--repeat", "2")
    assert "unstable" not in done.out, "two equal measurements say that it is stable now"
    assert "unstable" not in noisy.read("baselines/docs.json")


def test_another_setting_of_the_arm_makes_it_another_arm(noisy: Project) -> None:
    known_noise(noisy)
    noisy.edit("gate.toml", "timeout_seconds = 20", "timeout_seconds = 25")
    plan(noisy, RIGHT)
    noisy.gate("baseline")
    assert "unstable" not in noisy.read("baselines/docs.json")


def test_a_run_that_repeats_says_what_moved(noisy: Project) -> None:
    plan(noisy, RIGHT, RIGHT, ["q-04"])
    code, suite = noisy.report("--no-baseline", "--repeat", "3")
    assert code == 0
    assert suite["arms"]["mine"]["unstable"] == ["q-04"]
    assert suite["arms"]["mine"]["recall"] == 1.0
    assert finding(suite, "unstable")["cases"] == ["q-04"]


def test_the_users_code_is_told_that_it_is_measured_again(noisy: Project) -> None:
    """It may have a cache of its own, and answers from it would repeat however noisy it is."""
    noisy.write("mine.py", TELL + CODE)
    plan(noisy, RIGHT)
    noisy.report("--no-baseline", "--repeat", "3")
    assert noisy.read("told.txt").split() == ["-", "queries", "queries"]


def test_a_query_that_fails_in_a_repetition_is_not_measured(noisy: Project) -> None:
    stable(noisy)
    plan(noisy, RIGHT, "down")
    code, suite = noisy.report("--repeat", "2")
    assert code == 3
    told = finding(suite, "arm-not-measured")
    assert told["text"].startswith("arm 'mine': all 8 queries failed when measured again: ")
    assert "the index is down" in told["text"]
    plan(noisy, RIGHT, "down")
    before = noisy.files()
    done = noisy.gate("baseline", "--repeat", "2")
    assert done.code == 3
    assert {**noisy.files(), "starts.txt": b""} == {**before, "starts.txt": b""}, "nothing was written"


@pytest.mark.parametrize("text", ["0", "-1", "many", "2.5", "101"])
def test_what_is_no_number_of_times(noisy: Project, text: str) -> None:
    done = noisy.gate("run", f"--repeat={text}")
    assert done.code == 2
    assert f"not a whole number from 1 to 100 ('{text}')" in done.err


# -- losses


def test_a_loss_that_is_not_confirmed_is_flaky_and_passes(noisy: Project) -> None:
    known_noise(noisy)
    plan(noisy, ["q-12"], RIGHT)
    done = noisy.gate("run", "--base", "HEAD", "--json", "report.json")
    assert done.code == 0, done.out
    assert starts(noisy) == 2
    [suite] = json.loads(noisy.read("report.json"))["suites"]
    assert suite["verdict"] == "pass"
    told = finding(suite, "flaky")
    assert told["level"] == "warning"
    assert told["cases"] == ["q-12"], (
        "any case of an arm that is known to be noisy, not only those that moved before"
    )
    assert "q-12 recall@2 1.00 -> 0.00, again 1.00" in told["text"]
    comparison = suite["comparison"]["mine"]
    assert comparison["kinds"]["semantic"]["metrics"]["recall"]["total"] == -1.0
    assert comparison["kinds"]["semantic"]["metrics"]["recall"]["gated"] == 0.0
    assert (comparison["lowered_kinds"], comparison["dropped_kinds"]) == (["semantic"], [])
    [lost] = comparison["lost"]
    assert (lost["flaky"], lost["weighs"], lost["again"]) == (True, False, {"recall": 1.0})
    assert suite["arms"]["mine"]["again"]["q-12"]["recall"] == 1.0
    assert suite["arms"]["mine"]["unstable"] == ["q-12"]
    assert "nothing dropped but 1 flaky loss (semantic of mine)" in done.out
    assert "flaky, not gated: 1.00 when measured again" in done.out


def test_a_loss_is_measured_again_past_the_cache_of_queries(noisy: Project) -> None:
    noisy.write("mine.py", TELL + CODE)
    known_noise(noisy)
    noisy.remove("told.txt")
    plan(noisy, ["q-08"], RIGHT)
    assert noisy.report("--base", "HEAD")[0] == 0
    assert noisy.read("told.txt").split() == ["-", "queries"]
    assert os.environ.get("GATE_NO_CACHE") is None


def test_a_loss_that_is_confirmed_fails(noisy: Project) -> None:
    known_noise(noisy)
    plan(noisy, ["q-08", "q-12"], ["q-12"])
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    moves = {move["id"]: move for move in suite["comparison"]["mine"]["lost"]}
    assert (moves["q-12"]["flaky"], moves["q-12"]["again"]) == (False, {"recall": 0.0})
    assert moves["q-08"]["flaky"]
    assert suite["comparison"]["mine"]["kinds"]["semantic"]["metrics"]["recall"]["gated"] == -1.0
    assert finding(suite, "kind-dropped")["cases"] == ["q-12"]
    assert finding(suite, "flaky")["cases"] == ["q-08"]


@pytest.mark.parametrize("rule", ["any-loss", "max-drop", "any-drop"])
def test_every_rule_leaves_a_flaky_loss_out(noisy: Project, rule: str) -> None:
    more = "max_drop = 0.0\n" if rule == "max-drop" else ""
    noisy.write("gate.toml", noisy.read("gate.toml") + f'\n[suite.docs.policy]\nrule = "{rule}"\n{more}')
    known_noise(noisy)
    plan(noisy, ["q-08"], RIGHT)
    assert noisy.report("--base", "HEAD")[0] == 0
    plan(noisy, ["q-08"])
    assert noisy.report("--base", "HEAD")[0] == 1


def test_a_partial_recovery_is_no_recovery(noisy: Project) -> None:
    """The second measurement is still below the baseline: the loss counts, and as the first one scored it."""
    noisy.write(
        "mine.py",
        CODE.replace('["install", "news"]', '["errors"] if STARTS.read_text() == "xx" else ["news"]'),
    )
    plan(noisy, RIGHT, ["q-08"])
    assert noisy.gate("baseline", "--repeat", "2").code == 0
    noisy.commit("baseline")
    plan(noisy, ["q-08"])
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    [lost] = suite["comparison"]["mine"]["lost"]
    assert (lost["scores"], lost["again"]) == ({"recall": [1.0, 0.0]}, {"recall": 0.5})
    assert suite["comparison"]["mine"]["kinds"]["semantic"]["metrics"]["recall"]["gated"] == -1.0


def test_a_second_measurement_that_fails_excuses_nothing(noisy: Project) -> None:
    known_noise(noisy)
    plan(noisy, ["q-08"], "down")
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    told = finding(suite, "loss-not-measured-again")
    assert "1 of 1 losses could not be measured again" in told["text"]
    assert "the index is down" in told["text"]


def test_an_arm_that_is_known_as_stable_is_not_measured_again(noisy: Project) -> None:
    stable(noisy)
    plan(noisy, ["q-08"], RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    assert starts(noisy) == 1
    assert "flaky" not in codes(suite)


def test_a_loss_that_moves_on_a_stable_arm_counts_and_is_said(noisy: Project) -> None:
    stable(noisy)
    plan(noisy, ["q-08"], RIGHT)
    code, suite = noisy.report("--base", "HEAD", "--repeat", "2")
    assert code == 1
    assert starts(noisy) == 2
    told = finding(suite, "loss-not-stable")
    assert told["cases"] == ["q-08"]
    assert "gate baseline docs --repeat 3" in told["todo"]


def test_a_repeating_run_takes_its_second_measurement(noisy: Project) -> None:
    known_noise(noisy)
    plan(noisy, ["q-08"], RIGHT, RIGHT, ["q-08"])
    code, suite = noisy.report("--base", "HEAD", "--repeat", "3")
    assert code == 0
    assert starts(noisy) == 3
    assert finding(suite, "flaky")["cases"] == ["q-08"]
    plan(noisy, ["q-08"], ["q-08"], RIGHT)
    assert noisy.report("--base", "HEAD", "--repeat", "3")[0] == 1, (
        "the second one decides, not the best of many"
    )


def test_without_a_base_the_committed_baseline_says_what_is_noisy(noisy: Project) -> None:
    known_noise(noisy)
    plan(noisy, ["q-08"], RIGHT)
    assert noisy.report()[0] == 0


def test_a_hybrid_is_as_noisy_as_its_leg(noisy: Project) -> None:
    more = '\n[suite.docs.arms.keyword]\ntype = "bm25"\n[suite.docs.arms.hybrid]\ntype = "rrf"\nof = ["mine", "keyword"]\n'
    noisy.write("gate.toml", noisy.read("gate.toml") + more)
    plan(noisy, RIGHT, ["q-04", "q-06"])
    done = noisy.gate("baseline", "--repeat", "2")
    assert done.code == 0, done.err
    noisy.commit("baseline")
    arms = json.loads(noisy.read("baselines/docs.json"))["arms"]
    assert "unstable" not in arms["keyword"]
    assert arms["mine"]["unstable"] == arms["hybrid"]["unstable"] == ["q-04", "q-06"]
    plan(noisy, ["q-08"], RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 0
    assert starts(noisy) == 2, "one process serves both arms of a measurement"
    flaky = {
        name: [move["id"] for move in one["lost"] if move["flaky"]]
        for name, one in suite["comparison"].items()
    }
    assert flaky == {"mine": ["q-08"], "keyword": [], "hybrid": ["q-08"]}


# -- who may say so


def declare(project: Project, *cases: str, lower: str = "") -> None:
    """A change that edits the baseline: `cases` are unstable, and it answers `lower` with nothing."""
    text = json.loads(project.read("baselines/docs.json"))
    arm = text["arms"]["mine"]
    arm["unstable"] = sorted({*arm.get("unstable", ()), *cases})
    if lower:
        row = {name: 0.0 for name in arm["rows"][lower] if name not in ("ranked", "at")}
        arm["rows"][lower] = {"ranked": [], "at": [], **row}
    project.write("baselines/docs.json", json.dumps(text))


def test_a_change_cannot_declare_itself_noisy(noisy: Project) -> None:
    stable(noisy)
    declare(noisy, "q-08")
    plan(noisy, ["q-08"], RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    assert not suite["comparison"]["mine"]["lost"][0]["flaky"]
    told = finding(suite, "unstable-recorded")
    assert told["level"] == "banner"
    assert "records 1 case of mine as unstable (q-08)" in told["text"]


def test_a_lowered_case_that_is_only_called_unstable_does_not_pass(noisy: Project) -> None:
    stable(noisy)
    declare(noisy, "q-08", lower="q-08")
    plan(noisy, RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    assert starts(noisy) == 1 + 3, "the claim had three more measurements to come true"
    assert finding(suite, "baseline-lowered")["cases"] == ["q-08"]


def test_a_lowered_case_that_this_run_sees_as_low_reproduces(noisy: Project) -> None:
    stable(noisy)
    declare(noisy, "q-08", lower="q-08")
    plan(noisy, RIGHT, RIGHT, ["q-08"])
    code, suite = noisy.report("--base", "HEAD")
    assert code == 0, suite["findings"]
    assert starts(noisy) == 3, "it stops as soon as it is seen"
    assert {"baseline-edited", "unstable-recorded", "unstable"} <= codes(suite)
    assert suite["arms"]["mine"]["unstable"] == ["q-08"]


def test_a_known_unstable_case_cannot_be_recorded_below_all_that_was_measured(noisy: Project) -> None:
    known_noise(noisy)
    declare(noisy, lower="q-08")
    plan(noisy, RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 1
    assert finding(suite, "baseline-lowered")["cases"] == ["q-08"]
    plan(noisy, RIGHT, RIGHT, ["q-08"])
    assert noisy.report("--base", "HEAD")[0] == 0


def test_a_new_suite_with_a_noisy_arm_reproduces_when_it_is_seen_to_move(noisy: Project) -> None:
    noisy.commit("no gate.toml yet, as far as the base is concerned")
    noisy.git("rm", "--cached", "--quiet", "gate.toml")
    noisy.git("commit", "--quiet", "--message", "without it")
    plan(noisy, RIGHT, ["q-08"])
    assert noisy.gate("baseline", "--repeat", "2").code == 0
    plan(noisy, ["q-08"], RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 0, suite["findings"]
    assert starts(noisy) == 2
    plan(noisy, ["q-08"])
    code, suite = noisy.report("--base", "HEAD")
    assert code == 2, "it is measured lower than recorded and never seen to move"
    assert starts(noisy) == 4
    assert finding(suite, "baseline-not-reproduced")["level"] == "invalid"


def test_a_refresh_of_a_noisy_arm_against_a_base_passes(noisy: Project) -> None:
    """The whole way of an owner: the arm turns out to be noisy, its baseline is refreshed, the change passes."""
    stable(noisy)
    plan(noisy, RIGHT, ["q-08"])
    done: Outcome = noisy.gate("baseline", "--repeat", "2")
    assert done.code == 0, done.err
    plan(noisy, RIGHT)
    code, suite = noisy.report("--base", "HEAD")
    assert code == 0, suite["findings"]
    assert starts(noisy) == 1, "a claim about a case that reproduces needs no proof"

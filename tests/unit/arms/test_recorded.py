"""Rankings from a file: which answer belongs to which query, what the file may hold, and what it cannot say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_project import Project

from gate.arms import recorded
from gate.commands._measure import Workshop
from gate.errors import InputError
from gate.model.page import Corpus, Page
from gate.model.ranking import Arm
from gate.store.recorded import read

CORPUS = Corpus((Page("a", "A", "red\n\n## One\n\nplum"), Page("b c", "B", "blue", path="docs/b c.md")))


def arm(folder: Path, text: str, **case_ids: tuple[str, ...]) -> Arm:
    (folder / "made.run").write_text(text, encoding="utf-8")
    settings = recorded.Settings(type="recorded", file="made.run")
    return Workshop(CORPUS, {"it": settings}, "test", folder, case_ids=case_ids).arm("it")


def hits(found: Arm, query: str = "red", pool: int = 20) -> list[tuple[str, str, float]]:
    return [(hit.doc_id, hit.chunk_id, hit.score) for hit in found.search(query, pool)]


def test_the_score_decides_in_trec_and_equal_ones_stay_in_file_order(tmp_path: Path) -> None:
    text = "q1 Q0 z 1 0.5 t\nq1 Q0 a#1 2 7e0 t\nq2 Q0 a 1 1 t\n\nq1\tQ0\ta#0 3 0.5 t\r\nq1 Q0 y 4 -1 t\n"
    found = arm(tmp_path, text, red=("q1",))
    assert hits(found) == [("a", "a#1", 7.0), ("z", "z", 0.5), ("a", "a#0", 0.5), ("y", "y", -1.0)]
    assert [hit.text for hit in found.search("red", 20)] == ["A\n## One\n\nplum", "", "A\nred", ""]
    assert hits(found, pool=1) == [("a", "a#1", 7.0)]
    assert found.unknown == {"z": 2, "y": 2}  # type: ignore[attr-defined]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_trec_order_is_a_stable_sort(scores: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.run"
        path.write_text("".join(f"q Q0 d{at} 1 {score} t\n" for at, score in enumerate(scores)))
        found = read(path, "made.run").by_id["q"].hits
    assert [hit.chunk for hit in found] == [
        f"d{at}" for at, _ in sorted(enumerate(scores), key=lambda one: (-one[1], one[0]))
    ]


def test_names_that_our_own_trec_files_encode_are_read_back(tmp_path: Path) -> None:
    found = arm(tmp_path, "my%20case Q0 b%20c 1 2 t\nmy%20case Q0 no%20page 2 1 t\n", red=("my case",))
    assert hits(found) == [("b c", "b c", 2.0), ("no%20page", "no%20page", 1.0)]


def test_jsonl_hits_in_every_shape_keep_their_order(tmp_path: Path) -> None:
    listed: list[Any] = [
        ["a", 1],
        ["docs/b c.md", 5.5],
        {"chunk_id": "x-9", "doc_id": "a", "score": 2, "text": "their text", "shard": 3},
        {"id": "a#1", "score": 0},
    ]
    found = arm(tmp_path, json.dumps({"query": "red", "hits": listed}) + "\n")
    assert hits(found) == [
        ("a", "a", 1.0),
        ("b c", "docs/b c.md", 5.5),
        ("a", "x-9", 2.0),
        ("a", "a#1", 0.0),
    ]
    assert [hit.text for hit in found.search("red", 4)] == ["", "", "their text", "A\n## One\n\nplum"]


def test_hits_without_scores_count_down(tmp_path: Path) -> None:
    found = arm(tmp_path, '{"query": "red", "hits": ["b c", "a"]}\n{"id": "q9", "hits": []}\n', blue=("q9",))
    assert hits(found) == [("b c", "b c", 2.0), ("a", "a", 1.0)]
    assert hits(found, "blue") == [], "an empty list is an answer"


def test_what_the_file_lacks_is_a_fault_and_not_an_empty_answer(tmp_path: Path) -> None:
    found = arm(tmp_path, "q1 Q0 a 1 1 t\n", red=("q2", "q3"))
    with pytest.raises(recorded.NotRecordedError, match=r"no answer to this query \(q2, q3\)"):
        found.search("red", 5)
    with pytest.raises(recorded.NotRecordedError, match=r"no answer to this query\. Record"):
        found.search("unheard of", 5)


def test_an_answer_to_another_wording_is_refused(tmp_path: Path) -> None:
    found = arm(tmp_path, '{"id": "q1", "query": "rot", "hits": ["a"]}\n', red=("q1",))
    with pytest.raises(recorded.NotRecordedError, match="answers 'q1' for another query"):
        found.search("red", 5)


def test_one_query_with_two_answers_is_refused_and_with_one_twice_is_not(tmp_path: Path) -> None:
    same = "q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\n"
    assert hits(arm(tmp_path, same, red=("q1", "q2"))) == [("a", "a", 1.0)]
    found = arm(tmp_path, same + "q2 Q0 b 2 0 t\n", red=("q1", "q2"))
    with pytest.raises(recorded.NotRecordedError, match=r"in different ways \(q1, q2\)"):
        found.search("red", 5)


def test_queries_match_in_any_unicode_form(tmp_path: Path) -> None:
    found = arm(tmp_path, json.dumps({"query": "cafe\u0301", "hits": ["a"]}))
    assert hits(found, "caf\u00e9") == [("a", "a", 1.0)]


WRONG = {
    "q1 Q0 a 1 1\n": "made.run:1: has 5 columns, not 6. A line of a TREC run reads: query Q0 id rank score tag.",
    "q1 Q0 a 1 nan t\n": "made.run:1: the score is not a finite number ('nan').",
    "q1 Q0 a 1 high t\n": "made.run:1: the score is not a finite number ('high').",
    "\n \n": "made.run: has no answers. Write a TREC run or JSONL into it.",
    '{"hits": ["a"]}': "made.run:1: a record has no id. Give it a unique \"id\".",
    '{"id": "q", "hit": []}': "unknown key 'hit'. Did you mean 'hits'?",
    '{"id": "q", "hits": {}}': "'hits' is not a list ({}).",
    '{"id": "q", "hits": [7]}': "hit 1 is neither an id, an [id, score] pair nor an object (7).",
    '{"id": "q", "hits": [{"score": 7}]}': "hit 1 has no chunk_id, doc_id or id",
    '{"id": "q", "hits": ["a", ["b", 2]]}': "some of its hits have a score and some have none",
    '{"id": "q", "hits": [["a", "2"]]}': "hit 1 has a score that is not a finite number ('2')",
    '{"id": "q", "hits": [["a", true]]}': "hit 1 has a score that is not a finite number (true)",
    '{"id": "q", "hits": [["a", NaN]]}': "NaN, which is not JSON",
    '{"id": "q", "hits": [["", 1]]}': "hit 1 has an id that is empty",
    '{"id": "q", "hits": [{"id": "a", "text": 3}]}': "hit 1 has a text that is not a string (3)",
    '{"id": "q", "hits": []}\n{"id": "q", "hits": []}': "made.run:2: record 'q' has the id of made.run:1.",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_a_file_is_told_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        arm(tmp_path, text)
    assert WRONG[text] in str(caught.value)


def test_all_problems_come_at_once_and_only_so_many(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        arm(tmp_path, "q1 Q0 a 1\n" * 250)
    assert len(caught.value.problems) == 101
    assert str(caught.value.problems[-1]) == "made.run: 150 more lines are wrong."


RECORDED = '\n[suite.docs.arms.made]\ntype = "recorded"\nfile = "{}"\n'


def add(project: Project, path: str) -> None:
    project.write("gate.toml", project.read("gate.toml") + RECORDED.format(path))


def test_the_gates_own_export_measures_as_the_arm_it_was_made_of(empty_project: Project) -> None:
    empty_project.edit("gate.toml", 'qa = "eval/qa.jsonl"\n', "")
    assert empty_project.gate("run", "--no-baseline", "--trec", "runs").code == 0
    add(empty_project, "runs/docs.keyword.run")
    code, suite = empty_project.report("--no-baseline")
    keyword, made = suite["arms"]["keyword"], suite["arms"]["made"]
    assert code == 0
    assert [case["ranked"] for case in made["cases"]] == [case["ranked"] for case in keyword["cases"]]
    assert {name: made[name] for name in ("n", "recall", "mrr", "ndcg")} == {
        name: keyword[name] for name in ("n", "recall", "mrr", "ndcg")
    }


def test_cases_and_questions_that_the_file_lacks_are_not_measured(empty_project: Project) -> None:
    ids = ["q-02", "q-04", "q-06", "q-08", "q-10"]
    empty_project.write("made.run", "".join(f"{name} Q0 errors 1 1 t\n" for name in ids))
    add(empty_project, "made.run")
    code, suite = empty_project.report("--no-baseline")
    made = suite["arms"]["made"]
    assert code == 3
    assert list(made["failed"]) == ["q-12"]
    assert "made.run has no answer to this query (q-12)" in made["failed"]["q-12"]
    lines = [json.dumps({"id": name, "hits": ["errors"]}) for name in [*ids, "q-12", "qa-1", "qa-2"]]
    empty_project.write("made.run", "\n".join(lines))
    code, suite = empty_project.report("--no-baseline")
    assert (code, suite["arms"]["made"]["n"]) == (0, 6)
    assert set(suite["arms"]["made"]["diagnosis"]["questions"]) == {"qa-1", "qa-2"}


def test_explain_finds_answers_by_case_id(project: Project) -> None:
    project.write("made.run", "q-01 Q0 guide 1 1 t\n")
    add(project, "made.run")
    done = project.gate("explain", "q-01", "--arm", "made")
    assert "guide" in done.out[done.out.index("made") :]


def test_a_missing_or_broken_file_fails_the_check(project: Project) -> None:
    add(project, "made.rnu")
    project.write("made.run", "q1 Q0 a 1 1\nq1 Q0\n")
    done = project.gate("check")
    assert (done.code, "made.rnu: no such file or folder. Closest: 'made.run'." in done.err) == (2, True)
    project.edit("gate.toml", "made.rnu", "made.run")
    done = project.gate("check")
    assert done.code == 2
    assert "made.run:1: has 5 columns" in done.err
    assert "made.run:2: has 2 columns" in done.err


def test_in_the_action_the_file_stays_in_the_repository(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.run").write_text("q1 Q0 token-of-somebody\n")
    (project.root / "made.run").symlink_to(tmp_path / "secret.run")
    add(project, "made.run")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.root))
    done = project.gate("check")
    assert done.code == 2
    assert "made.run: leads out of the repository" in done.err
    assert "columns" not in done.err, "it is not even read"


def test_a_pipe_is_not_waited_for(project: Project) -> None:
    subprocess.run(["mkfifo", str(project.root / "made.run")], check=True, timeout=10)
    add(project, "made.run")
    assert "is a named pipe, not a regular file" in project.gate("check").err

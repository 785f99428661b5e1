"""The stamp and the decision, as pure functions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.github.comment import Remark, Stamp, Step, When, content, decide, ours, read_stamp, same_login
from gate.model.verdict import Verdict
from gate.report import render

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
STAMPS = st.builds(
    Stamp,
    suite=TEXT,
    key=TEXT,
    head=TEXT,
    run=st.integers(0, 10**18),
    attempt=st.integers(0, 10**6),
)


@given(STAMPS, TEXT)
def test_a_stamp_is_read_back_from_its_line(stamp: Stamp, rest: str) -> None:
    line = stamp.line()
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert line.count("<!--") == line.count("-->") == 1
    assert line.endswith(" -->")
    assert "--" not in line[4:-3]
    assert read_stamp(f"{line}\n{rest}") == stamp
    assert read_stamp(f"\ufeff{line}\r\n{rest}") == stamp


@given(STAMPS)
def test_a_stamp_is_a_marker_that_the_renderer_takes(stamp: Stamp) -> None:
    import re

    assert re.fullmatch(r"<!--(?:(?!--)[^\r\n])*-->", stamp.line())
    assert read_stamp(render.marker(stamp.suite, stamp.key)) == Stamp(suite=stamp.suite, key=stamp.key)


@given(st.text(max_size=200))
def test_any_text_at_all_can_be_asked_for_its_stamp(body: str) -> None:
    found = read_stamp(body)
    assert found is None or body.lstrip("\ufeff").lstrip().startswith("<!-- retrieval-gate ")


@given(st.text("<!->= abcsuite%20\n", max_size=80))
def test_what_looks_like_a_stamp_is_read_or_not_but_never_raises(middle: str) -> None:
    read_stamp(f"<!-- retrieval-gate {middle}-->")


@pytest.mark.parametrize(
    "body",
    [
        f"<!-- retrieval-gate {'a=' * 100_000}",
        f"<!-- retrieval-gate {'a=b ' * 100_000}",
        f"<!-- retrieval-gate suite={'x' * 1_000_000} -->",
        f"{' ' * 1_000_000}<!-- retrieval-gate suite=x -->",
        "<!-- retrieval-gate " + "suite= " * 50_000 + "-->",
        "\ufeff" * 1_000_000,
    ],
)
def test_a_hostile_first_line_costs_no_time(body: str) -> None:
    before = time.perf_counter()
    assert read_stamp(body) is None
    assert time.perf_counter() - before < 0.5


@pytest.mark.parametrize(
    "body",
    [
        "",
        "text",
        "<!-- retrieval-gate -->",
        "<!-- retrieval-gate key=a -->",
        "<!-- retrieval-gate suite=a",
        "<!-- other-gate suite=a -->",
        "<!-- retrieval-gate suite=a --> and more",
        "\n<!-- retrieval-gate suite=a -->",
        "<!-- retrieval-gate suite=a junk -->",
        "<!-- retrieval-gate suite=a suite=b -->",
        "<!-- retrieval-gate verdict=pass -->",
    ],
)
def test_no_stamp(body: str) -> None:
    assert read_stamp(body) is None


@pytest.mark.parametrize("number", ["-1", "1e9", "x", "9" * 30, "", "1.5"])
def test_an_odd_run_number_is_none(number: str) -> None:
    stamp = read_stamp(f"<!-- retrieval-gate suite=a run={number} attempt={number} -->")
    assert stamp is not None
    assert (stamp.run, stamp.attempt) == (0, 0)


def test_an_attempt_is_newer_than_the_one_before() -> None:
    assert Stamp(suite="a", run=7, attempt=2).newer_than(Stamp(suite="a", run=7, attempt=1))
    assert Stamp(suite="a", run=8, attempt=1).newer_than(Stamp(suite="a", run=7, attempt=9))
    assert not Stamp(suite="a", run=7, attempt=1).newer_than(Stamp(suite="a", run=7, attempt=1))


@pytest.mark.parametrize(
    ("author", "meant", "same"),
    [
        ("github-actions[bot]", "github-actions[bot]", True),
        ("GitHub-Actions[bot]", "github-actions", True),
        ("github-actions", "github-actions[bot]", False),
        ("ann", "Ann", True),
        ("ann", "anna", False),
        ("", "ann", False),
        ("[bot]", "ann", False),
    ],
)
def test_who_is_meant(author: str, meant: str, same: bool) -> None:
    assert same_login(author, meant) is same


@given(st.lists(st.tuples(st.sampled_from(["me", "you", ""]), STAMPS, st.booleans()), max_size=8), STAMPS)
def test_only_our_author_suite_and_key_are_ours(written: list[tuple[str, Stamp, bool]], stamp: Stamp) -> None:
    remarks = [
        Remark(id=number, author=author, body=f"{(stamp if same else other).line()}\ntext")
        for number, (author, other, same) in enumerate(reversed(written))
    ]
    found = ours(remarks, "me", stamp)
    assert [one.id for one in found] == sorted(one.id for one in found)
    assert all(one.author == "me" for one in found)
    assert {one.id for one in found} == {
        one.id
        for one in remarks
        if one.author == "me" and (said := read_stamp(one.body)) is not None and said.same_comment(stamp)
    }


@given(st.lists(STAMPS, max_size=3), STAMPS, st.sampled_from(When), st.sampled_from(Verdict), st.booleans())
def test_a_decision_is_made_for_everything(
    there: list[Stamp], stamp: Stamp, when: When, verdict: Verdict, changed: bool
) -> None:
    found = [Remark(id=number, author="me", body=f"{one.line()}\nold") for number, one in enumerate(there)]
    body = f"{stamp.line()}\nnew"
    made = decide(found, body, stamp, when, verdict, changed=changed, current_head=stamp.head)
    assert made.why
    if any(one.newer_than(stamp) for one in there):
        assert made.step is Step.NOTHING
    elif there:
        assert made.step is Step.UPDATE
    moved = decide(found, body, stamp, when, verdict, changed=changed, current_head=f"{stamp.head}x")
    assert moved.step is Step.NOTHING


def test_the_first_line_is_no_content() -> None:
    assert content("stamp 1\nbody \r\n\r\n") == content("stamp 2\nbody")
    assert content("stamp\nbody") != content("stamp\nBody")

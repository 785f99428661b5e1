"""What `gate check` points out in a labelled set."""

from __future__ import annotations

import random

from gate.labelling.lint import (
    contradictions,
    near_duplicates,
    never_found,
    shallow,
    too_easy,
    twins,
    uncovered,
)
from gate.labelling.queries import Leaks, near
from gate.model.case import Case
from gate.model.measurement import ArmMeasurement, Label, Meaning, Measurement, Row
from gate.model.page import Page


def case(name: str, query: str, pages: list[str], rejected: tuple[str, ...] = ()) -> Case:
    return Case(name, query, dict.fromkeys(pages, 1), "semantic", not_relevant=rejected)


def text(seed: int, number: int = 200) -> str:
    return " ".join(random.Random(seed).choices([f"w{at}" for at in range(500)], k=number))


def test_contradictions() -> None:
    cases = [
        case("a", "How do I?", ["p"]),
        case("b", "how do i", ["q"], ("p",)),
        case("c", "Other", ["p"]),
        case("d", "other!", ["p"]),
        case("e", "third", ["p"]),
        case("f", "third", ["q"]),
    ]
    found = list(contradictions(cases))
    assert "one rejects what the other accepts (p)" in found[0]
    assert "'c' and 'd' ask the same: one of them adds nothing" in found[1]
    assert "'e' and 'f' ask the same and have other labels" in found[2]


def test_twins() -> None:
    pages = [Page("a", "A", text(1)), Page("b", "B", text(1) + " and a little more"), Page("c", "C", text(2))]
    assert near_duplicates(pages) == [("a", "b")]
    assert list(twins([case("x", "q", ["a"])], pages)) == [
        "the case 'x' labels 'a' and not 'b', which says nearly the same"
    ]
    assert list(twins([case("x", "q", ["a", "b"]), case("y", "r", ["a"], ("b",))], pages)) == []


def test_a_common_footer_makes_no_twins() -> None:
    footer = text(9, 60)
    pages = [Page(f"p{at}", "P", text(at, 30) + " " + footer) for at in range(80)]
    assert near_duplicates(pages) == []


def measurement(rows: dict[str, list[float]]) -> Measurement:
    """arm -> the reciprocal rank of its cases c0, c1, ...; recall follows."""
    number = len(next(iter(rows.values())))
    labels = {f"c{at}": Label(kind="k", query="q", relevant={"p": 1}, sha256="x") for at in range(number)}
    arms = {
        name: ArmMeasurement(
            settings={},
            rows={
                f"c{at}": Row(ranked=(), at=(), recall=float(rr > 0), rr=rr, hit=float(rr > 0))
                for at, rr in enumerate(found)
            },
        )
        for name, found in rows.items()
    }
    return Measurement(
        suite="s",
        settings=Meaning(),
        cases_version="v",
        corpus_version="v",
        cases=labels,
        pages={},
        arms=arms,
    )


def test_easy_and_hopeless_cases() -> None:
    both = measurement({"one": [1.0, 0.0, 1.0, 0.0], "two": [1.0, 0.0, 0.5, 1.0]})
    assert "1 case whole and at rank 1" in next(too_easy(both))
    assert "(c0)" in next(too_easy(both))
    assert "1 case, so nothing can be lost there (c1)" in next(never_found(both))
    assert list(too_easy(measurement({"one": [1.0]}))) == [], "with one arm that says little"


def test_uncovered_pages() -> None:
    pages = [Page(name, name, "x") for name in ("a", "b", "c")]
    assert "no case labels 2 pages of 3: what happens to them goes unseen (b, c)" in next(
        uncovered([case("x", "q", ["a"])], pages)
    )
    assert list(uncovered([case("x", "q", ["a", "b", "c"])], pages)) == []


def test_near_queries_and_leaks() -> None:
    others = [("a", "Does idempotency_key prevent duplicates on SQS?"), ("b", "max_size")]
    assert [found.id for found in near("does idempotency_key prevent duplicates on sqs queues", others)] == [
        "a"
    ]
    assert [found.id for found in near("max_size?", others)] == ["b"]
    assert near("something else entirely", others) == []
    leaks = Leaks({"p": "First.\n\nThe *quick* brown fox, jumps over it.", "q": "quick brown"})
    assert leaks.of("the quick brown fox jumps") == ("p",)
    assert leaks.of("quick brown") == (), "two words stand somewhere by chance"


def test_a_shallow_pool_bounds_k() -> None:
    headers = [{"version": "v1", "pool_depth": 10}, {"version": "v2"}]
    assert "recall@20 is claimed on labels pooled to depth 10" in next(shallow(headers, 20))
    assert list(shallow(headers, 10)) == []
    assert list(shallow([{"pool_depth": "ten"}], 20)) == []

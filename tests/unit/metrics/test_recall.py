from gate.metrics.recall import score

RANKED = ["d3", "d1", "d7", "d2", "d9"]


def test_worked_example() -> None:
    assert score(RANKED, {"d1": 1, "d2": 1}, 3) == 0.5
    assert score(RANKED, {"d1": 1, "d2": 1}, 5) == 1.0


def test_divides_by_all_relevant_pages_even_beyond_k() -> None:
    assert score(RANKED, {"d1": 1, "d2": 1, "d4": 1, "d5": 1}, 2) == 0.25


def test_a_page_right_behind_the_cutoff_does_not_count() -> None:
    assert score(RANKED, {"d2": 1}, 3) == 0.0
    assert score(RANKED, {"d2": 1}, 4) == 1.0


def test_grades_do_not_weigh() -> None:
    assert score(RANKED, {"d1": 5, "d2": 1}, 3) == 0.5


def test_a_ranking_shorter_than_k() -> None:
    assert score(["d1"], {"d1": 1, "d2": 1}, 10) == 0.5

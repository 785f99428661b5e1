from gate.metrics.precision import score

RANKED = ["d3", "d1", "d7", "d2", "d9"]


def test_worked_example() -> None:
    assert score(RANKED, {"d1": 1, "d2": 1}, 3) == 1 / 3
    assert score(RANKED, {"d1": 1, "d2": 1}, 5) == 0.4


def test_divides_by_k_where_the_ranking_is_shorter() -> None:
    assert score(["d1"], {"d1": 1}, 4) == 0.25

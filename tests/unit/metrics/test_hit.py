from gate.metrics.hit import score

RANKED = ["d3", "d1", "d7", "d2", "d9"]


def test_worked_example() -> None:
    assert score(RANKED, {"d1": 1, "d2": 1}, 1) == 0.0


def test_one_of_several_is_enough() -> None:
    assert score(RANKED, {"d1": 1, "d4": 1}, 2) == 1.0

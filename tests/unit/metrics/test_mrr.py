from gate.metrics.mrr import score

RANKED = ["d3", "d1", "d7", "d2", "d9"]


def test_worked_example() -> None:
    assert score(RANKED, {"d1": 1, "d2": 1}, 5) == 0.5


def test_first_place() -> None:
    assert score(RANKED, {"d3": 1, "d9": 3}, 5) == 1.0


def test_reads_past_the_cutoff() -> None:
    assert score(RANKED, {"d9": 1}, 1) == 0.2

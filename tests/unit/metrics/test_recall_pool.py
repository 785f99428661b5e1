from gate.metrics.recall_pool import score

RANKED = ["d3", "d1", "d7", "d2", "d9"]


def test_reads_past_the_cutoff() -> None:
    assert score(RANKED, {"d1": 1, "d2": 1}, 1) == 1.0


def test_divides_by_all_relevant_pages() -> None:
    assert score(RANKED, {"d1": 1, "d4": 1}, 5) == 0.5

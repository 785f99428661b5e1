"""What an arm spent, as one line."""

from __future__ import annotations

import pytest

from gate.model.cost import Spent
from gate.report.provenance import spent_line


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        (Spent(), "0 texts processed, 0 cached"),
        (Spent(cached=1200), "0 texts processed, 1,200 cached"),
        (Spent(texts=1, requests=1, tokens=9), "1 text processed, 0 cached, 1 request, 9 tokens, 0 USD"),
        (Spent(texts=2, requests=1, cost_usd=None), "2 texts processed, 0 cached, 1 request, cost unknown"),
        (
            Spent(texts=2, requests=1, cost_usd=0.5, price="a price"),
            "2 texts processed, 0 cached, 1 request, 0.50 USD at a price",
        ),
        (Spent(requests=6), "6 requests"),
    ],
)
def test_a_line_says_what_was_used_and_no_more(spent: Spent, said: str) -> None:
    assert spent_line(spent) == said

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["sign_test", "sign_flip", "interval", "power"])
def test_examples_in_the_docstrings(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"gate.stats.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0

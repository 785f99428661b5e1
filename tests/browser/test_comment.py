"""The comment as GitHub shows it, in a real browser: readable on a phone and in the dark, and nothing in it comes alive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.chromium import Watched, browser
from browser.comment_page import orbit_comment, page

GOLDEN = Path(__file__).parent.parent / "golden" / "report"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


def opened(chromium: Any, markdown: str, width: int, scheme: str) -> Watched:
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    watched = Watched(context.new_page())
    watched.page.set_content(page(markdown))
    return watched


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 980])
@pytest.mark.parametrize("name", ["regression", "banners", "hostile", "flaky", "not-measured", "pass"])
def test_it_fits_and_can_be_read(chromium: Any, name: str, width: int, scheme: str) -> None:
    watched = opened(chromium, (GOLDEN / name / "comment.md").read_text(encoding="utf-8"), width, scheme)
    watched.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    # A table may scroll in itself; the page may not.
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        watched.page.evaluate("document.querySelectorAll('a, img, script, input, form, iframe').length") == 0
    )
    assert [
        one for one in watched.violations() if one.startswith(("color-contrast", "empty-table-header"))
    ] == []
    assert watched.said == []
    assert watched.asked == []


def test_the_first_screen_has_verdict_table_and_losses(chromium: Any) -> None:
    watched = opened(chromium, orbit_comment(), 980, "light")
    shown: str = watched.page.inner_text("body")
    order = [
        "regression: exact_term of keyword dropped",
        "W/L/T",
        "Lost cases: ",
        "All misses",
    ]
    places = [shown.index(text) for text in order]
    assert places == sorted(places)
    lost = watched.page.locator("h4", has_text="Lost cases").bounding_box()
    assert lost["y"] < 600, "the losses stand on the first screen"

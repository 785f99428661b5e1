"""A real headless Chromium for the tests. It may reach nothing but what the test itself serves or names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


def executable() -> str:
    """The browser of this machine; the test skips with a reason where there is none."""
    named = os.environ.get("GATE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not named:
        pytest.skip("no chromium on the path: install it, or name it in GATE_CHROMIUM")
    return named


@contextmanager
def browser() -> Iterator[Any]:
    """A browser of playwright's synchronous interface."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    from playwright.sync_api import sync_playwright

    path = executable()
    with sync_playwright() as running:
        started = running.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
            ],
        )
        try:
            yield started
        finally:
            started.close()


class Watched:
    """A page with everything that it said and asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def violations(self) -> list[str]:
        """What axe-core finds, each as `rule: element`."""
        if not AXE.is_file():
            pytest.skip("axe-core is not installed: npm ci --prefix tests/browser")
        found = self.page.evaluate(
            AXE.read_text(encoding="utf-8") + "\naxe.run().then(found => found.violations)"
        )
        return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]

"""A comment as GitHub shows it: its Markdown dialect (comrak) in its own style sheet.

Run as a program it draws the picture of the README: `make picture`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import comrak
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
STYLE = Path(__file__).parent / "node_modules" / "github-markdown-css" / "github-markdown.css"
# A comment stands in a box with these edges; the colours are those of the style sheet.
_BOX = (
    "body{margin:0;padding:16px;background:#fff}@media (prefers-color-scheme:dark){body{background:#0d1117}}"
    ".markdown-body{border:1px solid #8888;border-radius:6px;padding:16px;font-size:14px}"
)
PICTURE = REPOSITORY / "docs" / "comment.png"
WIDE = 1000


def as_html(markdown: str) -> str:
    """GitHub's dialect, before its sanitizer."""
    extensions = comrak.ExtensionOptions()
    for name in ("table", "autolink", "strikethrough", "tasklist", "footnotes", "alerts"):
        setattr(extensions, name, True)
    options = comrak.RenderOptions()
    options.unsafe_ = True
    return str(comrak.render_markdown(markdown, extension_options=extensions, render_options=options))


def page(markdown: str) -> str:
    """The whole page; the test skips with a reason where the style sheet is not installed."""
    if not STYLE.is_file():
        pytest.skip("github-markdown-css is not installed: npm ci --prefix tests/browser")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>comment</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE.read_text(encoding="utf-8")}{_BOX}</style></head>'
        f'<body><main class="markdown-body">{as_html(markdown)}</main></body></html>'
    )


def orbit_comment() -> str:
    """The comment on a change that deletes the section on the error code ORB-1202 from Orbit's pages."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=gate", "-c", "user.email=gate@example.org")
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("datasets", "eval", "baselines"):
            shutil.copytree(REPOSITORY / part, folder / part)
        shutil.copy2(REPOSITORY / "gate.toml", folder)
        git("init", "--quiet")
        git("add", "--all")
        git("commit", "--quiet", "--message", "base")
        codes = folder / "datasets" / "orbit" / "docs" / "error-codes.md"
        head, mark, rest = codes.read_text(encoding="utf-8").partition("## ORB-1202 ")
        assert mark, "Orbit has no section on ORB-1202 any more"
        codes.write_text(head + rest[rest.index("\n## ") + 1 :], encoding="utf-8")
        out = folder / "comment.md"
        command = [sys.executable, "-m", "gate", "run", "--base", "HEAD", "--markdown", str(out)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        return out.read_text(encoding="utf-8")


def draw(target: Path) -> None:
    """The picture of the README."""
    from browser.chromium import browser

    with browser() as started:
        shown = started.new_context(viewport={"width": WIDE, "height": 600}, device_scale_factor=2).new_page()
        shown.set_content(page(orbit_comment()))
        shown.screenshot(path=str(target), full_page=True)


if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY / "tests"))
    draw(PICTURE)

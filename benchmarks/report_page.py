"""How long the HTML report takes to open and to filter, in a real browser: `python benchmarks/report_page.py [CASES]`.

Makes a corpus of words and that many cases (default 10,000) in a temporary folder, lets a tenth of the pages lose their text, runs
`gate run --html`, and opens the page in headless Chromium. Milliseconds of the browser's own clock, median of 5.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GATE_TOML = """\
[suite.big]
corpus = "docs"
cases = "cases.jsonl"
[suite.big.arms.keyword]
type = "bm25"
[suite.big.arms.pages]
type = "bm25"
chunker = "page"
"""
FILTER = """async (text) => {
  const input = document.querySelector("input[name=text]");
  const start = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("input"));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
SORT = """async (name) => {
  const button = [...document.querySelectorAll(".caseTable thead button")].find((one) => one.textContent === name);
  const start = performance.now();
  button.click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""


def make(folder: Path, cases: int) -> None:
    """The project, its baseline recorded, and then some pages emptied."""
    chance = random.Random(5)
    vocabulary = [f"word{number}" for number in range(3000)]
    pages = max(cases // 5, 50)
    texts = []
    (folder / "docs").mkdir()
    for number in range(pages):
        texts.append(chance.choices(vocabulary, k=90))
        body = "\n\n".join(
            f"## Part {part}\n\n{' '.join(texts[-1][part * 30 : part * 30 + 30])}" for part in range(3)
        )
        (folder / "docs" / f"page-{number:05d}.md").write_text(
            f"# Page {number}\n\n{body}\n", encoding="utf-8"
        )
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(cases):
            page = chance.randrange(pages)
            row = {
                "id": f"c-{number:05d}",
                "query": " ".join(chance.sample(texts[page], 4)),
                "relevant_doc_ids": [f"page-{page:05d}"],
                "kind": chance.choice(["exact_term", "semantic", "multi_hop"]),
                "split": "test",
            }
            file.write(json.dumps(row) + "\n")
    (folder / "gate.toml").write_text(GATE_TOML, encoding="utf-8")
    run(folder, "baseline")
    for number in range(0, pages, 10):
        (folder / "docs" / f"page-{number:05d}.md").write_text("# Gone\n", encoding="utf-8")


def run(folder: Path, *arguments: str) -> float:
    """Seconds that one command took."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GATE_")}
    start = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "gate", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return time.monotonic() - start


def main() -> int:
    from playwright.sync_api import sync_playwright

    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chromium = os.environ.get("GATE_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print("no chromium on the path: install it, or name it in GATE_CHROMIUM")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, cases)
        seconds = run(folder, "run", "--html", "report.html")
        page = folder / "report.html"
        print(
            f"{cases:,} cases, two arms: gate run --html {seconds:.1f} s, page {page.stat().st_size / 1e6:.1f} MB"
        )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            opened, filtered, sorted_by = [], [], []
            for _ in range(5):
                tab = browser.new_page()
                tab.goto(page.as_uri())
                opened.append(
                    tab.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")
                )
                filtered += [tab.evaluate(FILTER, text) for text in ("c-0", "word12", "", "c-00999")]
                tab.evaluate(FILTER, "")
                sorted_by += [tab.evaluate(SORT, column) for column in ("query", "change")]
                tab.close()
            browser.close()
        for what, found in (("open", opened), ("filter", filtered), ("sort", sorted_by)):
            print(f"{what:7} median {statistics.median(found):6.0f} ms, slowest {max(found):6.0f} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

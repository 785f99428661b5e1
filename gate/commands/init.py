"""gate init: a gate.toml, starter cases and a workflow in the user's repository. Never overwrites a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gate.model.page import Corpus

HELP = "scaffold gate.toml, starter cases and a workflow in this repository"
EXAMPLES = """\
examples:
  gate init                        here; the corpus is docs/ or the folder with the most Markdown
  gate init --corpus handbook --suite handbook

Then replace the starter cases with real questions, and run 'gate baseline' and 'gate run'.
"""
STARTER_CASES = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=".", help="the repository (default: this folder)"
    )
    parser.add_argument("--corpus", metavar="PATH", default=None, help="the pages, relative to FOLDER")
    parser.add_argument("--suite", metavar="NAME", default="docs", help="the suite's name (default: docs)")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def run(args: argparse.Namespace) -> int:
    import json
    from pathlib import Path

    from gate import __version__
    from gate.commands import _output
    from gate.corpus.read import read_corpus
    from gate.errors import InputError, Problem, raise_all
    from gate.report import render
    from gate.store import canonical, config

    root = Path(args.folder)
    if not root.is_dir():
        raise InputError(Problem(args.folder, "is no folder", "Name the repository's folder."))
    corpus = args.corpus or _find_corpus(root)
    pages = read_corpus(root / corpus, corpus)
    values = {
        "suite": args.suite,
        "corpus": json.dumps(corpus, ensure_ascii=False),
        "cases": [json.dumps(case, ensure_ascii=False) for case in starter_cases(pages)],
        "version": __version__,
    }
    targets = {
        "gate.toml": "gate.toml.j2",
        "eval/retrieval_queries.jsonl": "retrieval_queries.jsonl.j2",
        ".github/workflows/gate.yml": "gate.yml.j2",
    }
    raise_all(
        [
            Problem(path, "is there already", "Move it away, or edit it by hand; nothing was written.")
            for path in targets
            if (root / path).exists()
        ]
    )
    texts = {path: render.scaffold(template, values) for path, template in targets.items()}
    config.parse(texts["gate.toml"], "gate.toml", "gate.toml")
    for path, text in texts.items():
        canonical.write_text(root / path, text, path)
        _output.emit(f"wrote {path}\n")
    _output.emit(
        "next: replace the starter cases in eval/retrieval_queries.jsonl with questions your users ask,\n"
        "then 'gate baseline' to record what is true now, commit, and 'gate run' from then on\n"
    )
    return 0


def _find_corpus(root: Path) -> str:
    """docs/ where it has Markdown, else the top folder with the most of it."""
    from gate.errors import InputError, Problem

    counts = {
        folder.name: sum(1 for _ in folder.rglob("*.md"))
        for folder in sorted(root.iterdir())
        if folder.is_dir() and not folder.name.startswith(".")
    }
    if counts.get("docs"):
        return "docs"
    best = max(counts, key=lambda name: counts[name], default=None)
    if best is None or not counts[best]:
        raise InputError(
            Problem(str(root), "no folder with Markdown pages", "Name the pages with --corpus PATH.")
        )
    return best


def starter_cases(corpus: Corpus) -> list[dict[str, object]]:
    """A few cases that hold on the first day: the titles of pages, asked for these pages. Even ids: the test split."""
    titled = [page for page in corpus.pages if page.title.strip()] or list(corpus.pages)
    return [
        {
            "id": f"q-{2 * number:03}",
            "query": page.title or page.doc_id,
            "relevant_doc_ids": [page.doc_id],
            "kind": "exact_term",
        }
        for number, page in enumerate(titled[:STARTER_CASES], 1)
    ]

"""gate init: a gate.toml, starter cases and three workflows in the user's repository. Never overwrites a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gate.errors import Problem
    from gate.model.page import Corpus

HELP = "scaffold gate.toml, starter cases and the workflows in this repository"
EXAMPLES = """\
examples:
  gate init                        here; the corpus is docs/ or the folder with the most Markdown
  gate init --corpus handbook --suite handbook
  gate init services/search        a folder of a monorepo; the workflows go to the repository's top

Then replace the starter cases with real questions, and run 'gate baseline' and 'gate run'.
"""
STARTER_CASES = 4
ACTION = "retrieval-gate/retrieval-gate"
WORKFLOWS = ("gate.yml", "gate-comment.yml", "baseline-refresh.yml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=".",
        help="the repository, or a folder in it (default: this folder)",
    )
    parser.add_argument("--corpus", metavar="PATH", default=None, help="the pages, relative to FOLDER")
    parser.add_argument("--suite", metavar="NAME", default="docs", help="the suite's name (default: docs)")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def run(args: argparse.Namespace) -> int:
    import json
    import os
    from pathlib import Path

    from gate import __version__
    from gate.commands import _output
    from gate.corpus.read import read_corpus
    from gate.errors import InputError, Problem, raise_all
    from gate.report import render
    from gate.store import canonical

    root = Path(args.folder)
    if not root.is_dir():
        raise InputError(Problem(args.folder, "is no folder", "Name the repository's folder."))
    corpus = args.corpus or _find_corpus(root)
    pages = read_corpus(root / corpus, corpus)
    root = root.resolve()
    top = _top(root)
    folder = root.relative_to(top).as_posix()
    values = {
        "suite": args.suite,
        "corpus": json.dumps(corpus, ensure_ascii=False),
        "cases": [json.dumps(case, ensure_ascii=False) for case in starter_cases(pages)],
        "version": __version__,
        "action": ACTION,
        "branch": json.dumps(_default_branch(top), ensure_ascii=False),
        "folder": "" if folder == "." else json.dumps(folder, ensure_ascii=False),
    }
    texts = {
        root / "gate.toml": render.scaffold("gate.toml.j2", values),
        root / "eval/retrieval_queries.jsonl": render.scaffold("retrieval_queries.jsonl.j2", values),
        **{top / ".github/workflows" / name: render.scaffold(f"{name}.j2", values) for name in WORKFLOWS},
    }
    targets = {path: Path(os.path.relpath(path, root)).as_posix() for path in texts}
    raise_all([*_in_the_way(targets), *_misnamed(args.suite, texts[root / "gate.toml"])])
    for path, text in texts.items():
        canonical.write_text(path, text, targets[path])
        _output.emit(f"wrote {targets[path]}\n")
    _output.emit(
        "next: replace the starter cases in eval/retrieval_queries.jsonl with questions your users ask;\n"
        "an id that ends in an even number is in the test split, which is gated, one that ends in an odd number in dev,\n"
        "for tuning ('split' in a row decides otherwise, and an id without a number goes by its hash),\n"
        "then 'gate baseline' to record what is true now, commit, and 'gate run' from then on;\n"
        "in the workflows, put the commit of the action's release in the place of its tag\n"
    )
    return 0


def _in_the_way(targets: Mapping[Path, str]) -> Iterator[Problem]:
    """What keeps a file from being written. Asked of all of them before the first one is."""
    import os

    from gate.errors import Problem

    for path, shown in targets.items():
        if os.path.lexists(path):
            yield Problem(shown, "is there already", "Move it away, or edit it by hand; nothing was written.")
            continue
        above = next(parent for parent in path.parents if os.path.lexists(parent))
        if not above.is_dir():
            where = f"{above.name}, above {shown}"
            yield Problem(where, "is no folder", "Move it away; nothing was written.")


def _misnamed(suite: str, text: str) -> Iterator[Problem]:
    """A suite's name is a key of gate.toml and a part of file names; not every text is one."""
    from gate.errors import InputError, Problem
    from gate.store import config

    try:
        known = config.parse(text, "gate.toml", "gate.toml").suite
    except InputError:
        known = {}
    if suite not in known:
        yield Problem(f"--suite {suite!r}", "cannot name a suite", "Take letters, digits, '-' and '_'.")


def _top(root: Path) -> Path:
    """The repository's top folder, where GitHub looks for workflows; the folder itself outside git."""
    return next((path for path in (root, *root.parents) if (path / ".git").exists()), root)


def _default_branch(top: Path) -> str:
    """The default branch as a clone knows it, else main."""
    known = top / ".git/refs/remotes/origin/HEAD"
    prefix = "ref: refs/remotes/origin/"
    text = known.read_text(encoding="utf-8").strip() if known.is_file() else ""
    return text.removeprefix(prefix) if text.startswith(prefix) else "main"


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

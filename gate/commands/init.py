"""gate init: a gate.toml, starter cases and three workflows in the user's repository. Never overwrites a file.

In a monorepo the workflows may be there already, for another folder: those stay, and what to add to them is said.
"""

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
WORKFLOWS_FOLDER = ".github/workflows"
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
    branch, guessed = _default_branch(top)
    values = {
        "suite": args.suite,
        "corpus": json.dumps(corpus, ensure_ascii=False),
        "cases": [json.dumps(case, ensure_ascii=False) for case in starter_cases(pages)],
        "version": __version__,
        "action": ACTION,
        "branch": json.dumps(branch, ensure_ascii=False),
        "folder": "" if folder == "." else json.dumps(folder, ensure_ascii=False),
    }
    texts = {
        root / "gate.toml": render.scaffold("gate.toml.j2", values),
        root / "eval/retrieval_queries.jsonl": render.scaffold("retrieval_queries.jsonl.j2", values),
        **{top / WORKFLOWS_FOLDER / name: render.scaffold(f"{name}.j2", values) for name in WORKFLOWS},
    }
    targets = {path: Path(os.path.relpath(path, root)).as_posix() for path in texts}
    others = _of_others(targets, root)
    wanted = {path: shown for path, shown in targets.items() if path not in others}
    raise_all([*_in_the_way(wanted), *_misnamed(args.suite, texts[root / "gate.toml"])])
    for path, shown in targets.items():
        if path in others:
            _output.emit(f"kept {shown}, which is there already\n")
        else:
            canonical.write_text(path, texts[path], shown)
            _output.emit(f"wrote {shown}\n")
    if to_add := _to_add(others, folder):
        _output.emit(to_add)
    if guessed and top / WORKFLOWS_FOLDER / "gate.yml" not in others:
        _output.emit(
            f"the default branch is not known here: {guessed}, so gate.yml has branches: [{values['branch']}]\n"
        )
    _output.emit(
        "next: replace the starter cases in eval/retrieval_queries.jsonl with questions your users ask;\n"
        "an id that ends in an even number is in the test split, which is gated, one that ends in an odd number in dev,\n"
        "for tuning ('split' in a row decides otherwise, and an id without a number goes by its hash),\n"
        "then 'gate baseline' to record what is true now, commit, and 'gate run' from then on;\n"
        "in the workflows, put the commit of the action's release in the place of its tag\n"
    )
    return 0


def _of_others(targets: Mapping[Path, str], root: Path) -> dict[Path, str]:
    """The workflows that are there and run the gate, with their texts: another project's, while this one has no file yet."""
    import os

    if any(os.path.lexists(path) for path in targets if path.is_relative_to(root) and path.suffix != ".yml"):
        return {}
    found = {}
    for path in targets:
        if path.suffix == ".yml" and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if f"uses: {ACTION}@" in text:
                found[path] = text
    return found


def _to_add(others: Mapping[Path, str], folder: str) -> str:
    """What the kept workflows lack for the project in `folder`; nothing where each of them names it already."""
    key = folder.rpartition("/")[2] if folder != "." else "top"
    measured = _names if folder != "." else _measures_top
    lacking = [path.name for path, text in others.items() if not measured(text, folder)]
    if not lacking:
        return ""
    where = f"          working-directory: {folder}\n" if folder != "." else ""
    return (
        f"to do: {', '.join(lacking)} {'do' if len(lacking) > 1 else 'does'} not know this project yet. "
        "Give it a job (in gate-comment.yml a step) of its own, with\n"
        f"{where}          comment-key: {key}\n"
        "and every other project there a comment-key of its own; docs/monorepo.md of retrieval-gate has the whole files\n"
    )


def _names(text: str, folder: str) -> bool:
    """Whether a workflow measures that folder."""
    import re

    return (
        re.search(rf"working-directory: *[\"']?{re.escape(folder)}/?[\"']?\s*(,|}}|#|$)", text, re.MULTILINE)
        is not None
    )


def _measures_top(text: str, folder: str) -> bool:  # noqa: ARG001 - both are asked alike
    """Whether a workflow measures the repository's top: a step without a folder."""
    return text.count("working-directory:") < text.count(f"uses: {ACTION}@")


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


def _default_branch(top: Path) -> tuple[str, str]:
    """The default branch, and how it was guessed: as a clone knows it, else the one that is checked out, else main."""
    for name, prefix, guessed in (
        (".git/refs/remotes/origin/HEAD", "refs/remotes/origin/", ""),
        (".git/HEAD", "refs/heads/", "taken for it is the branch that is checked out"),
    ):
        known = top / name
        text = known.read_text(encoding="utf-8").strip() if known.is_file() else ""
        if text.startswith(f"ref: {prefix}"):
            return text.removeprefix(f"ref: {prefix}"), guessed
    return "main", "nothing here names it"


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

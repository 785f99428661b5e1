"""A folder of Markdown: every `*.md` and `*.markdown` below it is a page.

The doc_id is the path below the folder without suffix. Files and folders that begin with a dot are skipped. The title
is the front matter's `title`, else the first `# ` heading, else the doc_id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gate.corpus.front_matter import split
from gate.corpus.headings import headings
from gate.corpus.readers._rows import is_jsonl
from gate.errors import InputError, Problem, raise_all
from gate.model.fingerprint import nfc
from gate.model.page import Corpus, Page
from gate.store.text import DOC_ID_LIMIT, bad_id, files_under, is_blank, read_text

SUFFIXES = (".md", ".markdown")


def accepts(path: Path) -> bool:
    return path.is_dir() and not is_jsonl(path) and next(_files(path, "", []), None) is not None


def read(path: Path, shown: str) -> Corpus:
    """The pages below a folder, sorted by doc_id."""
    if not path.is_dir():
        raise InputError(
            Problem(shown, "is not a folder", "The markdown reader reads a folder of *.md files.")
        )
    problems: list[Problem] = []
    pages: dict[str, Page] = {}
    for file, relative in _files(path, shown, problems):
        page = _page(file, relative, f"{shown}/{relative}", problems)
        if page is None:
            continue
        first = pages.setdefault(page.doc_id, page)
        if first is not page:
            todo = "Rename or remove one of them."
            problems.append(Problem(page.path, f"is page '{page.doc_id}', and so is {first.path}", todo))
    if not pages and not problems:
        problems.append(
            Problem(
                shown,
                "has no pages (*.md, *.markdown)",
                "Point 'corpus' at the folder that has them, or at a corpus.jsonl.",
            )
        )
    raise_all(problems)
    return Corpus(tuple(pages[doc_id] for doc_id in sorted(pages)), chunker="heading")


def _files(path: Path, shown: str, problems: list[Problem]) -> Iterator[tuple[Path, str]]:
    return (found for found in files_under(path, shown, problems) if found[1].lower().endswith(SUFFIXES))


def _page(file: Path, relative: str, shown: str, problems: list[Problem]) -> Page | None:
    doc_id = nfc(str(PurePosixPath(relative).with_suffix("")))
    reason = bad_id(doc_id, DOC_ID_LIMIT)
    if reason:
        # The name itself may hold what no terminal should print.
        as_shown = shown.encode("utf-8", "backslashreplace").decode()
        as_shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in as_shown)
        problems.append(Problem(as_shown, f"the page's id {reason}", "Rename the file."))
        return None
    before = len(problems)
    try:
        text = read_text(file, shown)
    except InputError as fault:
        problems.extend(fault.problems)
        return None
    fields, body = split(text, shown, problems)
    if len(problems) == before and is_blank(body):
        what = "has front matter but no text" if fields else "has no text"
        problems.append(Problem(shown, what, "Write the page, or remove it."))
    title = fields.get("title", "").strip() or next(
        (found.title for found in headings(body) if found.level == 1 and found.title), doc_id
    )
    return Page(doc_id, title, body, fields, path=shown)

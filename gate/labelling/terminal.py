"""Judging in a terminal, for people without a browser: the same session, line by line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from gate.labelling.session import Session
from gate.report.escape import terminal

HELP = """\
0 not an answer · 1 related · 2 answers it · w show the whole page · x no page answers this query · k KIND its kind
n TEXT a note · s skip the query · u undo · q end (everything is saved)
"""
NONE_OF_THESE = (
    "x says that none of the pages which you are shown answers it; what both judges agree on stays\n"
)
_SHOWN = 4000
_WIDTH = 100


def judge(session: Session, read: Callable[[str], str], write: Callable[[str], None]) -> None:
    """Until all is judged, or the judge ends. `read` asks for a line (EOFError ends); `write` shows text."""
    write(HELP)
    if session.adjudicates:
        write(NONE_OF_THESE)
    while True:
        state = session.state()
        open_ones = [query for query in state["queries"] if not query["done"]]
        if not open_ones:
            write("all queries are judged\n")
            return
        query = open_ones[0]
        left = [page for page in query["pages"] if page not in query["grades"]]
        if not left and query["kind"]:
            return  # cannot be: it would be done
        write(
            f"\nquery {query['id']} ({len(state['queries']) - len(open_ones)} of {len(state['queries'])} done): "
        )
        write(f"{terminal(query['query'])}\n")
        for other in query["near"]:
            write(f"  asks nearly the same as {terminal(other['id'])}: {terminal(other['query'])}\n")
        for page in query["leaks"]:
            write(f"  stands word for word in {terminal(page)}\n")
        page = left[0] if left else None
        if page is not None:
            best, _ = session.plain(query["id"], page)
            write(f"page {terminal(page)}, best passage:\n{_lines(best)}\n")
        prompt = f"{page or 'the kind of this query is missing: k KIND'} > "
        try:
            said = read(terminal(prompt)).strip()
        except EOFError:
            return
        if said == "q":
            return
        if said == "w" and page is not None:
            write(_whole(session.plain(query["id"], page)[1]) + "\n")
            continue
        action = _action(said, query["id"], page, state["undo"])
        if action is None:
            write(HELP)
            continue
        try:
            session.act(action, None)
        except ValueError as fault:
            write(f"{fault}\n")


def _action(said: str, query: str, page: str | None, undo: int | None) -> dict[str, object] | None:
    word, _, rest = said.partition(" ")
    if said in ("0", "1", "2") and page is not None:
        return {"query": query, "page": page, "grade": int(said)}
    if said == "x":
        return {"query": query, "none": True}
    if said == "s":
        return {"query": query, "skip": True}
    if said == "u" and undo is not None:
        return {"undo": undo}
    if word == "k" and rest.strip():
        return {"query": query, "kind": rest.strip()}
    if word == "n":
        return {"query": query, "note": rest}
    return None


def _whole(text: str) -> str:
    """All of the text, each line harmless and wrapped: who judges a page must be able to read it to its end."""
    shown = []
    for line in text.split("\n"):
        harmless = terminal(line, 12 * len(line) + 1) if line.strip() else ""
        shown += textwrap.wrap(harmless, _WIDTH, break_on_hyphens=False) or [""]
    return "\n".join(f"  {line}" for line in shown)


def _lines(text: str) -> str:
    """The text, each line harmless, cut where it is long."""
    shown = text[:_SHOWN] + (" ... (cut)" if len(text) > _SHOWN else "")
    return "\n".join("  " + (terminal(line, 400) if line.strip() else "") for line in shown.split("\n"))

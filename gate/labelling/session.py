"""What the judging page (or the terminal) shows and takes: a pool, a journal, the pages. No word about systems is in here."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gate.labelling.journal import Journal
from gate.labelling.judgements import KINDS, Judged, WrongActionError, last_action
from gate.labelling.render import best_chunk, rendered
from gate.model.frozen import EMPTY
from gate.model.page import Chunk, Corpus
from gate.model.pool import Pool, PoolQuery


class Session:
    """One judge at one pool. In an adjudication `only` has the pages to judge by query, and `settled` the kind of those on
    which it is agreed.
    """

    def __init__(
        self,
        pool: Pool,
        journal: Journal,
        corpus: Corpus,
        chunks: Sequence[Chunk],
        kinds: Sequence[str] = KINDS,
        only: Mapping[str, Sequence[str]] | None = None,
        settled: Mapping[str, str] = EMPTY,
    ) -> None:
        self.pool, self._journal, self._corpus = pool, journal, corpus
        self.kinds = tuple(dict.fromkeys((*KINDS, *kinds)))
        self._only, self._settled = only, settled
        self._chunks: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            self._chunks.setdefault(chunk.doc_id, []).append(chunk)

    @property
    def adjudicates(self) -> bool:
        """Whether only what two judges differ on is judged here."""
        return self._only is not None

    @property
    def queries(self) -> list[PoolQuery]:
        """Those with something to judge."""
        return [query for query in self.pool.queries if self.candidates(query)]

    def candidates(self, query: PoolQuery) -> list[str]:
        """The pages in an order that reveals nothing: shuffled by a seed of the query and the judge."""
        wanted = query.candidates if self._only is None else tuple(self._only.get(query.id, ()))
        pages = sorted(page for page in wanted if page in query.candidates)
        random.Random(f"{self.pool.name}\n{query.id}\n{self._journal.judge}").shuffle(pages)  # noqa: S311 - no secret
        return pages

    def state(self) -> dict[str, Any]:
        """Everything about the queries that the page shows, as plain values."""
        judged = self._journal.state
        rows = []
        for query in self.queries:
            one = judged.get(query.id, Judged())
            one = replace(one, kind=one.kind or self._settled.get(query.id, ""))
            pages = self.candidates(query)
            rows.append(
                {
                    "id": query.id,
                    "query": query.query,
                    "pages": pages,
                    "grades": {page: one.grades[page] for page in pages if page in one.grades},
                    "kind": one.kind,
                    "none": one.none,
                    "skip": one.skip,
                    "note": one.note,
                    "rev": one.rev,
                    "near": [{"id": other.id, "query": other.query} for other in query.near],
                    "leaks": list(query.leaks),
                    "done": one.skip or one.complete(pages),
                }
            )
        return {
            "pool": self.pool.name,
            "judge": self._journal.judge,
            "kinds": list(self.kinds),
            "queries": rows,
            "undo": last_action(self._journal.actions),
        }

    def act(self, action: Mapping[str, Any], seen: int | None) -> None:
        """As `Journal.act`; a kind that no case has yet is a typo more often than a new one, and is refused."""
        if "kind" in action and action["kind"] not in self.kinds:
            raise WrongActionError(f"no such kind; there are {', '.join(self.kinds)}")
        self._journal.act(action, seen)

    def page(self, query: str, name: str, renderer: Any) -> dict[str, Any]:
        """One candidate to read: KeyError where the pool has no such pair."""
        one = self.pool.query(query)
        if name not in self.candidates(one):
            raise KeyError(name)
        page = self._corpus.by_id.get(name)
        if page is None:
            return {
                "page": name,
                "title": name,
                "best": "",
                "html": "<p>This page is gone from the corpus.</p>",
            }
        chunk = best_chunk(one.query, self._chunks.get(name, []))
        return {
            "page": name,
            "title": page.title,
            "best": "" if chunk is None else renderer.render(chunk.text[:20_000]),
            "html": rendered(page, renderer),
            "changed": self.pool.pages.get(name) != page.content_hash(),
        }

    def plain(self, query: str, name: str) -> tuple[str, str]:
        """(the best passage, the whole text) of a candidate, for a terminal."""
        page = self._corpus.by_id.get(name)
        chunk = best_chunk(self.pool.query(query).query, self._chunks.get(name, []))
        return (
            chunk.text if chunk is not None else "",
            page.text if page is not None else "(gone from the corpus)",
        )

"""The recorded arm: answers that were made elsewhere, read from a file (gate.store.recorded says how it is written).

A query finds its answer by its text, or by the id of a case or question that asks it. One that the file lacks is *not
measured*. In JSONL an empty list of hits is an answer; a TREC run cannot say that a query found nothing, since such a
query has no line in it, so there it is not measured either.

A hit counts for the page that it names, by its id, by a chunk's id or by the path of the page's file. One that names
no page of the corpus is kept, counts as not relevant, and is counted in `unknown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from gate.arms._answers import Pages
from gate.errors import InputError, Problem
from gate.model.ranking import Hit, Materials
from gate.model.settings import ArmSettings, Text
from gate.store import trec
from gate.store.recorded import Answer, Found, Recorded, read


class Settings(ArmSettings):
    """`file`: a TREC run or JSONL, relative to gate.toml."""

    file: Text


class NotRecordedError(LookupError):
    """The file has no answer to this query, or none that is certainly this query's."""


def paths(settings: Settings) -> tuple[str, ...]:
    """The paths that the settings name."""
    return (settings.file,)


def problems(settings: Settings, _where: str, root: Path | None) -> Iterable[Problem]:
    """What is wrong with the file."""
    try:
        read((root or Path.cwd()) / settings.file, settings.file)
    except InputError as fault:
        return fault.problems
    return ()


def build(materials: Materials, settings: Settings) -> RecordedArm:
    """Read the file; what is wrong with it is an InputError."""
    root: Path = getattr(materials, "root", None) or Path.cwd()
    recorded = read(root / settings.file, settings.file)
    return RecordedArm(settings.file, recorded, materials, Pages(materials, root))


class RecordedArm:
    """Rankings of a file. `unknown`: pages it named that the corpus does not have, with how often."""

    def __init__(self, file: str, recorded: Recorded, materials: Materials, pages: Pages) -> None:
        self._file = file
        self._recorded = recorded
        self._materials = materials
        self._pages = pages
        self.unknown: Counter[str] = Counter()

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        """The recorded hits. NotRecordedError where the file does not say what this query found."""
        found = self._answer(query).hits[:pool]
        return [
            self._hit(hit, float(len(found) - rank) if hit.score is None else hit.score)
            for rank, hit in enumerate(found)
        ]

    def _answer(self, query: str) -> Answer:
        names = self._materials.case_ids.get(query, ())
        by_id = {name: answer for name in names if (answer := self._by_id(name)) is not None}
        for name, answer in by_id.items():
            if answer.query and answer.query != query:
                raise NotRecordedError(
                    f"{self._file} answers '{name}' for another query ({answer.query!r}). Record it again."
                )
        answers = [*by_id.values(), *filter(None, [self._recorded.by_query.get(query)])]
        if not answers:
            asked = f" ({', '.join(names)})" if names else ""
            raise NotRecordedError(f"{self._file} has no answer to this query{asked}. Record it again.")
        if any(answer.hits != answers[0].hits for answer in answers):
            raise NotRecordedError(
                f"{self._file} answers this query in different ways ({', '.join(by_id)}). Record it again."
            )
        return answers[0]

    def _by_id(self, name: str) -> Answer | None:
        """Under the id as it is, or as our own TREC files write it."""
        by_id = self._recorded.by_id
        return by_id.get(name) or by_id.get(trec.token(name))

    def _hit(self, hit: Found, score: float) -> Hit:
        doc_id, known = self._pages.find(hit.names)
        chunk_id = hit.chunk
        if not known and any("%" in name for name in hit.names):
            plain, known = self._pages.find([unquote(name) for name in hit.names])
            if known:
                doc_id, chunk_id = plain, unquote(chunk_id)
        if not known:
            self.unknown[doc_id] += 1
        return Hit(chunk_id, doc_id, hit.text or self._pages.text(chunk_id), score)

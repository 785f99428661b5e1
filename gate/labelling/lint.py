"""What is worth a second look in a labelled set although nothing is wrong with it. Pure.

Everything is a sentence for a person; `gate check` prints them as notices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gate.labelling.queries import words
from gate.model.case import Case
from gate.model.measurement import Measurement
from gate.model.page import Page
from gate.model.wording import listed, plural

_SHINGLE = 5
_TWIN = 0.8
_COMMON = 50
_NAMED = 6


def lint(cases: Sequence[Case], pages: Sequence[Page], baseline: Measurement | None) -> Iterator[str]:
    """All of it, in the order of how much it matters."""
    yield from contradictions(cases)
    yield from twins(cases, pages)
    if baseline is not None:
        yield from never_found(baseline)
        yield from too_easy(baseline)
    yield from uncovered(cases, pages)


def contradictions(cases: Sequence[Case]) -> Iterator[str]:
    """The same query with other labels, or a page that one case accepts and another rejects."""
    by_query: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        by_query.setdefault(words(case.query), []).append(case)
    for same in by_query.values():
        for other in same[1:]:
            first = same[0]
            clash = sorted({*first.grades} & {*other.not_relevant} | {*other.grades} & {*first.not_relevant})
            if clash:
                yield (
                    f"the cases '{first.id}' and '{other.id}' ask the same, and one rejects what the other accepts "
                    f"({listed(clash, _NAMED)})"
                )
            elif {*first.grades} != {*other.grades}:
                yield f"the cases '{first.id}' and '{other.id}' ask the same and have other labels"
            else:
                yield f"the cases '{first.id}' and '{other.id}' ask the same: one of them adds nothing"


def twins(cases: Sequence[Case], pages: Sequence[Page]) -> Iterator[str]:
    """Pages that say nearly the same, of which a case labels one and not the other."""
    labelled: dict[str, list[Case]] = {}
    for case in cases:
        for page in case.grades:
            labelled.setdefault(page, []).append(case)
    for one, other in near_duplicates(pages):
        for page, twin in ((one, other), (other, one)):
            for case in labelled.get(page, ()):
                if twin not in case.grades and twin not in case.not_relevant:
                    yield f"the case '{case.id}' labels '{page}' and not '{twin}', which says nearly the same"


def near_duplicates(pages: Sequence[Page]) -> list[tuple[str, str]]:
    """Pairs of pages that share most runs of five words, by Jaccard's measure.

    Only pairs with a run in common are looked at; a run that stands on very many pages (a footer) tells nothing.
    """
    shingles = {page.doc_id: _shingles(page.text) for page in pages}
    where: dict[tuple[str, ...], list[str]] = {}
    for name, found in shingles.items():
        for one in found:
            where.setdefault(one, []).append(name)
    shared: Counter[tuple[str, str]] = Counter()
    for names in where.values():
        if 1 < len(names) <= _COMMON:
            shared.update((a, b) for at, a in enumerate(names) for b in names[at + 1 :])
    return sorted(
        pair
        for pair, both in shared.items()
        if both / (len(shingles[pair[0]]) + len(shingles[pair[1]]) - both) >= _TWIN
    )


def _shingles(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {found[at : at + _SHINGLE] for at in range(len(found) - _SHINGLE + 1)}


def never_found(baseline: Measurement) -> Iterator[str]:
    """Cases of which no arm has any relevant page in the top k: they can only ever be won."""
    hopeless = _cases(baseline, lambda scores: scores.get("hit", 1.0) == 0.0)
    if hopeless:
        yield f"no arm finds anything for {plural(len(hopeless), 'case')}, so nothing can be lost there ({listed(hopeless, _NAMED)})"


def too_easy(baseline: Measurement) -> Iterator[str]:
    """Cases that every arm answers whole, at rank 1: they guard little."""
    easy = _cases(baseline, lambda scores: scores.get("rr") == 1.0 and scores.get("recall") == 1.0)
    if easy and len(baseline.arms) > 1:
        yield f"every arm answers {plural(len(easy), 'case')} whole and at rank 1: they guard little ({listed(easy, _NAMED)})"


def _cases(baseline: Measurement, of: Callable[[Mapping[str, float]], bool]) -> list[str]:
    found = [
        case
        for case in baseline.cases
        if all(case in arm.rows and of(arm.rows[case].scores) for arm in baseline.arms.values())
    ]
    return sorted(found) if baseline.arms else []


def shallow(headers: Iterable[Mapping[str, object]], k: int) -> Iterator[str]:
    """Beyond the depth of the pool nobody looked, so a larger k counts pages as wrong that were never judged."""
    depths = [depth for header in headers if isinstance(depth := header.get("pool_depth"), int)]
    if depths and k > min(depths):
        yield f"recall@{k} is claimed on labels pooled to depth {min(depths)}: pages below that were never judged"


def uncovered(cases: Sequence[Case], pages: Sequence[Page]) -> Iterator[str]:
    """Pages that no case labels: they can go without anybody noticing."""
    labelled = {page for case in cases for page in case.grades}
    missing = sorted(page.doc_id for page in pages if page.doc_id not in labelled)
    if missing:
        yield f"no case labels {plural(len(missing), 'page')} of {len(pages):,}: what happens to them goes unseen ({listed(missing, _NAMED)})"

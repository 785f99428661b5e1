"""Why a case moved: whose doing it is (pages or settings), what became of the page, which leg of a hybrid lost it.

Pure. The crosswise measurements come from the caller: the base's settings on the new pages, the new settings on the base's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from gate.compare import rank_of
from gate.model.comparison import DUST, ArmComparison, CaseMove, PageMove
from gate.model.measurement import ArmMeasurement, Row

_WORDS = re.compile(r"\w+")
# A section has moved when most of its words stand together elsewhere, and no longer at home.
_MOVED, _STAYED, _FEWEST_WORDS = 0.8, 0.6, 6


class Crosswise(NamedTuple):
    """The scores of one lost case, metric by metric: the base's settings on the new pages, and the other way round."""

    base_settings: Mapping[str, float]
    base_pages: Mapping[str, float]


def doing(move: CaseMove, crossed: Crosswise) -> str:
    """Whose doing a loss is: `pages`, `settings`, `either` (each alone loses it too), or `together` (only both do)."""
    by_pages = _lost(move, crossed.base_settings)
    by_settings = _lost(move, crossed.base_pages)
    if by_pages and by_settings:
        return "either"
    return "pages" if by_pages else "settings" if by_settings else "together"


def _lost(move: CaseMove, scores: Mapping[str, float]) -> bool:
    return any(
        scores[metric] - before < -DUST for metric, (before, _) in move.scores.items() if metric in scores
    )


def words(text: str) -> list[str]:
    """The words of a text, lower-cased, in order."""
    return _WORDS.findall(text.lower())


def moved_to(section: str, page: str, chunks: Iterable[tuple[str, str]]) -> str | None:
    """The page to which `section` went, from (doc_id, text) of all chunks now; None where it stayed, or is nowhere.

    `section` is the body of a chunk that `page` had before. Pairs of neighbouring words are what is compared: they survive
    a change of headings or of the page's title, and no other page has most of them by chance.
    """
    sought = _pairs(words(section))
    if len(sought) < _FEWEST_WORDS:
        return None
    best, share = None, _MOVED
    for doc_id, text in chunks:
        has = len(sought & _pairs(words(text))) / len(sought)
        if doc_id == page:
            if has >= _STAYED:
                return None
        elif has > share or (has == share and best is None):
            best, share = doc_id, has
    return best


def _pairs(found: Sequence[str]) -> set[tuple[str, str]]:
    return set(pairwise(found))


def with_cause(
    move: CaseMove, moved: Mapping[str, str], *, corpus_changed: bool, chunker_changed: bool
) -> CaseMove:
    """The move with finer causes for its fallen pages.

    `moved`: page -> the page to which the section went that used to be found. A page that itself did not change was split
    differently where the settings lost it and the chunker is another one; it was overtaken by pages that changed; or,
    where neither it nor those above it changed, the corpus did, and with it what a word is worth.
    """
    pages = []
    for page in move.pages:
        cause, to = page.cause, None
        if page.fell and page.cause in ("edited", "overtaken"):
            if page.doc_id in moved:
                cause, to = "moved", moved[page.doc_id]
            elif page.cause == "overtaken" and chunker_changed and move.by in ("settings", "either"):
                cause = "split"
            elif (
                page.cause == "overtaken" and corpus_changed and not move.touched and move.by in ("", "pages")
            ):
                cause = "shifted"
        pages.append(page.model_copy(update={"cause": cause, "moved_to": to}))
    return move.model_copy(update={"pages": tuple(pages)})


def with_legs(
    arms: Mapping[str, ArmComparison],
    legs: Mapping[str, Sequence[str]],
    now: Mapping[str, ArmMeasurement],
    before: Mapping[str, ArmMeasurement],
) -> dict[str, ArmComparison]:
    """The comparisons with, for each moved page of an arm that asks others, its rank in each of them before and now.

    `legs`: arm -> the arms it asks. Only legs that are arms of the suite have rows to look at.
    """
    found = dict(arms)
    for name, comparison in arms.items():
        known = [leg for leg in legs.get(name, ()) if leg in now and leg in before]
        if known:
            found[name] = comparison.model_copy(
                update={
                    kind: tuple(_with_legs(move, known, now, before) for move in getattr(comparison, kind))
                    for kind in ("lost", "won")
                }
            )
    return found


def _with_legs(
    move: CaseMove,
    legs: Sequence[str],
    now: Mapping[str, ArmMeasurement],
    before: Mapping[str, ArmMeasurement],
) -> CaseMove:
    pages = []
    for page in move.pages:
        ranks = {}
        for leg in legs:
            rows: tuple[Row | None, Row | None] = (before[leg].rows.get(move.id), now[leg].rows.get(move.id))
            if rows[0] is not None and rows[1] is not None:
                # A label that was renamed together with its page names the new one now.
                followed = page.renamed_to is not None and page.cause != "renamed"
                here = (page.renamed_to or "") if followed else page.doc_id
                ranks[leg] = (rank_of(rows[0], page.doc_id), rank_of(rows[1], here))
        pages.append(page.model_copy(update={"legs": ranks}))
    return move.model_copy(update={"pages": tuple(pages)})


def legs_of(settings: Mapping[str, object]) -> tuple[str, ...]:
    """The arms that an arm with these settings asks."""
    of = settings.get("of")
    if isinstance(of, str):
        return (of,)
    return tuple(str(leg) for leg in of) if isinstance(of, Sequence) else ()


def plainly(
    arms: Mapping[str, ArmComparison],
    now: Mapping[str, ArmMeasurement],
    before: Mapping[str, ArmMeasurement],
    *,
    corpus_changed: bool,
) -> dict[str, ArmComparison]:
    """What can be said of the lost cases without measuring or reading anything: legs, and whose doing a loss is where
    only the pages or only the settings changed.
    """
    legs = {name: legs_of(arm.settings) for name, arm in now.items()}
    found = with_legs(arms, legs, now, before)
    for name, comparison in found.items():
        concerned = [one for one in (name, *legs.get(name, ())) if one in found]
        changes = [change for one in concerned for change in found[one].settings_changed]
        by = (
            "" if changes and corpus_changed else "settings" if changes else "pages" if corpus_changed else ""
        )
        chunker = any(change.partition(":")[0] == "chunker" for change in changes)
        lost = tuple(
            with_cause(
                move.model_copy(update={"by": by}), {}, corpus_changed=corpus_changed, chunker_changed=chunker
            )
            for move in comparison.lost
        )
        found[name] = comparison.model_copy(update={"lost": lost})
    return found


def lost_by(page: PageMove) -> tuple[str, ...]:
    """The legs in which a fallen page fell."""
    if not page.fell:
        return ()
    return tuple(
        leg
        for leg, (before, now) in page.legs.items()
        if before is not None and (now is None or now > before)
    )

"""The evidence of the comparison, case by case: what was lost and why, and what was won."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gate.compare import OVERTAKERS
from gate.explain import lost_by
from gate.model.comparison import DUST, CaseMove, PageChanges, PageMove
from gate.model.report import SuiteReport
from gate.model.wording import listed, plural
from gate.report.flaky import again
from gate.report.medium import Medium
from gate.report.numbers import arrow, pair, rank_pair
from gate.report.parts import Moved, PageLine, Section
from gate.report.titles import of_row

_PAGES = 6
_NAMED = 3
_ID = 80
_PLAIN_CAUSES = {"deleted": "deleted", "empty": "nothing came back for this query"}


def page_states(changes: PageChanges, medium: Medium) -> dict[str, str]:
    """What became of each changed page since the baseline, in a word."""
    states = dict.fromkeys(changes.edited, "edited") | dict.fromkeys(changes.added, "new")
    states |= dict.fromkeys(changes.removed, "deleted")
    states |= {new: f"renamed from {medium.cell(old, _ID)}" for old, new in changes.renamed.items()}
    return states


@dataclass(frozen=True, slots=True)
class _Teller:
    """Words a case's move. `states` says what became of the changed pages."""

    suite: SuiteReport
    medium: Medium
    states: Mapping[str, str]

    def page(self, name: str) -> str:
        """A page with what became of it: `limits` (edited)."""
        state = self.states.get(name)
        return self.medium.cell(name, _ID) + (f" ({state})" if state else "")

    def named(self, page: PageMove) -> str:
        """A relevant page, with its new name where the label followed it there."""
        name = self.medium.cell(page.doc_id, _ID)
        followed = page.renamed_to is not None and page.cause != "renamed"
        return f"{name} (now {self.medium.cell(page.renamed_to or '', _ID)})" if followed else name

    def moved(self, arm: str, move: CaseMove, lines: Sequence[PageLine]) -> Moved:
        medium = self.medium
        scores = [
            f"{of_row(row, self.suite.k).shown(medium)} {arrow(*pair(*scores))}"
            for row, scores in move.scores.items()
            if abs(scores[1] - scores[0]) > DUST
        ]
        gated = arm not in self.suite.arms or self.suite.arms[arm].gate
        remarks = [
            f"accepted: {medium.plain(move.accepted, 200)}" if move.accepted else "",
            "already lost on the base" if move.already_lost else "",
            _unjudged(move),
            again(move),
            "" if gated else "shown only",
        ]
        return Moved(
            case=medium.cell(move.id, _ID),
            query=medium.cell(move.query),
            kind=medium.plain(move.kind, 60),
            arm=medium.plain(arm, 60),
            score=", ".join(scores),
            pages=tuple(lines) or (PageLine("", "", "every relevant page kept its rank"),),
            remark="; ".join(filter(None, remarks)),
        )

    def lost_lines(self, move: CaseMove) -> Iterator[PageLine]:
        """The pages that are missing now, or else those that fell; what overtook them stands with the first."""
        k = self.suite.k
        fell = [page for page in move.pages if page.fell]
        missing = [page for page in move.pages if page.after is None or page.after > k]
        shown = sorted(missing or fell, key=lambda page: page not in fell)
        told = False
        for page in shown[:_PAGES]:
            why = self.why(page, move, told)
            told = told or (page.fell and page.cause in ("overtaken", "edited"))
            yield PageLine(self.named(page), rank_pair(page.before, page.after), why)
        if len(shown) > _PAGES:
            yield PageLine(f"and {plural(len(shown) - _PAGES, 'more page')}", "", "")

    def why(self, page: PageMove, move: CaseMove, told: bool) -> str:
        """The cause in words."""
        if page.cause == "renamed":
            new = f"renamed to {self.medium.cell(page.renamed_to or '', _ID)}"
            label = self.suite.labels.get(move.id)
            if label is None:
                return f"{new}; the case was removed"
            kept = page.doc_id in label.relevant
            return f"{new}; the label {'still has the old name' if kept else 'was changed, and not only to that name'}"
        if page.cause in _PLAIN_CAUSES:
            return _PLAIN_CAUSES[page.cause]
        if not page.fell:
            return f"was not in the top {self.suite.k} before either"
        return self._cause(page, move, told) + self._legs(page)

    def _cause(self, page: PageMove, move: CaseMove, told: bool) -> str:
        behind = self._behind(page, move, told)
        if page.cause == "moved":
            to = self.medium.cell(page.moved_to or "", _ID)
            return f"the section that was found went to {to}"
        if page.cause == "edited":
            return f"edited; {behind}"
        if page.cause == "split":
            return f"cut into other chunks; {behind}"
        if page.cause == "shifted":
            return (
                f"{behind}; none of these pages changed, but others did, and with them how much a word counts"
            )
        return behind if move.touched or told else f"{behind}; none of these pages changed"

    def _legs(self, page: PageMove) -> str:
        """The rank in each leg of a hybrid, and which of them lost the page."""
        if not page.legs:
            return ""
        plain = self.medium.plain
        said = [f"{plain(leg, 60)} {rank_pair(*ranks)}" for leg, ranks in page.legs.items()]
        guilty = [plain(leg, 60) for leg in lost_by(page)]
        if not guilty:
            verdict = "no leg lost it"
        elif len(guilty) == len(page.legs):
            verdict = "every leg lost it" if len(guilty) > 1 else f"the {guilty[0]} leg lost it"
        else:
            verdict = f"the {' and '.join(guilty)} leg{'s' if len(guilty) > 1 else ''} lost it"
        return f" ({', '.join(said)}: {verdict})"

    def _behind(self, page: PageMove, move: CaseMove, told: bool) -> str:
        if not move.overtaken_by:
            return "no longer returned" if page.after is None else "now behind other relevant pages"
        if told:
            return "overtaken as well"
        names = [self.page(name) for name in move.overtaken_by]
        if len(names) < OVERTAKERS:
            return f"overtaken by {listed(names, _NAMED)}"
        return f"overtaken by {', '.join(names[:_NAMED])} and others"

    def won_lines(self, move: CaseMove) -> Iterator[PageLine]:
        """The pages that rose."""
        rose = [
            page
            for page in move.pages
            if page.after is not None and (page.before or page.after + 1) > page.after
        ]
        for page in rose[:_PAGES]:
            why = self.states.get(page.doc_id, "")
            yield PageLine(self.named(page), rank_pair(page.before, page.after), why)


def _unjudged(move: CaseMove) -> str:
    if not move.unjudged:
        return ""
    return f"unjudged, not proven worse: {plural(len(move.unjudged), 'new page')} in the top were never judged".replace(
        "page in the top were", "page in the top was"
    )


def _difference(move: CaseMove) -> float:
    return min((after - before for before, after in move.scores.values()), default=0.0)


def _title(name: str, moves: Sequence[tuple[str, CaseMove]]) -> str:
    cases = len({move.id for _, move in moves})
    rows = "" if cases == len(moves) else f" ({plural(len(moves), 'row')}, one for each arm)"
    return f"{name}: {cases:,}{rows}"


def lost(suite: SuiteReport, medium: Medium) -> Section[Moved]:
    """The lost cases: those that weigh first, the worst at the top."""
    teller = _Teller(suite, medium, page_states(suite.page_changes, medium))
    moves = [(arm, move) for arm, found in suite.comparison.items() for move in found.lost]
    order = {arm: position for position, arm in enumerate(suite.comparison)}

    def weight(entry: tuple[str, CaseMove]) -> tuple[bool, bool, bool, bool, float, str, int]:
        arm, move = entry
        shown_only = arm in suite.arms and not suite.arms[arm].gate
        return (
            shown_only,
            bool(move.accepted),
            move.flaky,
            move.already_lost,
            round(_difference(move), 9),
            move.id,
            order[arm],
        )

    moves.sort(key=weight)
    rows = tuple(teller.moved(arm, move, tuple(teller.lost_lines(move))) for arm, move in moves)
    return Section(_title("Lost cases", moves), intro=_doings(suite, medium), rows=rows)


_DOINGS = {
    "pages": "from the pages changed",
    "settings": "from the settings changed",
    "either": "from either of them alone",
    "together": "only from both together",
}


def _doings(suite: SuiteReport, medium: Medium) -> str:
    """Whose doing the losses are, where the pages and the settings of an arm changed at once."""
    said = []
    for name, found in suite.comparison.items():
        counted = Counter(move.by for move in found.lost if move.by)
        if not counted or not suite.page_changes or not _settings_of(suite, name):
            continue
        parts = [f"{counted[by]} {words}" for by, words in _DOINGS.items() if counted[by]]
        changed = listed([medium.code(change) for change in _settings_of(suite, name)], _NAMED)
        said.append(
            f"{medium.plain(name, 60)}, {plural(sum(counted.values()), 'loss')}: {', '.join(parts)} ({changed})."
        )
    return " ".join(said)


def _settings_of(suite: SuiteReport, name: str) -> list[str]:
    """The changed settings of an arm and of those it asks."""
    asked = suite.arms[name].settings.get("of", ()) if name in suite.arms else ()
    legs = [asked] if isinstance(asked, str) else list(asked) if isinstance(asked, Sequence) else []
    return [
        change if one == name else f"{one}: {change}"
        for one in (name, *(str(leg) for leg in legs))
        if one in suite.comparison
        for change in suite.comparison[one].settings_changed
    ]


def won(suite: SuiteReport, medium: Medium) -> Section[Moved]:
    """The won cases, the largest gain first."""
    teller = _Teller(suite, medium, page_states(suite.page_changes, medium))
    moves = [(arm, move) for arm, found in suite.comparison.items() for move in found.won]
    rows = tuple(teller.moved(arm, move, tuple(teller.won_lines(move))) for arm, move in moves)
    return Section(_title("Won cases", moves), rows=rows)


# What to turn first, for each bucket in which a question can end early.

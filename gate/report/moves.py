"""The evidence, case by case: lost, won, missed, added and unmeasured cases, and questions that moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gate.compare import OVERTAKERS
from gate.explain import lost_by
from gate.model.comparison import DUST, CaseMove, PageChanges, PageMove
from gate.model.report import ArmReport, CaseRow, SuiteReport
from gate.report.flaky import again
from gate.report.medium import Medium
from gate.report.numbers import arrow, listed, pair, plural, rank_pair, signed
from gate.report.parts import Added, Cells, Miss, Moved, PageLine, Section
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
        fell = [page for page in move.pages if _fell(page)]
        missing = [page for page in move.pages if page.after is None or page.after > k]
        shown = sorted(missing or fell, key=lambda page: page not in fell)
        told = False
        for page in shown[:_PAGES]:
            why = self.why(page, move, told)
            told = told or (_fell(page) and page.cause in ("overtaken", "edited"))
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
        if not _fell(page):
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


def _fell(page: PageMove) -> bool:
    return page.before is not None and (page.after is None or page.after > page.before)


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


def _missing(suite: SuiteReport, row: CaseRow, medium: Medium) -> str:
    """Each missing page with where it stands now."""
    said = []
    for page in row.missing[:_PAGES]:
        where = f"rank {row.ranked.index(page) + 1}" if page in row.ranked else "outside the pool"
        said.append(f"{medium.cell(page, _ID)} ({where if page in suite.pages else 'no such page now'})")
    more = len(row.missing) - len(said)
    return ", ".join(said) + (f" and {more:,} more" if more else "")


def _instead(suite: SuiteReport, row: CaseRow, medium: Medium) -> str:
    relevant = suite.labels[row.id].relevant
    others = [page for page in row.ranked[: suite.k] if page not in relevant]
    if others:
        return ", ".join(medium.cell(page, _ID) for page in others[:_NAMED])
    return "nothing else" if row.ranked else "nothing"


def misses(suite: SuiteReport, medium: Medium) -> Section[Miss]:
    """Every case with a relevant page outside the top k, by arm."""
    rows = tuple(
        Miss(
            arm=medium.plain(name, 60),
            case=medium.cell(row.id, _ID),
            kind=medium.plain(row.kind, 60),
            query=medium.cell(row.query),
            missing=_missing(suite, row, medium),
            instead=_instead(suite, row, medium),
        )
        for name, arm in suite.arms.items()
        for row in arm.cases
        if row.missing
    )
    by_arm = [
        f"{medium.plain(name, 60)} {sum(bool(row.missing) for row in arm.cases):,} of {plural(arm.n, 'case')}"
        for name, arm in suite.arms.items()
        if arm.n or not arm.failed
    ]
    return Section(f"All misses: {len(rows):,}", intro=f"{listed(by_arm, 8)}.", rows=rows)


def added(suite: SuiteReport, medium: Medium) -> Section[Added]:
    """The cases that the baseline does not have, with what each arm did; and which others changed."""
    rows_of = {name: {row.id: row for row in arm.cases} for name, arm in suite.arms.items()}
    changes = suite.case_changes
    rows = []
    for case in changes.added:
        label = suite.labels.get(case)
        if label is not None:
            outcomes = (
                _outcome(suite, suite.arms[name], found.get(case), name, medium)
                for name, found in rows_of.items()
            )
            rows.append(
                Added(
                    case=medium.cell(case, _ID),
                    kind=medium.plain(label.kind, 60),
                    query=medium.cell(label.query),
                    outcome="; ".join(outcomes),
                )
            )
    notes = [
        f"{what}: {listed([medium.code(case, _ID) for case in ids], 12)}"
        for what, ids in (("Removed", changes.removed), ("Changed (query, labels or kind)", changes.changed))
        if ids
    ]
    return Section(
        f"Added cases: {len(rows):,}",
        intro="They have no baseline yet, so nothing gates them.",
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _outcome(suite: SuiteReport, arm: ArmReport, row: CaseRow | None, name: str, medium: Medium) -> str:
    if row is None:
        return f"{medium.plain(name, 60)} {'not measured' if arm.failed else 'not asked'}"
    if not row.missing:
        return f"{medium.plain(name, 60)} found all"
    return f"{medium.plain(name, 60)} missed {_missing(suite, row, medium)}"


def failures(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """What was not measured, with the reason; a reason that many share is said once."""
    rows = []
    count = 0
    for name, arm in suite.arms.items():
        reasons: dict[str, list[str]] = {}
        for case, reason in (*arm.failed.items(), *arm.failed_questions.items()):
            reasons.setdefault(reason, []).append(case)
        failed = sum(map(len, reasons.values()))
        answered = len(arm.cases) + (len(arm.diagnosis.questions) if arm.diagnosis is not None else 0)
        count += failed
        for reason, cases in reasons.items():
            if len(cases) == failed > 1 and not answered:
                said = f"all {plural(failed, 'query')}"
            else:
                said = listed([medium.cell(case, _ID) for case in cases], _NAMED)
            rows.append((medium.plain(name, 60), said, medium.cell(reason, 200)))
    head = ("arm", "case", "reason")
    return Section(f"Not measured: {count:,}", head=head, align=("left", "left", "left"), rows=tuple(rows))


def diagnosis(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """Where the QA questions broke, by arm; in brackets how the counts moved since the baseline."""
    measured = {
        name: arm.diagnosis
        for name, arm in suite.arms.items()
        if arm.diagnosis is not None and (arm.diagnosis.questions or not arm.failed_questions)
    }
    buckets = list(dict.fromkeys(bucket for found in measured.values() for bucket in found.counts))
    rows = []
    for name, found in measured.items():
        moved: Counter[str] = Counter()
        for move in suite.comparison[name].question_moves if name in suite.comparison else ():
            moved[move.after] += 1
            moved[move.before] -= 1
        cells = [
            f"{found.counts.get(bucket, 0)}{f' ({signed(moved[bucket])})' if moved[bucket] else ''}"
            for bucket in buckets
        ]
        total = len(found.questions)
        rows.append(
            (medium.plain(name, 60), str(total), *cells, str(len(found.partial)), str(found.unanswerable))
        )
    head = ("arm", "questions", *(bucket.replace("_", " ") for bucket in buckets), "partial", "unanswerable")
    return Section(
        "Diagnosis of the QA questions",
        intro=(
            f"retrieval: no cited page in the pool of {suite.pool}. ranking: one is there, but not in the first "
            f"{plural(suite.context, 'chunk')}. partial: only some of the cited pages arrived."
        ),
        head=head,
        align=("left", *["right"] * (len(head) - 1)),
        rows=tuple(rows),
        notes=tuple(
            knob
            for name, knob in _KNOBS.items()
            if any(found.counts.get(name, 0) for found in measured.values())
        ),
    )


# What to turn first, for each bucket in which a question can end early.
_KNOBS = {
    "retrieval": "Of a question at retrieval: turn the page's own words, the chunker or the embedder first, then the pool.",
    "ranking": "Of a question at ranking: turn the fusion weights, a reranker or the context first.",
    "generation": "Of a question at generation: turn the prompt or the model first; its evidence was in the context.",
}


def question_moves(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The questions whose bucket changed, the worse ones first."""
    moves = [(arm, move) for arm, found in suite.comparison.items() for move in found.question_moves]
    moves.sort(key=lambda entry: not entry[1].worse)
    rows = tuple(
        (
            medium.plain(arm, 60),
            medium.cell(move.id, _ID),
            arrow(move.before.replace("_", " "), move.after.replace("_", " ")),
            "worse" if move.worse else "better",
            listed([medium.cell(page, _ID) for page in move.pages], _NAMED),
        )
        for arm, move in moves
    )
    worse = sum(move.worse for _, move in moves)
    return Section(
        f"Questions that moved: {len(rows):,}",
        intro=f"{worse:,} worse, {len(rows) - worse:,} better.",
        head=("arm", "question", "before -> now", "", "cited pages that moved"),
        align=("left",) * 5,
        rows=rows,
    )

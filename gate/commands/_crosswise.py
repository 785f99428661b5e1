"""Whose doing the losses are: the embedded arms measured crosswise, and the causes that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from gate.commands._base_tree import BaseTree, embedded_arms
from gate.commands._load import Suite
from gate.commands._measure import Workshop, as_case, build, prepare
from gate.commands._project import Project
from gate.errors import GateError
from gate.explain import Crosswise, doing, legs_of, moved_to, plainly, with_cause
from gate.harness import evaluate
from gate.model.comparison import ArmComparison, CaseMove
from gate.model.grants import NOTHING
from gate.model.measurement import Label, Measurement, Row
from gate.model.ranking import Arm
from gate.model.run import Run
from gate.model.settings import OpenArmSettings
from gate.situation import Situation

Rows = Mapping[str, Row]


def explained(project: Project, suite: Suite, run: Run, situation: Situation, tree: BaseTree) -> Situation:
    """The situation with, for each lost case, whose doing it is and what became of its pages.

    Only arms that cost nothing and run nobody's code are measured for it. What cannot be found out stays unsaid.
    """
    trusted = run.trusted
    if trusted is None or run.on_base is None or not situation.arms:
        return situation
    before, now = trusted.arms, run.on_base.arms
    arms = plainly(situation.arms, now, before, corpus_changed=bool(situation.pages))
    lost = {name: found for name, found in arms.items() if found.lost}
    if lost:
        # Where the settings or pages of the base cannot be read here, the losses stand as they are.
        with suppress(GateError):
            arms |= _Crosswise(project, suite, run, situation, tree).causes(lost)
    return replace(situation, arms=arms)


class _Crosswise:
    def __init__(
        self,
        project: Project,
        suite: Suite,
        run: Run,
        situation: Situation,
        tree: BaseTree,
    ) -> None:
        assert run.trusted is not None
        self._project, self._suite, self._run, self._tree = project, suite, run, tree
        self._trusted: Measurement = run.trusted
        self._situation = situation
        self._asked = {name: legs_of(arm.settings) for name, arm in run.now.arms.items()}
        self._corpus_changed = bool(situation.pages)
        self._changed = {name for name, arm in situation.arms.items() if arm.settings_changed}

    def causes(self, lost: Mapping[str, ArmComparison]) -> dict[str, ArmComparison]:
        """The comparisons with their lost cases explained."""
        with closing(self._old_settings()) as old, closing(self._new_settings()) as new:
            return {name: self._arm(name, arm, old, new) for name, arm in lost.items()}

    def _arm(self, name: str, arm: ArmComparison, old: Workshop, new: Workshop) -> ArmComparison:
        # A hybrid has changed where one of its legs has.
        concerned = (name, *self._asked.get(name, ()))
        settings_changed = any(one in self._changed for one in concerned)
        by = "pages" if self._corpus_changed else ""
        if settings_changed:
            by = "settings"
        crossed: dict[str, Crosswise] = {}
        if settings_changed and self._corpus_changed and name in old.settings:
            crossed = self._crossed(name, arm.lost, old, new)
            by = ""
        chunker = any(
            change.partition(":")[0] == "chunker"
            for one in concerned
            if one in self._situation.arms
            for change in self._situation.arms[one].settings_changed
        )
        moves = []
        for move in arm.lost:
            told = doing(move, crossed[move.id]) if move.id in crossed else by
            one = move.model_copy(update={"by": told})
            moved = self._moved(name, one) if self._corpus_changed else {}
            moves.append(with_cause(one, moved, corpus_changed=self._corpus_changed, chunker_changed=chunker))
        return arm.model_copy(update={"lost": tuple(moves)})

    def _crossed(
        self, name: str, moves: Sequence[CaseMove], old: Workshop, new: Workshop
    ) -> dict[str, Crosswise]:
        """Case -> its two crosswise scores. Without the base's pages the new settings on them count as no loss."""
        assert self._run.on_base is not None
        # On the new pages the base's labels have the new names of pages that their labels followed.
        on_new = self._rows(old, name, moves, self._run.on_base.cases)
        on_old = self._rows(new, name, moves, self._trusted.cases) if name in new.settings else {}
        found = {}
        for move in moves:
            if move.id in on_new:
                before = {metric: score for metric, (score, _) in move.scores.items()}
                other = dict(on_old[move.id].scores) if move.id in on_old else before
                found[move.id] = Crosswise(dict(on_new[move.id].scores), other)
        return found

    def _rows(
        self, workshop: Workshop, name: str, moves: Sequence[CaseMove], labels: Mapping[str, Label]
    ) -> Rows:
        cases = [as_case(move.id, labels[move.id]) for move in moves]
        arm = prepare(build(workshop, name), cases, (), self._run.now.settings.pool)
        return evaluate(arm, cases, self._run.now.settings, self._project.metrics).rows

    def _moved(self, name: str, move: CaseMove) -> dict[str, str]:
        """Fallen page -> the page to which the section went that the base's arm finds in it."""
        workshop = self._tree.workshop
        pages = [page.doc_id for page in move.pages if page.fell and page.cause in ("edited", "overtaken")]
        pages = [page for page in pages if page in self._situation.pages.edited]
        if workshop is None or name not in workshop.settings or not pages:
            return {}
        arm: Arm = build(workshop, name)
        try:
            hits = list(arm.search(move.query, self._run.now.settings.pool))
        except Exception:  # it was only asked to explain
            return {}
        changed = {
            *self._situation.pages.added,
            *self._situation.pages.edited,
            *self._situation.pages.renamed.values(),
        }
        found = {}
        for page in pages:
            best = next((hit for hit in hits if hit.doc_id == page), None)
            if best is None:
                continue
            body = best.text.partition("\n")[2] or best.text  # the first line is the page's title
            whole = [(one.doc_id, one.text) for one in self._suite.corpus.pages if one.doc_id in changed]
            if (to := moved_to(body, page, whole)) is not None:
                found[page] = to
        return found

    def _old_settings(self) -> Workshop:
        """The baseline's own arms over the pages of the change."""
        open_arms = {
            name: OpenArmSettings.model_validate(arm.settings) for name, arm in self._trusted.arms.items()
        }
        where = f"{self._project.config.shown}: the baseline's arms"
        arms: dict[str, Any] = {}
        if self._corpus_changed:
            arms = embedded_arms(open_arms, where, self._project.root)
        return Workshop(self._suite.corpus, arms, where, self._project.root, NOTHING)

    def _new_settings(self) -> Workshop:
        """The change's arms over the pages of the base; without any arm where those cannot be had."""
        where = f"{self._project.config.shown} [suite.{self._suite.name}] on the base's pages"
        corpus = self._tree.corpus
        arms: dict[str, Any] = {}
        if corpus is not None and self._changed:
            arms = embedded_arms(self._suite.settings.arms, where, self._project.root)
        return Workshop(corpus or self._suite.corpus, arms, where, self._project.root, NOTHING)

"""Which of the lost cases the base tree loses as well, once it is measured again with its own settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.commands._base_tree import BaseTree
from gate.commands._measure import Workshop, as_case, build
from gate.commands._project import Project
from gate.errors import GateError
from gate.harness import evaluate
from gate.model.comparison import DUST, CaseMove, Pair
from gate.model.measurement import Measurement
from gate.model.metric import Metrics
from gate.model.run import Run
from gate.situation import Situation

Scores = Mapping[str, float]


def lost_on_base(project: Project, run: Run, situation: Situation, tree: BaseTree) -> dict[Pair, Scores]:
    """What the base tree, measured again with its own settings, scores on the lost cases that it loses as well."""
    trusted = run.trusted
    lost = {name: arm.lost for name, arm in situation.arms.items() if arm.lost}
    if trusted is None or not lost or tree.workshop is None:
        return {}
    found: dict[Pair, Scores] = {}
    try:
        for name, moves in lost.items():
            if name in tree.workshop.settings:
                found |= _still_lost(tree.workshop, name, moves, trusted, run, project.metrics)
    except GateError:
        return {}  # the base tree cannot be measured; the losses then stand as they are
    return found


def _still_lost(
    workshop: Workshop,
    arm: str,
    moves: Sequence[CaseMove],
    trusted: Measurement,
    run: Run,
    metrics: Metrics,
) -> dict[Pair, Scores]:
    cases = [as_case(move.id, trusted.cases[move.id]) for move in moves]
    again = evaluate(build(workshop, arm), cases, run.now.settings, metrics)
    found: dict[Pair, Scores] = {}
    for move in moves:
        row = again.rows.get(move.id)
        if row is not None and any(row.scores[m] - before < -DUST for m, (before, _) in move.scores.items()):
            found[arm, move.id] = {metric: row.scores[metric] for metric in move.scores}
    return found

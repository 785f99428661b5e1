"""What a new baseline lowers: cases that decide and score lower than in the last one, and what of it is absent.

A case counts under the label that the last baseline has: removing or relabelling it does not make a loss disappear
(DESIGN section 6), so a reason is asked for it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gate.compare import page_changes
from gate.errors import Problem
from gate.harness import rescore
from gate.model.accepted import Entry
from gate.model.comparison import DUST, Pair
from gate.model.fingerprint import nfc
from gate.model.frozen import EMPTY
from gate.model.measurement import ArmMeasurement, Measurement, Row
from gate.model.metric import Metrics
from gate.model.settings import SuiteSettings
from gate.model.wording import listed
from gate.renames import followed, relabelled
from gate.report.numbers import arrow, pair
from gate.report.titles import of_row
from gate.rescoring import under

_SHOWN = 8


class Step(NamedTuple):
    """One metric of one case before and now, at the cutoff where it is lowest."""

    before: float
    now: float
    k: int


Scores = Mapping[str, Step]
"""metric -> its step"""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a new baseline is held against.

    `before`: the last baseline. `over_base`: the new measurement over the cases of `before`, None where only the new
    cases were measured. `renames`: old doc_id -> new doc_id, from git. `sides`: the suite's settings in the tree and,
    where there is one, on the base; what decides under either is asked a reason for.
    """

    before: Measurement
    sides: Sequence[SuiteSettings]
    over_base: Measurement | None = None
    renames: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def deciding(self) -> tuple[str, ...]:
        """The metrics that decide under either side's policy."""
        return tuple(dict.fromkeys(name for side in self.sides for name in side.policy.metrics))

    def decides(self, arm: str) -> bool:
        """Whether the arm is gated: as the base says, else as the tree does; one that neither names is."""
        said = [side.arms[arm].gate for side in reversed(self.sides) if arm in side.arms]
        return said[0] if said else True


class Absent(NamedTuple):
    """Something of the last baseline that the new one lacks."""

    what: Literal["arm", "kind", "qa"]
    name: str
    said: str


class Lowered(NamedTuple):
    """What a reason is needed for."""

    cases: Mapping[Pair, Scores]
    absent: Sequence[Absent]
    unknown: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.cases or self.absent)


def lowered(now: Measurement, reference: Reference, metrics: Metrics) -> Lowered:
    """What `now` holds lower than the last baseline, each case under the label that it has there.

    `unknown`: removed cases that were not measured, so that nobody can say here how they score. `followed`: cases
    that were relabelled together with a renamed page.
    """
    before = reference.before
    over_base, unknown = _over_base(now, before, reference.over_base, metrics)
    renamed = page_changes(now.pages, before.pages, reference.renames).renamed
    names = followed(now.cases, before.cases, renamed)
    over_base = relabelled(over_base, now.cases, names, metrics)
    found: dict[Pair, dict[str, Step]] = {}
    # The base's own settings are applied as well where stored rankings give that; see gate.situation.
    for meaning in dict.fromkeys((now.settings, before.settings)):
        was, over = under(before, meaning, metrics), under(over_base, meaning, metrics)
        if was is None or over is None:
            continue
        for arm in was.arms.keys() & over.arms.keys():
            if reference.decides(arm):
                _fallen(arm, was.arms[arm], over.arms[arm], reference.deciding, found, meaning.k)
    return Lowered(
        dict(sorted(found.items())),
        list(_absent(now, reference)),
        unknown,
        names,
    )


def _fallen(
    arm: str,
    before: ArmMeasurement,
    now: ArmMeasurement,
    metrics: Sequence[str],
    found: dict[Pair, dict[str, Step]],
    k: int,
) -> None:
    """Add the cases that fell to `found`; under several settings the lowest score stays."""
    for case, row in before.rows.items():
        again = now.rows.get(case)
        for metric in metrics:
            was = row.scores.get(metric)
            score = again.scores.get(metric) if again is not None else None
            if was is None or score is None or score - was >= -DUST:
                continue
            known = found.setdefault((arm, case), {}).get(metric)
            if known is None or score < known.now:
                found[arm, case][metric] = Step(was, score, k)


def _over_base(
    now: Measurement, before: Measurement, measured: Measurement | None, metrics: Metrics
) -> tuple[Measurement, tuple[str, ...]]:
    """The new rankings scored with the labels of `before`, and the cases whose query nothing was asked for."""
    if measured is not None:
        return measured, ()
    by_query = {nfc(label.query): name for name, label in now.cases.items()}
    asked = {
        name: name if name in now.cases and same else by_query.get(nfc(label.query))
        for name, label in before.cases.items()
        for same in [name in now.cases and nfc(now.cases[name].query) == nfc(label.query)]
    }
    arms = {}
    for arm_name, arm in now.arms.items():
        rows: dict[str, Row] = {
            name: arm.rows[other] for name, other in asked.items() if other is not None and other in arm.rows
        }
        arms[arm_name] = arm.model_copy(update={"rows": rescore(rows, before.cases, now.settings, metrics)})
    unknown = tuple(name for name, other in asked.items() if other is None)
    return now.model_copy(update={"cases": before.cases, "arms": arms}), unknown


def _absent(now: Measurement, reference: Reference) -> Iterator[Absent]:
    before = reference.before
    known = dict.fromkeys((*before.arms, *(arm for side in reference.sides for arm in side.arms)))
    yield from (Absent("arm", name, f"the arm '{name}'") for name in known if name not in now.arms)
    yield from (Absent("kind", name, f"the kind '{name}'") for name in before.kinds if name not in now.kinds)
    if before.qa_version is not None and now.qa_version is None:
        yield Absent("qa", "qa", "the QA set")
    elif any(side.policy.diagnosis == "fail" for side in reference.sides) and _reworded(now, before):
        yield Absent("qa", "qa", "questions of the QA set, on which the policy decides,")


def _reworded(now: Measurement, before: Measurement) -> bool:
    """Whether a question of the last baseline was changed or removed."""
    return any(
        name not in now.arms[arm].questions or now.arms[arm].questions[name].sha256 != question.sha256
        for arm, measured in before.arms.items()
        if arm in now.arms
        for name, question in measured.questions.items()
    )


NOTHING_LOWERED = Lowered({}, [])


class Explained(NamedTuple):
    """All entries of the accepted file beside a new baseline, and what nothing explains."""

    entries: tuple[Entry, ...]
    unexplained: Lowered


def explained(
    found: Lowered, before: Measurement | None, recorded: Sequence[Entry], reason: str | None
) -> Explained:
    """An entry for each thing lowered. `recorded`: the entries already written against `before`.

    A reason given there stays where it still covers the loss; what is not about a case stays as it is.
    """
    cases = {(entry.arm or "", entry.name): entry for entry in recorded if entry.what == "case"}
    others = [entry for entry in recorded if entry.what != "case"]
    accepted = {(entry.what, entry.name) for entry in others}
    entries, open_cases, open_absent = [], {}, []
    digest = before.sha256() if before is not None else ""
    for (arm, case), scores in found.cases.items():
        assert before is not None
        known = cases.get((arm, case))
        why = known.reason if known is not None and _covered(known, scores) else reason
        if why is None:
            open_cases[arm, case] = scores
            continue
        entries.append(
            Entry(
                what="case",
                name=case,
                arm=arm,
                reason=why,
                case_sha256=before.cases[case].sha256,
                baseline_sha256=digest,
                down_to={metric: step.now for metric, step in scores.items()},
            )
        )
    for absent in found.absent:
        if (absent.what, absent.name) in accepted:
            continue
        if reason is None:
            open_absent.append(absent)
        else:
            others.append(Entry(what=absent.what, name=absent.name, reason=reason, baseline_sha256=digest))
    return Explained((*entries, *others), Lowered(open_cases, open_absent))


def explained_from(
    now: Measurement,
    before: Measurement | None,
    recorded: Sequence[Entry],
    reason: str | None,
    settings: SuiteSettings,
    metrics: Metrics,
) -> Explained:
    """The same from two measurements alone, where nothing else can be asked: the two jobs of a refresh."""
    found = lowered(now, Reference(before, (settings,)), metrics) if before is not None else NOTHING_LOWERED
    return explained(found, before, recorded, reason)


def _covered(entry: Entry, scores: Scores) -> bool:
    """Whether an entry written earlier already accepts scores as low as these."""
    return not entry.down_to or all(
        metric in entry.down_to and step.now >= entry.down_to[metric] - DUST
        for metric, step in scores.items()
    )


def would_lower(shown: str, found: Lowered, todo: str) -> Problem:
    """What a new baseline would hold lower although nobody said why, each with its scores before and now."""
    n = len(found.cases)
    said = []
    if n:
        named = listed([told(lost, scores) for lost, scores in found.cases.items()], _SHOWN)
        said.append(f"{n} case{'s' if n > 1 else ''} would be lowered: {named}")
    if found.absent:
        gone = listed([absent.said for absent in found.absent], _SHOWN)
        said.append(f"{gone} of the last baseline would be gone")
    return Problem(shown, "; ".join(said), todo)


def told(lost: Pair, scores: Scores) -> str:
    """`q-04 (keyword: recall@5 1.00 -> 0.50)`."""
    arm, case = lost
    steps = ", ".join(
        f"{of_row(metric, step.k).title} {arrow(*pair(step.before, step.now))}"
        for metric, step in scores.items()
    )
    return f"{case} ({arm}: {steps})"

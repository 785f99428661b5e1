"""Building arms and measuring a suite with them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from gate import registry
from gate.arms._gone import WithoutGone
from gate.arms._remembered import Remembered
from gate.commands import _output
from gate.commands._generate import SPENDER, Generation
from gate.corpus.read import chunker_key, cut
from gate.diagnosis import Diagnosis, diagnose
from gate.errors import GateError, InputError, Problem, did_you_mean
from gate.harness import Rows, evaluate, told
from gate.model.answer import Trace
from gate.model.case import Case, QaCase
from gate.model.cost import Spent
from gate.model.fingerprint import case_key, cases_version, corpus_version, label_digest, qa_version
from gate.model.frozen import EMPTY
from gate.model.grants import EVERYTHING, Grants, origin
from gate.model.measurement import ArmMeasurement, Label, Meaning, Measurement
from gate.model.metric import Metrics
from gate.model.page import Chunk, Corpus
from gate.model.ranking import Arm, SecretRefusedError

Progress = Callable[[], None]


@dataclass(slots=True)
class Workshop:
    """Builds the arms of one suite; chunks and legs are made once and shared (gate.model.ranking.Materials).

    `settings`: the arms to measure. `others`: arms of the suite that are only built where one of these asks them.
    `case_ids`: the ids of the cases and questions that ask a query, for arms that know their answers by id.
    """

    corpus: Corpus
    settings: Mapping[str, Any]
    where: str
    root: Path | None = None
    grants: Grants = EVERYTHING
    others: Mapping[str, Any] = field(default_factory=dict)
    case_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _paid: dict[str, float] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _chunks: dict[str, tuple[Chunk, ...]] = field(default_factory=dict)
    _arms: dict[str, Arm] = field(default_factory=dict)
    _faults: dict[str, Exception] = field(default_factory=dict)
    _building: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        """What begins a message: the suite, or the arm that is being built."""
        return f"{self.where.removesuffix(']')}.arms.{self._building[-1]}]" if self._building else self.where

    def chunks(self, chunker: str | Mapping[str, Any] | None) -> Sequence[Chunk]:
        key = json.dumps(chunker, sort_keys=True, default=str)
        if key not in self._chunks:
            self._chunks[key] = cut(self.corpus, chunker, self.place, self.root)
        return self._chunks[key]

    def arm(self, name: str) -> Arm:
        if name in self._arms:
            return self._arms[name]
        if name in self._faults:
            raise self._faults[name]
        known = self._known
        if name not in known:
            raise InputError(Problem(self.place, f"no such arm ({name!r})", did_you_mean(name, known)))
        if name in self._building:
            raise InputError(
                Problem(
                    self.where,
                    f"arms need each other ({' -> '.join([*self._building, name])})",
                    "Break the circle.",
                )
            )
        self._building.append(name)
        try:
            built: Arm = self._module(name).build(self, known[name])
        except GateError:
            raise
        except Exception as fault:
            self._faults[name] = fault
            raise
        finally:
            self._building.pop()
        self._arms[name] = Remembered(built) if name in self._legs else built
        return self._arms[name]

    def cut_of(self, name: str) -> str | None:
        """As `gate.model.ranking.Materials.cut_of`."""
        settings = self._known[name]
        if "chunker" in type(settings).model_fields:
            return chunker_key(self.corpus, settings.chunker, self.place, self.root)
        over = {self.cut_of(leg) for leg in legs(self._module(name), settings)}
        fuses_pages = getattr(settings, "unit", None) == "page"
        return over.pop() if len(over) == 1 and not fuses_pages else None

    @property
    def _known(self) -> Mapping[str, Any]:
        return {**self.others, **self.settings}

    @property
    def _legs(self) -> set[str]:
        """The arms that others ask."""
        return {leg for name, settings in self._known.items() for leg in legs(self._module(name), settings)}

    def _module(self, name: str) -> Any:
        return registry.load("arms", self._known[name].type, self.where, self.root)

    def secret(self, name: str, url: str) -> str | None:
        """As `gate.model.ranking.Materials.secret`."""
        value = os.environ.get(name)
        if value is None or self.grants.allow(name, url):
            return value
        where = f"sent to {origin(url) or url}" if url else "handed to the code under test"
        raise SecretRefusedError(
            f"{name} is not {where}: the base's gate.toml does not do that. "
            "Merge that setting first, or allow it in the Action's inputs."
        )

    def anew(self) -> Workshop:
        """The same with no arm built yet; the corpus, its chunks, and what the arms may still spend are shared."""
        return replace(self, _arms={}, _faults={}, _building=[])

    @property
    def spent(self) -> dict[str, Spent]:
        """What each arm that was built used of a service so far, those that only others asked included."""
        found = {name: getattr(arm, "spent", None) for name, arm in self._arms.items()}
        return {name: used for name, used in found.items() if isinstance(used, Spent)}

    @property
    def paid_usd(self) -> float:
        """What earlier measurements of this run paid for the arm that is being built: a cap is one for the whole run."""
        return self._paid.get(self._building[-1], 0.0) if self._building else 0.0

    def warn(self, texts: Iterable[str]) -> None:
        """Say each of them once in a run."""
        for text in texts:
            if text not in self._warned:
                self._warned.add(text)
                _output.warn(text)

    def close(self) -> None:
        """Let every arm that has something to end, such as a process, end it."""
        for name, used in self.spent.items():
            self._paid[name] = self._paid.get(name, 0.0) + (used.cost_usd or 0.0)
        for arm in self._arms.values():
            self.warn(getattr(arm, "warnings", ()))
            close = getattr(arm, "close", None)
            if callable(close):
                close()


class Broken:
    """Stands for an arm that could not be built: every query fails with the reason, so that none disappears."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def search(self, query: str, pool: int) -> Sequence[Any]:  # noqa: ARG002 - the protocol's arguments
        raise BuildError(self._reason)


class BuildError(RuntimeError):
    """The arm could not be built."""


def legs(module: Any, settings: Any) -> tuple[str, ...]:
    """The other arms that an arm asks, as its file tells: `legs(settings)`, where it has that."""
    told = getattr(module, "legs", None)
    return tuple(told(settings)) if callable(told) else ()


def build(workshop: Workshop, name: str) -> Arm:
    """The arm, or one that fails every query. A wrong setting is still an input error."""
    try:
        return workshop.arm(name)
    except GateError:
        raise
    except Exception as fault:  # the user's packages and services may raise anything
        return Broken(told(fault))


def prepare(arm: Arm, cases: Sequence[Case], questions: Sequence[QaCase], pool: int) -> Arm:
    """Tell the arm every query it will be asked, each once, where it wants to know; the arm to ask from now on."""
    listens = getattr(arm, "prepare", None)
    if listens is None:
        return arm
    asked = [case.query for case in cases]
    asked += [question.question for question in questions if question.citations]
    try:
        listens(list(dict.fromkeys(asked)), pool)
    except GateError:
        raise
    except Exception as fault:  # it should have waited for `search`; it fails every query all the same
        return Broken(told(fault))
    return arm


def ids_by_query(cases: Iterable[Case], questions: Iterable[QaCase]) -> dict[str, tuple[str, ...]]:
    """Query text -> the ids of what asks it."""
    found: dict[str, dict[str, None]] = {}
    for query, name in [*((c.query, c.id) for c in cases), *((q.question, q.id) for q in questions)]:
        found.setdefault(query, {})[name] = None
    return {query: tuple(names) for query, names in found.items()}


def label(case: Case) -> Label:
    """A case as a measurement keeps it."""
    return Label(
        kind=case.kind, query=case.query, relevant=dict(case.grades), sha256=label_digest(case_key(case))
    )


def as_case(name: str, kept: Label) -> Case:
    """A kept label as a case that can be asked again."""
    return Case(id=name, query=kept.query, grades=kept.relevant, kind=kept.kind)


class Measured(NamedTuple):
    """The change's own cases, and the base's where they differ (the same object where they do not).

    By arm: `without_tokens` and `tied` (`gate.harness.Rows`) are cases, `unknown_pages` names that the corpus lacks,
    `spent` what was used of a service, `traces` what a model answered. `again`: the further measurements of a run that
    repeats.
    """

    now: Measurement
    on_base: Measurement | None
    unanswerable: int
    without_tokens: Mapping[str, tuple[str, ...]] = EMPTY
    unknown_pages: Mapping[str, tuple[str, ...]] = EMPTY
    tied: Mapping[str, tuple[str, ...]] = EMPTY
    spent: Mapping[str, Spent] = EMPTY
    again: tuple[Measured, ...] = ()
    traces: Mapping[str, Mapping[str, Trace]] = EMPTY


def measure(
    suite: str,
    workshop: Workshop,
    meaning: Meaning,
    metrics: Metrics,
    cases: Sequence[Case],
    questions: Sequence[QaCase] | None,
    trusted: Measurement | None,
    progress: Progress = lambda: None,
    generation: Generation | None = None,
) -> Measured:
    """Ask every arm every case, and the trusted baseline's cases that were removed or relabelled as well.

    `generation`: a model that answers the QA questions from the context of its arm.
    """
    labels = {case.id: label(case) for case in cases}
    old = {
        name: kept
        for name, kept in (trusted.cases if trusted is not None else {}).items()
        if name not in labels or labels[name].sha256 != kept.sha256
    }
    arms: dict[str, ArmMeasurement] = {}
    over_base: dict[str, ArmMeasurement] = {}
    unanswerable = 0
    without_tokens = {}
    unknown_pages = {}
    tied = {}
    traces: dict[str, Mapping[str, Trace]] = {}
    old_cases = [as_case(name, kept) for name, kept in old.items()]
    workshop.case_ids = ids_by_query([*cases, *old_cases], questions or ())
    gone = _gone(workshop.corpus, [*cases, *old_cases], questions or ())
    for name, settings in workshop.settings.items():
        arm = prepare(build(workshop, name), [*cases, *old_cases], questions or (), meaning.pool)
        arm = WithoutGone(arm, gone) if gone else arm
        rows = evaluate(arm, cases, meaning, metrics, progress)
        old_rows = evaluate(arm, old_cases, meaning, metrics, progress)
        answers = generation.answers if generation is not None and generation.arm == name else None
        diagnosis = diagnose(arm, questions or (), meaning, progress, answers)
        traces |= {name: diagnosis.traces} if diagnosis.traces else {}
        unanswerable = diagnosis.unanswerable
        tokens = getattr(arm, "tokens", None)
        if tokens is not None and (empty := tuple(case.id for case in cases if not tokens(case.query))):
            without_tokens[name] = empty
        if unknown := tuple(sorted(getattr(arm, "unknown", ()))):
            unknown_pages[name] = unknown
        if rows.tied:
            tied[name] = rows.tied
        arms[name] = _arm(settings, workshop.corpus, rows, diagnosis)
        if trusted is not None:
            over_base[name] = _arm(settings, workshop.corpus, _over(trusted.cases, rows, old_rows), diagnosis)
    now = Measurement(
        suite=suite,
        settings=meaning,
        cases_version=cases_version(cases),
        qa_version=qa_version(questions) if questions is not None else None,
        corpus_version=corpus_version(workshop.corpus.hashes),
        cases=labels,
        pages=dict(workshop.corpus.hashes),
        arms=arms,
    )
    on_base = None
    if trusted is not None:
        on_base = now
        if now.cases_version != trusted.cases_version:
            on_base = now.model_copy(
                update={"cases": trusted.cases, "cases_version": trusted.cases_version, "arms": over_base}
            )
    spent = dict(workshop.spent)
    if generation is not None:
        spent[SPENDER] = generation.generator.spent
        workshop.warn(generation.generator.warnings)
    return Measured(now, on_base, unanswerable, without_tokens, unknown_pages, tied, spent, traces=traces)


def _gone(corpus: Corpus, cases: Iterable[Case], questions: Iterable[QaCase]) -> frozenset[str]:
    """The pages that a case labels or a question cites, and the corpus does not have."""
    named = {page for case in cases for page in case.grades} | {p for one in questions for p in one.citations}
    return frozenset(named - corpus.by_id.keys())


def _over(names: Iterable[str], rows: Rows, old: Rows) -> Rows:
    """The rows of the base's cases: asked again where they differ, the change's own where they are the same."""
    kept = list(names)
    both = {name: old.rows.get(name, rows.rows.get(name)) for name in kept if name not in old.failed}
    return Rows(
        {name: row for name, row in both.items() if row is not None},
        {
            name: old.failed.get(name) or rows.failed[name]
            for name in kept
            if name in old.failed or (name in rows.failed and name not in old.rows)
        },
    )


def _arm(settings: Any, corpus: Corpus, rows: Rows, diagnosis: Diagnosis) -> ArmMeasurement:
    return ArmMeasurement(
        settings=own_settings(settings, corpus),
        rows=dict(rows.rows),
        questions=dict(diagnosis.questions),
        failed=dict(rows.failed),
        failed_questions=dict(diagnosis.failed),
    )


def own_settings(settings: Any, corpus: Corpus) -> dict[str, Any]:
    """An arm's settings as a baseline keeps them: all of them, defaults too, without the rules about it."""
    value: dict[str, Any] = settings.model_dump(mode="json")
    for rule in ("gate", "required"):
        value.pop(rule, None)
    if value.get("chunker", "") is None:
        value["chunker"] = corpus.chunker
    return value

"""From settings to a loaded suite: corpus, cases, QA gold, baselines.

Every problem in every input is gathered and raised together, before anything is measured.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from gate.commands._grants import grants
from gate.commands._problems import Problems
from gate.commands._project import Project, inside
from gate.commands._sides import base_side, head_side, recorded_pages
from gate.commands._typed import answering_model, check_kinds, check_metrics, typed_arms, typed_policy
from gate.corpus.read import read_corpus
from gate.errors import Problem, did_you_mean, raise_all
from gate.model.case import QaCase
from gate.model.frozen import EMPTY
from gate.model.grants import EVERYTHING, Grants
from gate.model.measurement import Measurement
from gate.model.page import Corpus
from gate.model.settings import SuiteSettings
from gate.situation import Side
from gate.store.cases import CaseSet, load_cases
from gate.store.qa import load_qa


class Suite(NamedTuple):
    """One suite, loaded. `settings` are the change's own with the base's flags for arms that the base has.

    `arms`: those to measure; `others`: the typed settings of those that were left out, since an arm may ask them.
    `grants`: which secret may go where. `generate`: which model answers the QA questions, None where none is to.
    """

    name: str
    settings: SuiteSettings
    arms: Mapping[str, Any]
    corpus: Corpus
    cases: CaseSet
    questions: tuple[QaCase, ...] | None
    head: Side
    base: Side | None
    left_out: tuple[str, ...] = ()
    others: Mapping[str, Any] = EMPTY
    grants: Grants = EVERYTHING
    generate: Any = None

    @property
    def trusted(self) -> Measurement | None:
        return (self.base or self.head).baseline


def load_suite(project: Project, name: str, args: argparse.Namespace) -> Suite:
    """Everything one suite needs, or all that is wrong with it."""
    head = project.config.settings.suite[name]
    if getattr(args, "split", None):
        head = head.model_copy(update={"split": args.split})
    base_suite = project.base_settings.suite.get(name) if project.base_settings is not None else None
    compares = wants_baseline(args, head)
    problems = Problems()
    rules = base_suite or head
    here = head_side(project, name, head, compares, problems)
    there = None
    if project.base is not None:
        there = base_side(project, project.base, name, base_suite, compares, head, problems)
    trusted = (there or here).baseline
    where = f"{project.config.shown} [suite.{name}]"
    arms = typed_arms(project, head, where, problems)
    trusted_only = project.base is not None
    for policy in {id(side): side.policy for side in (head, rules)}.values():
        problems.attempt(partial(typed_policy, policy, where, project.root, trusted_only=trusted_only))
    check_metrics(project.metrics, (head, rules), trusted, where, problems)
    corpus = problems.attempt(
        lambda: read_corpus(inside(project.root, head.corpus), head.corpus, head.reader, project.root)
    )
    cases: CaseSet | None = None
    questions: tuple[QaCase, ...] | None = None
    if corpus is not None:
        pages = trusted.pages if trusted is not None else recorded_pages(project, name, head)
        gone = {page: sha for page, sha in pages.items() if page not in corpus.by_id}
        cases = problems.attempt(lambda: _load_cases(project, head, corpus, gone))
        if head.qa is not None:
            qa = head.qa
            questions = problems.attempt(lambda: load_qa(inside(project.root, qa), qa, corpus.by_id, gone))
    if cases is not None:
        kinds = {*(case.kind for case in cases.all_cases), *(trusted.kinds if trusted else ())}
        check_kinds(kinds, (head, rules), where, problems)
    if too_far := [k for k in getattr(args, "sweep", None) or () if k > head.pool]:
        what = f"is larger than the pool of {name} ({head.pool})"
        problems.found.append(Problem(f"--sweep {too_far[0]}", what, "Raise pool in gate.toml."))
    left_out = problems.attempt(lambda: _left_out(head, args)) or ()
    generate = problems.attempt(lambda: answering_model(project, head, args, where))
    allowed = problems.attempt(
        lambda: grants(base_suite, project.root, against_base=project.base is not None)
    )
    problems.raise_if_any()
    assert corpus is not None
    assert cases is not None
    assert allowed is not None
    return Suite(
        name=name,
        settings=_with_rules(head, rules),
        arms={arm: settings for arm, settings in arms.items() if arm not in left_out},
        corpus=corpus,
        cases=cases,
        questions=questions,
        head=here,
        base=there,
        left_out=left_out,
        others={arm: settings for arm, settings in arms.items() if arm in left_out},
        grants=allowed,
        generate=generate,
    )


def not_gated(suite: Suite) -> dict[str, int]:
    """How many labelled cases lie in another split than the evaluated one, by split."""
    own = suite.settings.split
    return dict(Counter(case.split for case in suite.cases.all_cases if own not in ("all", case.split)))


def wants_baseline(args: argparse.Namespace, settings: SuiteSettings) -> bool:
    """Whether this run is held against the suite's committed baseline: only the configured split is."""
    if getattr(args, "no_baseline", False) or getattr(args, "against", None):
        return False
    return not getattr(args, "split", None) or args.split == "test" == settings.split


def _load_cases(project: Project, suite: SuiteSettings, corpus: Corpus, gone: Mapping[str, str]) -> CaseSet:
    return load_cases(
        [(inside(project.root, path), path) for path in suite.cases],
        suite.split,
        corpus.by_id,
        {page.doc_id: page.fields for page in corpus.pages},
        gone,
    )


def _with_rules(head: SuiteSettings, rules: SuiteSettings) -> SuiteSettings:
    """The change's settings, with `gate` and `required` as the base has them."""
    arms = {
        name: arm.model_copy(update={"gate": rules.arms[name].gate, "required": rules.arms[name].required})
        if name in rules.arms
        else arm
        for name, arm in head.arms.items()
    }
    return head.model_copy(update={"arms": arms})


def _left_out(suite: SuiteSettings, args: argparse.Namespace) -> tuple[str, ...]:
    wanted = getattr(args, "arm", None)
    if not wanted:
        return ()
    raise_all(
        [
            Problem("--arm", f"no such arm ({name!r})", did_you_mean(name, suite.arms))
            for name in wanted
            if name not in suite.arms
        ]
    )
    return tuple(name for name in suite.arms if name not in wanted)

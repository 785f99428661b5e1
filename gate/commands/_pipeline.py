"""The whole of a measuring run: load all, measure all, judge all. Shared by the verbs, so that each stays thin."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._again import Again, measure_suite
from gate.commands._flags import wanted_suites
from gate.commands._judge import judge
from gate.commands._load import Suite, load_suite
from gate.commands._measure import Measured, Workshop
from gate.commands._problems import Problems
from gate.commands._progress import Progress
from gate.commands._project import Project, open_project, select_suites
from gate.commands._sides import absent_suite
from gate.model.cost import Spent, summed_by_arm
from gate.model.frozen import EMPTY
from gate.model.measurement import Measurement
from gate.model.report import Environment
from gate.summary import whole_report

if TYPE_CHECKING:
    from gate.model.report import Report, SuiteReport


@dataclass(slots=True)
class Outcome:
    """What a run leaves behind: the report, and per suite the loaded inputs, the arms and the measurement."""

    project: Project
    report: Report
    suites: dict[str, Suite] = field(default_factory=dict)
    workshops: dict[str, Workshop] = field(default_factory=dict)
    measured: dict[str, Measured] = field(default_factory=dict)
    against: dict[str, Measurement] = field(default_factory=dict)


def load_all(project: Project, args: argparse.Namespace) -> tuple[dict[str, Suite], list[str]]:
    """The selected suites of the change, loaded, and the names of those that only the base has."""
    problems = Problems()
    suites: dict[str, Suite] = {}
    absent = []
    for name in select_suites(project, wanted_suites(args)):
        if name not in project.config.settings.suite:
            absent.append(name)
            continue
        loaded = problems.attempt(lambda name=name: load_suite(project, name, args))  # type: ignore[misc]
        if loaded is not None:
            suites[name] = loaded
    problems.raise_if_any()
    return suites, absent


def execute(
    args: argparse.Namespace,
    references: Mapping[str, Measurement] = EMPTY,
    inspect: Callable[[Mapping[str, Suite]], None] = lambda _: None,
) -> Outcome:
    """Load, measure and judge the selected suites.

    `references`: by suite a measurement whose cases are asked as well where they differ, with nothing compared.
    `inspect` may refuse the loaded suites before anything is measured.
    """
    project = open_project(args)
    suites, absent = load_all(project, args)
    inspect(suites)
    outcome_measured: dict[str, Measured] = {}
    workshops: dict[str, Workshop] = {}
    reports: dict[str, SuiteReport] = {}
    against = read_against(project, suites, args)
    spent: dict[str, dict[str, Spent]] = {}
    repeat = getattr(args, "repeat", None) or 1
    for name, suite in suites.items():
        where = f"{project.config.shown} [suite.{name}]"
        workshop = Workshop(suite.corpus, suite.arms, where, project.root, suite.grants, others=suite.others)
        total = repeat * len(suite.arms) * (len(suite.cases.cases) + len(suite.questions or ()))
        trusted = against.get(name) or suite.trusted or references.get(name)
        with Progress(name, total) as progress:
            measured = measure_suite(project, suite, workshop, trusted, repeat, progress)
        again = Again(workshop, suite.settings.meaning, project.metrics)
        reports[name] = judge(project, suite, measured, args, against.get(name), again)
        outcome_measured[name], workshops[name] = measured, workshop
        if used := summed_by_arm([measured.spent, again.spent]):
            spent[name] = used
    for name in absent:
        reports[name] = absent_suite(project, name)
    order = select_suites(project, wanted_suites(args))
    report = whole_report([reports[name] for name in order if name in reports])
    report = report.model_copy(update={"environment": environment(spent)})
    return Outcome(project, report, suites, workshops, outcome_measured, against)


def read_against(
    project: Project, suites: Mapping[str, Suite], args: argparse.Namespace
) -> dict[str, Measurement]:
    """The measurements that --against names, by suite."""
    if not getattr(args, "against", None):
        return {}
    from gate.store import reports

    path = Path(args.against)
    return {name: reports.measurement(path, args.against, name, project.metrics) for name in suites}


# What an arm or an embedder may have loaded into this process.
_PACKAGES = (
    "fastembed",
    "model2vec",
    "numpy",
    "onnxruntime",
    "openai",
    "pydantic",
    "rank_bm25",
    "sentence_transformers",
    "tokenizers",
    "torch",
)


def environment(spent: Mapping[str, dict[str, Spent]] = EMPTY) -> Environment:
    """What may differ from machine to machine. Versions are read from what is loaded: nothing is imported for it.

    An embedder whose model lies in a package names that package: PACKAGE.
    """
    import platform
    import sys

    from gate import __version__

    packages = {
        name: str(module.__version__)
        for name in _PACKAGES
        if (module := sys.modules.get(name)) is not None and hasattr(module, "__version__")
    }
    for name, module in list(sys.modules.items()) if any(spent.values()) else ():
        if name.startswith("gate.embedders.") and isinstance(
            package := getattr(module, "PACKAGE", None), str
        ):
            packages |= _installed(package)
    return Environment(
        gate=__version__, python=platform.python_version(), packages=packages, spent=dict(spent)
    )


def _installed(package: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {package: version(package)}
    except PackageNotFoundError:
        return {}

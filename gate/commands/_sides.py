"""A suite as the change has it and as the base has it: settings, committed baseline, accepted losses."""

from __future__ import annotations

from collections.abc import Mapping

from gate.absence import absence, empty_report
from gate.commands._problems import Problems
from gate.commands._project import Project, inside
from gate.errors import InputError
from gate.model.accepted import Entry
from gate.model.measurement import Measurement
from gate.model.report import SuiteReport
from gate.model.settings import SuiteSettings
from gate.situation import Side
from gate.store import accepted as accepted_store
from gate.store import baselines, git
from gate.store.text import is_there, read_text


def head_side(project: Project, name: str, suite: SuiteSettings, compares: bool, problems: Problems) -> Side:
    if not compares:
        return Side(suite)
    baseline = None
    if is_there(project.root / suite.baseline):
        baseline = problems.attempt(
            lambda: baselines.parse(
                read_text(inside(project.root, suite.baseline), suite.baseline),
                suite.baseline,
                name,
                project.metrics,
            )
        )
    return Side(suite, baseline, _entries_here(project, suite.baseline, problems))


def _entries_here(project: Project, baseline: str, problems: Problems) -> tuple[Entry, ...]:
    shown = accepted_store.path_beside(baseline)
    if not is_there(project.root / shown):
        return ()
    return (
        problems.attempt(lambda: accepted_store.parse(read_text(inside(project.root, shown), shown), shown))
        or ()
    )


def base_side(
    project: Project,
    base: git.Base,
    name: str,
    suite: SuiteSettings | None,
    compares: bool,
    head: SuiteSettings,
    problems: Problems,
) -> Side:
    """The base's side of a suite; for a suite the base does not know, the change's settings without a baseline."""
    if suite is None:
        return Side(head)
    if not compares:
        return Side(suite)

    def baseline() -> Measurement | None:
        text = base.read(suite.baseline)
        return (
            baselines.parse(text, f"{suite.baseline} at {base.short}", name, project.metrics)
            if text is not None
            else None
        )

    def entries() -> tuple[Entry, ...]:
        beside = accepted_store.path_beside(suite.baseline)
        text = base.read(beside)
        return accepted_store.parse(text, f"{beside} at {base.short}") if text is not None else ()

    return Side(suite, problems.attempt(baseline), problems.attempt(entries) or ())


def absent_suite(project: Project, name: str) -> SuiteReport:
    """The report of a suite that the base has and the change has not. The accepted losses of both trees may excuse it."""
    assert project.base is not None
    assert project.base_settings is not None
    settings = project.base_settings.suite[name]
    problems = Problems()
    side = base_side(project, project.base, name, settings, True, settings, problems)
    brought = _entries_here(project, settings.baseline, problems)
    problems.raise_if_any()
    return empty_report(name, settings, list(absence(name, side, brought)))


def recorded_pages(project: Project, name: str, suite: SuiteSettings) -> Mapping[str, str]:
    """The pages of the committed baseline where nothing is compared with it: a page that went is gone there too.

    A baseline that cannot be read tells nothing here; runs that compare with it say why.
    """
    shown = suite.baseline
    try:
        path = inside(project.root, shown)
        text = project.base.read(shown) if project.base is not None else None
        if text is None:
            text = read_text(path, shown) if path.is_file() else None
        return baselines.parse(text, shown, name, project.metrics).pages if text is not None else {}
    except (InputError, OSError):
        return {}

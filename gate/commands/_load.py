"""From flags to loaded suites: the change's settings, the base's rules, corpus, cases, QA gold, baselines.

Every problem in every input is gathered and raised together, before anything is measured.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gate import registry
from gate.commands._grants import grants
from gate.commands._measure import legs
from gate.corpus.read import cut, read_corpus
from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.model.accepted import Entry
from gate.model.case import QaCase
from gate.model.frozen import EMPTY
from gate.model.grants import EVERYTHING, Grants
from gate.model.measurement import Measurement
from gate.model.metric import Metrics
from gate.model.page import Corpus
from gate.model.settings import OpenArmSettings, OpenPolicySettings, Settings, SuiteSettings
from gate.situation import Side
from gate.store import accepted as accepted_store
from gate.store import baselines, config, git
from gate.store.cases import CaseSet, load_cases
from gate.store.qa import load_qa
from gate.store.text import is_there, leaks, read_text

T = TypeVar("T")


@dataclass(slots=True)
class Problems:
    """Gathers input errors, so that one run of the command shows them all."""

    found: list[Problem] = field(default_factory=list)

    def attempt(self, action: Callable[[], T]) -> T | None:
        """What `action` returns, or None where it raised an input error."""
        try:
            return action()
        except InputError as fault:
            self.found += [problem for problem in fault.problems if problem not in self.found]
            return None

    def raise_if_any(self) -> None:
        raise_all(self.found)


class Project(NamedTuple):
    """The config, the base it is held against, the selected suites, and the metrics."""

    config: config.Config
    base: git.Base | None
    base_settings: Settings | None
    metrics: Metrics

    @property
    def root(self) -> Path:
        return self.config.root


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


def open_project(args: argparse.Namespace) -> Project:
    """Find and read the config, and the base's with --base."""
    if getattr(args, "base", None) and getattr(args, "against", None):
        raise InputError(
            Problem(
                "--base, --against",
                "both name what to compare with",
                "Give one of them; the base decides in a pull request.",
            )
        )
    loaded = config.load(Path(args.config) if args.config else config.find(Path.cwd()))
    base = git.open_base(loaded.root, args.base) if getattr(args, "base", None) else None
    return Project(loaded, base, _base_settings(base, loaded.shown), load_metrics())


def load_metrics() -> Metrics:
    """Every metric file, by name; the order of the files is the order of the columns."""
    return {name: registry.load("metrics", name, "metrics") for name in registry.names("metrics")}


def _base_settings(base: git.Base | None, own_name: str) -> Settings | None:
    """The base's rules, from its file of the same name, else from either usual one; None where the base has none."""
    if base is None:
        return None
    for name in dict.fromkeys((own_name, config.GATE_TOML, config.PYPROJECT)):
        text = base.read(name)
        where = f"{name} at {base.short}"
        if text is not None and (name != config.PYPROJECT or config.has_tool_table(text, where)):
            return config.parse(text, name, where)
    return None


def select_suites(project: Project, wanted: Sequence[str] | None) -> list[str]:
    """The suites of the change and of the base, or the wanted ones among them."""
    known = dict.fromkeys(project.config.settings.suite)
    if project.base_settings is not None:
        known |= dict.fromkeys(project.base_settings.suite)
    if not wanted:
        return list(known)
    raise_all(
        [
            Problem("--suite", f"no such suite ({name!r})", did_you_mean(name, known))
            for name in wanted
            if name not in known
        ]
    )
    return list(dict.fromkeys(wanted))


def load_suite(project: Project, name: str, args: argparse.Namespace) -> Suite:
    """Everything one suite needs, or all that is wrong with it."""
    head = project.config.settings.suite[name]
    if getattr(args, "split", None):
        head = head.model_copy(update={"split": args.split})
    base_suite = project.base_settings.suite.get(name) if project.base_settings is not None else None
    compares = wants_baseline(args, head)
    problems = Problems()
    rules = base_suite or head
    head_side = _head_side(project, name, head, compares, problems)
    base_side = None
    if project.base is not None:
        base_side = _base_side(project, project.base, name, base_suite, compares, head, problems)
    trusted = (base_side or head_side).baseline
    where = f"{project.config.shown} [suite.{name}]"
    arms = _typed_arms(project, head, where, problems)
    trusted_only = project.base is not None
    for policy in {id(side): side.policy for side in (head, rules)}.values():
        problems.attempt(partial(typed_policy, policy, where, project.root, trusted_only=trusted_only))
    _check_metrics(project.metrics, (head, rules), trusted, where, problems)
    corpus = problems.attempt(
        lambda: read_corpus(inside(project.root, head.corpus), head.corpus, head.reader, project.root)
    )
    cases: CaseSet | None = None
    questions: tuple[QaCase, ...] | None = None
    if corpus is not None:
        pages = trusted.pages if trusted is not None else _recorded_pages(project, name, head)
        gone = {page: sha for page, sha in pages.items() if page not in corpus.by_id}
        cases = problems.attempt(lambda: _load_cases(project, head, corpus, gone))
        if head.qa is not None:
            qa = head.qa
            questions = problems.attempt(lambda: load_qa(inside(project.root, qa), qa, corpus.by_id, gone))
    if cases is not None:
        kinds = {*(case.kind for case in cases.all_cases), *(trusted.kinds if trusted else ())}
        _check_kinds(kinds, (head, rules), where, problems)
    if too_far := [k for k in getattr(args, "sweep", None) or () if k > head.pool]:
        what = f"is larger than the pool of {name} ({head.pool})"
        problems.found.append(Problem(f"--sweep {too_far[0]}", what, "Raise pool in gate.toml."))
    left_out = problems.attempt(lambda: _left_out(head, args)) or ()
    generate = problems.attempt(lambda: _generate(project, head, args, where))
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
        head=head_side,
        base=base_side,
        left_out=left_out,
        others={arm: settings for arm, settings in arms.items() if arm in left_out},
        grants=allowed,
        generate=generate,
    )


def _generate(project: Project, suite: SuiteSettings, args: argparse.Namespace, where: str) -> Any:
    """The typed settings of the model that answers; None where this run has none. They are checked in any case."""
    asked = bool(getattr(args, "generate", False))
    place = f"{where.removesuffix(']')}.generate]"
    if suite.generate is None:
        if asked:
            todo = "Write the table with a model, or leave --generate out."
            raise InputError(Problem("--generate", f"there is no table {place.partition(' ')[2]}", todo))
        return None
    from gate.generation.settings import Settings

    found = config.typed(Settings, suite.generate, place)
    problems = []
    if suite.qa is None:
        problems.append(Problem(where, "has a table generate and no qa", "Name the QA gold."))
    if found.arm is not None and found.arm not in suite.arms:
        problems.append(Problem(place, f"no such arm ({found.arm!r})", did_you_mean(found.arm, suite.arms)))
    if found.prompt is not None and not inside(project.root, found.prompt).is_file():
        problems.append(
            Problem(place, f"prompt: no such file ({found.prompt!r})", "Write it, or leave prompt out.")
        )
    raise_all(problems)
    return found if asked or found.always else None


def wants_baseline(args: argparse.Namespace, settings: SuiteSettings) -> bool:
    """Whether this run is held against the suite's committed baseline: only the configured split is."""
    if getattr(args, "no_baseline", False) or getattr(args, "against", None):
        return False
    return not getattr(args, "split", None) or args.split == "test" == settings.split


def inside(root: Path, configured: str) -> Path:
    """A configured path. In the Action it and all below it must resolve inside the repository, and be plain files;
    on a person's own machine it is theirs.
    """
    path = root / configured
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if os.environ.get("GITHUB_ACTIONS") == "true" and workspace:
        raise_all(leaks(path, configured, Path(workspace)))
    return path


def _recorded_pages(project: Project, name: str, suite: SuiteSettings) -> Mapping[str, str]:
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


def _typed_arms(project: Project, suite: SuiteSettings, where: str, problems: Problems) -> dict[str, Any]:
    """Each arm's settings as its own file's class, and its chunker looked up before any page is read."""
    found = {}
    for name, arm in suite.arms.items():
        place = f"{where.removesuffix(']')}.arms.{name}]"
        typed = problems.attempt(lambda arm=arm, place=place: typed_arm(arm, place, project.root))  # type: ignore[misc]
        if typed is None:
            continue
        found[name] = typed
        if (chunker := getattr(typed, "chunker", None)) is not None:
            problems.attempt(partial(cut, _NO_PAGES, chunker, place, project.root))
    for name, typed in found.items():
        place = f"{where.removesuffix(']')}.arms.{name}]"
        module = registry.load("arms", typed.type, place, project.root)
        problems.found += leg_problems(name, found, suite.arms, where, place, project.root)
        named = module.paths(typed) if hasattr(module, "paths") else ()
        sound = [problems.attempt(partial(inside, project.root, path)) for path in named]
        if hasattr(module, "problems") and None not in sound:  # it may read what the paths name
            problems.found += module.problems(typed, place, project.root)
    return found


def leg_problems(
    name: str, arms: Mapping[str, Any], known: Mapping[str, Any], where: str, place: str, root: Path | None
) -> list[Problem]:
    """What is wrong with the arms that the arm `name` asks: one that is not there, itself, or a circle."""
    found = []
    asks = {arm: legs(registry.load("arms", typed.type, place, root), typed) for arm, typed in arms.items()}
    for leg in dict.fromkeys(asks[name]):
        if leg not in known:
            others = [other for other in known if other != name]
            found.append(Problem(place, f"no such arm ({leg!r})", did_you_mean(leg, others)))
    circle = _circle(name, asks)
    if circle == (name,):
        found.append(Problem(place, f"asks itself ({name!r})", "Name other arms."))
    elif circle and name == min(circle):  # once per circle, not once per arm in it
        told = " -> ".join([*circle, name])
        found.append(Problem(where, f"arms need each other ({told})", "Break the circle."))
    return found


def _circle(name: str, asks: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The shortest way from `name` over the arms it asks back to itself, without the return; () where there is none."""
    ways: list[tuple[str, ...]] = [(name,)]
    seen: set[str] = set()
    for way in ways:
        for leg in asks.get(way[-1], ()):
            if leg == name:
                return way
            if leg not in seen:
                seen.add(leg)
                ways.append((*way, leg))
    return ()


_NO_PAGES = Corpus((), "page")


def typed_arm(arm: Any, where: str, root: Path | None) -> Any:
    module = registry.load("arms", arm.type, where, root)
    _needs(module, "build", arm.type, "arm", where)
    return config.typed(getattr(module, "Settings", OpenArmSettings), arm.raw(), where)


def typed_policy(
    policy: Any, where: str, root: Path | None, *, trusted_only: bool = False
) -> tuple[Any, Any]:
    """(the policy's module, its own settings). `trusted_only` refuses a rule whose code the change itself holds."""
    place = f"{where.removesuffix(']')}.policy]"
    module = registry.load("policies", policy.rule, place, root)
    if trusted_only and ":" in policy.rule and root is not None and _lies_below(module, root):
        raise InputError(
            Problem(
                place,
                f"the rule {policy.rule!r} lies in this tree, so a change could rewrite what judges it",
                "Against a base use a rule of the gate, or one from an installed package.",
            )
        )
    _needs(module, "judge", policy.rule, "policy", place)
    return module, config.typed(getattr(module, "Settings", OpenPolicySettings), policy.raw(), place)


def _lies_below(thing: Any, root: Path) -> bool:
    import sys

    module = sys.modules.get(getattr(thing, "__module__", "") or getattr(thing, "__name__", ""), thing)
    path = getattr(module, "__file__", None)
    return path is None or Path(path).resolve().is_relative_to(root.resolve())


def _needs(module: Any, function: str, name: str, noun: str, where: str) -> None:
    if not callable(getattr(module, function, None)):
        todo = f"Name a module or class with a function '{function}'."
        raise InputError(Problem(where, f"'{name}' is no {noun}, it has no '{function}'", todo))


def _check_metrics(
    metrics: Metrics,
    sides: Iterable[SuiteSettings],
    trusted: Measurement | None,
    where: str,
    problems: Problems,
) -> None:
    """Every metric that decides is known, and the baseline has its scores."""
    known = [metric.ROW for metric in metrics.values()]
    recorded = baselines.score_names(trusted) if trusted is not None else known
    place = f"{where.removesuffix(']')}.policy]"
    for name in dict.fromkeys(name for side in sides for name in side.policy.metrics):
        if name not in known:
            problems.found.append(Problem(place, f"no such metric ({name!r})", did_you_mean(name, known)))
        elif name not in recorded:
            todo = "Record the baseline again, or decide on another metric."
            problems.found.append(Problem(place, f"the baseline has no scores for the metric {name!r}", todo))


def _check_kinds(
    kinds: Iterable[str], sides: Iterable[SuiteSettings], where: str, problems: Problems
) -> None:
    """A policy that names a kind no case has would gate nothing, unseen."""
    known = set(kinds)
    place = f"{where.removesuffix(']')}.policy]"
    for name in dict.fromkeys(name for side in sides for name in side.policy.kinds or ()):
        if name not in known:
            problems.found.append(Problem(place, f"no case has the kind {name!r}", did_you_mean(name, known)))


def _head_side(project: Project, name: str, suite: SuiteSettings, compares: bool, problems: Problems) -> Side:
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


def _base_side(
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


def read_absent(project: Project, name: str, settings: SuiteSettings) -> tuple[Side, list[Entry]]:
    """The base's side of a suite that the change dropped, and the entries of both trees that may accept it."""
    assert project.base is not None
    problems = Problems()
    side = _base_side(project, project.base, name, settings, True, settings, problems)
    here = _entries_here(project, settings.baseline, problems) if settings.policy.accept == "head" else ()
    problems.raise_if_any()
    return side, [*side.accepted, *here]

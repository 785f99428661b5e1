"""Settings that a plug-in reads (arms, policies, the model that answers), each as its own class, and what is wrong in them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gate import registry
from gate.commands._measure import legs
from gate.commands._problems import Problems
from gate.commands._project import Project, inside
from gate.corpus.read import cut
from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.model.measurement import Measurement
from gate.model.metric import Metrics
from gate.model.page import Corpus
from gate.model.settings import OpenArmSettings, OpenPolicySettings, SuiteSettings
from gate.store import baselines, config

_NO_PAGES = Corpus((), "page")


def typed_arms(project: Project, suite: SuiteSettings, where: str, problems: Problems) -> dict[str, Any]:
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


def answering_model(project: Project, suite: SuiteSettings, args: argparse.Namespace, where: str) -> Any:
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


def check_metrics(
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


def check_kinds(kinds: Iterable[str], sides: Iterable[SuiteSettings], where: str, problems: Problems) -> None:
    """A policy that names a kind no case has would gate nothing, unseen."""
    known = set(kinds)
    place = f"{where.removesuffix(']')}.policy]"
    for name in dict.fromkeys(name for side in sides for name in side.policy.kinds or ()):
        if name not in known:
            problems.found.append(Problem(place, f"no case has the kind {name!r}", did_you_mean(name, known)))

"""The model that answers the QA questions of one suite, made ready for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gate.commands._load import Suite
    from gate.commands._measure import Workshop
    from gate.commands._project import Project
    from gate.diagnosis import Answers
    from gate.generation.rag import Generator
    from gate.model.answer import Trace
    from gate.model.case import QaCase
    from gate.model.ranking import Hit

# Under this name its cost stands beside the arms'.
SPENDER = "generate"


class Generation(NamedTuple):
    """The arm whose context is answered from, and what answers."""

    arm: str
    answers: Answers
    generator: Generator


def generation(project: Project, suite: Suite, workshop: Workshop) -> Generation | None:
    """None where this run lets no model answer. Nothing is asked yet."""
    settings = suite.generate
    if settings is None:
        return None
    from gate.commands._project import inside
    from gate.embedders._cache import cache_folder, skipped_caches
    from gate.embedders._endpoint import Client
    from gate.embedders._host import Host
    from gate.generation.rag import INSTRUCTIONS, Generator
    from gate.generation.store import AnswerStore
    from gate.store.text import read_text

    instructions = INSTRUCTIONS
    if settings.prompt is not None:
        instructions = read_text(inside(project.root, settings.prompt), settings.prompt)
    store = None if skipped_caches() else AnswerStore(cache_folder())
    client = Client(settings, Host(workshop.secret, project.root))
    generator = Generator(settings, client, store, instructions)
    arm = settings.arm or next((name for name, one in suite.settings.arms.items() if one.gate), "")
    context = suite.settings.context

    def answers(asked: Sequence[tuple[QaCase, Sequence[Hit]]]) -> Mapping[str, Trace | str]:
        from threading import Event

        from gate.arms._threads import side_by_side

        found: dict[str, Trace | str] = {}

        def one(pair: tuple[QaCase, Sequence[Hit]]) -> None:
            question, hits = pair
            try:
                found[question.id] = generator.answer(question, hits, context)
            except RuntimeError as fault:  # no key, no answer, over the cap: this question has no bucket
                found[question.id] = str(fault)
            except Exception as fault:  # nothing of it may vanish
                found[question.id] = f"{type(fault).__name__}: {fault}"

        side_by_side(one, asked, generator.concurrency, Event(), "gate-answer")
        return {question.id: found[question.id] for question, _ in asked}

    return Generation(arm, answers, generator)

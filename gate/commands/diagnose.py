"""gate diagnose: where the evidence of each QA question went, and which questions lose theirs at another context."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gate.commands import _flags

if TYPE_CHECKING:
    from gate.model.measurement import ArmMeasurement, Measurement

HELP = "where each QA question broke: retrieval, ranking, or it reached the context"
EXAMPLES = """\
examples:
  gate diagnose                     the buckets at the suite's context size
  gate diagnose --context 3         and which questions lose or gain their evidence at 3 chunks
  gate diagnose --arm keyword --json -

exit codes: 0 measured; 2 invalid input; 3 not measured
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _flags.add_config(parser)
    parser.add_argument(
        "--arm", metavar="NAME", action="append", default=None, help="only this arm; repeatable"
    )
    parser.add_argument(
        "--context", metavar="N", type=_positive, default=None, help="another number of chunks in the prompt"
    )
    parser.add_argument(
        "--json", metavar="FILE", default=None, help="write the buckets as JSON ('-': standard output)"
    )
    _flags.add_generate(parser)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a whole number from 1 on ({text!r})")
    return int(text)


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gate.commands import _output
    from gate.commands._pipeline import execute
    from gate.errors import InputError, Problem
    from gate.model.verdict import Exit
    from gate.store import canonical

    _output.check_targets(args)
    args.no_baseline, args.against, args.base, args.split = True, None, None, None
    outcome = execute(args)
    measured = {name: one.now for name, one in outcome.measured.items() if one.now.qa_version is not None}
    if not measured:
        raise InputError(
            Problem(outcome.project.config.shown, "no suite has QA gold", 'Add qa = "...jsonl" to a suite.')
        )
    wide = [n for n, m in measured.items() if args.context and args.context > m.settings.pool]
    if wide:
        raise InputError(
            Problem(
                f"--context {args.context}",
                f"is larger than the pool of {', '.join(wide)}",
                "Raise pool in gate.toml.",
            )
        )
    value = {
        name: {
            **_suite(one, outcome.measured[name].unanswerable, args.context),
            "traces": {
                arm: {question: trace.model_dump(mode="json") for question, trace in traces.items()}
                for arm, traces in outcome.measured[name].traces.items()
            },
        }
        for name, one in measured.items()
    }
    if args.json:
        text = canonical.dumps({"suites": value}, sort=False)
        if args.json == "-":
            _output.emit(text)
        else:
            canonical.write_text(Path(args.json), text, args.json)
    if args.json != "-":
        _output.emit("".join(_lines(value)))
    incomplete = any(not arm.complete for one in measured.values() for arm in one.arms.values())
    return int(Exit.NOT_MEASURED if incomplete else Exit.PASS)


def _suite(measurement: Measurement, unanswerable: int, context: int | None) -> dict[str, Any]:
    return {
        "context": measurement.settings.context,
        "pool": measurement.settings.pool,
        "other_context": context,
        "unanswerable": unanswerable,
        "arms": {
            name: _arm(arm, measurement.settings.context, context) for name, arm in measurement.arms.items()
        },
    }


def _arm(arm: ArmMeasurement, context: int, other: int | None) -> dict[str, Any]:
    from gate.diagnosis import at_context, counts

    value: dict[str, Any] = {
        "counts": counts(arm.questions),
        "questions": {name: question.bucket for name, question in arm.questions.items()},
        "at": {name: question.at for name, question in arm.questions.items()},
        "partial": [name for name, question in arm.questions.items() if question.partial(context)],
        "failed": arm.failed_questions,
    }
    if other is not None:
        moved = at_context(arm.questions, other)
        value["other_counts"] = counts(moved)
        value["moved"] = {
            name: [arm.questions[name].bucket, question.bucket]
            for name, question in moved.items()
            if question.bucket != arm.questions[name].bucket
        }
    return value


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    from gate.report.escape import terminal

    for suite, one in value.items():
        yield f"{suite}: pool {one['pool']}, context {one['context']}, {one['unanswerable']} unanswerable skipped\n"
        for name, arm in one["arms"].items():
            yield f"  {name}: {_counted(arm['counts'])}\n"
            for question, bucket in arm["questions"].items():
                if bucket != "reached_context":
                    at = ", ".join(
                        f"{page} at {position or 'none'}" for page, position in arm["at"][question].items()
                    )
                    yield f"    {terminal(question)} {bucket} ({terminal(at)})\n"
            for question in arm["partial"]:
                at = ", ".join(
                    f"{page} at {position or 'none'}" for page, position in arm["at"][question].items()
                )
                yield f"    {terminal(question)} partial ({terminal(at)})\n"
            for question, reason in arm["failed"].items():
                yield f"    {terminal(question)} not measured: {terminal(reason)}\n"
            yield from _answers(one["traces"].get(name, {}))
            if one["other_context"] is not None:
                yield f"  {name} at context {one['other_context']}: {_counted(arm['other_counts'])}\n"
                for question, (before, after) in arm["moved"].items():
                    yield f"    {terminal(question)} {before} -> {after}\n"
                if not arm["moved"]:
                    yield "    no question moves\n"


def _answers(traces: Mapping[str, Any]) -> Iterator[str]:
    """What the model took, and which citations do not hold."""
    from gate.model.answer import Answer
    from gate.report.escape import terminal

    if not traces:
        return
    asked = [trace for trace in traces.values() if not trace["cached"]]
    costs = [trace["cost_usd"] for trace in asked]
    cost = "cost unknown" if None in costs else f"{sum(costs):.6g} USD"
    tokens = sum(trace["tokens_in"] + trace["tokens_out"] for trace in asked)
    seconds = sum(trace["seconds"] for trace in asked)
    yield (
        f"    answered {len(traces)} questions, {len(traces) - len(asked)} from the cache: {tokens} tokens, {cost}, "
        f"{seconds:.1f} s\n"
    )
    for question, trace in traces.items():
        for wrong in (
            Answer.model_validate(trace["answer"], strict=False).unsupported if trace["answer"] else ()
        ):
            yield f"    {terminal(question)} {terminal(wrong)}\n"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())

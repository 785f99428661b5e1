"""The flags that every measuring verb shares (DESIGN section 7). An environment variable may stand for a flag."""

from __future__ import annotations

import argparse
import os

MOST_REPEATS = 100
SPLITS = ("test", "dev", "all")


def add_config(parser: argparse.ArgumentParser) -> None:
    """--config and --suite: for every verb that reads gate.toml."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        default=os.environ.get("GATE_CONFIG"),
        help="gate.toml or pyproject.toml, or its folder (default: the nearest one upwards; env GATE_CONFIG)",
    )
    parser.add_argument(
        "--suite",
        metavar="NAME",
        action="append",
        default=None,
        help="only this suite; repeatable (env GATE_SUITE, comma-separated)",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_measuring(parser: argparse.ArgumentParser) -> None:
    """All shared flags of the measuring verbs."""
    add_config(parser)
    parser.add_argument(
        "--arm",
        metavar="NAME",
        action="append",
        default=None,
        help="only this arm; repeatable; the verdict is then partial",
    )
    parser.add_argument(
        "--split",
        choices=SPLITS,
        default=os.environ.get("GATE_SPLIT"),
        help="cases to measure (default: as configured)",
    )
    parser.add_argument(
        "--base",
        metavar="REF",
        default=os.environ.get("GATE_BASE"),
        help="compare with this commit's baseline under its rules (env GATE_BASE)",
    )
    parser.add_argument(
        "--against", metavar="REPORT", default=None, help="compare with a report or baseline file"
    )
    parser.add_argument(
        "--no-baseline", action="store_true", help="only measure: no comparison, verdict unjudged"
    )
    add_outputs(parser)


def add_repeat(parser: argparse.ArgumentParser) -> None:
    """--repeat: for the verbs that measure whole suites."""
    parser.add_argument(
        "--repeat",
        metavar="N",
        type=_times,
        default=1,
        help="measure N times in all, the arms built anew each time, and record which cases move (default: 1)",
    )


def _times(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"not a whole number from 1 to {MOST_REPEATS} ({text!r})")
    return value


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """--json, --markdown and --details."""
    parser.add_argument(
        "--json", metavar="FILE", default=None, help="write the report as JSON ('-': standard output)"
    )
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        default=None,
        help="write the comment as Markdown ('-': standard output)",
    )
    parser.add_argument(
        "--details",
        action="store_true",
        help="show misses, diagnosis, evidence and provenance of a pass in which nothing moved as well",
    )


def wanted_suites(args: argparse.Namespace) -> list[str] | None:
    """--suite, else GATE_SUITE."""
    if args.suite:
        return list(args.suite)
    named = [name.strip() for name in os.environ.get("GATE_SUITE", "").split(",")]
    return [name for name in named if name] or None


def add_generate(parser: argparse.ArgumentParser) -> None:
    """--generate: for the verbs that diagnose."""
    parser.add_argument(
        "--generate",
        action="store_true",
        help="let the model of [suite.NAME.generate] answer the QA questions whose evidence arrived",
    )

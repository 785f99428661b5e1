"""gate cache: what the caches of vectors and of answers hold, and how to make them smaller."""

from __future__ import annotations

import argparse

HELP = "show or prune the caches of vectors and answers"
EXAMPLES = """\
examples:
  gate cache stats
  gate cache prune --older-than 30      what no run used for 30 days
  gate cache prune --max-mb 500         the longest unused first, until 500 MB are left; vectors before answers
  gate cache prune --all

The caches lie in GATE_CACHE, else in the user's cache folder. exit codes: 0 done; 2 the cache cannot be used
"""
_MB = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="WHAT", choices=("stats", "prune"), help="stats or prune")
    parser.add_argument(
        "--older-than", metavar="DAYS", type=_whole, default=None, help="prune: unused for this many days"
    )
    parser.add_argument(
        "--max-mb", metavar="N", type=_whole, default=None, help="prune: keep at most this much"
    )
    parser.add_argument("--all", action="store_true", help="prune: everything")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"not a whole number ({text!r})")
    return int(text)


def run(args: argparse.Namespace) -> int:
    from contextlib import closing

    from gate.commands import _output
    from gate.embedders._cache import Cache, cache_folder
    from gate.errors import InputError, Problem, raise_all
    from gate.generation.store import AnswerStore

    limits = args.all or args.older_than is not None or args.max_mb is not None
    if args.what == "prune" and not limits:
        todo = "Give --older-than DAYS, --max-mb N or --all."
        raise InputError(Problem("gate cache prune", "nothing says what to remove", todo))
    if args.what == "stats" and limits:
        raise InputError(Problem("gate cache stats", "removes nothing", "Say 'gate cache prune'."))
    answers = AnswerStore(cache_folder())
    with closing(Cache(cache_folder())) as cache:
        if args.what == "prune":
            limit = 0 if args.all else _bytes(args.max_mb)
            answered = answers.prune(args.older_than, limit)
            # An answer costs more than a vector, so it goes last: the vectors get the room that the answers leave.
            left = sum(one.size for one in answers.kept())
            gone = cache.prune(args.older_than, max(0, limit - left) if limit is not None else None)
            _output.emit(f"removed {gone:,} vectors and {answered:,} answers\n")
        stats = cache.stats()
        kept = answers.kept()
        raise_all(
            [
                Problem("gate cache", text, "Name another folder in GATE_CACHE.")
                for text in [*cache.warnings, *answers.warnings]
            ]
        )
        _output.emit(f"{stats.vectors:,} vectors, {stats.size / _MB:.1f} MB in {stats.path}\n")
        if stats.oldest is not None and stats.newest is not None:
            _output.emit(f"last used between {_day(stats.oldest)} and {_day(stats.newest)}\n")
        if kept:
            size = sum(one.size for one in kept)
            _output.emit(f"{len(kept):,} answers of a model, {size / _MB:.1f} MB in {answers.folder}\n")
        for path in stats.aside:
            _output.emit(f"set aside, yours to delete: {path}\n")
    return 0


def _bytes(megabytes: int | None) -> int | None:
    return megabytes * _MB if megabytes is not None else None


def _day(days: int) -> str:
    from datetime import date, timedelta

    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()

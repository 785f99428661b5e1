"""The command line: one file per verb in `gate/commands`, one error boundary, and the exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from gate import __version__
from gate.commands._flags import SPLITS

ORDER = (
    "run",
    "baseline",
    "compare",
    "diagnose",
    "explain",
    "history",
    "check",
    "init",
    "schema",
    "label",
    "cache",
)
DESCRIPTION = "Fails a pull request when search gets worse, and says exactly what broke and why."
EPILOG = """\
Start with 'gate init' in your repository, or see 'gate run --help'.
exit codes: 0 pass, partial or unjudged; 1 regression; 2 invalid input; 3 not measured; 70 internal error; 130 interrupted
"""


def verbs() -> list[str]:
    """Every file of gate/commands that is no part of another, in the order of the help text."""
    commands = importlib.import_module("gate.commands")
    found = [
        module.name for module in pkgutil.iter_modules(commands.__path__) if not module.name.startswith("_")
    ]
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def parser() -> argparse.ArgumentParser:
    """The whole command line. The verbs' files import nothing heavy until they run."""
    top = argparse.ArgumentParser(
        prog="gate",
        allow_abbrev=False,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"retrieval-gate {__version__}")
    top.add_argument(
        "--print-completion", choices=("bash", "zsh", "tcsh"), help="print a completion script for this shell"
    )
    subparsers = top.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name in verbs():
        module: Any = importlib.import_module(f"gate.commands.{name}")
        sub = subparsers.add_parser(
            name,
            help=module.HELP,
            description=module.HELP[0].upper() + module.HELP[1:] + ".",
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(sub)
        sub.set_defaults(run=module.run, guard=getattr(module, "guard", nullcontext))
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; never raises for an expected fault."""
    # Looking for pydantic plug-ins of other packages costs a tenth of a small run, and none belongs in a gate.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # One BLAS thread: more of them on a small machine are far slower and can change near-ties.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    top = parser()
    args = top.parse_args(arguments)
    if args.print_completion:
        import shtab

        sys.stdout.write(shtab.complete(top, shell=args.print_completion))
        return 0
    if args.verb is None:
        top.print_help()
        return 2
    return _guarded(args, sys.argv[1:] if arguments is None else arguments)


def _guarded(args: argparse.Namespace, words: Sequence[str]) -> int:
    from gate.errors import GateError

    try:
        with args.guard(args):
            _check_values(args, words)
            return int(args.run(args))
    except GateError as fault:
        if args.debug:
            _traceback()
        for problem in fault.problems:
            print(_inert(str(problem)), file=sys.stderr)
        if len(fault.problems) > 1:
            # With --markdown there is a file, which says the same.
            written = "" if getattr(args, "markdown", None) else " and nothing was written"
            print(f"{len(fault.problems)} problems. Nothing was measured{written}.", file=sys.stderr)
        return fault.exit_code
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except (Exception, SystemExit) as fault:  # the user's own code may call sys.exit(0); that is no pass
        if args.debug:
            _traceback()
        print(
            f"Internal error: {type(fault).__name__}: {_inert(str(fault))}. Run again with --debug and report it.",
            file=sys.stderr,
        )
        return 70


def _traceback() -> None:
    import traceback

    traceback.print_exc()


def _check_values(args: argparse.Namespace, words: Sequence[str]) -> None:
    """`--base "$BASE"` with a variable that is not set must not read as no --base at all."""
    from gate.errors import Problem, raise_all

    problems = []
    for name, value in vars(args).items():
        if value == "" or (isinstance(value, list) and "" in value):
            flag = f"--{name.replace('_', '-')}"
            is_flag = any(word.partition("=")[0] == flag for word in words)
            where = flag if is_flag else f"GATE_{name.upper()}"
            problems.append(Problem(where, "is empty", "Give it a value, or leave it out."))
    split = os.environ.get("GATE_SPLIT")
    if split and getattr(args, "split", None) == split and split not in SPLITS:
        problems.append(Problem("GATE_SPLIT", f"no such split ({split!r})", f"Known: {', '.join(SPLITS)}."))
    raise_all(problems)


def _inert(text: str) -> str:
    """Input text in a message must not steer the terminal, nor look like a second message: what is not visible is escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


if __name__ == "__main__":
    sys.exit(main())

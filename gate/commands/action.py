"""gate action: one step of the GitHub Action. action.yml calls it; on a laptop use 'gate run'."""

from __future__ import annotations

import argparse

HELP = "one step of the GitHub Action (action.yml calls these)"
EXAMPLES = """\
examples:
  gate action plan        what this event asks for, and the base commit
  gate action measure     measure and judge; the verdict becomes an output
  gate action publish     job summary and annotations
  gate action comment     the pull request's comment (needs GATE_TOKEN)
  gate action fork        the same for a fork's run that has ended (needs GATE_TOKEN)
  gate action propose     a pull request with a refreshed baseline (needs GATE_TOKEN)
  gate action finish      exit with the verdict's code
"""
STEPS = ("plan", "measure", "publish", "comment", "fork", "propose", "finish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", choices=STEPS, help="which step; its inputs are environment variables")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def run(args: argparse.Namespace) -> int:
    import os

    if args.step == "comment":
        from gate.commands import _comment

        return _comment.run_comment(os.environ)
    if args.step == "fork":
        from gate.commands import _fork

        return _fork.run_fork(os.environ)
    if args.step == "propose":
        from gate.commands import _propose

        return _propose.run_propose(os.environ)
    from gate.commands import _action

    steps = {
        "plan": _action.run_plan,
        "measure": _action.run_measure,
        "publish": _action.run_publish,
        "finish": _action.run_finish,
    }
    return steps[args.step](os.environ)

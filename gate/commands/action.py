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
STEPS = {
    "plan": "_step_plan",
    "measure": "_step_measure",
    "publish": "_step_publish",
    "comment": "_comment",
    "fork": "_fork",
    "propose": "_propose",
    "finish": "_step_publish",
}
"""Step -> the module with its `run_<step>`: the steps without a token never import a client."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", choices=list(STEPS), help="which step; its inputs are environment variables")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def run(args: argparse.Namespace) -> int:
    import os
    from importlib import import_module

    module = import_module(f"gate.commands.{STEPS[args.step]}")
    return int(getattr(module, f"run_{args.step}")(os.environ))

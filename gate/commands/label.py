"""gate label: grow the labelled set by pooling several systems and judging blind."""

from __future__ import annotations

import argparse

from gate.commands import _flags

HELP = "grow the labelled set: pool queries, judge pages blind, compare judges, write cases"
EXAMPLES = """\
examples:
  gate label pool datasets/orbit/issues/issues.jsonl --name issues
  gate label pool --github acme/docs --label question --name questions
  gate label pool --from-report report.json --name unjudged
  gate label judge issues --judge ada          opens the judging page; --terminal judges here
  gate label agree issues ada bob              kappa, and where they differ
  gate label adjudicate issues ada bob --judge eve
  gate label write issues --judges ada,bob,eve

A pool lies in eval/pools/, the judgements in eval/judgements/. exit codes: 0 done; 2 invalid input; 3 an arm failed
"""
DEPTH = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    pool = steps.add_parser(
        "pool", help="the first pages of every arm for each query, without who found them"
    )
    pool.add_argument("queries", metavar="FILE", nargs="?", default=None, help="one query a line, or JSONL")
    pool.add_argument("--name", required=True, help="what the pool is called")
    pool.add_argument(
        "--depth", metavar="N", type=_number, default=DEPTH, help=f"pages of each system ({DEPTH})"
    )
    pool.add_argument(
        "--arm", metavar="NAME", action="append", default=None, help="only this arm; repeatable"
    )
    pool.add_argument(
        "--only-arms",
        action="store_true",
        help="without the keyword search over whole pages as a further system",
    )
    pool.add_argument("--with-body", action="store_true", help="an issue's body is part of the query")
    pool.add_argument(
        "--from-report", metavar="REPORT", default=None, help="the unjudged pages of its lost cases"
    )
    pool.add_argument(
        "--github", metavar="OWNER/REPO", default=None, help="issues of a repository (env GITHUB_TOKEN)"
    )
    pool.add_argument(
        "--label", metavar="LABEL", default=None, help="with --github: only issues with this label"
    )
    judge = steps.add_parser("judge", help="judge a pool, in the browser or here")
    judge.add_argument("pool", help="the name of the pool")
    judge.add_argument("--judge", required=True, help="your name in the files")
    judge.add_argument("--port", type=int, default=0, help="of the page (default: any free one)")
    judge.add_argument("--terminal", action="store_true", help="without a browser")
    agree = steps.add_parser("agree", help="how far two judges agree, and where they differ")
    agree.add_argument("pool", help="the name of the pool")
    agree.add_argument("judges", metavar="JUDGE", nargs=2, help="two judges")
    agree.add_argument("--json", metavar="FILE", default=None, help="write it as JSON ('-': standard output)")
    settle = steps.add_parser("adjudicate", help="judge only what two judges differ on")
    settle.add_argument("pool", help="the name of the pool")
    settle.add_argument("judges", metavar="JUDGE", nargs=2, help="two judges")
    settle.add_argument("--judge", required=True, help="who decides")
    settle.add_argument("--port", type=int, default=0, help="of the page (default: any free one)")
    settle.add_argument("--terminal", action="store_true", help="without a browser")
    write = steps.add_parser("write", help="write cases from the judgements")
    write.add_argument("pool", help="the name of the pool")
    write.add_argument("--judges", required=True, metavar="A[,B[,C]]", help="one to three; the third decides")
    write.add_argument(
        "--to", metavar="FILE", default=None, help="the case file (default: the suite's last one)"
    )
    write.add_argument(
        "--prefix", metavar="WORD", default=None, help="of new ids (default: as the file has them)"
    )
    write.add_argument(
        "--amend", action="store_true", help="let a pool of a report add pages to existing cases"
    )
    write.add_argument(
        "--accept-changed", action="store_true", help="although pages changed since they were pooled"
    )
    for step in (pool, judge, agree, settle, write):
        _flags.add_config(step)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"not a whole number from 1 to 1000 ({text!r})")
    return int(text)


def run(args: argparse.Namespace) -> int:
    from gate.commands import _label_judge, _label_pool, _label_write

    steps = {
        "pool": _label_pool.run,
        "judge": _label_judge.run,
        "adjudicate": _label_judge.run_adjudication,
        "agree": _label_judge.run_agreement,
        "write": _label_write.run,
    }
    return steps[args.step](args)

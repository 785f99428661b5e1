"""gate schema: the JSON Schema of a file that the gate writes."""

from __future__ import annotations

import argparse

HELP = "print the JSON Schema of a report or baseline file"
EXAMPLES = """\
examples:
  gate schema report > report.schema.json
  gate schema baseline
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", choices=("report", "baseline"), help="which file")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def run(args: argparse.Namespace) -> int:
    import json

    from gate.commands import _output
    from gate.model.measurement import Measurement
    from gate.model.report import Report

    model = Report if args.file == "report" else Measurement
    schema = model.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    _output.emit(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return 0

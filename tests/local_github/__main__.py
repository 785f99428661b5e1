"""The local GitHub as its own process.

PYTHONPATH=tests python -m local_github --seed seed.json --address address.txt --dump state.json [--prefix /api/v3]
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from local_github.admin import seed
from local_github.server import LocalGitHub


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m local_github", description="A stateful GitHub on loopback."
    )
    parser.add_argument("--seed", type=Path, help="JSON with what the server starts with")
    parser.add_argument("--address", type=Path, help="file that gets the API's address once it answers")
    parser.add_argument("--dump", type=Path, help="file that gets the state at the end")
    parser.add_argument("--prefix", default="", help="/api/v3 for the paths of GitHub Enterprise")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with LocalGitHub(prefix=given.prefix, port=given.port) as server:
        if given.seed:
            seed(server, json.loads(given.seed.read_text(encoding="utf-8")))
        if given.address:
            given.address.write_text(server.api, encoding="utf-8")
        sys.stdout.write(f"{server.api}\n")
        sys.stdout.flush()
        stop.wait()
        if given.dump:
            given.dump.write_text(json.dumps(server.dump(), indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

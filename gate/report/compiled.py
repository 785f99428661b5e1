"""Compiled built-in templates, kept beside Python's own bytecode: compiling them anew is a tenth of a small run.

They lie where the `.pyc` file of this module lies, and are trusted as it is: who can write there can change the gate.
Nothing is kept where Python itself keeps nothing. A user's overrides never come here.
"""

from __future__ import annotations

import marshal
import sys
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import BytecodeCache, compiler
from jinja2.bccache import Bucket


class CompiledTemplates(BytecodeCache):
    """One file per template: the checksum of its source on the first line, then its code."""

    def __init__(self) -> None:
        # Another jinja compiles other code. Asking for its version would load importlib.metadata, a stat is free.
        self._jinja = Path(compiler.__file__).stat().st_mtime_ns

    def _path(self, bucket: Bucket) -> Path:
        module = Path(cache_from_source(__file__))
        return module.with_name(f"{bucket.key}.{sys.implementation.cache_tag}.jinja-{self._jinja}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the kept code if it was made from this very source."""
        try:
            checksum, _, code = self._path(bucket).read_bytes().partition(b"\n")
            if checksum.decode() == bucket.checksum:
                bucket.code = marshal.loads(code)  # noqa: S302 - our own file, as trusted as the .pyc beside it
        except (OSError, ValueError, EOFError, TypeError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code; whoever may not write here does without."""
        if sys.dont_write_bytecode or bucket.code is None:
            return
        path = self._path(bucket)
        beside = path.with_name(f"{path.name}.{id(bucket):x}")
        try:
            path.parent.mkdir(exist_ok=True)
            beside.write_bytes(bucket.checksum.encode() + b"\n" + marshal.dumps(bucket.code))
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)

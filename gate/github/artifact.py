"""The artifact of a fork's run: which one it is, and its bytes -> a report. Pure.

It is hostile: whoever opened the pull request may have written every byte of it. One member is read, into memory, under
a cap; no path of it is used; and its numbers must agree with each other.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Sequence

from pydantic import ValidationError

from gate.errors import InputError, Problem
from gate.github.client import Artifact
from gate.model.metric import Metrics
from gate.model.report import Report
from gate.store import baselines
from gate.store.text import decode
from gate.summary import measurement_of

REPORT = "report.json"
ARTIFACT = "retrieval-gate-"
PACKED_LIMIT = 20_000_000
UNPACKED_LIMIT = 100_000_000
ENTRY_LIMIT = 50
SUITE_LIMIT = 100
# Each value may be a fault of its own while it is parsed, and each fault takes memory.
OBJECT_LIMIT = 200_000
VALUE_LIMIT = 2_000_000
LARGEST_SETTING = 100_000
# So much of its text may stand in a message of ours.
NAMED = 8
NAME_LIMIT = 64
REASON_LIMIT = 300
SHOWN = "the artifact"

_CENTRAL = b"PK\x01\x02"
_DIGITS = re.compile(r"[0-9]{400}")
_VERSION = re.compile(r"[0-9]{1,9} questions? · sha256 [0-9a-f]{64}")


def refused(what: str, todo: str = "Nothing of it is used.") -> InputError:
    """The artifact is not what the gate leaves behind."""
    return InputError(Problem(SHOWN, what, todo))


def choose(artifacts: Sequence[Artifact], key: str) -> Artifact:
    """The gate's artifact of the newest attempt. `key` is the comment-key of the job that left it."""
    prefix = f"{ARTIFACT}{key}-" if key else ARTIFACT
    jobs: dict[str, dict[int, Artifact]] = {}
    for artifact in artifacts:
        job, _, attempt = artifact.name.rpartition("-")
        if artifact.name.startswith(prefix) and attempt.isdecimal() and len(attempt) < 10:
            jobs.setdefault(job, {})[int(attempt)] = artifact
    if not jobs:
        raise refused(f"is missing: the run left none named '{prefix}...'", "See the log of that run.")
    if len(jobs) > 1:
        names = ", ".join(sorted(job[:NAME_LIMIT] for job in jobs)[:NAMED])
        raise refused(f"is not the only one ({names})", "Name one of these jobs with 'comment-key'.")
    (attempts,) = jobs.values()
    newest = attempts[max(attempts)]
    if newest.expired:
        raise refused("has expired", "Run the pull request's workflow again.")
    return newest


def read_artifact(data: bytes, metrics: Metrics) -> Report:
    """The report in an artifact's zip: its schema, its limits, and whether its numbers agree with each other."""
    text = decode(unpack(data), REPORT)
    if _DIGITS.search(text):
        raise refused("holds a number of hundreds of digits")
    if text.count("{") > OBJECT_LIMIT or text.count(",") > VALUE_LIMIT:
        raise refused("holds far more values than any run")
    report = _parsed(text)
    names = [suite.suite for suite in report.suites]
    if len(set(names)) < len(names):
        raise refused("holds a suite twice")
    if len(names) > SUITE_LIMIT:
        raise refused(f"holds {len(names)} suites")
    for suite in report.suites:
        if max(suite.k, suite.pool, suite.context) > LARGEST_SETTING:
            raise refused("was measured with a setting beyond all measure")
        if suite.versions.qa is not None and not _VERSION.fullmatch(suite.versions.qa):
            raise refused("has a fingerprint that is none")
        if faults := baselines.inconsistencies(measurement_of(suite), metrics):
            raise refused(f"contradicts itself ({faults[0][:REASON_LIMIT]})")
        for row in (row for arm in suite.arms.values() for row in arm.again.values()):
            if fault := baselines.ranking_fault(row, suite.pool):
                raise refused(f"contradicts itself (a second measurement: {fault})")
    return report


def _parsed(text: str) -> Report:
    try:
        return Report.model_validate_json(text)
    except ValidationError as fault:
        where = ""
        if fault.error_count() <= 100:  # of millions of faults the list alone would fill the memory
            first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(part)[:NAME_LIMIT] for part in first["loc"][:NAMED])
            where = f" ({place or 'top'}: {first['msg'][:REASON_LIMIT]})"
        raise refused(f"does not fit the schema{where}") from None


def unpack(data: bytes) -> bytes:
    """The one member of the zip that is read. Nothing is written anywhere, and no name in it is used as a path."""
    if len(data) > PACKED_LIMIT:
        raise refused(f"is larger than {PACKED_LIMIT:,} bytes")
    # Before the list is read, since listing a million entries is what such a zip is made for.
    if data.count(_CENTRAL) > 100 * ENTRY_LIMIT:
        raise refused(f"holds more than {ENTRY_LIMIT} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            return _member(opened)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError) as fault:
        raise refused("is no readable zip") from fault
    except Exception as fault:
        if isinstance(fault, InputError):
            raise
        raise refused(f"is no readable zip ({type(fault).__name__})") from fault


def _member(opened: zipfile.ZipFile) -> bytes:
    entries = opened.infolist()
    if len(entries) > ENTRY_LIMIT:
        raise refused(f"holds more than {ENTRY_LIMIT} files")
    if sum(entry.file_size for entry in entries) > UNPACKED_LIMIT:
        raise refused(f"unpacks to more than {UNPACKED_LIMIT:,} bytes")
    named = [entry for entry in entries if entry.filename == REPORT]
    if len(named) != 1:
        raise refused(f"holds {'no' if not named else 'more than one'} {REPORT}", "See the log of that run.")
    (entry,) = named
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or entry.flag_bits & 1:
        raise refused(f"holds a {REPORT} that is no plain file")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refused(f"holds a {REPORT} packed in an unusual way")
    with opened.open(entry) as stream:
        content = stream.read(UNPACKED_LIMIT + 1)
    if len(content) > UNPACKED_LIMIT:
        raise refused(f"unpacks to more than {UNPACKED_LIMIT:,} bytes")
    return content

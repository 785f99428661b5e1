"""Which comment is ours, and what to do with it: pure decisions over what GitHub returned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from urllib.parse import quote, unquote

from gate.model.frozen import Frozen
from gate.model.verdict import Verdict


class Remark(Frozen):
    """A comment on a pull request."""

    id: int
    author: str
    body: str
    url: str = ""


class Stamp(Frozen):
    """What the hidden first line of a comment says: whose it is, and which run wrote it. `home`: `Inputs.home` of that run."""

    suite: str
    key: str = ""
    head: str = ""
    run: int = 0
    attempt: int = 0
    home: str = "."

    def line(self) -> str:
        """The marker: an HTML comment on one line, in which no value can end it."""
        values = {
            "suite": self.suite,
            "key": self.key,
            "head": self.head,
            "run": self.run,
            "attempt": self.attempt,
            **({"home": self.home} if self.home != "." else {}),
        }
        said = " ".join(f"{name}={_encoded(str(value))}" for name, value in values.items())
        return f"<!-- retrieval-gate {said} -->"

    def same_comment(self, other: Stamp) -> bool:
        """Whether both belong to one comment, whatever run wrote them."""
        return (self.suite, self.key) == (other.suite, other.key)

    def newer_than(self, other: Stamp) -> bool:
        return (self.run, self.attempt) > (other.run, other.attempt)


def _encoded(text: str) -> str:
    return quote(text, safe="", errors="replace").replace("-", "%2D")


_LINE = re.compile(r"<!-- retrieval-gate ([^<>]*)-->")
_VALUE = re.compile(r"([a-z]+)=([^\s<>]*)")


LONGEST_STAMP = 4096


def read_stamp(body: str) -> Stamp | None:
    """The stamp in the first line of a comment, None where there is none. Only the first line counts."""
    first = body[:LONGEST_STAMP].lstrip("\ufeff").splitlines()[:1]
    found = _LINE.fullmatch(first[0].strip()) if first else None
    if found is None:
        return None
    parts = [_VALUE.fullmatch(part) for part in found[1].split()]
    values = {part[1]: part[2] for part in parts if part is not None}
    if "suite" not in values or len(values) < len(parts):
        return None
    return Stamp(
        suite=unquote(values["suite"]),
        key=unquote(values.get("key", "")),
        head=unquote(values.get("head", "")),
        run=_whole(values.get("run", "")),
        attempt=_whole(values.get("attempt", "")),
        home=unquote(values.get("home", ".")),
    )


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def ours(comments: Iterable[Remark], author: str, stamp: Stamp) -> list[Remark]:
    """Our comments for this suite and key, oldest first: by our author and with our marker. Others imitating the
    marker are not ours, whoever they are.
    """
    found = [
        comment
        for comment in comments
        if same_login(comment.author, author)
        and (said := read_stamp(comment.body)) is not None
        and said.same_comment(stamp)
    ]
    return sorted(found, key=lambda comment: comment.id)


def same_login(one: str, other: str) -> bool:
    """Whether `one` is who was meant by `other`. Logins compare without case, and an app may be meant without its
    `[bot]`; a person who is called like an app is not meant by the app's whole login.
    """
    return one.lower() in (other.lower(), f"{other.lower()}[bot]")


class When(StrEnum):
    """The action's `comment` input: when a comment is worth writing."""

    ALWAYS = "always"
    CHANGES = "changes"
    FAILURE = "failure"
    NEVER = "never"


class Step(StrEnum):
    """What to do with the comment."""

    CREATE = "create"
    UPDATE = "update"
    NOTHING = "nothing"


class Decision(Frozen):
    """The step and why, in a sentence for the log."""

    step: Step
    why: str


def decide(
    found: Sequence[Remark],
    body: str,
    stamp: Stamp,
    when: When,
    verdict: Verdict,
    *,
    changed: bool,
    current_head: str,
) -> Decision:
    """What to do, from what stands there now: `found` are our own comments, of which one is to be left.

    `changed`: some case, question or finding differs from the baseline.
    """
    if current_head != stamp.head:
        return Decision(step=Step.NOTHING, why="the pull request's head has moved on; a newer run reports")
    for said in (read_stamp(comment.body) for comment in found):
        if said is not None and said.newer_than(stamp):
            return Decision(step=Step.NOTHING, why=f"run {said.run} is newer and has written already")
    if len(found) == 1 and content(found[0].body) == content(body):
        return Decision(step=Step.NOTHING, why="the comment says this already")
    if found:
        return Decision(step=Step.UPDATE, why="the comment that is there is brought up to date")
    failed = verdict not in (Verdict.PASS, Verdict.UNJUDGED)
    wanted = {
        When.ALWAYS: True,
        When.CHANGES: changed or failed,
        When.FAILURE: failed,
        When.NEVER: False,
    }[when]
    if not wanted:
        return Decision(step=Step.NOTHING, why=f"nothing to say under comment = {when.value}")
    return Decision(step=Step.CREATE, why="there is no comment yet")


def content(body: str) -> str:
    """A comment without its first line and trailing white space: what a reader sees. GitHub may rewrite line ends."""
    text = body.replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.splitlines()[1:]).strip()

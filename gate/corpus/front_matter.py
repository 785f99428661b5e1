"""Front matter: a small part of YAML between two lines `---` at the very top of a page.

Read as strings: `key: value`, quoted values, comments, lists in brackets or as `- item` lines (joined with ", "), and
text over several indented lines. Anything nested deeper is kept as it stands, as text. Dates, numbers and booleans are
what was written. A line that is none of this is a problem: most likely the page begins with a rule, not front matter.
"""

from __future__ import annotations

import json
import re

from gate.errors import Problem

OPEN = "---"
CLOSE = ("---", "...")

_KEY = re.compile(
    r"""(?![-?#\[{}\]|>,&*!%@`](?:\s|\Z)|[#\[{}\],])(".*?"|'.*?'|.+?)[ \t]*:(?:[ \t]+(.*)|[ \t]*)\Z"""
)
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#.*)?\Z")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+(.*))?\Z")
_COMMENT = re.compile(r"(?:\A|[ \t])#.*\Z")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*(?:#.*)?\Z""", re.S)
_FLOW_PART = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"']|["'])+?(?=,|\Z)""")


def split(text: str, shown: str, problems: list[Problem]) -> tuple[dict[str, str], str]:
    """The fields and the body of a page. Front matter begins only where the first line is exactly `---`."""
    if text != OPEN and not text.startswith(f"{OPEN}\n"):
        return {}, text
    lines = text.split("\n")
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() in CLOSE), None)
    if end is None:
        todo = "Close it with a line '---', or write '***' where line 1 is meant as a rule."
        problems.append(Problem(f"{shown}:1", "the front matter is never closed", todo))
        return {}, text
    return _fields(lines[1:end], shown, problems), "\n".join(lines[end + 1 :])


def _fields(lines: list[str], shown: str, problems: list[Problem]) -> dict[str, str]:
    fields: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 2
        at += 1
        if not line.strip() or line.startswith("#"):
            continue
        found = _KEY.match(line)
        if line[0] in " \t" or found is None:
            todo = "Front matter has lines 'key: value'; write '***' where line 1 is meant as a rule."
            problems.append(
                Problem(f"{shown}:{number}", f"is not front matter ({line.strip()[:60]!r})", todo)
            )
            continue
        value = (found.group(2) or "").strip()
        below: list[str] = []
        while at < len(lines) and _belongs(lines[at], value, below):
            below.append(lines[at])
            at += 1
        fields[_unquote(found.group(1))] = _value(value, below)
    return fields


def _belongs(line: str, value: str, below: list[str]) -> bool:
    """Whether a line continues the value above it: indented, blank, a list item, or inside an open bracket."""
    if not line.strip() or line[0] in " \t":
        return True
    if value[:1] in ("[", "{"):
        return not _closed("\n".join([value, *below]))
    return not _COMMENT.sub("", value) and bool(_ITEM.match(line))


def _closed(text: str) -> bool:
    bare = re.sub(r"""\"(?:[^"\\]|\\.)*\"|'(?:[^']|'')*'|(?m:[ \t]#.*$)""", "", text)
    return sum(bare.count(char) for char in "[{") <= sum(bare.count(char) for char in "]}")


def _value(value: str, below: list[str]) -> str:
    if _BLOCK.match(value):
        return ("\n" if value[0] == "|" else " ").join(line.strip() for line in below).strip()
    whole = "\n".join([value, *(line.strip() for line in below)]).strip()
    if value[:1] == "[":
        return _flow_list(whole)
    if value[:1] in ('"', "'"):
        return _scalar(" ".join(whole.split("\n")))
    text = _COMMENT.sub("", value).strip()
    said = [line for line in below if line.strip() and not line.lstrip().startswith("#")]
    if not text and said:
        items = [_ITEM.match(line) for line in said]
        if all(items):
            return ", ".join(_scalar((item.group(1) or "").strip()) for item in items if item)
        return "\n".join(line.strip() for line in said)
    return _scalar(" ".join([text, *(line.strip() for line in said)]))


def _flow_list(text: str) -> str:
    """`[a, "b, c"]` as `a, b, c`. What is nested or not closed stays as it stands."""
    bare = " ".join(_COMMENT.sub("", line).strip() for line in text.split("\n"))
    inner = bare[1:-1]
    if not bare.endswith("]") or any(char in inner for char in "[]{}"):
        return bare
    parts = (part.strip() for part in _FLOW_PART.findall(inner))
    return ", ".join(_scalar(part) for part in parts if part)


def _scalar(text: str) -> str:
    quoted = _QUOTED.match(text)
    if quoted:
        return _unquote(quoted.group(1))
    plain = _COMMENT.sub("", text).strip()
    return "" if plain in ("~", "null") else plain


def _unquote(text: str) -> str:
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "\"'":
        return text
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]

"""Workflow commands, outputs and masks. Text of a pull request can never be read as one of them.

GitHub reads a line that begins with `::name` (or the older `##[name]`) as a command, wherever it comes from. So what we
print ourselves is escaped, and what others wrote is printed between stop-commands with a random token.
"""

from __future__ import annotations

from collections.abc import Mapping


def escape_message(text: str) -> str:
    """The message of a command: one line to GitHub, shown with its line breaks."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A property of a command, such as a file name."""
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")


def command(name: str, message: str, properties: Mapping[str, str | int] | None = None) -> str:
    """`::name key=value::message`, escaped; one line with its line end."""
    said = ",".join(f"{key}={escape_property(str(value))}" for key, value in (properties or {}).items())
    return f"::{name}{' ' if said else ''}{said}::{escape_message(text=message)}\n"


def mask(secret: str) -> str:
    """The command that hides `secret` in every later log line; each of its lines, since logs are read by lines."""
    return "".join(command("add-mask", line) for line in secret.splitlines() if line.strip())


def fenced(text: str, token: str) -> str:
    """`text` with workflow commands switched off around it. `token` is random, so `text` cannot switch them on.

    It begins on a line of its own: behind anything left unfinished before it, the command would be text, and switch
    nothing off.
    """
    body = text if text.endswith("\n") else f"{text}\n"
    return f"\n::stop-commands::{token}\n{body}::{token}::\n"


def output(name: str, value: str, token: str) -> str:
    """One output for the GITHUB_OUTPUT file, in the form that takes any value; `token` is random."""
    if token in value:
        raise ValueError("the delimiter stands in the value")
    return f"{name}<<{token}\n{value}\n{token}\n"

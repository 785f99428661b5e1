"""No text can end a command, begin another one, or set an output of its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.github.workflow import command, escape_message, escape_property, fenced, mask, output

HOSTILE = st.text() | st.text(":#%[],=\r\n \x1badmosk") | st.sampled_from(
    ["\n::error::x", "\r::set-output name=a::b", "##[error]x", "%0A::error::", "::stop-commands::t", "::t::"]
)  # fmt: skip


def read_as_the_runner_does(line: str) -> tuple[str, dict[str, str], str]:
    """actions/runner, ActionCommand.TryParseV2, in few words."""
    found = re.fullmatch(r"::([a-z-]+)(?: ([^:]*))?::(.*)", line, re.DOTALL)
    assert found is not None
    pairs = [part.partition("=") for part in (found[2] or "").split(",") if part]
    back = {"%3A": ":", "%2C": ",", "%0D": "\r", "%0A": "\n", "%25": "%"}

    def unescape(text: str) -> str:
        for code, char in back.items():
            text = text.replace(code, char)
        return text

    return found[1], {key: unescape(value) for key, _, value in pairs}, unescape(found[3])


@given(HOSTILE, HOSTILE, HOSTILE)
def test_a_command_is_one_line_that_says_what_was_meant(message: str, title: str, file: str) -> None:
    written = command("error", message, {"title": title, "file": file, "line": 7})
    assert written.endswith("\n")
    assert "\n" not in written[:-1]
    assert "\r" not in written
    name, properties, said = read_as_the_runner_does(written[:-1])
    assert name == "error"
    assert properties == {"title": title, "file": file, "line": "7"}
    assert said == message


@given(HOSTILE)
def test_escaping_leaves_no_separator(text: str) -> None:
    assert not set(escape_message(text)) & set("\r\n")
    assert not set(escape_property(text)) & set("\r\n:,")


TOKEN = "gate-5f0c2d"
"""As random as a test needs it: in none of the texts above."""


@given(HOSTILE)
def test_nothing_in_a_fence_is_a_command(text: str) -> None:
    unfinished, *lines = re.split(r"\r\n|\n|\r", "docs [###   ] 3/6" + fenced(text, TOKEN))
    assert unfinished == "docs [###   ] 3/6"
    assert lines[0] == f"::stop-commands::{TOKEN}"
    # Until the token comes again, alone on its line, GitHub reads no command.
    assert [place for place, line in enumerate(lines) if line == f"::{TOKEN}::"] == [len(lines) - 2]
    assert lines[-1] == ""


@given(HOSTILE)
def test_an_output_is_one_value_whatever_it_holds(value: str) -> None:
    written = output("name", value, TOKEN)
    first, *rest = written.split("\n")
    assert first == f"name<<{TOKEN}"
    assert rest[-2:] == [TOKEN, ""]
    assert "\n".join(rest[:-2]) == value
    assert rest.count(TOKEN) == 1


def test_a_value_that_holds_the_delimiter_is_refused() -> None:
    with pytest.raises(ValueError, match="delimiter"):
        output("name", "a\ntoken\nb", "token")


@given(st.text())
def test_each_line_of_a_secret_is_masked(secret: str) -> None:
    masked = [read_as_the_runner_does(line)[2] for line in mask(secret).split("\n") if line]
    assert masked == [line for line in secret.splitlines() if line.strip()]
    assert mask("") == ""

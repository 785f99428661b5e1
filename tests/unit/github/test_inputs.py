"""The action's inputs: all that is wrong with them at once, and an empty one is its default."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InputError
from gate.github.comment import When
from gate.github.event import Mode
from gate.github.inputs import Inputs, read_inputs, working_folder

NAMES = (
    "CONFIG", "SUITE", "MODE", "COMMENT", "COMMENT_LAYOUT", "COMMENT_KEY", "COMMENT_AUTHOR", "TIMEOUT_MINUTES",
    "WORKING_DIRECTORY", "WORKFLOW", "REASON", "PULL_REQUEST",
)  # fmt: skip


def of(**values: str) -> Inputs:
    return read_inputs({f"INPUT_{name}": value for name, value in values.items()})


def test_empty_inputs_are_the_defaults() -> None:
    expected = Inputs(expected_workflow=".github/workflows/gate.yml")
    assert of() == of(**dict.fromkeys(NAMES, "")) == of(**dict.fromkeys(NAMES, "  \n")) == expected


@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.text(max_size=20) | st.sampled_from(["nan", "inf", "1e9", "1_0", "٣"])
    )
)
def test_any_input_is_read_or_is_one_input_error(values: dict[str, str]) -> None:
    with contextlib.suppress(InputError):
        found = of(**values)
        assert found.pull_request >= 0
        assert 0 <= found.timeout_minutes < 1e6
        assert len(found.reason.splitlines()) < 2


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        of(
            MODE="comments",
            COMMENT="allways",
            COMMENT_LAYOUT="suit",
            TIMEOUT_MINUTES="soon",
            PULL_REQUEST="1.5",
            REASON="a\nb",
        )
    said = str(caught.value)
    assert "input 'mode': no such value ('comments'). Did you mean 'comment'?" in said
    assert "Did you mean 'always'?" in said
    assert "Did you mean 'suite'?" in said
    assert "input 'timeout-minutes': not a number from 0 on ('soon')" in said
    assert "input 'pull-request': not a whole number ('1.5')" in said
    assert "input 'reason': has a line break" in said


@pytest.mark.parametrize("reason", ["a\nb", "a\rb", "a\u2028b", "a\x0bb", "a\x85b"])
def test_a_reason_is_one_line_however_it_is_broken(reason: str) -> None:
    with pytest.raises(InputError, match="has a line break"):
        of(REASON=reason)


@pytest.mark.parametrize("value", ["-1", "1.5", "١", "1_0", "9" * 10, "seven"])
def test_a_pull_request_is_a_whole_number(value: str) -> None:
    with pytest.raises(InputError, match="not a whole number"):
        of(PULL_REQUEST=value)


@pytest.mark.parametrize("key", ["docs/api", "a,b", "a:b", "a\nb", 'a"b', "*", "x" * 101, "a\\b"])
def test_a_comment_key_is_a_part_of_the_names_of_an_artifact_and_a_cache(key: str) -> None:
    with pytest.raises(InputError, match="input 'comment-key'"):
        read_inputs({"INPUT_COMMENT_KEY": key})


@pytest.mark.parametrize("key", ["", "py3.13", "ubuntu-latest 3.13", "größe", "x" * 100])
def test_what_a_matrix_holds_is_a_comment_key(key: str) -> None:
    assert read_inputs({"INPUT_COMMENT_KEY": key}).comment_key == key


def test_what_is_given_is_read() -> None:
    found = of(
        SUITE="docs, api\nfaq docs2", MODE="comment", COMMENT="failure", COMMENT_LAYOUT="combined",
        TIMEOUT_MINUTES="2.5", PULL_REQUEST="#12", REASON=" renamed ", WORKFLOW="x.yml", CONFIG="\udcff",
    )  # fmt: skip
    assert found.suite == ("docs", "api", "faq", "docs2")
    assert (found.mode, found.comment, found.comment_layout) == (Mode.COMMENT, When.FAILURE, "combined")
    assert (found.timeout_minutes, found.pull_request, found.reason) == (2.5, 12, "renamed")
    assert (found.expected_workflow, found.config) == ("x.yml", "?")


@pytest.mark.parametrize("path", ["/etc", "~/x", "..", "a/../..", "a/.."])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="leads out of the repository"):
        working_folder(path)


def test_a_folder_inside_is_fine_a_link_to_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (".", "a", "a/b", "a..b/c"):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        assert working_folder(path) == Path(path)
    (tmp_path / "link").symlink_to("a")
    for path in ("link", "link/b"):
        with pytest.raises(InputError, match="leads through a link"):
            working_folder(path)
    with pytest.raises(InputError, match="no such folder in the checkout"):
        working_folder("gone")

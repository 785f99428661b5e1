"""What counts as a token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.arms.keyword_reference import words

from gate.arms._tokens import ascii_tokens, unicode_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("Rotate API-keys v1.2.3.", ["rotate", "api-keys", "v1.2.3"]),
        ("max_tokens=200, E_4012!", ["max_tokens", "200", "e_4012"]),
        ("a--b a..b -a .b c- d.", ["a", "b", "a", "b", "a", "b", "c", "d"]),
        ("it's naïve", ["it", "s", "na", "ve"]),
        ("\u0130stanbul \u212aelvin", ["i", "stanbul", "kelvin"]),
        ("東京", []),
    ],
)
def test_ascii(text: str, tokens: list[str]) -> None:
    assert ascii_tokens(text) == tokens


@given(st.text())
def test_ascii_is_the_documented_expression(text: str) -> None:
    assert ascii_tokens(text) == words(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Rotate API-keys v1.2.3. max_tokens", ["rotate", "api-keys", "v1.2.3", "max_tokens"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("naïve nai\u0308ve", ["naïve", "naïve"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("ﬁle №5", ["file", "no5"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("co\u00adoperate", ["cooperate"]),
        ("東京都", ["東京", "京都"]),
        ("猫 が", ["猫", "が"]),
        ("ﾃｽﾄ", ["テス", "スト"]),
        ("GPU内存-v2", ["gpu", "内存", "v2"]),
        ("검색엔진", ["검색", "색엔", "엔진"]),
        ("", []),
        ("…!? -.", []),
    ],
)
def test_unicode(text: str, tokens: list[str]) -> None:
    assert unicode_tokens(text) == tokens


def test_thai_runs_are_read_in_pairs() -> None:
    assert set(unicode_tokens("ภาษา")) < set(unicode_tokens("ภาษาไทย"))


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_both_read_plain_ascii_alike(text: str) -> None:
    assert unicode_tokens(text) == ascii_tokens(text)


@given(st.text())
def test_unicode_takes_any_text_and_reads_its_own_words_alike(text: str) -> None:
    for token in unicode_tokens(text):
        assert unicode_tokens(token) == [token]

"""How the keyword arm reads words out of a text. The setting `tokenizer` chooses; the text never does.

`ascii` is the formula of DESIGN section 5: `[a-z0-9_]+(?:[-.][a-z0-9_]+)*` of the lower-cased text, so that `v1.2`,
`read-only` and `max_tokens` are one token each. Letters outside that alphabet separate tokens.

`unicode` reads any script:

- Soft hyphens and zero-width joiners are dropped; the text is NFKC, case-folded, and NFKC again.
- A token is `\\w+` with the same inner joins (`-` and `.`); combining marks stay in their word, as vowel signs must.
- Scripts written without spaces (Han, kana, Thai, Lao, Khmer, Burmese), and Hangul, whose words carry their
  particles, become overlapping pairs of characters: 東京都 is 東京 and 京都; a run of one character stands alone.
  A query of one such character therefore finds only runs of one.

Which characters are words comes from the Unicode tables of the running Python.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Final

Tokenizer = Callable[[str], list[str]]

_ASCII = re.compile(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)*")


def ascii_tokens(text: str) -> list[str]:
    """Tokens of the lower-cased text over `a-z0-9_`, joined by inner `-` and `.`."""
    return _ASCII.findall(text.lower())


# Thai, Lao; Burmese; Hangul jamo; Khmer; kana, bopomofo, Hangul; Han and its extensions; Hangul; Han beyond the BMP.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1100-\u11ff\u1780-\u17d3"
    "\u3005-\u3007\u3031-\u3035\u303b\u303c\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_DROPPED = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


@cache
def _unicode_pattern() -> re.Pattern[str]:
    """Either a run of an unspaced script (group 1) or a word of any other (group 2). Made on first use: it takes
    some milliseconds to list the combining marks, which `\\w` leaves out."""
    unspaced = re.compile(f"[{_UNSPACED}]")
    marks = "".join(
        mark
        for mark in map(chr, range(0x300, 0x20000))
        if unicodedata.category(mark).startswith("M") and not unspaced.match(mark)
    )
    word = rf"[^\W{_UNSPACED}](?:[^\W{_UNSPACED}]|[{marks}])*"
    return re.compile(rf"([{_UNSPACED}]+)|({word}(?:[-.]{word})*)")


def unicode_tokens(text: str) -> list[str]:
    """Tokens of any script; character pairs where a script has no spaces."""
    folded = unicodedata.normalize("NFKC", text.translate(_DROPPED)).casefold()
    found: list[str] = []
    for run, word in _unicode_pattern().findall(unicodedata.normalize("NFKC", folded)):
        if word or len(run) == 1:
            found.append(word or run)
        else:
            found.extend(first + second for first, second in pairwise(run))
    return found


TOKENIZERS: Final[Mapping[str, Tokenizer]] = {"ascii": ascii_tokens, "unicode": unicode_tokens}

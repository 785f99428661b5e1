"""Fingerprints of what was measured: full digests are compared, eight digits are shown."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from gate.model.case import Case, QaCase

SHOWN_DIGITS = 8


def nfc(text: str) -> str:
    """Unicode NFC, so that two ways to write the same letter are one label."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8. `value` holds strings that are already NFC."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def version(count: int, noun: str, sha256: str) -> str:
    """`22 cases · sha256 1a2b...`: how a set reads, with its full digest."""
    return f"{count} {noun if count != 1 else noun.removesuffix('s')} · sha256 {sha256}"


def shown(full_version: str) -> str:
    """The same with eight digits of the digest."""
    head, mark, sha256 = full_version.rpartition(" sha256 ")
    return f"{head}{mark}{sha256[:SHOWN_DIGITS]}" if mark else full_version


LabelKey = tuple[str, str, Mapping[str, int], str]
"""(id, query, labels with grades, kind): all that a fingerprint covers."""


def _canonical_key(key: LabelKey) -> list[Any]:
    case_id, query, grades, kind = key
    return [nfc(case_id), nfc(query), {nfc(page): grade for page, grade in grades.items()}, nfc(kind)]


def label_digest(key: LabelKey) -> str:
    """The fingerprint of one case."""
    return digest(_canonical_key(key))


def labels_version(keys: Iterable[LabelKey]) -> str:
    """`22 cases · sha256 <64 digits>` over the sorted keys, so that the order of the files never matters."""
    rows = sorted((_canonical_key(key) for key in keys), key=canonical)
    return version(len(rows), "cases", digest(rows))


def case_key(case: Case) -> LabelKey:
    return (case.id, case.query, case.grades, case.kind)


def cases_version(cases: Iterable[Case]) -> str:
    """The fingerprint of a case set."""
    return labels_version(case_key(case) for case in cases)


def question_digest(question: QaCase) -> str:
    """The fingerprint of one QA question, over (id, question, answer, citations, applies_to)."""
    return digest(
        [
            nfc(question.id),
            nfc(question.question),
            nfc(question.answer),
            sorted(nfc(page) for page in question.citations),
            nfc(question.applies_to),
        ]
    )


def qa_version(questions: Iterable[QaCase]) -> str:
    """`30 questions · sha256 <64 digits>` over the sorted fingerprints of `questions`."""
    rows = sorted(question_digest(question) for question in questions)
    return version(len(rows), "questions", digest(rows))


def corpus_version(hashes: Mapping[str, str]) -> str:
    """`45 pages · sha256 <64 digits>` over doc_id -> content hash."""
    return version(len(hashes), "pages", digest(dict(hashes)))

"""Translated terms of the glossary: `[[term]]` in LANGUAGE/glossary.toml, each known by the original's word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tcptutor.course.translation import ORIGINAL, Problem, lost


class TranslatedTerm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Translated term of the glossary: `[[term]]`."""

    word: str
    """The original's word, by which the term is known."""
    original: str = ""
    """Digest of the original's definition."""
    name: str = ""
    """The word in this language; the original's by default."""
    synonyms: tuple[str, ...] = ()
    """Synonyms and other forms of the word in this language."""
    text: str = ""
    """Definition in one to three sentences."""


class TranslatedGlossaryFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of LANGUAGE/glossary.toml."""

    terms: tuple[TranslatedTerm, ...] = msgspec.field(default=(), name="term")


class MergedGlossary(NamedTuple):
    """Tables of the glossary with the translated words."""

    tables: tuple[dict[str, Any], ...]
    problems: tuple[Problem, ...]
    changed: tuple[Problem, ...]
    """Terms whose definition has changed since; they are shown in the original."""


def term_digest(text: str) -> str:
    """Return the digest of a definition, ignoring white space."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]


def merge_terms(originals: Sequence[Mapping[str, Any]], terms: Sequence[TranslatedTerm]) -> MergedGlossary:
    """Replace the words of the translated terms. All names of the original remain, as synonyms."""
    by_word = {str(table["word"]): table for table in originals}
    problems: list[Problem] = []
    changed: list[Problem] = []
    merged: dict[str, dict[str, Any]] = {}
    for term in terms:
        key = f"term {term.word}"
        if term.word not in by_word:
            problems.append((key, "is not in the glossary: remove it"))
            continue
        table = by_word[term.word]
        digest, given = term_digest(str(table["text"])), term.original
        if given != digest:
            reason = "the original has changed: compare, then" if given else "is missing:"
            (changed if given else problems).append((key, f'{reason} write {ORIGINAL} = "{digest}"'))
        elif term.text and (reason := lost(str(table["text"]), term.text)):
            problems.append((f"{key}.text", reason))
        else:
            merged[term.word] = _merged(table, term)
    return MergedGlossary(
        tuple(merged.get(word, dict(table)) for word, table in by_word.items()),
        tuple(problems),
        tuple(changed),
    )


def _merged(table: Mapping[str, Any], term: TranslatedTerm) -> dict[str, Any]:
    names = [*term.synonyms, *([term.word] if term.name else []), *table.get("synonyms", ())]
    return {
        **table,
        "word": term.name or term.word,
        "synonyms": list(dict.fromkeys(names)),
        "text": term.text or table["text"],
    }

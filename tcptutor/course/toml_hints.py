"""Remedies for the mistakes that authors make in TOML, by the words of the parser."""

from __future__ import annotations

_HINTS = (
    ("Illegal character '\\n'", "end the text with a quote on the same line, or write it between '''"),
    ("Unterminated string", "a text has no quote at its end"),
    ("Expected \"'''\"", "a text between ''' has no ''' at its end"),
    ("Unescaped '\\'", "write the backslash twice, or the text in single quotes"),
    ("Invalid value", 'write a text in straight quotes, such as rate = "20 Mbit/s"'),
    (
        "Expected newline",
        'write one key on a line, and a text in quotes without quotes inside, such as rate = "20 Mbit/s"',
    ),
    ("Expected '=' after a key", "write KEY = VALUE; a text of several lines stands between '''"),
    ("Unclosed array", "a list has no ] at its end, or no comma between two entries"),
    ("Cannot overwrite", "a key or a table is there twice: several tables of a kind are [[NAME]]"),
    ("Cannot declare", "this table is there twice: several of a kind are [[NAME]]"),
)


def toml_hint(error: str) -> str:
    """Return a remedy for an error of the TOML parser; empty if the parser's message is clear."""
    return next((hint for words, hint in _HINTS if words in error), "")

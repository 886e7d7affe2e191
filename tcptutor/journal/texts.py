"""Bounds of the texts that people write into the journal."""

from __future__ import annotations

from tcptutor.base.errors import UsageError
from tcptutor.base.printable import is_printable

LONGEST_NOTE = 20_000
"""Characters of the longest note."""
LONGEST_REPORT = 500
"""Characters of the longest report of a page, a single line."""
LONGEST_COMMENT = 2000
"""Characters of a teacher's longest comment."""


def check_report(text: str) -> None:
    """Raise UsageError for a report that is empty, too long, or not a single printable line."""
    _check_filled("report", text)
    _check_length("report", text, LONGEST_REPORT)
    _check_printable("report", text, lines=False)


def check_comment(text: str) -> None:
    """Raise UsageError for a teacher's comment that is empty, too long or unprintable."""
    _check_filled("comment", text)
    _check_length("comment", text, LONGEST_COMMENT)
    _check_printable("comment", text, lines=True)


def check_note(text: str) -> None:
    """Raise UsageError for a note that is too long."""
    _check_length("note", text, LONGEST_NOTE)


def _check_filled(kind: str, text: str) -> None:
    if not text.strip():
        raise UsageError(f"the {kind} has no text: write one")


def _check_length(kind: str, text: str, most: int) -> None:
    if len(text) > most:
        raise UsageError(f"a {kind} holds {most} characters; this one has {len(text)}: shorten it")


def _check_printable(kind: str, text: str, *, lines: bool) -> None:
    if not is_printable(text, lines=lines):
        raise UsageError(f"the {kind} has invisible characters: type it anew")

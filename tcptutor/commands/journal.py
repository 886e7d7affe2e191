"""The student's journal, as commands open it for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tcptutor.commands.output import warn
from tcptutor.journal import Journal


@contextmanager
def opened_journal() -> Iterator[Journal]:
    """The student's own; what had to be mended of it is said. Raises JournalError."""
    journal = Journal.open()
    try:
        if journal.notice:
            warn(journal.notice)
        yield journal
    finally:
        journal.close()

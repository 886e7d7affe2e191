"""Short-lived access of commands to the student's journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tcptutor.commands.output import warn
from tcptutor.journal import Journal


@contextmanager
def open_journal() -> Iterator[Journal]:
    """Open the student's journal and warn of repairs. Raises JournalError."""
    journal = Journal.open()
    try:
        if journal.notice:
            warn(journal.notice)
        yield journal
    finally:
        journal.close()

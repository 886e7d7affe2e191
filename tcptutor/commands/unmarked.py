"""Reminder that runs on the command line earn no marks, for enrolled students."""

from __future__ import annotations

from tcptutor.base import places
from tcptutor.base.errors import JournalError
from tcptutor.commands.output import remark, warn
from tcptutor.journal import opened_journal


def remark_no_marks() -> None:
    """Remark to an enrolled student that a run of this command earns no marks."""
    if not (places.state() / "journal.db").exists():
        return
    try:
        with opened_journal(warn) as journal:
            enrolment = journal.record.enrolment
    except JournalError:
        return  # the app reports it
    if enrolment is not None:
        remark("this earns no marks: only runs on the pages of `tcptutor` do")

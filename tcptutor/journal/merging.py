"""Events that a journal lacks of the same student's journal on a second machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tcptutor.base.errors import UsageError
from tcptutor.journal.chains import ChainedEvent, JournalChains
from tcptutor.journal.events import Imported, StoredEvent, chain, is_import
from tcptutor.journal.fold import JournalFold, fold_events
from tcptutor.journal.order import check_chains


def rows_to_add(
    rows: Sequence[StoredEvent], others: Sequence[StoredEvent], known: JournalFold, at: str
) -> list[StoredEvent]:
    """Return the rows that merge `others` into `rows`: the missing events, followed by an `Imported`.

    Args:
        rows: This journal.
        others: The other journal, checked.
        known: The fold of `rows`.
        at: The time of the import.

    Raises:
        UsageError: The other journal belongs to a different student or course.
        JournalError: The journal would have too many chains.
    """
    check_same_student(known, fold_events(others))
    news = _news(rows, others)
    if not news:
        return []
    added = [each.row(serial) for serial, each in enumerate(news, known.serial + 1)]
    check_chains([*rows, *added])
    followed = {before for each in news for before in _follows(each)}
    last = tuple(each.hash.hex() for each in news if each.hash not in followed)
    return [*added, *chain([Imported(at, last)], added[-1].serial, known.hash)]


def check_same_student(here: JournalFold, there: JournalFold) -> None:
    """Raise UsageError if the journals belong to different students or courses."""
    own, other = here.record.enrolment, there.record.enrolment
    if own and other and own != other:
        raise UsageError(
            f"it is the journal of {other.student} in the course {other.course}, and yours is of {own.student} in"
            f" {own.course}: only journals of one student in one course can be merged"
        )


def _news(rows: Sequence[StoredEvent], others: Sequence[StoredEvent]) -> list[ChainedEvent]:
    """Return the events of `others` that are not in `rows`, in their order.

    The other machine's imports are among them only if a later event follows them: otherwise each import would be news
    to the other machine, without end.
    """
    here = {row.hash for row in rows}
    chains = JournalChains()
    found = [each for row in others if (each := chains.take(row)) and each.hash not in here]
    needed: set[bytes] = set()
    news = []
    for each in reversed(found):
        if not is_import(each.data) or each.hash in needed:
            needed.update(_follows(each))
            news.append(each)
    return news[::-1]


def _follows(event: ChainedEvent) -> tuple[bytes, ...]:
    return event.before, *event.heads

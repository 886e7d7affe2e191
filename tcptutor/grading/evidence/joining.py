"""Joins a student's hand-ins, as if a single machine had imported every journal."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tcptutor.base.errors import TutorError
from tcptutor.grading.evidence.hand_in import HandIn, PackedRun
from tcptutor.journal.chains import JournalChains
from tcptutor.journal.events import START, StoredEvent
from tcptutor.journal.fold import fold_events
from tcptutor.journal.merging import rows_to_add

_AT = "1970-01-01T00:00:00+00:00"
"""Time of the imports; they follow all events, so no mark depends on it."""


def join(hand_ins: Sequence[HandIn]) -> HandIn:
    """Join a student's hand-ins into a single hand-in with the events and runs of each.

    A hand-in that already contains the rest is returned unchanged.

    Raises:
        TutorError: A hand-in is damaged, or the journals do not fit together.
    """
    if any(each.is_damaged for each in hand_ins):
        raise TutorError("one is damaged")
    first, *others = _without_contained(hand_ins)
    if not others:
        return first
    if _are_forked((first, *others)):
        raise TutorError("one goes on from an earlier state of another")
    rows = list(first.events)
    packed: dict[str, tuple[PackedRun, ...]] = {}
    for each in (first, *others):
        rows += rows_to_add(rows, each.events, fold_events(rows), _AT)
        packed |= {id: (*packed.get(id, ()), *copies) for id, copies in each.packed.items()}
    missing = [line for each in (first, *others) for line in each.manifest.missing]
    manifest = replace(
        first.manifest, events=len(rows), missing=tuple(line for line in missing if not _names(line, packed))
    )
    return HandIn(first.path, manifest, rows, "", packed, first.seen)


def _without_contained(hand_ins: Sequence[HandIn]) -> list[HandIn]:
    """Drop hand-ins contained in a larger hand-in: earlier states and copies."""
    found: list[HandIn] = []
    for each in sorted(hand_ins, key=lambda each: (len(each.events), len(each.packed)), reverse=True):
        events = _hashes(each.events)
        if not any(events <= _hashes(other.events) and each.run_ids <= other.run_ids for other in found):
            found.append(each)
    return found


def _are_forked(hand_ins: Sequence[HandIn]) -> bool:
    """Return whether an event has two different successors in its chain, as after a copied journal."""
    followers: dict[bytes, bytes] = {}
    for each in hand_ins:
        chains = JournalChains()
        for event in filter(None, map(chains.take, each.events)):
            if event.before != START and followers.setdefault(event.before, event.hash) != event.hash:
                return True
    return False


def _hashes(events: Sequence[StoredEvent]) -> set[bytes]:
    return {event.hash for event in events}


def _names(line: str, runs: dict[str, tuple[PackedRun, ...]]) -> bool:
    """Return whether a line about a missing run names any of `runs`."""
    return any(word in runs for word in line.split())

"""A student's events on several machines, in an order that does not depend on the direction of imports. Pure.

Events are ordered by time, but an event never precedes its predecessors in its chain or through an import
(`Imported`), even if a clock steps back. The serial of an event is its position in this order. Without imports, the
order is the order of the rows.

An event knows the events that its machine had at the time of writing: `EventOrder.knew`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from tcptutor.base.errors import JournalError
from tcptutor.course.page_record import moment
from tcptutor.journal.chains import ChainedEvent, JournalChains
from tcptutor.journal.events import (
    START,
    Imported,
    JournalEvent,
    Noted,
    Responded,
    RunEnded,
    RunStarted,
    StoredEvent,
    Withdrawn,
    decode,
    encode,
    is_carried,
    is_import,
)

MOST_CHAINS = 16
"""Chains of a journal; events of further chains are left out."""
OWN = 0
"""Number of the journal's own chain; it differs between machines."""
_FIRST = datetime.min.replace(tzinfo=UTC)


class ChainPlace(NamedTuple):
    """The place of an event, and the events that it knew."""

    chain: int
    serial: int
    """From 1, in the chain that it was written in."""
    past: Mapping[int, int]
    """Serial of the last known event of each other chain."""


class EventOrder(NamedTuple):
    """Which events knew which, by their positions."""

    places: Sequence[ChainPlace] = ()
    """By position from 1; empty for a journal without imports."""

    @property
    def is_merged(self) -> bool:
        """Return whether the journal has events of several machines."""
        return bool(self.places)

    def chain(self, serial: int) -> int:
        """Return the number of the chain that the event was written in."""
        return self.places[serial - 1].chain if self.places else OWN

    def knew(self, serial: int, earlier: int) -> bool:
        """Return whether the event at `serial` was written on a machine that had the event at `earlier`."""
        if earlier >= serial or not self.places:
            return earlier < serial
        one, other = self.places[serial - 1], self.places[earlier - 1]
        if one.chain == other.chain:
            return other.serial < one.serial
        return other.serial <= one.past.get(other.chain, 0)


class StudentEvents(NamedTuple):
    """The events of a student on all machines, in order."""

    events: Sequence[StoredEvent]
    """Without rows that belong only to imports."""
    order: EventOrder
    first: bytes = b""
    """Merged journal: hash of the first event."""
    own_hash: bytes = START
    """Merged journal: hash of the last event of the own chain."""
    broken: int = 0
    """Merged journal: serial of the first row that does not fit its chain; 0 if all do."""


def student_events(rows: Iterable[StoredEvent]) -> StudentEvents:
    """Order the events of a journal, given all its rows.

    In a merged journal, an event has no effect on work that its machine did not have: see _without_withdrawn,
    _without_superseded_ends and _with_joined_notes.
    """
    rows = list(rows)
    if not is_merged(rows):
        return StudentEvents(rows, EventOrder())
    placer = _Placer()
    placed = sorted(placer.place(rows), key=lambda each: each.key)
    placed = [each for each in placed if not isinstance(each.event, Imported)]
    first = placed[0].hash if placed else b""
    placed = _with_joined_notes(_without_superseded_ends(_without_withdrawn(placed)))
    return StudentEvents(
        [StoredEvent(position, each.data, each.hash) for position, each in enumerate(placed, 1)],
        EventOrder([each.place for each in placed]),
        first,
        placer.chains.hash,
        placer.broken,
    )


def is_merged(rows: Iterable[StoredEvent]) -> bool:
    """Return whether some rows come from an import, so that the rows are not in the order of events."""
    return any(is_carried(row.data) or is_import(row.data) for row in rows)


def check_chains(rows: Iterable[StoredEvent]) -> None:
    """Raise JournalError if the rows have more than MOST_CHAINS chains."""
    placer = _Placer()
    for _ in placer.place(rows):
        pass
    if placer.left_out:
        raise JournalError(f"a journal holds the events of {MOST_CHAINS} machines or copies at most")


class _PlacedEvent(NamedTuple):
    key: tuple[datetime, int, bytes]
    """Time, at least that of the events before it; number of events before it on the longest way; hash."""
    place: ChainPlace
    data: bytes
    hash: bytes
    event: JournalEvent | None


class _Placer:
    def __init__(self) -> None:
        self.left_out = 0
        """Events of too many chains."""
        self.broken = 0
        self.chains = JournalChains()
        self._nodes: dict[bytes, _PlacedEvent] = {}
        self._last: dict[int, _PlacedEvent] = {}
        """The last event of each chain."""

    def place(self, rows: Iterable[StoredEvent]) -> Iterator[_PlacedEvent]:
        for row in rows:
            found = self.chains.take(row)
            self.broken = self.broken or (0 if found and found.fits else row.serial)
            if found is None or (found.hash in self._nodes and not found.is_own):
                continue
            node = self._node(found)
            if node is None:
                self.left_out += 1
                continue
            self._nodes[node.hash] = self._last[node.place.chain] = node
            yield node

    def _node(self, found: ChainedEvent) -> _PlacedEvent | None:
        before = self._last.get(OWN) if found.is_own else self._before(found)
        others = [self._nodes[hash] for hash in found.heads if hash in self._nodes]
        place = self._place(found, before, others)
        if place is None:
            return None
        event = decode(found.data)
        keys = [each.key for each in ([before] if before else []) + others]
        time = max([(moment(event.at) if event else None) or _FIRST, *(key[0] for key in keys)])
        depth = 1 + max((key[1] for key in keys), default=0)
        return _PlacedEvent((time, depth, found.hash), place, found.data, found.hash, event)

    def _before(self, found: ChainedEvent) -> _PlacedEvent | None:
        """Return the predecessor of a carried event; if damaged, the latest readable event of an imported chain."""
        if found.before == START or found.before in self._nodes:
            return self._nodes.get(found.before)
        carried = [last for chain, last in self._last.items() if chain != OWN]
        earlier = [last for last in carried if last.place.serial < found.serial]
        return max(earlier, key=lambda last: last.place.serial, default=None)

    def _place(
        self, found: ChainedEvent, before: _PlacedEvent | None, others: Sequence[_PlacedEvent]
    ) -> ChainPlace | None:
        past: Mapping[int, int] = before.place.past if before else {}
        if found.is_own:
            chain = OWN
        elif before is not None and before.place.chain != OWN and self._last[before.place.chain] is before:
            chain = before.place.chain
        else:  # a machine's first event, or the first after a copy of a journal
            chain = max(self._last, default=OWN) + 1
            if chain >= MOST_CHAINS:
                return None
            if before is not None:
                past = _joined(past, {before.place.chain: before.place.serial})
        for other in others:
            past = _joined(past, {**other.place.past, other.place.chain: other.place.serial})
        return ChainPlace(chain, found.serial, past)


def _joined(one: Mapping[int, int], other: Mapping[int, int]) -> Mapping[int, int]:
    news = {chain: serial for chain, serial in other.items() if serial > one.get(chain, 0)}
    return {**one, **news} if news else one


def _without_withdrawn(placed: Sequence[_PlacedEvent]) -> list[_PlacedEvent]:
    """Leave out withdrawals that would affect a different machine's work, and the responses they withdrew.

    A withdrawal removes the responses that it knew, and is void if it knew a run of its page.
    """
    order = EventOrder([each.place for each in placed])
    begun: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    """First run of each page, by chain."""
    given: defaultdict[tuple[str, str, str], dict[int, deque[int]]] = defaultdict(dict)
    """Responses to each activity, by chain; an event knows the first n responses of each chain."""
    dropped: set[int] = set()
    for position, each in enumerate(placed, 1):
        match each.event:
            case RunStarted(module=module, step=step, changed_from=""):
                begun[module, step].setdefault(each.place.chain, position)
            case Responded(module=module, step=step, activity=activity):
                given[module, step, activity].setdefault(each.place.chain, deque()).append(position)
            case Withdrawn(module=module, step=step, activity=activity):
                runs, responses = begun[module, step].values(), given[module, step, activity].values()
                if any(order.knew(position, run) for run in runs):
                    continue
                withdrawn = []
                for of_chain in responses:
                    while of_chain and order.knew(position, of_chain[0]):
                        withdrawn.append(of_chain.popleft())
                if runs or any(responses):
                    dropped.update(withdrawn, [position])
    return [each for position, each in enumerate(placed, 1) if position not in dropped]


def _without_superseded_ends(placed: Sequence[_PlacedEvent]) -> list[_PlacedEvent]:
    """Leave out ends of interrupted runs that were complete on a different machine."""
    order = EventOrder([each.place for each in placed])
    complete = {
        each.event.run: position
        for position, each in enumerate(placed, 1)
        if isinstance(each.event, RunEnded) and each.event.complete
    }

    def is_superseded(position: int, event: JournalEvent | None) -> bool:
        if not isinstance(event, RunEnded) or event.complete or event.run not in complete:
            return False
        other = complete[event.run]
        return not (order.knew(position, other) or order.knew(other, position))

    return [each for position, each in enumerate(placed, 1) if not is_superseded(position, each.event)]


def _with_joined_notes(placed: Sequence[_PlacedEvent]) -> list[_PlacedEvent]:
    """Join notes on a page that two machines wrote concurrently, as separate paragraphs."""
    order = EventOrder([each.place for each in placed])
    current: defaultdict[tuple[str, str], dict[int, Noted]] = defaultdict(dict)
    """By page and position, the notes that no later note knew."""
    for position, each in enumerate(placed, 1):
        if isinstance(note := each.event, Noted):
            notes = current[note.module, note.step]
            for earlier in [earlier for earlier in notes if order.knew(position, earlier)]:
                del notes[earlier]
            notes[position] = note
    found = list(placed)
    for notes in current.values():
        if len(notes) > 1:
            last = max(notes)
            text = "\n\n".join(dict.fromkeys(note.text for note in notes.values() if note.text))
            data = encode(msgspec.structs.replace(notes[last], text=text))
            found[last - 1] = found[last - 1]._replace(data=data)
    return found

"""Chains of hashes in a journal, its own and those of imported journals, and their export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import JournalError
from tcptutor.journal.events import (
    START,
    UNREADABLE,
    Carried,
    Imported,
    StoredEvent,
    decode,
    decode_carried,
    is_carried,
    is_import,
    link,
)


class ChainedEvent(NamedTuple):
    """An event at its place in the chain that it was written in."""

    serial: int
    """From 1, in that chain."""
    before: bytes
    """Hash of the event before it."""
    data: bytes
    hash: bytes
    is_own: bool
    """True in the journal's own chain, False for an event of a different machine."""
    heads: tuple[bytes, ...]
    """An import: hashes of the events of other chains that it follows."""
    fits: bool
    """True if the event is unchanged and its predecessor exists."""

    def row(self, serial: int) -> StoredEvent:
        """Return the row that carries the event in a different machine's journal."""
        held = Carried(self.serial, self.before.hex(), msgspec.Raw(self.data))
        return StoredEvent(serial, msgspec.json.encode(held), self.hash)


class JournalChains:
    """Chains of a journal, built row by row; checks each event against its predecessor."""

    def __init__(self) -> None:
        self.hash = START
        """Hash of the last event of the own chain."""
        self._row = 0
        self._serials = {START: 0}
        """By hash, of each event so far."""

    def take(self, stored: StoredEvent) -> ChainedEvent | None:
        """Return the event of the next row; None for a damaged carried event."""
        in_order, self._row = stored.serial == self._row + 1, stored.serial
        is_own = not is_carried(stored.data)
        if is_own:
            before, data, serial = self.hash, stored.data, self._serials[self.hash] + 1
            self.hash = stored.hash
        else:
            held = decode_carried(stored.data)
            if held is None:
                return None
            before, data, serial = _hash(held.before), bytes(held.event), held.serial
        heads = _heads(data)
        fits = (
            in_order
            and stored.hash == link(before, data)
            and stored.hash not in self._serials
            and self._serials.get(before) == serial - 1
            and all(head in self._serials for head in heads)
        )
        self._serials[stored.hash] = serial
        return ChainedEvent(serial, before, data, stored.hash, is_own, heads, fits)


def _heads(data: bytes) -> tuple[bytes, ...]:
    event = decode(data) if is_import(data) else None
    return tuple(map(_hash, event.heads)) if isinstance(event, Imported) else ()


def _hash(text: str) -> bytes:
    """Return the hash that is written as 64 hexadecimal digits in lower case; empty for any other text."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return b""
    return found if found.hex() == text else b""


class _Line(msgspec.Struct):
    """An event of an exported record."""

    serial: int
    hash: str
    """In hexadecimal."""
    event: msgspec.Raw
    """The exact bytes that are hashed."""


class _End(msgspec.Struct, forbid_unknown_fields=True):
    """Last line of an exported record; a truncated record has none."""

    events: int
    hash: str


def export_events(events: Iterable[StoredEvent]) -> Iterator[bytes]:
    """Yield an exported record: a JSON line per event, and a last line with their number and the last hash."""
    serial, hash = 0, START
    for serial, data, hash in events:
        yield msgspec.json.encode(_Line(serial, hash.hex(), msgspec.Raw(data))) + b"\n"
    yield msgspec.json.encode(_End(serial, hash.hex())) + b"\n"


def read_events(lines: Iterable[bytes]) -> Iterator[StoredEvent]:
    """Yield the events of an exported record, each checked against the event before it in its chain.

    Raises:
        JournalError: An event was changed or is missing, or the record is truncated; the message names the event.
    """
    chains = JournalChains()
    last = StoredEvent(0, b"", START)
    ended = False
    for line in lines:
        if ended:
            raise JournalError(f"the record continues after its end, event {last.serial}")
        ended = _check_end(line, last)
        if not ended:
            last = _parse_line(line, last, chains)
            yield last
    if not ended:
        raise JournalError(f"the record is cut off after event {last.serial}: ask for the whole file")


def _check_end(line: bytes, last: StoredEvent) -> bool:
    """Return whether the line is the last of a record that ends with `last`; raise JournalError for a wrong count."""
    try:
        end = decoding.decode_json(line, _End)
    except UNREADABLE:
        return False
    if end != _End(last.serial, last.hash.hex()):
        raise JournalError(f"the record ends after event {last.serial}, but claims {end.events} events")
    return True


def _parse_line(line: bytes, last: StoredEvent, chains: JournalChains) -> StoredEvent:
    changed = f"event {last.serial + 1} is not as it was written, or one before it is missing"
    try:
        parsed = decoding.decode_json(line, _Line)
    except UNREADABLE as error:
        raise JournalError(f"{changed} ({error})") from error
    stored = StoredEvent(parsed.serial, bytes(parsed.event), _hash(parsed.hash))
    found = chains.take(stored)
    if found is None or not found.fits:
        raise JournalError(changed)
    return stored

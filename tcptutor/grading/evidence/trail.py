"""The trail of a journal: a short digest per event, by which copied events are recognized.

An event contains its time to the millisecond. Two students may act alike in the same millisecond by chance, but not
repeatedly. The digest omits the event's place in its chain, so that rewriting a journal keeps its digests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tcptutor.base import decoding
from tcptutor.base.printable import escaped
from tcptutor.journal.events import DIGEST_BYTES, UNREADABLE, StoredEvent, event_digest, is_import

_MOST_EVENTS = 50_000
"""Number of events, from the first, that are compared; a complete course takes about 2,000."""
_LONGEST_PAGE = 80


class EventTrail(msgspec.Struct, frozen=True):
    """The digests of a journal's events."""

    digests: bytes = b""
    """8 bytes per event."""
    pages: tuple[tuple[int, str], ...] = ()
    """Each change of the page: index of the event, and MODULE/PAGE."""

    @property
    def events(self) -> Sequence[int]:
        """Return a number per event; equal events have equal numbers."""
        return memoryview(self.digests[: len(self.digests) // DIGEST_BYTES * DIGEST_BYTES]).cast("Q")

    def page_at(self, index: int) -> str:
        """Return the page of an event; empty before the first page."""
        return next((page for first, page in reversed(self.pages) if first <= index), "")


class _Place(msgspec.Struct):
    module: str = ""
    step: str = ""
    event: _Place | None = None
    """The event in a carried row."""


_decoder = decoding.json_decoder(_Place)


def event_trail(rows: Iterable[StoredEvent]) -> EventTrail:
    """Return the trail of a journal's rows, with the events of other machines and without imports of them."""
    digests: list[bytes] = []
    pages: list[tuple[int, str]] = []
    for row in rows:
        digest = event_digest(row.data)
        if not digest or is_import(row.data):
            continue
        if len(digests) == _MOST_EVENTS:
            break
        page = _page(row.data)
        if page and (not pages or pages[-1][1] != page):
            pages.append((len(digests), page))
        digests.append(digest)
    return EventTrail(b"".join(digests), tuple(pages))


def _page(data: bytes) -> str:
    try:
        place = _decoder.decode(data)
        place = place.event or place
    except UNREADABLE:
        return ""
    return escaped(f"{place.module}/{place.step}"[:_LONGEST_PAGE]) if place.step else ""

"""TCP's sequence numbers (RFC 9293, section 3.4): 32 bits that begin anywhere and go round."""

from __future__ import annotations

_TURN = 1 << 32


class FlowBytes:
    """Counts the bytes of one direction of a connection by its sequence numbers, from its first byte on."""

    def __init__(self, first: int) -> None:
        """`first`: the number of byte 0."""
        self._latest, self._bytes = first, 0

    def at(self, number: int, onward: bool = True) -> int:
        """The byte with that number, less than 2 GB from the latest one; with `onward` one ahead is the latest then."""
        ahead = (number - self._latest + _TURN // 2) % _TURN - _TURN // 2
        if onward and ahead > 0:
            self._latest, self._bytes = number, self._bytes + ahead
            return self._bytes
        return self._bytes + ahead

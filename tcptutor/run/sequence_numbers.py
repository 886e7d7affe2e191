"""TCP's sequence numbers (RFC 9293, section 3.4): 32 bits, arbitrary start, wrapping around."""

from __future__ import annotations

_MODULUS = 1 << 32


class FlowBytes:
    """Converts the sequence numbers of a connection's direction to byte offsets."""

    def __init__(self, first: int) -> None:  # the sequence number of byte 0
        self._latest, self._bytes = first, 0

    def at(self, number: int, onward: bool = True) -> int:
        """Return the byte offset of a number within 2 GB of the latest; `onward` moves the latest ahead."""
        ahead = (number - self._latest + _MODULUS // 2) % _MODULUS - _MODULUS // 2
        if onward and ahead > 0:
            self._latest, self._bytes = number, self._bytes + ahead
            return self._bytes
        return self._bytes + ahead

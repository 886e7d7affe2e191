"""Bounds of the numbers in a run's tables, the same for a file that is decoded and for rows that a lab sends."""

from __future__ import annotations

from typing import Any

LONGEST = 1e5
"""Largest time of a sample, seconds since the start of the traffic: a bit more than a day."""
MOST_COUNT = 1 << 53
"""Largest exact integer of a float; a kernel that counts bytes at 100 Gbit/s reaches it in eight days."""
MOST_TIME, MOST_RATE = 1e9, 1e21
"""Largest duration, s, and rate, bit/s; the kernel's "no limit" is 2^64 bytes/s."""
_SIGNED = {"acked", "sent", "window", "first", "last"}
"""Byte offsets of a flow, which can lie before its first byte, and are -1 if not traced."""
_RATES = {"delivery_rate", "pacing_rate"}


def bounds(field: str, kind: Any) -> tuple[int, int] | tuple[float, float] | None:
    """Return the least and the largest number of a column; None for a column of bools.

    Args:
        field: Name of the field.
        kind: Its type in a row: int, bool, float or float | None.
    """
    if kind is bool:
        return None
    if kind is int:
        return (-MOST_COUNT if field in _SIGNED else 0), MOST_COUNT
    return 0.0, LONGEST if field == "t" else MOST_RATE if field in _RATES else MOST_TIME

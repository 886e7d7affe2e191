"""Quantities with units in a text: "8.97 Mbit/s", "about 9 million bits per second"."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.base.errors import UnitError

_UNIT = r"[kMG]?bit/s|m?s\b|µs\b|[kKMG]i?B\b|bytes?\b|%"
# A match starts only at the first digit of a number, so that long numbers take linear time.
_QUANTITY = re.compile(rf"(?<!\d)(?P<number>\d++(?:,\d{{3}})*+(?:\.\d++)?)\s*+\**+\s*+(?P<unit>{_UNIT})")
_WORDS = (
    (re.compile(r"(?<!\d)(?<!\d\.)(\d[\d.]*+) million bits? (?:per|a|in a) second"), r"\1 Mbit/s"),
    (re.compile(r"(?<!\d)(?<!\d\.)(\d[\d.]*+) million bytes"), r"\1 MB"),
)
KINDS = ("rate", "time", "ratio", "size")


class ParsedQuantity(NamedTuple):
    """Number and its kind."""

    value: float
    """In the base unit."""
    kind: str


@lru_cache(4096)
def with_unit(written: str) -> ParsedQuantity | None:
    """Parse "20 ms" by the kind of its unit; return None for text without a unit."""
    for kind in KINDS:
        try:
            return ParsedQuantity(units.parse(written, kind), kind)
        except UnitError:
            continue
    return None


class WrittenQuantity(NamedTuple):
    """Position and value of a quantity in a text."""

    start: int
    end: int
    text: str
    kind: str
    value: float
    """In the base unit of its kind."""


def quantities(text: str) -> list[WrittenQuantity]:
    """Return the quantities in `text`, in order; numbers without a unit are skipped."""
    found = []
    for match in _QUANTITY.finditer(text):
        written = f"{match['number'].replace(',', '')} {match['unit']}"
        if (parsed := with_unit(written)) is not None:
            found.append(WrittenQuantity(match.start(), match.end(), match[0], parsed.kind, parsed.value))
    return found


def in_words(text: str) -> str:
    """Rewrite "9 million bits per second" as "9 Mbit/s"."""
    for pattern, written in _WORDS:
        text = pattern.sub(written, text)
    return text


_ROUNDING = 1e-9
"""Relative slack so that a value exactly at the tolerance counts in spite of binary rounding."""


def is_close(value: float, right: float, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Return True if `value` is within `absolute`, or within the relative tolerance, of `right`."""
    allowed = max(abs(right) * (relative + _ROUNDING), absolute + abs(right) * _ROUNDING)
    return math.isclose(value, right, rel_tol=0, abs_tol=allowed)


def slip(value: float, right: float, kind: str) -> str:
    """Return a sentence about an error by a factor of 8 or a power of ten, or an empty string."""
    if not value or not right or kind == "count":
        return ""
    factor = max(value / right, right / value)
    if not 1 < factor < 1e12:
        return ""
    if math.isclose(factor, 8, rel_tol=0.02) and kind in ("rate", "size"):
        return "That is off by a factor of 8: bits or bytes? "
    power = round(math.log10(factor))
    if power >= 1 and math.isclose(factor, 10**power, rel_tol=0.02):
        return f"That is off by a factor of {10**power}: look at the decimal point and the prefix. "
    return ""

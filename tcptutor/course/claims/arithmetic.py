"""What a page works out in its text: "128 KiB * 8 / 40 ms" in base units (bytes, seconds, bit/s, shares)."""

from __future__ import annotations

import re

from tcptutor import units
from tcptutor.course.expression import expression
from tcptutor.errors import UnitError

_QUANTITY = re.compile(r"\d[\d.]*\s*(?:[kMG]?bit/s|[mµ]?s\b|[kKMG]i?B\b|bytes\b|%)")
_KINDS = ("rate", "time", "size", "ratio")


def evaluate(formula: str) -> float:
    """Its value in base units. Raises UsageError for what is no arithmetic."""
    return expression(_QUANTITY.sub(lambda match: repr(_base(match[0])), formula)).value({})


def _base(written: str) -> float:
    for kind in _KINDS:
        try:
            return units.parse(written, kind)
        except UnitError:
            continue
    raise UnitError(f"{written!r} is no quantity")

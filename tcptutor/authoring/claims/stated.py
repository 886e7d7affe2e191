"""What the words of a claim say: a number in base units, and how near a run must come to it."""

from __future__ import annotations

import re
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.course.claim import ARITHMETIC, CAUSE, Claim
from tcptutor.course.figures.known import KNOWN
from tcptutor.course.figures.measured import MEASURED
from tcptutor.course.quantities import quantities

ROUNDED = 0.006
"""Relative difference that another way to round on the way may make."""

_DIGITS = re.compile(r"\d[\d,]*(?:\.(\d+))?")


class Stated(NamedTuple):
    """A value in the base unit of `kind`, and how far from it still agrees, in the same."""

    value: float
    slack: float
    kind: str


def stated(claim: Claim) -> Stated:
    """Raises UnitError for what cannot be read."""
    text = (claim.value or claim.text).replace("*", "").strip()
    kind = _kind(claim, text)
    value = units.parse(text, kind)
    if not claim.within:
        return Stated(value, max(ROUNDED * abs(value), _last_digit(text, value)), kind)
    if "%" in claim.within:
        return Stated(value, abs(value) * units.parse(claim.within, "ratio"), kind)
    return Stated(value, units.parse(claim.within, kind), kind)


def _kind(claim: Claim, text: str) -> str:
    """Of the claimed quantity; a share may be a plain number, and a plain number a share."""
    if claim.per is not None:
        return "number"
    if claim.of == CAUSE:
        return "name"
    if claim.of == ARITHMETIC:
        found = quantities(text)
        return found[0].kind if found else "number"
    kind = (KNOWN.get(claim.of) or MEASURED[claim.of]).kind
    if kind in ("number", "ratio"):
        return "ratio" if "%" in text else "number"
    return kind


def _last_digit(text: str, value: float) -> float:
    """Half of what one more in the last digit that is written would add, in base units."""
    written = _DIGITS.search(text)
    if written is None or not value:
        return 0.0
    number = float(written[0].replace(",", ""))
    if not number:
        raise UnitError(f"{text!r} is not a number with a unit")
    return 0.5 * 10.0 ** -len(written[1] or "") * abs(value) / number

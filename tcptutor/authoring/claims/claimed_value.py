"""Values stated by claims: a number in base units, with its tolerance."""

from __future__ import annotations

import re
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.course.claim import ARITHMETIC, CAUSE, Claim
from tcptutor.course.expression import expression
from tcptutor.course.figures.formulas import KNOWN
from tcptutor.course.figures.measurements import MEASURED
from tcptutor.course.written_quantities import quantities

ROUNDED = 0.006
"""Relative difference allowed for intermediate rounding."""

_DIGITS = re.compile(r"\d[\d,]*(?:\.(\d+))?")


class Stated(NamedTuple):
    """Value in the base unit of `kind`, and its absolute tolerance."""

    value: float
    slack: float
    kind: str


def stated(claim: Claim) -> Stated:
    """Parse the claimed value.

    Raises:
        UnitError: The value cannot be read.
    """
    text = (claim.value or claim.text).replace("*", "").strip()
    kind = _kind(claim, text)
    value = units.parse(text, kind)
    if not claim.tolerance:
        return Stated(value, max(ROUNDED * abs(value), _last_digit(text, value)), kind)
    if "%" in claim.tolerance:
        return Stated(value, abs(value) * units.parse(claim.tolerance, "ratio"), kind)
    return Stated(value, units.parse(claim.tolerance, kind), kind)


def _kind(claim: Claim, text: str) -> str:
    """Return the kind of the claimed quantity; shares and plain numbers are interchangeable."""
    if claim.ratio_to is not None:
        return "number"
    if claim.quantity == CAUSE:
        return "name"
    if claim.quantity == ARITHMETIC:
        found = quantities(text)
        return found[0].kind if found else "number"
    kind = (KNOWN.get(claim.quantity) or MEASURED[claim.quantity]).kind
    if kind in ("number", "ratio"):
        return "ratio" if "%" in text else "number"
    return kind


def _last_digit(text: str, value: float) -> float:
    """Return half a unit of the last written digit, in base units."""
    written = _DIGITS.search(text)
    if written is None or not value:
        return 0.0
    number = float(written[0].replace(",", ""))
    if not number:
        raise UnitError(f"{text!r} is not a number with a unit")
    return 0.5 * 10.0 ** -len(written[1] or "") * abs(value) / number


def evaluate(formula: str) -> float:
    """Evaluate `formula` in base units.

    Raises:
        UsageError: The formula is not arithmetic.
    """
    for written in reversed(quantities(formula)):
        formula = f"{formula[: written.start]}{written.value!r}{formula[written.end :]}"
    return expression(formula).value({})


def in_one_line(text: str) -> str:
    """Remove line breaks and bold marks."""
    return " ".join(text.replace("**", "").split())

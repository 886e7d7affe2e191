"""Calculations in claims: "128 KiB * 8 / 40 ms" in base units (bytes, seconds, bit/s, shares)."""

from __future__ import annotations

from tcptutor.course.expression import expression
from tcptutor.course.quantities import quantities


def evaluate(formula: str) -> float:
    """Evaluate `formula` in base units.

    Raises:
        UsageError: The formula is not arithmetic.
    """
    for written in reversed(quantities(formula)):
        formula = f"{formula[: written.start]}{written.value!r}{formula[written.end :]}"
    return expression(formula).value({})

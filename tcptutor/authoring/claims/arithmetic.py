"""What a page works out in its text: "128 KiB * 8 / 40 ms" in base units (bytes, seconds, bit/s, shares)."""

from __future__ import annotations

from tcptutor.course.expression import expression
from tcptutor.course.quantities import quantities


def evaluate(formula: str) -> float:
    """Its value in base units. Raises UsageError for what is no arithmetic."""
    for written in reversed(quantities(formula)):
        formula = f"{formula[: written.start]}{written.value!r}{formula[written.end :]}"
    return expression(formula).value({})

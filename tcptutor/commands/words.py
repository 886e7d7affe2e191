"""Numbers in the output of commands: counts, durations, means with confidence intervals."""

from __future__ import annotations

import math

from tcptutor.base import units
from tcptutor.base.confidence import Summary
from tcptutor.sweep.results import Point


def duration(seconds: float) -> str:
    """Format seconds like "40 s", "12 min" or "3.5 h"."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def not_valid(point: Point) -> str:
    """Describe invalid runs with their most common reason: "2 of 5 not valid: only 3 loss events"; empty for none."""
    if not point.doubtful:
        return ""
    return f"{point.doubtful} of {len(point.seeds)} not valid" + (f": {point.doubt}" if point.doubt else "")


def count(number: int, what: str) -> str:
    """Format a count like "1 cell", "2 cells"."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def with_interval(summary: Summary, scale: float, unit: str) -> str:
    """Format a mean and half the width of its confidence interval like "9.53 ± 0.21 Mbit/s"."""
    mean = summary.mean / scale
    half = f" ± {_half(summary.half_width / scale, mean)}" if summary.half_width is not None else ""
    return f"{mean:.3g}{half}{unit and ' '}{unit}"


def _half(half: float, mean: float) -> str:
    """Format like "0.21", or "0.00" when it is too small for the three digits of the mean."""
    digits = 2 - math.floor(math.log10(abs(mean))) if mean else 0
    shows = not mean or half == 0 or half >= 10.0**-digits / 2
    return f"{half:.2g}" if shows else f"{0:.{max(0, digits)}f}"


def rate_with_interval(summary: Summary) -> str:
    """Format a summary in bit/s like "9.53 ± 0.21 Mbit/s", in the unit that suits the mean."""
    scale, unit = units.axis_unit(summary.mean, "rate")
    return with_interval(summary, scale, unit)


def difference(ratio: Summary) -> str:
    """Format the relative error of a measurement from its ratio to the prediction: "−4 %" or "+6 ± 2 %"."""
    rounded = units.signed_percent(ratio.mean - 1)
    if ratio.half_width is None:
        return rounded
    return f"{rounded.removesuffix(' %')} ± {100 * ratio.half_width:.2g} %"

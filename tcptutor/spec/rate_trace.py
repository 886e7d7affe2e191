"""Traces of a bottleneck's rate: steps in text, a table of seconds and rates, or mahimahi's delivery opportunities."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, quoted

MOST_STEPS = 1000
"""Largest number of steps in a run."""
LEAST_STEP = 0.2
"""Shortest step, s: the kernel refills the shaper's bucket at each."""
LEAST_RATE, LARGEST_RATE = 1e5, 1e11
"""Bounds of a step, bit/s. A full frame takes 0.12 s at the least rate, which replaces pauses of a trace."""
EXAMPLE = "steps like '0 s 5 Mbit/s; 10 s 1 Mbit/s', or a file: a line 'seconds,rate' for each, or mahimahi's"
_MOST_LINES = 2_000_000
_OPPORTUNITY = 8 * 1504
"""Bits that a delivery opportunity of mahimahi carries (mm-link(1): a packet of 1504 bytes)."""
_STEP = re.compile(r"\s*([0-9.]+\s*(?:[a-zµ]+)?)\s*[,;\s]\s*(\S.*?)\s*")
_HEADER = re.compile(r"\s*[a-z][^,;\t]*[,;\t]\s*(?P<name>\S.*?)\s*", re.IGNORECASE)
_UNIT = re.compile(
    r"(?:rate|bandwidth)?[\s_(\[]*(?P<unit>[kmgt]?i?(?:bit/s|bits/s|bps))[)\]]*", re.IGNORECASE
)

Trace = tuple[tuple[float, float], ...]


def is_inline(text: str) -> bool:
    """Return whether `text` holds the steps themselves, and is not the name of a file."""
    return _STEP.fullmatch(text.split(";", maxsplit=1)[0]) is not None


def text_of(trace: Trace) -> str:
    """Format a trace as `parse` reads it."""
    return "; ".join(f"{units.write(at, 'time')} {units.write(rate, 'rate')}" for at, rate in trace) or "none"


def parse(text: str) -> Trace:
    """Return the steps in `text`: written with semicolons, or the content of a file.

    Raises ParameterError, whose message begins with the parameter.
    """
    if text.strip().lower() in ("", "none"):
        return ()
    lines = re.split(r"[\r\n]+", text) if "\n" in text.strip() else text.split(";")
    lines = [line.strip() for line in lines]
    lines = [line for line in lines if line and not line.startswith("#")]
    if len(lines) > _MOST_LINES:
        raise _refused(f"{len(lines)} lines: take a shorter trace")
    if all(line.isdigit() for line in lines):
        return _of_opportunities([int(line) for line in lines])
    return _of_table(lines)


def _of_table(lines: Sequence[str]) -> Trace:
    unit = ""
    if lines and (header := _HEADER.fullmatch(lines[0])):
        known = _UNIT.fullmatch(header["name"])
        if known is None and header["name"].lower() not in ("rate", "bandwidth"):
            raise _refused(f"{quoted(header['name'])} names no unit: write the header 'seconds,Mbit/s'")
        unit, lines = known["unit"] if known else "", lines[1:]
    steps = [_step(line, unit) for line in lines]
    if not steps:
        raise _refused(f"there is no step: write {EXAMPLE}")
    if steps[0][0] != 0:
        raise _refused("the first step is not at 0 s: begin with the rate at the start")
    found: list[tuple[float, float]] = []
    for line, (at, rate) in zip(lines, steps, strict=True):
        if found and at < found[-1][0] + LEAST_STEP - 1e-9:
            raise _refused(
                f"{quoted(line)} comes less than {LEAST_STEP:g} s after the step before: write them in order of time,"
                f" {LEAST_STEP:g} s or more apart"
            )
        found.append((_written(at), _written(rate)))
    return tuple(found)


def _written(value: float) -> float:
    """Round to the digits that `units.write` keeps, so that the text of a trace gives the same trace."""
    return float(f"{value:.6g}")


def _step(line: str, unit: str) -> tuple[float, float]:
    match = _STEP.fullmatch(line)
    if match is None:
        raise _refused(f"{quoted(line)} is not a step: write {EXAMPLE}")
    try:
        at, rate = units.parse(match[1], "time", "s"), units.parse(match[2], "rate", unit)
    except UnitError as error:
        raise _refused(str(error)) from None
    if not LEAST_RATE <= rate <= LARGEST_RATE:
        low, high = (units.write(bound, "rate") for bound in (LEAST_RATE, LARGEST_RATE))
        raise _refused(f"{quoted(match[2])} is out of bounds: {low} to {high}")
    return at, rate


def _of_opportunities(milliseconds: Sequence[int]) -> Trace:
    """Count the opportunities of each step; the last one, which may be cut off, ends with the trace."""
    if any(after < before for before, after in pairwise(milliseconds)):
        raise _refused("its milliseconds do not increase: is it a trace of mahimahi?")
    length = round(1000 * LEAST_STEP)
    counts = [0] * (milliseconds[-1] // length + 1)
    if len(counts) > _MOST_LINES:
        raise _refused(f"it is {milliseconds[-1] / 1000:g} s long: take a shorter trace")
    for moment in milliseconds:
        counts[min(moment // length, len(counts) - 1)] += 1
    if len(counts) > 1 and milliseconds[-1] % length < length - 1:
        counts.pop()
    rates = [min(LARGEST_RATE, max(LEAST_RATE, count * _OPPORTUNITY / LEAST_STEP)) for count in counts]
    return tuple((_written(at * LEAST_STEP), _written(rate)) for at, rate in enumerate(rates))


def within(trace: Trace, seconds: float) -> Trace:
    """Return the steps of the first `seconds`, without steps that change nothing.

    Raises ParameterError for too many steps.
    """
    kept: list[tuple[float, float]] = []
    for at, rate in trace:
        if at < seconds and (not kept or kept[-1][1] != rate):
            kept.append((at, rate))
    if len(kept) > MOST_STEPS:
        raise _refused(f"{len(kept)} steps in this run, at most {MOST_STEPS}: take a shorter duration")
    return tuple(kept)


def mean_rate(trace: Trace, start: float, end: float) -> float:
    """Return the mean rate from `start` to `end`, bit/s; `end` must be later."""
    ends = (*(at for at, _ in trace[1:]), math.inf)
    bits = (
        rate * max(0.0, min(until, end) - max(at, start))
        for (at, rate), until in zip(trace, ends, strict=True)
    )
    return math.fsum(bits) / (end - start)


def summary(trace: Trace) -> str:
    """Describe a trace in a few words."""
    rates = [rate for _, rate in trace]
    if len(rates) < 2:
        return f"{units.rate(rates[0])} throughout" if rates else "none"
    low, high = units.rate(min(rates)), units.rate(max(rates))
    return f"{len(rates)} steps, {low} to {high}"


def _refused(reason: str) -> ParameterError:
    return ParameterError(f"rate_trace: {reason}")

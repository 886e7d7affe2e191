"""Near misses in values: tc's units, missing units, and half of the requested value."""

from __future__ import annotations

from tcptutor.base.headers import ETHERNET_HEADER
from tcptutor.course.goals.goal import Condition
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount, rate

_RATES = ("path.rate", "path.reverse_rate", "hosts.maxrate")


def _numbers(attempt: Attempt, *names: str) -> list[tuple[Condition, float]]:
    """Return the unmet conditions of these names or kinds that have a nonzero number."""
    found = []
    for each in attempt.unmet:
        value = each.term.value(attempt.view)
        if (each.term.name in names or each.term.kind in names) and isinstance(value, int | float) and value:
            found.append((each, float(value)))
    return found


def bytes_for_bits(attempt: Attempt) -> str:
    """Detect tc's mbps, which means bytes per second."""
    for each, value in _numbers(attempt, *_RATES):
        if each.requirement.holds(value / 8):
            return f"{rate(value)} is eight times too much: in tc, mbps is megabytes per second and mbit megabits"
        if each.requirement.holds(value * 8):
            return f"{rate(value)} is an eighth of the goal: 1 MB/s is 8 Mbit/s"
    return ""


def prefix(attempt: Attempt) -> str:
    """Detect a rate with a wrong or missing prefix."""
    for each, value in _numbers(attempt, *_RATES):
        for factor in (1e3, 1e6, 1e-3):
            if each.requirement.holds(value * factor):
                how = {
                    1e3: "a thousandth of the goal",
                    1e6: "a millionth of the goal",
                    1e-3: "a thousand times the goal",
                }[factor]
                return f"{rate(value)} is {how}: write kbit, mbit or gbit, because tc reads a plain number as bit/s"
    return ""


def time_unit(attempt: Attempt) -> str:
    """Detect a delay without a unit, which tc reads as nanoseconds or microseconds."""
    for each, value in _numbers(attempt, "path.delay", "path.jitter", "path.reverse_delay"):
        if each.requirement.holds(value * 1e3) or each.requirement.holds(value * 1e6):
            # The assumed unit depends on the version of tc.
            number, unit = (value * 1e9, "ns") if value < 1e-6 else (value * 1e6, "µs")
            return (
                f"the delay is {number:.3g} {unit}: tc does not read a plain number as milliseconds; write"
                f" {number:.3g}ms, not {number:.3g}"
            )
        if each.requirement.holds(value / 1e3):
            return f"{amount(value, 'time')} is a thousand times too much: write ms, not s"
    return ""


def half(attempt: Attempt) -> str:
    """Detect half of the RTT's delay on the data path."""
    for each, value in _numbers(attempt, "path.delay"):
        if each.requirement.holds(value * 2) and not attempt.view.experiment.path.reverse_delay:
            return (
                f"{amount(value, 'time')} is half of the goal: the reverse path adds no delay here, so the whole delay"
                " belongs on the data path"
            )
    return ""


def percent(attempt: Attempt) -> str:
    """Detect a loss rate off by a factor of 100, as tc reads plain numbers as percent."""
    for each, value in _numbers(attempt, "ratio"):
        if each.term.about_run:
            continue
        if each.requirement.holds(value * 100):
            return (
                f"{amount(value, 'ratio')} is a hundredth of the goal: tc reads a number without % as percent"
            )
        if each.requirement.holds(value / 100):
            return (
                f"{amount(value, 'ratio')} is a hundred times too much: tc reads percent, so 0.01 is 0.01 %"
            )
    return ""


def packets_for_bytes(attempt: Attempt) -> str:
    """Detect tbf's limit in packets: it is in bytes, unlike netem's and pfifo's."""
    frame = attempt.view.experiment.hosts.mtu + ETHERNET_HEADER
    for each, value in _numbers(attempt, "path.queue"):
        if any(each.requirement.holds(value * size) for size in (frame, frame - ETHERNET_HEADER, 1000)):
            packets = f"{value:.0f} packets"
            return f"tbf's limit is in bytes, not packets: {packets} take {amount(value * frame, 'size')}"
    return ""


SLIPS = (
    Slip("bytes-for-bits", bytes_for_bits),
    Slip("prefix", prefix),
    Slip("time-unit", time_unit),
    Slip("half", half),
    Slip("percent", percent),
    Slip("packets-for-bytes", packets_for_bytes),
)

"""Near misses in values: tc's units, missing units, and half of the requested value."""

from __future__ import annotations

from tcptutor.course.goals.goal import Condition
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount, rate
from tcptutor.spec import ETHERNET_HEADER

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
            return f"{rate(value)} is eight times as much: tc's mbps is bytes a second, mbit is bits"
        if each.requirement.holds(value * 8):
            return f"{rate(value)} is an eighth of it: 1 MB/s is 8 Mbit/s"
    return ""


def prefix(attempt: Attempt) -> str:
    """Detect a rate with a wrong or missing prefix."""
    for each, value in _numbers(attempt, *_RATES):
        for factor in (1e3, 1e6, 1e-3):
            if each.requirement.holds(value * factor):
                how = {1e3: "a thousandth of it", 1e6: "a millionth of it", 1e-3: "a thousand times it"}[
                    factor
                ]
                return (
                    f"{rate(value)} is {how}: tc has kbit, mbit and gbit, and takes bit/s where none stands"
                )
    return ""


def time_unit(attempt: Attempt) -> str:
    """Detect a delay without a unit, which tc reads as nanoseconds or microseconds."""
    for each, value in _numbers(attempt, "path.delay", "path.jitter", "path.reverse_delay"):
        if each.requirement.holds(value * 1e3) or each.requirement.holds(value * 1e6):
            # The assumed unit depends on the version of tc.
            number, unit = (value * 1e9, "ns") if value < 1e-6 else (value * 1e6, "µs")
            return (
                f"the kernel holds {number:.3g} {unit}: a number without a unit is not milliseconds to tc; write"
                f" {number:.3g}ms, not {number:.3g}"
            )
        if each.requirement.holds(value / 1e3):
            return f"{amount(value, 'time')} is a thousand times as much: write ms, not s"
    return ""


def half(attempt: Attempt) -> str:
    """Detect half of the RTT's delay on the data path."""
    for each, value in _numbers(attempt, "path.delay"):
        if each.requirement.holds(value * 2) and not attempt.view.experiment.path.reverse_delay:
            return (
                f"{amount(value, 'time')} is half of it: the way back adds nothing here, so all of the RTT's delay"
                " goes on the data's way"
            )
    return ""


def percent(attempt: Attempt) -> str:
    """Detect a loss rate off by a factor of 100, as tc reads plain numbers as percent."""
    for each, value in _numbers(attempt, "ratio"):
        if each.term.about_run:
            continue
        if each.requirement.holds(value * 100):
            return f"{amount(value, 'ratio')} is a hundredth of it: tc takes a number without % for percent already"
        if each.requirement.holds(value / 100):
            return f"{amount(value, 'ratio')} is a hundred times as much: tc takes percent, 0.01 is 0.01 %"
    return ""


def packets_for_bytes(attempt: Attempt) -> str:
    """Detect tbf's limit in packets: it is in bytes, unlike netem's and pfifo's."""
    frame = attempt.view.experiment.hosts.mtu + ETHERNET_HEADER
    for each, value in _numbers(attempt, "path.queue"):
        if any(each.requirement.holds(value * size) for size in (frame, frame - ETHERNET_HEADER, 1000)):
            packets = f"{value:.0f} packets"
            return f"tbf's limit is in bytes, not in packets: for {packets} it takes {amount(value * frame, 'size')}"
    return ""


SLIPS = (
    Slip("bytes-for-bits", bytes_for_bits),
    Slip("prefix", prefix),
    Slip("time-unit", time_unit),
    Slip("half", half),
    Slip("percent", percent),
    Slip("packets-for-bytes", packets_for_bytes),
)

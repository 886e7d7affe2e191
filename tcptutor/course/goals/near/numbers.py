"""Near misses of a value: what tc makes of a unit, of a number without one, and of half of what was asked."""

from __future__ import annotations

from tcptutor.course.goals.goal import Condition
from tcptutor.course.goals.near.slip import Attempt, Slip, amount, rate
from tcptutor.spec import ETHERNET_HEADER

_RATES = ("path.rate", "path.reverse_rate", "hosts.maxrate")


def _numbers(attempt: Attempt, *names: str) -> list[tuple[Condition, float]]:
    """Unmet conditions with a number that is there, of those names or kinds."""
    found = []
    for each in attempt.unmet:
        value = each.term.value(attempt.view)
        if (each.term.name in names or each.term.kind in names) and isinstance(value, int | float) and value:
            found.append((each, float(value)))
    return found


def bytes_for_bits(attempt: Attempt) -> str:
    """tc's mbps is bytes."""
    for each, value in _numbers(attempt, *_RATES):
        if each.wanted.holds(value / 8):
            return f"{rate(value)} is eight times as much: tc's mbps is bytes a second, mbit is bits"
        if each.wanted.holds(value * 8):
            return f"{rate(value)} is an eighth of it: 1 MB/s is 8 Mbit/s"
    return ""


def prefix(attempt: Attempt) -> str:
    """A rate without prefix, or with another one."""
    for each, value in _numbers(attempt, *_RATES):
        for factor in (1e3, 1e6, 1e-3):
            if each.wanted.holds(value * factor):
                how = {1e3: "a thousandth of it", 1e6: "a millionth of it", 1e-3: "a thousand times it"}[
                    factor
                ]
                return (
                    f"{rate(value)} is {how}: tc has kbit, mbit and gbit, and takes bit/s where none stands"
                )
    return ""


def time_unit(attempt: Attempt) -> str:
    """A delay without a unit, which tc takes for nanoseconds or microseconds."""
    for each, value in _numbers(attempt, "path.delay", "path.jitter", "path.reverse_delay"):
        if each.wanted.holds(value * 1e3) or each.wanted.holds(value * 1e6):
            # Which of the two it takes it for depends on its version.
            number, unit = (value * 1e9, "ns") if value < 1e-6 else (value * 1e6, "µs")
            return (
                f"the kernel holds {number:.3g} {unit}: a number without a unit is not milliseconds to tc; write"
                f" {number:.3g}ms, not {number:.3g}"
            )
        if each.wanted.holds(value / 1e3):
            return f"{amount(value, 'time')} is a thousand times as much: write ms, not s"
    return ""


def half(attempt: Attempt) -> str:
    """A delay on each way was meant, or the RTT on one."""
    for each, value in _numbers(attempt, "path.delay"):
        if each.wanted.holds(value * 2) and not attempt.view.experiment.path.reverse_delay:
            return (
                f"{amount(value, 'time')} is half of it: the way back adds nothing here, so all of the RTT's delay"
                " goes on the data's way"
            )
    return ""


def percent(attempt: Attempt) -> str:
    """tc takes a loss without a sign for percent."""
    for each, value in _numbers(attempt, "ratio"):
        if each.term.about_run:
            continue
        if each.wanted.holds(value * 100):
            return f"{amount(value, 'ratio')} is a hundredth of it: tc takes a number without % for percent already"
        if each.wanted.holds(value / 100):
            return f"{amount(value, 'ratio')} is a hundred times as much: tc takes percent, 0.01 is 0.01 %"
    return ""


def packets_for_bytes(attempt: Attempt) -> str:
    """tbf's limit is in bytes, netem's and pfifo's in packets."""
    frame = attempt.view.experiment.hosts.mtu + ETHERNET_HEADER
    for each, value in _numbers(attempt, "path.queue"):
        if any(each.wanted.holds(value * size) for size in (frame, frame - ETHERNET_HEADER, 1000)):
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

"""Quantities that say whether a fault is there, beside those of a path and of a sysctl as a whole."""

from __future__ import annotations

from collections import Counter

from tcptutor.course.goals.interfaces import carries_data
from tcptutor.course.goals.lab_view import LabView


def smallest_bucket(view: LabView) -> float | None:
    """Bytes that tbf lets through at once, on the way of the data; None without one."""
    return min(
        (
            float(one.settings["burst"])
            for interface in view.state.interfaces
            if carries_data(interface.name, view.pairs)
            for one in interface.qdiscs
            if one.kind == "tbf"
        ),
        default=None,
    )


def send_buffer_limit(view: LabView) -> float | None:
    """Bytes up to which the send buffers of all senders may grow; None while a session does not tell of it."""
    told = [view.sysctl(host, "tcp_wmem") for host in view.senders]
    return min(float(numbers.split()[-1]) for numbers in told if numbers) if all(told) else None


def shared_addresses(view: LabView) -> int | None:
    """How many addresses more than one interface has; None while a session does not tell of them."""
    found = Counter(
        address.partition("/")[0] for interface in view.state.interfaces for address in interface.addresses
    )
    return sum(number > 1 for number in found.values()) if found else None

"""Quantities that detect faults of a lab, in addition to path parameters and sysctls."""

from __future__ import annotations

from collections import Counter

from tcptutor.course.goals.interfaces import carries_data
from tcptutor.course.goals.lab_view import LabView


def smallest_bucket(view: LabView) -> float | None:
    """Return the smallest tbf burst on the data path, bytes; None without tbf."""
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
    """Return the smallest send buffer limit of the senders, bytes; None until a session reports it."""
    told = [view.sysctl(host, "tcp_wmem") for host in view.senders]
    return min(float(numbers.split()[-1]) for numbers in told if numbers) if all(told) else None


def shared_addresses(view: LabView) -> int | None:
    """Return the number of addresses on several interfaces; None until a session reports them."""
    found = Counter(
        address.partition("/")[0] for interface in view.state.interfaces for address in interface.addresses
    )
    return sum(number > 1 for number in found.values()) if found else None

"""Terms of goals: quantities of the experiment in the kernel, and of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.figures.formulas import mathis
from tcptutor.course.figures.measurements import MEASURED
from tcptutor.course.goals.interfaces import carries_data
from tcptutor.course.goals.lab_run import LabRun
from tcptutor.course.goals.lab_view import ALGORITHM, SYSCTL, GoalQuantity, LabView
from tcptutor.course.goals.place_terms import PLACES, placed_term
from tcptutor.spec import PARAMETERS


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


_REPORTED = (
    "rate", "delay", "jitter", "loss", "loss_burst", "duplicate", "reorder", "queue", "qdisc", "ecn",
    "reverse_rate", "reverse_delay", "reverse_loss", "reverse_queue",
)  # fmt: skip
"""Path parameters a session reports. It omits the shaper's bucket: the rate does not depend on its qdisc."""
_SHAPED = {"queue": "rate", "qdisc": "rate", "ecn": "rate", "reverse_queue": "reverse_rate"}
"""Quantities that exist only with that rate."""


def _of_path(name: str) -> GoalQuantity:
    known = PARAMETERS[name]

    def value(view: LabView) -> Any:
        path = view.experiment.path
        if name in _SHAPED and getattr(path, _SHAPED[name]) is None:
            return None
        found = getattr(path, name)
        return ("on" if found else "off") if isinstance(found, bool) else found

    return GoalQuantity(
        f"path.{name}", "size" if known.kind == "window" else known.kind, value, known.choices
    )


def _algorithms(view: LabView) -> tuple[str | None, ...]:
    """Return the algorithms of the run's flows, or of the senders' next connections."""
    if view.run is not None:
        own = view.run.experiment.hosts
        return own.algorithms or (own.algorithm,)
    return tuple(view.sysctl(host, ALGORITHM) for host in view.senders)


def _of_sysctl(name: str, sysctl: str, host: str) -> GoalQuantity:
    def values(view: LabView) -> tuple[str | None, ...]:
        return tuple(view.sysctl(each, sysctl) for each in ([host] if host else view.hosts))

    return GoalQuantity(name, "sysctl", values, host=host)


def _of_run(
    name: str, kind: str, value: Callable[[LabRun], Any], choices: tuple[str, ...] = (), at_end: bool = False
) -> GoalQuantity:
    def of(view: LabView) -> Any:
        return value(view.run) if view.run is not None else None

    return GoalQuantity(name, kind, of, choices, about_run=True, at_end=at_end)


def _measured(name: str) -> GoalQuantity:
    kind = MEASURED[name].kind  # type: ignore[index]
    return _of_run(f"run.{name}", kind, lambda run: run.clock_corrected(name), at_end=True)


def _mathis_ratio(run: LabRun) -> float | None:
    """Return throughput over Mathis's formula; None for a path without loss or delay."""
    measured = run.figure("throughput")
    try:
        return measured / mathis(run.experiment) if measured is not None else None
    except UsageError:
        return None


TERMS: dict[str, GoalQuantity] = {
    term.name: term
    for term in (
        *map(_of_path, _REPORTED),
        GoalQuantity("hosts.algorithm", "algorithm", _algorithms),
        GoalQuantity("hosts.maxrate", "rate", lambda view: view.experiment.hosts.maxrate),
        GoalQuantity("path.burst", "size", smallest_bucket),
        GoalQuantity("hosts.send-buffer-limit", "size", send_buffer_limit),
        GoalQuantity("addresses.shared", "count", shared_addresses),
        _of_run("flow.bytes", "size", lambda run: run.largest_payload),
        _of_run("queue.drops", "count", lambda run: run.drops),
        _of_run("run.streams", "count", lambda run: run.experiment.flows.streams),
        _of_run("run.udp-streams", "count", lambda run: run.experiment.flows.udp_streams),
        _of_run("run.duration", "time", lambda run: run.duration),
        *(_measured(name) for name in MEASURED if name != "queue-drops"),
        _of_run("run.mathis-ratio", "number", _mathis_ratio, at_end=True),
        _of_run("run.limited-by", "name", lambda run: run.limited_by, tuple(CAUSE_NAMES), at_end=True),
    )
}
"""Quantities by name, in addition to sysctls (`sysctl.tcp_sack`, `sysctl.h1.tcp_sack`) and to `placed`."""


def term(name: str, hosts: tuple[str, ...]) -> GoalQuantity:
    """Return the quantity of that name in a lab with these `hosts`.

    Raises:
        UsageError: The name is unknown; the message lists candidates.
    """
    if found := SYSCTL.fullmatch(name):
        if found["host"] and found["host"] not in hosts:
            raise UsageError(unknown("host", found["host"], hosts))
        if found["name"] == ALGORITHM and not found["host"]:
            raise UsageError("use hosts.algorithm: only the senders' algorithm matters")
        return _of_sysctl(name, found["name"], found["host"] or "")
    if (placed := placed_term(name, hosts)) is not None:
        return placed
    if name not in TERMS:
        more = f"sysctl.tcp_… or sysctl.h1.tcp_…, and {', '.join(PLACES)} with a host or interface, such as mtu.h1"
        raise UsageError(unknown("quantity", name, TERMS, f"choose from {', '.join(TERMS)}, {more}"))
    return TERMS[name]

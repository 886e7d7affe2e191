"""The quantities that goals are written in: those of an experiment as the kernel holds it, and those of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.figures.known import mathis
from tcptutor.course.figures.measured import MEASURED
from tcptutor.course.goals.faults import send_buffer_limit, shared_addresses, smallest_bucket
from tcptutor.course.goals.lab_run import LabRun
from tcptutor.course.goals.lab_view import ALGORITHM, LabView
from tcptutor.course.goals.placed import PLACES, placed_term
from tcptutor.course.goals.quantity import SYSCTL, GoalQuantity
from tcptutor.spec import PARAMETERS
from tcptutor.theory.models import CAUSE_NAMES

_REPORTED = (
    "rate", "delay", "jitter", "loss", "loss_burst", "duplicate", "reorder", "queue", "qdisc", "ecn",
    "reverse_rate", "reverse_delay", "reverse_loss", "reverse_queue",
)  # fmt: skip
"""What a session tells of the path. The bucket of the shaper is not among it: a path has a rate, whatever makes it."""
_SHAPED = {"queue": "rate", "qdisc": "rate", "ecn": "rate", "reverse_queue": "reverse_rate"}
"""Only where that rate is there does it mean anything."""


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
    """Of a run those that its flows have; else what the senders' next connections take."""
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
    return _of_run(f"run.{name}", kind, lambda run: run.in_time(name), at_end=True)


def _per_mathis(run: LabRun) -> float | None:
    """The throughput over what Mathis's formula gives for the run's path; None where there is no loss or no delay."""
    measured = run.measured("throughput")
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
        _of_run("flow.bytes", "size", lambda run: run.carried),
        _of_run("queue.drops", "count", lambda run: run.drops),
        _of_run("run.streams", "count", lambda run: run.experiment.flows.streams),
        _of_run("run.udp-streams", "count", lambda run: run.experiment.flows.udp_streams),
        _of_run("run.duration", "time", lambda run: run.lasted),
        *(_measured(name) for name in MEASURED if name != "queue-drops"),
        _of_run("run.per-mathis", "number", _per_mathis, at_end=True),
        _of_run("limited_by", "name", lambda run: run.limited_by, tuple(CAUSE_NAMES), at_end=True),
    )
}
"""By name; a sysctl is one as well, `sysctl.tcp_sack` of all hosts and `sysctl.h1.tcp_sack` of one, and what `placed`
has."""


def term(name: str, hosts: tuple[str, ...]) -> GoalQuantity:
    """The quantity of that name in a lab with those `hosts`. Raises UsageError that says what was meant."""
    if found := SYSCTL.fullmatch(name):
        if found["host"] and found["host"] not in hosts:
            raise UsageError(unknown("host", found["host"], hosts))
        if found["name"] == ALGORITHM and not found["host"]:
            raise UsageError("say hosts.algorithm: it is the senders' that counts")
        return _of_sysctl(name, found["name"], found["host"] or "")
    if (placed := placed_term(name, hosts)) is not None:
        return placed
    if name not in TERMS:
        more = f"sysctl.tcp_… or sysctl.h1.tcp_…, and {', '.join(PLACES)} of a place, such as mtu.h1"
        raise UsageError(unknown("quantity", name, TERMS, f"there are {', '.join(TERMS)}, {more}"))
    return TERMS[name]

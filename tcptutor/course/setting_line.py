"""The settings of an experiment in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptutor.base import sizes, units
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.spec.rate_trace import summary

if TYPE_CHECKING:
    from tcptutor.spec import Experiment

IMPORTED = "imported/"
"""Prefix of imported experiments' names. Their queue is unknown, so it is not shown."""


def senders(experiment: Experiment) -> str:
    """Return the kinds of senders: "CUBIC", "CUBIC + BBR", "Reno + UDP", "UDP"."""
    flows = range(experiment.total_streams)
    names = [algorithm_name(name) for name in dict.fromkeys(experiment.algorithm(flow) for flow in flows)]
    udp = ["UDP"] if experiment.flows.udp_streams else []
    return " + ".join([*names, *udp])


def experiment_line(experiment: Experiment, width: int | None = None, *, with_senders: bool = True) -> str:
    """Return the settings in a line: "Reno · 100 Mbit/s · 20 ms · loss 0.1 % · queue 244 KiB".

    Drops the last settings, beginning with the queue, until the line fits in `width`.
    """
    path, hosts, flows = experiment.path, experiment.hosts, experiment.flows
    imported = experiment.name.startswith(IMPORTED)
    is_known = with_senders and not (imported and hosts.algorithm == "unknown")
    parts = [senders(experiment)] if is_known else []
    if path.unread:
        parts.append(f"not read: {', '.join(path.unread)}")
    elif path.rate or not imported:
        traced = f"rate trace of {summary(path.rate_trace)}" if path.rate_trace else ""
        parts.append(traced or (units.rate(path.rate) if path.rate else "no rate limit"))
    if path.delay:
        jitter = f" ± {units.seconds(path.jitter)}" if path.jitter else ""
        parts.append(f"{units.seconds(path.delay)}{jitter}")
    if path.loss:
        burst = f", {path.loss_burst:g} in a row" if path.loss_burst > 1 else ""
        parts.append(f"loss {units.percent(path.loss)}{burst}")
    if path.second_rate is not None:
        added = f" and {units.seconds(path.second_delay)}" if path.second_delay else ""
        parts.append(f"then {units.rate(path.second_rate)}{added}")
    if hosts.window:
        parts.append(f"window {sizes.decimal(hosts.window)}")
    if flows.pacing:
        parts.append(f"paced at {units.rate(flows.pacing)}")
    if hosts.maxrate:
        parts.append(f"fq maxrate {units.rate(hosts.maxrate)}")
    if hosts.mtu != 1500:
        parts.append(f"MTU {hosts.mtu}")
    if path.rate and not imported:
        parts.append(f"queue {path.queue_text}")
    while width is not None and len(" · ".join(parts)) > width and len(parts) > 1:
        parts.pop()
    return " · ".join(parts)

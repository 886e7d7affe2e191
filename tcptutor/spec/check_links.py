"""Validation of a second bottleneck."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base.errors import UsageError
from tcptutor.spec.definition import Experiment
from tcptutor.spec.parts import Path

_ELSEWHERE = (
    "jitter",
    "reorder",
    "duplicate",
    "ecn",
    "reverse_rate",
    "reverse_delay",
    "reverse_loss",
    "rate_trace",
)
"""Properties of a path that are possible with a single bottleneck only."""
_UNUSED = ("second_delay", "crosses")
"""Properties of a path that only a second bottleneck gives a meaning."""


def check_for_shell(experiment: Experiment) -> None:
    """Raise UsageError if a session of shells cannot have the network of `experiment`."""
    if experiment.topology.has_second:
        raise UsageError("second_rate: a network with a shell has one bottleneck: omit second_rate")


def link_rules(experiment: Experiment) -> Iterator[tuple[bool, str]]:
    """Yield contradictions between a second bottleneck and other parameters: whether they apply, and a message."""
    path, flows, default = experiment.path, experiment.flows, Path()
    if path.second_rate is None:
        for name in _UNUSED:
            yield (
                getattr(path, name) != getattr(default, name),
                f"{name}: there is one bottleneck: set second_rate",
            )
        return
    yield path.rate is None, "second_rate: the first link has no rate: set rate"
    yield (
        len(path.crosses) > experiment.pairs,
        f"crosses: {len(path.crosses)} values for {experiment.pairs} pair{'s' if experiment.pairs > 1 else ''}",
    )
    crossed = {link for pair in range(experiment.pairs) for link in experiment.links_of(pair)}
    for link, name in ((0, "first"), (1, "second")):
        yield (
            link not in crossed,
            f"crosses: no pair crosses the {name} link: write both or {name} for one of them",
        )
    for name in _ELSEWHERE:
        yield (
            getattr(path, name) != getattr(default, name),
            f"{name}: not possible with a second bottleneck: omit {name} or second_rate",
        )
    yield path.qdisc != "fifo", "qdisc: both bottlenecks are first in, first out: omit qdisc or second_rate"
    yield (
        path.loss_by != "netem",
        "loss_by: with a second bottleneck the path loses: omit loss_by or second_rate",
    )
    changing = next(
        (change.name for change in path.changes if change.name not in ("algorithm", "streams")), ""
    )
    yield (
        bool(changing),
        f"changes: {changing} cannot change with a second bottleneck, only algorithm and streams can: omit it",
    )
    yield (
        "reverse" in flows.directions,
        "directions: with a second bottleneck all data goes forward: omit directions",
    )
    yield (
        bool(flows.udp_streams),
        "udp_streams: no UDP with a second bottleneck: omit udp_streams or second_rate",
    )
    yield (
        experiment.has_short_flows,
        "short flows: not possible with a second bottleneck: omit short_arrivals, short_load or second_rate",
    )

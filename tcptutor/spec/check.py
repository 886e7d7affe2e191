"""What the lab takes as an experiment, and what may be one at all, wherever it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tcptutor.base import units
from tcptutor.base.errors import ParameterError
from tcptutor.base.printable import is_printable
from tcptutor.spec.parameters import CHANGEABLE, PARAMETERS, Parameter, read_sysctl, sysctl_name
from tcptutor.spec.parts import HEADERS, Experiment, interface_names

_CHANCES = ("loss", "loss_correlation", "duplicate", "reorder", "reverse_loss")
_CHANCE = 1e-9
"""The smallest probability: netem keeps 32 bits of one, a firewall rule 31."""
_ARRIVES = 0.24
"""The least share of packets whose answer comes back with which connections come about."""
_DATAGRAM = 65_507
"""Bytes of payload that a UDP datagram over IPv4 holds."""
_BUCKET_SECONDS = 270.0
"""The longest time in which a bucket may be filled, s: the kernel keeps it in 32 bits of 64 ns."""

_WIDEST = {
    "rate": (0.0, 1e13),
    "time": (0.0, 1e6),
    "ratio": (0.0, 1.0),
    "size": (0.0, 2.0**50),
    "window": (0.0, 2.0**50),
    "count": (0.0, 65_536.0),
    "number": (0.0, 1e9),
}
"""Of each kind, in base units, what a kernel somewhere may hold and a measurement somewhere may last."""
_LEAST = {
    **dict.fromkeys(("rate", "reverse_rate", "pacing", "maxrate", "udp_rate"), 1.0),
    **dict.fromkeys(
        ("queue", "reverse_queue", "burst", "window", "send_buffer", "buffer", "length", "bytes"), 1
    ),
    "mtu": 68,
    "mss": 1,
    "loss_burst": 1.0,
    "duration": 1e-3,
    "snaplen": 14,
    "capture_size": 1,
}
"""What is more than nothing, by the names of parameters: a formula divides by it, and a kernel has it."""
_MANY = 1024
"""Flows, and entries of a list, that any experiment has at most."""
_NAME = 200
"""Characters of a name."""
_WRITTEN = 1e18
"""Numbers below are told as they are."""


def check(experiment: Experiment) -> None:
    """Raise ParameterError for what the lab does not take: a value out of its bounds, or two that contradict.

    `build` gives nothing else; for experiments that were built elsewhere.
    """
    plausible(experiment)
    for known in PARAMETERS.values():
        # Without a rate of its own nothing queues on the way back.
        if known.name != "reverse_queue" or experiment.path.reverse_rate is not None:
            for value in _values(known, experiment):
                _bounded(known, value)
    for change in experiment.path.changes:
        if change.name != "link":
            _bounded(PARAMETERS[change.name], change.value)
    _contradictions(experiment)


def _bounded(known: Parameter, value: Any) -> None:
    if known.choices:
        word = value if isinstance(value, str) else "on" if value else "off"
        if word not in known.choices:
            raise ParameterError(f"{known.name}: {word!r} is not one of {', '.join(known.choices)}")
    elif known.kind not in ("name", "changes") and not known.low <= value <= known.high:
        raise ParameterError(f"{known.name}: {known.text_of(value)} is out of bounds: {known.bounds}")


def plausible(experiment: Experiment) -> None:
    """Raise ParameterError where no network of any kernel can be meant: numbers that are none, or beyond all measure.

    Wider than `check`: what somebody sets up by hand or measures elsewhere is not bound to what the lab takes.
    """
    for known in PARAMETERS.values():
        for value in _values(known, experiment):
            if isinstance(value, str):
                _printable(known.name, value)
            elif known.kind != "changes" and not isinstance(value, bool):
                _within(known.name, value, known.kind)
    for change in experiment.path.changes:
        if change.name not in CHANGEABLE:
            raise ParameterError(f"changes: {change.name[:40]!r} is nothing that changes while it runs")
        _within("changes", change.at, "time")
        kind = "number" if change.name == "link" else PARAMETERS[change.name].kind
        _within(f"changes: {change.name}", change.value, kind)
    for name, setting in experiment.hosts.sysctls.items():
        if sysctl_name(name) != name:
            raise ParameterError(f"{name[:60]!r} is not a sysctl of TCP: they begin with tcp_")
        read_sysctl(name, setting)
    _plausible_frame(experiment)


def _plausible_frame(experiment: Experiment) -> None:
    """What belongs to the experiment itself, and is no parameter."""
    _printable("name", experiment.name)
    _printable("scale", experiment.scale)
    for text in (experiment.title, *experiment.sources):
        _printable("title and sources", text, 4 * _NAME)
    for text in experiment.path.unread:
        _printable("unread", text)
    flows = experiment.pairs * max(experiment.flows.streams, experiment.flows.udp_streams)
    lists = (experiment.path.changes, experiment.path.unread, experiment.sources)
    if max(*map(len, lists), flows) > _MANY:
        raise ParameterError(f"an experiment has {_MANY} flows, changes and sources at most")
    if not 1 <= experiment.pairs <= _MANY:
        raise ParameterError("pairs: it is out of bounds: 1 to 4")
    if not 0 <= experiment.seed < 2**32:
        raise ParameterError("seed: it is out of bounds: a whole number from 0 to 4294967295")
    _within("framing", experiment.framing, "count")


def _values(known: Parameter, experiment: Experiment) -> Iterator[Any]:
    """What `experiment` has for `known`: each entry of a list, nothing where it has none."""
    value = known.of(experiment)
    if known.many:
        if len(value) > _MANY:
            raise ParameterError(f"{known.name}: {len(value)} values: {_MANY} at most")
        yield from value
    elif value is not None:
        yield value


def _within(name: str, value: float, kind: str) -> None:
    low, high = _WIDEST[kind]
    low = _LEAST.get(name.removeprefix("changes: "), low)
    if not low <= value <= high:
        # A whole number may have more digits than Python writes, or a float holds.
        said = units.number(value) if abs(value) < _WRITTEN else "a number beyond all measure"
        raise ParameterError(f"{name}: {said} is out of bounds: {units.number(low)} to {units.number(high)}")


def _printable(name: str, value: str, most: int = _NAME) -> None:
    if len(value) > most or not is_printable(value):
        raise ParameterError(f"{name}: a text of printable characters, {most} at most")


def _bucket_most(rate: float, seconds: float) -> int:
    """Bytes: a bucket that is larger lets all of a run of so many seconds through at once."""
    return math.floor(rate / 8 * min(seconds, _BUCKET_SECONDS))


def _contradictions(experiment: Experiment) -> None:
    """Raise ParameterError where two parameters contradict each other."""
    path, hosts, flows = experiment.path, experiment.hosts, experiment.flows
    several = experiment.pairs > 1
    lists = {"algorithms": hosts.algorithms, "starts": flows.starts, "directions": flows.directions}
    places = experiment.pairs if several else max(1, flows.streams)
    changed = {change.name for change in path.changes}
    burst = path.loss_burst > 1
    chances = {name: getattr(path, name) for name in _CHANCES} | {
        "changes": min((one.value for one in path.changes if one.name == "loss" and one.value), default=0.0),
        "loss_burst": path.loss / path.loss_burst if burst else 0.0,
    }
    here = interface_names(experiment.pairs)
    away = [name for name in flows.capture_at if name not in here]
    rules = [
        (
            bool(away),
            f"capture_at: there is no {', '.join(away)} with {experiment.pairs} pair{'s' if several else ''}: take some"
            f" of {', '.join(here)}",
        ),
        (
            bool(flows.capture_at) and not flows.capture,
            "capture_at: no packets are kept: give capture=on as well",
        ),
        *(
            (
                len(values) > places,
                f"{key}: {len(values)} values for {places} {'pairs' if several else 'flows'}",
            )
            for key, values in lists.items()
        ),
        (
            len(path.pair_delays) > experiment.pairs,
            f"pair_delays: {len(path.pair_delays)} values for {experiment.pairs} pairs",
        ),
        (
            path.rate is not None and (path.burst or 0) > _bucket_most(path.rate, experiment.seconds),
            f"burst: it holds as much as the link carries in the whole run, so that nothing limits: take"
            f" {units.write(_bucket_most(path.rate or 0.0, experiment.seconds), 'size')} at most",
        ),
        *(
            (
                0 < chance < _CHANCE,
                f"{name}: the kernel cannot make anything as rare as {units.percent(chance)}: take 0, or"
                f" {units.percent(_CHANCE)} at least",
            )
            for name, chance in chances.items()
        ),
        (
            flows.udp_streams and (flows.length or 0) > _DATAGRAM,
            f"length: a datagram holds {_DATAGRAM} bytes at most",
        ),
        (
            path.jitter > path.delay and path.jitter_shape == "uniform",
            "jitter: larger than the delay it spreads: give a jitter of at most the delay",
        ),
        (path.reorder and not path.delay, "reorder: segments overtake others that wait: give a delay"),
        (burst and path.loss_correlation, "loss_burst and loss_correlation: take one of the two"),
        (
            burst and path.loss >= path.loss_burst / (path.loss_burst + 1),
            "loss: too much for losses in bursts: give a smaller loss or a larger loss_burst",
        ),
        (
            (1 - path.loss) * (1 - path.reverse_loss) < _ARRIVES,
            f"loss and reverse_loss: of {units.percent(1 - _ARRIVES)} and more lost on the two ways together no"
            " connection comes about: take less of one",
        ),
        (
            path.loss_by == "firewall" and (burst or path.loss_correlation),
            "loss_by: a firewall rule drops independently: leave loss_burst and loss_correlation out",
        ),
        (
            path.loss_by == "firewall" and "loss" in changed,
            "changes: the loss of a firewall rule stays: take loss_by=netem",
        ),
        (
            path.rate is None and (path.qdisc != "fifo" or changed & {"rate", "queue"}),
            "rate: there is no queue and no rate to change without one: give a rate",
        ),
        (
            any(change.at >= experiment.seconds for change in path.changes),
            f"changes: the run is over after {experiment.seconds:g} s: take earlier times",
        ),
        (
            any(start >= experiment.seconds for start in flows.starts),
            f"starts: the run is over after {experiment.seconds:g} s: take earlier times",
        ),
        (
            not experiment.total_streams and not flows.udp_streams,
            "streams: no flow at all: give streams or udp_streams",
        ),
        (
            hosts.mss is not None and hosts.mss > hosts.mtu - HEADERS,
            f"mss: it does not fit into an MTU of {hosts.mtu}: take {hosts.mtu - HEADERS} at most",
        ),
        (
            hosts.window is not None and flows.buffer is not None,
            "buffer: it fixes the receiver's window as well: leave window or buffer out",
        ),
    ]
    for wrong, message in rules:
        if wrong:
            raise ParameterError(message)

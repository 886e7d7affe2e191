"""Validation of experiments: limits of the lab, and wider limits for experiments from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tcptutor.base import units
from tcptutor.base.errors import ParameterError
from tcptutor.base.printable import is_printable
from tcptutor.spec import short_flows
from tcptutor.spec.check_links import link_rules
from tcptutor.spec.check_streams import MOST_FLOWS, check_plausible_streams, stream_rules
from tcptutor.spec.definition import Experiment
from tcptutor.spec.frame_sizes import HEADERS
from tcptutor.spec.parameters import CHANGEABLE, PARAMETERS, Parameter, read_sysctl, sysctl_name
from tcptutor.spec.parts import ALGORITHMS, Path

_PROBABILITIES = ("loss", "loss_correlation", "duplicate", "reorder", "reverse_loss")
_MIN_PROBABILITY = 1e-9
"""Smallest probability: netem stores 32 bits, a firewall rule 31."""
_MIN_ARRIVALS = 0.24
"""Smallest fraction of packets with an answer for which connections still succeed."""
_MAX_DATAGRAM = 65_507
"""Payload of the largest UDP datagram over IPv4, bytes."""
_BUCKET_SECONDS = 270.0
"""Longest time to fill a bucket, s: the kernel stores it in 32 bits of 64 ns."""

_RANGES = {
    "rate": (0.0, 1e13),
    "time": (0.0, 1e6),
    "ratio": (0.0, 1.0),
    "size": (0.0, 2.0**50),
    "window": (0.0, 2.0**50),
    "count": (0.0, 65_536.0),
    "number": (0.0, 1e9),
}
"""Bounds of each kind in base units, for any kernel and any measurement."""
_MIN_POSITIVE = {
    **dict.fromkeys(
        ("rate", "rate_trace", "reverse_rate", "second_rate", "pacing", "maxrate", "udp_rate"), 1.0
    ),
    **dict.fromkeys(
        (
            "queue",
            "reverse_queue",
            "second_queue",
            "burst",
            "window",
            "send_buffer",
            "buffer",
            "length",
            "bytes",
        ),
        1,
    ),
    "mtu": 68,
    "mss": 1,
    "loss_burst": 1.0,
    "duration": 1e-3,
    "snaplen": 14,
    "messages": 1,
    "interval": 1e-6,
    "on_times": 1e-6,
    "off_time": 1e-6,
    "requests": 1,
    "short_size": 1,
    "short_load": 1e-9,
    "initial_window": 1,
    "capture_size": 1,
}
"""Smallest positive value by parameter, if formulas divide by it or the kernel requires it."""
_APPLICATIONS = {
    "messages": "sends messages",
    "on_times": "pauses",
    "requests": "answers requests",
}
"""Lists that say what the application of a flow does."""
_MAX_ENTRIES = 1024
"""Most flows, and entries of a list, of any experiment."""
_MAX_NAME = 200
"""Characters of a name."""
_MAX_QUOTED = 1e18
"""Messages quote numbers below this limit."""


def check(experiment: Experiment) -> None:
    """Raise ParameterError for a value out of the lab's bounds, or two that contradict each other.

    `build` checks its results already; call it for experiments from elsewhere.
    """
    check_plausible(experiment)
    for parameter in PARAMETERS.values():
        # The reverse path has a queue only if it has a rate.
        if parameter.name != "reverse_queue" or experiment.path.reverse_rate is not None:
            for value in _values(parameter, experiment):
                _check_bounds(parameter, value)
    for change in experiment.path.changes:
        if change.name not in ("link", "algorithm"):
            _check_bounds(PARAMETERS[change.name], change.value)
    check_plausible_streams(experiment, MOST_FLOWS)
    _check_contradictions(experiment)


def _check_bounds(parameter: Parameter, value: Any) -> None:
    if parameter.choices:
        word = value if isinstance(value, str) else "on" if value else "off"
        if word not in parameter.choices:
            raise ParameterError(f"{parameter.name}: {word!r} is not one of {', '.join(parameter.choices)}")
    elif parameter.is_number and not parameter.low <= value <= parameter.high:
        raise ParameterError(
            f"{parameter.name}: {parameter.text_of(value)} is out of bounds: {parameter.bounds}"
        )


def check_plausible(experiment: Experiment) -> None:
    """Raise ParameterError for values that no network or kernel can have.

    Wider than `check`: a path set up by hand or measured elsewhere may be out of the lab's bounds.
    """
    for parameter in PARAMETERS.values():
        for value in _values(parameter, experiment):
            if isinstance(value, str):
                _check_printable(parameter.name, value)
            elif parameter.kind not in ("changes", "trace") and not isinstance(value, bool):
                _check_range(parameter.name, value, parameter.kind)
    for change in experiment.path.changes:
        if change.name not in CHANGEABLE:
            raise ParameterError(f"changes: {change.name[:40]!r} cannot change during a run")
        _check_range("changes", change.at, "time")
        kind = PARAMETERS[change.name].kind if change.name in PARAMETERS else "number"
        if change.name == "algorithm":
            if change.value not in range(len(ALGORITHMS)):
                raise ParameterError(f"changes: there is no algorithm with the number {change.value:g}")
            continue
        _check_range(f"changes: {change.name}", change.value, kind)
    _check_trace(experiment.path)
    for name, setting in experiment.hosts.sysctls.items():
        if sysctl_name(name) != name:
            raise ParameterError(f"{name[:60]!r} is not a sysctl of TCP: they begin with tcp_")
        read_sysctl(name, setting)
    _check_frame(experiment)


def _check_trace(path: Path) -> None:
    last = -1.0
    if len(path.rate_trace) > _MAX_ENTRIES:
        raise ParameterError(f"rate_trace: {len(path.rate_trace)} steps, at most {_MAX_ENTRIES} allowed")
    for at, rate in path.rate_trace:
        _check_range("time", at, "time")
        _check_range("rate_trace", rate, "rate")
        if at <= last or (last < 0 and at > 0):
            raise ParameterError("rate_trace: its steps begin at 0 s, in order of time")
        last = at
    if path.rate_trace and path.rate_trace[0][1] != path.rate:
        raise ParameterError("rate: follows rate_trace: omit rate, or set rate_trace=none")


def _check_frame(experiment: Experiment) -> None:
    """Check the fields of the experiment that are not parameters."""
    _check_printable("name", experiment.name)
    _check_printable("scale", experiment.scale)
    for text in (experiment.title, *experiment.sources):
        _check_printable("title and sources", text, 4 * _MAX_NAME)
    for text in experiment.path.unread:
        _check_printable("unread", text)
    flows = experiment.pairs * max(experiment.flows.streams, experiment.flows.udp_streams)
    lists = (experiment.path.changes, experiment.path.unread, experiment.sources)
    if max(*map(len, lists), flows) > _MAX_ENTRIES:
        raise ParameterError(f"an experiment has at most {_MAX_ENTRIES} flows, changes and sources")
    if not 1 <= experiment.pairs <= _MAX_ENTRIES:
        raise ParameterError("pairs is out of bounds: 1 to 4")
    if not 0 <= experiment.seed < 2**32:
        raise ParameterError("seed is out of bounds: a whole number from 0 to 4294967295")
    _check_range("framing", experiment.framing, "count")
    check_plausible_streams(experiment, _MAX_ENTRIES)


def _values(parameter: Parameter, experiment: Experiment) -> Iterator[Any]:
    """Yield the values of `parameter` in `experiment`: each entry of a list, no value for None."""
    value = parameter.of(experiment)
    if parameter.is_list:
        if len(value) > _MAX_ENTRIES:
            raise ParameterError(f"{parameter.name}: {len(value)} values, at most {_MAX_ENTRIES} allowed")
        yield from (each for each in value if each is not None)
    elif value is not None:
        yield value


def _check_range(name: str, value: float, kind: str) -> None:
    low, high = _RANGES[kind]
    low = _MIN_POSITIVE.get(name.removeprefix("changes: "), low)
    if not low <= value <= high:
        # An integer can have more digits than Python converts to text, or than a float holds.
        shown = units.number(value) if abs(value) < _MAX_QUOTED else "a huge number"
        raise ParameterError(f"{name}: {shown} is out of bounds: {units.number(low)} to {units.number(high)}")


def _check_printable(name: str, value: str, most: int = _MAX_NAME) -> None:
    if len(value) > most or not is_printable(value):
        raise ParameterError(f"{name}: must be at most {most} printable characters")


def _check_contradictions(experiment: Experiment) -> None:
    """Raise ParameterError for two parameters that contradict each other."""
    path, hosts, flows = experiment.path, experiment.hosts, experiment.flows
    several = experiment.pairs > 1
    lists = {
        "algorithms": hosts.algorithms,
        "starts": flows.starts,
        "directions": flows.directions,
        "messages": flows.messages,
        "on_times": flows.on_times,
        "requests": flows.requests,
    }
    entries = experiment.pairs if several else max(1, experiment.total_streams)
    changed = {change.name for change in path.changes}
    burst = path.loss_burst > 1
    probabilities = {name: getattr(path, name) for name in _PROBABILITIES} | {
        "changes": min((one.value for one in path.changes if one.name == "loss" and one.value), default=0.0),
        "loss_burst": path.loss / path.loss_burst if burst else 0.0,
    }
    interfaces = experiment.topology.interfaces
    missing = [name for name in flows.capture_at if name not in interfaces]
    rules = [
        (
            bool(missing),
            f"capture_at: there is no {', '.join(missing)} with {experiment.pairs} pair{'s' if several else ''}: choose"
            f" from {', '.join(interfaces)}",
        ),
        (
            bool(flows.capture_at) and not flows.capture,
            "capture_at: packets are captured only with capture=on: set it too",
        ),
        *(
            (
                len(values) > entries,
                f"{key}: {len(values)} values for {entries} {'pairs' if several else 'flows'}",
            )
            for key, values in lists.items()
        ),
        (
            len(path.pair_delays) > experiment.pairs,
            f"pair_delays: {len(path.pair_delays)} values for {experiment.pairs} pairs",
        ),
        (
            path.rate is not None and (path.burst or 0) > _max_bucket(path.rate, experiment.seconds),
            f"burst: as large as all traffic of the run, so the rate would not limit anything: use at most"
            f" {units.write(_max_bucket(path.rate or 0.0, experiment.seconds), 'size')}",
        ),
        *(
            (
                0 < probability < _MIN_PROBABILITY,
                f"{name}: {units.percent(probability)} is too rare for the kernel: use 0, or at least"
                f" {units.percent(_MIN_PROBABILITY)}",
            )
            for name, probability in probabilities.items()
        ),
        (
            flows.udp_streams and (flows.length or 0) > _MAX_DATAGRAM,
            f"length: a datagram holds at most {_MAX_DATAGRAM} bytes",
        ),
        (
            path.jitter > path.delay and path.jitter_shape == "uniform",
            "jitter: larger than the delay: use at most the delay",
        ),
        (path.reorder and not path.delay, "reorder: segments overtake others during the delay: set a delay"),
        (burst and path.loss_correlation, "loss_burst and loss_correlation: use only one of them"),
        (
            burst and path.loss >= path.loss_burst / (path.loss_burst + 1),
            "loss: too much for losses in bursts: use a smaller loss or a larger loss_burst",
        ),
        (
            (1 - path.loss) * (1 - path.reverse_loss) < _MIN_ARRIVALS,
            f"loss and reverse_loss: no connection succeeds with {units.percent(1 - _MIN_ARRIVALS)} or more lost in"
            " both directions together: reduce one of them",
        ),
        (
            path.loss_by == "firewall" and (burst or path.loss_correlation),
            "loss_by: a firewall rule drops independently: omit loss_burst and loss_correlation",
        ),
        (
            path.loss_by == "firewall" and "loss" in changed,
            "changes: the loss of a firewall rule cannot change: use loss_by=netem",
        ),
        (
            path.rate is None and (path.qdisc != "fifo" or changed & {"rate", "queue"}),
            "rate: without a rate there is no queue, and nothing to change: set a rate",
        ),
        (
            bool(path.rate_trace) and "rate" in changed,
            "changes: the rate follows rate_trace: change something else, or omit rate_trace",
        ),
        (
            bool(path.rate_trace) and path.burst is not None,
            "burst: a rate that follows a trace has a bucket of its own: omit burst or rate_trace",
        ),
        (
            any(change.at >= experiment.seconds for change in path.changes),
            f"changes: the run ends after {experiment.seconds:g} s: use earlier times",
        ),
        (
            any(start >= experiment.seconds for start in flows.starts),
            f"starts: the run ends after {experiment.seconds:g} s: use earlier times",
        ),
        (
            not experiment.total_streams and not flows.udp_streams,
            "streams: there are no flows: set streams or udp_streams",
        ),
        (
            hosts.mss is not None and hosts.mss > hosts.mtu - HEADERS,
            f"mss: does not fit into an MTU of {hosts.mtu}: use at most {hosts.mtu - HEADERS}",
        ),
        (
            path.ce_threshold is not None and not (path.ecn and path.qdisc in ("codel", "fq_codel")),
            "ce_threshold: only codel and fq_codel mark by it, with ECN: set ecn=on and one of these",
        ),
        *(
            (
                any(lists[name]) and flows.bytes is not None,
                f"{name}: a flow that {what} has no fixed amount: omit bytes or {name}",
            )
            for name, what in _APPLICATIONS.items()
        ),
        (
            any(_has_two_applications(experiment, flow) for flow in range(experiment.total_streams)),
            "messages, on_times and requests: each flow has one of them: write none for the others",
        ),
        (
            bool(flows.short_arrivals) and flows.short_load is not None,
            "short_load: it sets how many short flows arrive: omit short_arrivals or short_load",
        ),
        (
            flows.short_load is not None and path.rate is None,
            "short_load: without a rate there is no share of the link: set a rate, or use short_arrivals",
        ),
        (
            (count := short_flows.expected_number(experiment)) > short_flows.MOST,
            f"short_arrivals: about {count:.0f} short flows in this run, at most {short_flows.MOST} are possible: use"
            " fewer, larger ones or a shorter duration",
        ),
        (
            "mtu" in changed and max(one.value for one in path.changes if one.name == "mtu") > hosts.mtu,
            f"changes: mtu: a connection keeps the largest segment agreed on at its start: use at most {hosts.mtu}",
        ),
        (
            "mtu" in changed
            and hosts.mss is not None
            and hosts.mss > min(one.value for one in path.changes if one.name == "mtu") - HEADERS,
            "changes: mtu: an mss larger than a later MTU allows is not modeled: omit mss or the change",
        ),
        (
            bool(changed & {"mtu", "algorithm"}) and not flows.streams,
            "changes: there is no TCP flow whose mtu or algorithm could change: set streams",
        ),
        (
            hosts.window is not None and flows.buffer is not None,
            "buffer: it also sets the receiver's window: omit window or buffer",
        ),
        *stream_rules(experiment),
        *link_rules(experiment),
    ]
    for wrong, message in rules:
        if wrong:
            raise ParameterError(message)


def _has_two_applications(experiment: Experiment, flow: int) -> bool:
    chosen = (experiment.message(flow), experiment.on_time(flow), experiment.request(flow))
    return sum(one is not None for one in chosen) > 1


def _max_bucket(rate: float, seconds: float) -> int:
    """Return the largest useful bucket, bytes: a larger bucket lets all traffic of `seconds` pass at once."""
    return math.floor(rate / 8 * min(seconds, _BUCKET_SECONDS))

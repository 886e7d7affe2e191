"""The parameters of an experiment: name, unit, bounds and description; and parsing of their values."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, near, quoted, unknown
from tcptutor.spec import rate_trace
from tcptutor.spec.definition import Experiment
from tcptutor.spec.parts import ALGORITHMS, OF_ENDS, Change
from tcptutor.spec.topology import CROSSINGS, Topology


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter: its unit, its bounds in base units, and a short description."""

    name: str
    part: str
    """The struct of Experiment that holds it: path, hosts or flows; empty for Experiment itself."""
    kind: units.Kind
    low: float = 0.0
    high: float = 0.0
    optional: bool = False
    """Whether "none" is a value (no shaper, no limit)."""
    is_list: bool = False
    """Whether it is a comma-separated list: an entry per pair, or per flow with a single pair."""
    choices: tuple[str, ...] = ()
    help: str

    @property
    def bounds(self) -> str:
        """Return the bounds as the user writes them."""
        if self.choices:
            text = " or ".join((", ".join(self.choices[:-1]), self.choices[-1]))
        elif self.kind == "name":
            text = "a name like 'reno'"
        elif self.kind == "changes":
            text = _CHANGE_EXAMPLE
        elif self.kind == "trace":
            text = rate_trace.EXAMPLE
        else:
            low, high = (units.write(bound, self.kind) for bound in (self.low, self.high))
            text = f"{low} to {high}"
        if self.is_list and self.kind not in ("changes", "trace"):
            text += ", several with commas"
        return text + (", or none" if self.optional else "")

    @property
    def is_number(self) -> bool:
        """Return whether a value, or an entry of a list, is a quantity within bounds."""
        return not self.choices and self.kind not in ("name", "changes", "trace")

    def of(self, experiment: Experiment) -> Any:
        """Return the value in `experiment`, in base units."""
        return getattr(getattr(experiment, self.part) if self.part else experiment, self.name)

    def text(self, value: Any) -> str:
        """Format a value in base units as the user writes it."""
        if self.kind == "changes":
            return "; ".join(_change_text(change) for change in value) or "none"
        if self.kind == "trace":
            return rate_trace.text_of(value)
        if self.is_list:
            return ", ".join(self.text_of(each) for each in value) or "none"
        return self.text_of(value)

    def text_of(self, value: Any) -> str:
        """Format an entry of a value as the user writes it."""
        if value is None:
            return "none"
        if isinstance(value, bool):
            return "on" if value else "off"
        return value if isinstance(value, str) else units.write(value, self.kind)


def _bounded(
    name: str, part: str, kind: units.Kind, low: float, high: float, help: str, *,
    optional: bool = False, is_list: bool = False,
) -> Parameter:  # fmt: skip
    return Parameter(
        name=name, part=part, kind=kind, low=low, high=high, help=help, optional=optional, is_list=is_list
    )


def _choice(name: str, part: str, choices: tuple[str, ...], help: str, *, is_list: bool = False) -> Parameter:
    return Parameter(name=name, part=part, kind="name", choices=choices, help=help, is_list=is_list)


_SWITCH = ("off", "on")
_JITTER_SHAPES = ("uniform", "normal", "pareto", "paretonormal")
_INTERFACES = tuple(
    dict.fromkeys(
        name
        for topology in (Topology(4), Topology(1), *(Topology(4, (crossing,) * 4) for crossing in CROSSINGS))
        for name in topology.interfaces
    )
)
_QDISCS = ("fifo", "codel", "fq_codel", "fq", "cake", "red")

PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        _bounded("rate", "path", "rate", 1e4, 1e11, "rate of the bottleneck", optional=True),
        _bounded("delay", "path", "time", 0, 2, "delay added to the data direction, so to the RTT"),
        _bounded("jitter", "path", "time", 0, 2, "spread of the delay"),
        _choice("jitter_shape", "path", _JITTER_SHAPES, "distribution of the delay"),
        _bounded("loss", "path", "ratio", 0, 0.75, "probability that a data segment is lost at random"),
        _bounded("loss_burst", "path", "number", 1, 1000, "mean number of segments lost in a row"),
        _bounded("loss_correlation", "path", "ratio", 0, 0.99, "how much one random draw depends on the last"),
        _choice("loss_by", "path", ("netem", "firewall"), "where losses happen: the path, or the receiver's firewall"),
        _bounded("duplicate", "path", "ratio", 0, 0.9, "probability that a data segment arrives twice"),
        _bounded("reorder", "path", "ratio", 0, 0.9, "probability that a data segment overtakes the others"),
        _bounded("queue", "path", "window", 3000, 1 << 30, "buffer of the bottleneck, in bytes or BDP"),
        _bounded("burst", "path", "size", 1600, 1 << 30, "bytes that can leave the bottleneck at once", optional=True),
        _choice("qdisc", "path", _QDISCS, "queue discipline of the bottleneck"),
        _choice("ecn", "path", _SWITCH, "mark instead of drop, with ECN at the hosts"),
        _bounded("ce_threshold", "path", "time", 1e-5, 1,
            "waiting time from which codel and fq_codel mark every packet", optional=True),
        _bounded("reverse_rate", "path", "rate", 1e4, 1e11, "rate of the reverse path", optional=True),
        _bounded("reverse_delay", "path", "time", 0, 2, "delay added to the reverse path"),
        _bounded("reverse_loss", "path", "ratio", 0, 0.75, "probability that a packet of the reverse path is lost"),
        _bounded("reverse_queue", "path", "window", 3000, 1 << 30, "buffer of the reverse path, in bytes or BDP"),
        _bounded("pair_delays", "path", "time", 0, 2, "delay of each pair's own access link", is_list=True),
        _bounded("second_rate", "path", "rate", 1e4, 1e11, "rate of a second bottleneck, behind the first",
            optional=True),
        _bounded("second_delay", "path", "time", 0, 2, "delay added by the second link"),
        _bounded("second_queue", "path", "window", 3000, 1 << 30, "buffer of the second, in bytes or BDP"),
        _choice("crosses", "path", CROSSINGS, "links that each pair crosses, with a second bottleneck", is_list=True),
        Parameter(name="changes", part="path", kind="changes", is_list=True,
            help="changes of the path, the MTU, the algorithm or the streams during the run"),
        Parameter(name="rate_trace", part="path", kind="trace", is_list=True,
            help="rate of the bottleneck over time, in steps or from a file; it replaces rate"),
        Parameter(name="algorithm", part="hosts", kind="name", help="congestion control of the senders"),
        Parameter(name="algorithms", part="hosts", kind="name", is_list=True,
            help="congestion control of each pair or flow"),
        _bounded("pairs", "", "count", 1, 4, "host pairs that send at the same time"),
        _bounded("streams", "flows", "count", 0, 64, "parallel TCP flows of each host pair"),
        _bounded("duration", "flows", "time", 1, 3600, "measured time, after the warm-up"),
        _bounded("warmup", "flows", "time", 0, 600, "time at the start left out of the means"),
        _bounded("starts", "flows", "time", 0, 3600, "when each pair or flow begins", is_list=True),
        _choice("directions", "flows", ("forward", "reverse"), "direction of each pair's or flow's data", is_list=True),
        _bounded("window", "hosts", "window", 4096, 64 << 20, "receiver's window, in bytes or BDP", optional=True),
        _bounded("send_buffer", "hosts", "window", 4608, 64 << 20, "sender's buffer, in bytes or BDP", optional=True),
        _bounded("buffer", "flows", "window", 4096, 16 << 20,
            "socket buffers that the application asks for", optional=True),
        _bounded("length", "flows", "size", 1, 1 << 20, "bytes written and read at once", optional=True),
        _bounded("bytes", "flows", "size", 1000, 1 << 40, "payload of each flow, which then ends", optional=True),
        _bounded("messages", "flows", "size", 1, 1 << 26, "bytes that each pair or flow sends every interval",
            optional=True, is_list=True),
        _bounded("interval", "flows", "time", 0.001, 600, "time from one message to the next"),
        _bounded("on_times", "flows", "time", 0.01, 600, "how long each pair or flow writes before a pause",
            optional=True, is_list=True),
        _bounded("off_time", "flows", "time", 0.01, 600, "length of such a pause"),
        _bounded("requests", "flows", "size", 1, 1 << 26,
            "bytes that the receiver of each pair or flow asks for, again and again", optional=True, is_list=True),
        _bounded("think_time", "flows", "time", 0, 600, "time from the end of an answer to the next request"),
        _bounded("short_arrivals", "flows", "number", 0, 200, "short flows that begin per second, at random times"),
        _bounded("short_load", "flows", "ratio", 0.001, 0.9,
            "short flows by the share of the link that they take, in place of short_arrivals", optional=True),
        _bounded("short_size", "flows", "size", 100, 10_000_000, "mean payload of a short flow"),
        _choice("short_sizes", "flows", ("fixed", "exponential", "pareto"), "distribution of the short flows' payload"),
        _choice("nodelay", "flows", _SWITCH, "small writes leave at once (TCP_NODELAY)"),
        _bounded("initial_window", "hosts", "count", 1, 200, "segments of a connection's first window", optional=True),
        _bounded("mtu", "hosts", "count", 576, 9000, "largest IP packet, bytes"),
        _bounded("mss", "hosts", "count", 88, 8960, "largest payload of a segment, bytes", optional=True),
        _choice("offloads", "hosts", _SWITCH, "segmentation offloads of all interfaces"),
        _bounded("pacing", "flows", "rate", 1e4, 1e11,
            "largest rate of each flow, set by the application", optional=True),
        _bounded("maxrate", "hosts", "rate", 1e4, 3e10,
            "largest rate of each flow, set by fq on the sender", optional=True),
        _choice("acks", "flows", _SWITCH, "also trace every flow at every ACK"),
        _choice("capture", "flows", _SWITCH, "capture packets for Wireshark"),
        _choice("capture_at", "flows", _INTERFACES, "interfaces to capture at; none: all hosts", is_list=True),
        _bounded("snaplen", "flows", "count", 54, 9014, "bytes captured of each packet; 94 covers its headers"),
        _bounded("capture_size", "flows", "size", 1 << 20, 1 << 28, "memory for captured packets"),
        _bounded("udp_streams", "flows", "count", 0, 64, "UDP flows of each host pair"),
        _bounded("udp_rate", "flows", "rate", 1e4, 1e11, "rate at which each UDP flow sends"),
    )
}  # fmt: skip
"""Every parameter of an experiment, in display order."""

_ALIASES = {
    "bandwidth": "rate",
    "bw": "rate",
    "rtt": "delay",
    "latency": "delay",
    "limit": "queue",
    "cc": "algorithm",
    "congestion": "algorithm",
    "flows": "streams",
    "parallel": "streams",
    "time": "duration",
    "omit": "warmup",
    "initcwnd": "initial_window",
    "iw": "initial_window",
    "plr": "loss",
}
"""Names of parameters in other programs and in papers, for suggestions."""

_SYSCTL = re.compile(r"(?:net\.ipv4\.)?(tcp_[a-z0-9_]{1,60})")
_SYSCTL_VALUE = re.compile(r"[A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+){0,15}")
_INT_MAX = (1 << 31) - 1
CHANGEABLE = ("rate", "delay", "jitter", "loss", "queue", "link", *OF_ENDS)
_MAX_CHANGE = 200
"""Characters; longer texts would slow down the pattern, which tries each position."""
_CHANGE = re.compile(r"(?:at\s+)?(.+?)[\s:]+(?:pair\s+(\S+)\s+)?([a-z_]+)\s*=\s*(.+?)\s*")
_CHANGE_EXAMPLE = (
    "a time, a name and its new value, like '10s rate=5Mbit/s; 15s pair 2 streams=4; 20s link=down'"
)


def parameter(name: str) -> Parameter:
    """Return the parameter `name`. Raises ParameterError with a suggestion or the list of names."""
    if name in PARAMETERS:
        return PARAMETERS[name]
    if alias := _ALIASES.get(name.lower()):
        raise ParameterError(f"no parameter {quoted(name)}: did you mean {alias}?")
    names = f"the parameters are {', '.join(PARAMETERS)}, and sysctls like tcp_sack"
    raise ParameterError(unknown("parameter", name, PARAMETERS, names))


def sysctl_name(name: str) -> str | None:
    """Return the name from `tcp_` on if `name` is a TCP sysctl, with or without net.ipv4; otherwise None."""
    match = _SYSCTL.fullmatch(name)
    return match[1] if match else None


def read_sysctl(name: str, value: str | float) -> str:
    """Return a sysctl's value as the kernel accepts it, words and numbers. Raises ParameterError."""
    # Manuals print thousands with commas, which the kernel would read as separators.
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", str(value).strip())
    if not _SYSCTL_VALUE.fullmatch(text):
        raise ParameterError(
            f"{name}: {quoted(value)} is not a sysctl's value: write numbers or words, like '4096 131072 6291456'"
        )
    words = text.split()
    # Python refuses to convert numbers with very many digits.
    numbers = [word for word in words if word.lstrip("-").isdigit()]
    too_large = [word for word in numbers if len(word.lstrip("-0")) > 10 or abs(int(word)) > _INT_MAX]
    if too_large:
        raise ParameterError(
            f"{name}: {quoted(too_large[0])} is out of bounds: the kernel stores it in 32 bits, at most {_INT_MAX}"
        )
    return " ".join(words)


def read(name: str, text: str | float | bool | list[Any], bdp: float | None = None) -> Any:
    """Parse the value of parameter `name` to base units (None for "none") and check its bounds.

    Args:
        name: The parameter.
        text: Its value as the user or a file has it.
        bdp: The bandwidth-delay product, bytes, for sizes in BDP; None without rate or delay.

    Raises:
        ParameterError: The message names the parameter, the reason and the bounds.
    """
    definition = parameter(name)
    if isinstance(text, bool):
        text = "on" if text else "off"
    if definition.kind == "changes":
        return _read_changes(name, text, bdp)
    if definition.kind == "trace":
        return rate_trace.parse("; ".join(map(str, text)) if isinstance(text, list) else str(text))
    if definition.is_list:
        parts = text if isinstance(text, list) else str(text).split(",")
        if str(text).strip().lower() in ("none", ""):
            return ()
        return tuple(_read_one(definition, str(part).strip(), bdp) for part in parts)
    if isinstance(text, list):
        raise ParameterError(f"{name}: one value, not a list: {definition.bounds}")
    return _read_one(definition, str(text).strip(), bdp)


def _read_one(definition: Parameter, text: str, bdp: float | None) -> Any:
    name = definition.name
    if definition.optional and text.lower() == "none":
        return None
    if definition.choices:
        if text not in definition.choices:
            meant = f": {near(text, definition.choices)}".rstrip(": ")
            raise ParameterError(
                f"{name}: {quoted(text)} is not one of {', '.join(definition.choices)}{meant}"
            )
        return text == "on" if definition.choices == _SWITCH else text
    if definition.kind == "name":
        if text not in ALGORITHMS:
            raise ParameterError(f"{name}: {unknown('congestion control', text, ALGORITHMS)}")
        return text
    try:
        value = (
            units.parse_size(text, bdp) if definition.kind == "window" else units.parse(text, definition.kind)
        )
    except UnitError as error:
        raise ParameterError(f"{name}: {error}") from None
    if not definition.low <= value <= definition.high:
        raise ParameterError(f"{name}: {quoted(text)} is out of bounds: {definition.bounds}")
    return round(value) if definition.kind in ("count", "window", "size") else value


def _read_changes(name: str, text: Any, bdp: float | None) -> tuple[Change, ...]:
    parts = text if isinstance(text, list) else str(text).split(";")
    changes = []
    for part in (str(part).strip() for part in parts):
        if part.lower() in ("", "none"):
            continue
        match = _CHANGE.fullmatch(part) if len(part) <= _MAX_CHANGE else None
        if match is None:
            raise ParameterError(f"{name}: {quoted(part)} is not a change: write {_CHANGE_EXAMPLE}")
        when, whose, what, value = match.groups()
        if what not in CHANGEABLE:
            raise ParameterError(
                f"{name}: {quoted(what)} cannot change during a run; {', '.join(CHANGEABLE)} can"
            )
        try:
            at = units.parse(when, "time")
        except UnitError as error:
            raise ParameterError(f"{name}: {error}") from None
        pair = 0 if whose is None else _pair_of_change(name, whose, what)
        if what == "link":
            if value not in ("up", "down"):
                raise ParameterError(f"{name}: link is 'up' or 'down', not {quoted(value)}")
            changes.append(Change(at, what, float(value == "up")))
            continue
        new = _read_one(PARAMETERS[what], value, bdp)
        if what == "algorithm":
            new = ALGORITHMS.index(new)
        if new is None or at < 0:
            raise ParameterError(f"{name}: {quoted(part)}: a change needs a time of 0 s or more and a value")
        changes.append(Change(at, what, float(new), pair))
    return tuple(sorted(changes, key=lambda change: change.at))


def _pair_of_change(name: str, text: str, what: str) -> int:
    if what != "streams":
        raise ParameterError(f"{name}: {what} changes for all pairs: omit 'pair {text[:20]}'")
    if text not in ("1", "2", "3", "4"):
        raise ParameterError(f"{name}: there is no pair {quoted(text)}: write 'pair 1' to 'pair 4'")
    return int(text)


def change_name_text(change: Change) -> str:
    """Format the name of a change as the user writes it, with its pair: "rate", "pair 2 streams"."""
    return f"pair {change.pair} {change.name}" if change.pair else change.name


def change_value_text(change: Change) -> str:
    """Format the new value of a change as the user writes it."""
    if change.name == "link":
        return "up" if change.value else "down"
    if change.name == "algorithm":
        return change.algorithm
    return PARAMETERS[change.name].text(change.value)


def _change_text(change: Change) -> str:
    return f"{units.write(change.at, 'time')} {change_name_text(change)}={change_value_text(change)}"


def brief(name: str, text: str) -> str:
    """Return a value as text for the screen: a trace in a few words, all others as they are."""
    return rate_trace.summary(rate_trace.parse(text)) if name == "rate_trace" else text


def shown_settings(experiment: Experiment) -> dict[str, str]:
    """Return `settings` for the screen: a trace, which replaces the rate, in a few words."""
    shown = {name: brief(name, text) for name, text in settings(experiment).items()}
    if experiment.path.rate_trace:
        shown.pop("rate", None)
    return shown


def settings(experiment: Experiment) -> dict[str, str]:
    """Return the values of `experiment` that differ from the defaults, by parameter, as the user writes them."""
    defaults = Experiment(name="")
    shown = {}
    for name, definition in PARAMETERS.items():
        value = definition.of(experiment)
        if name == "algorithm" or value != definition.of(defaults):
            shown[name] = definition.text(value)
    if experiment.path.reverse_rate is None:
        shown.pop("reverse_queue", None)  # derived from other parameters, and unused
    if experiment.path.second_rate is None:
        shown.pop("second_queue", None)
    return {name: text for name, text in shown.items() if text != "none"} | experiment.hosts.sysctls

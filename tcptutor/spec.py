"""What to run: an experiment on the lab's network, as frozen, validated, serialisable data.

An experiment file is a table of named parameters in text with units; `build` merges overrides into it and
gives the `Experiment` in base units, with what follows from the parameters (queue in bytes, BDP) computed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tcptutor import units
from tcptutor.errors import ParameterError, UnitError

ETHERNET_HEADER = 14
"""Bytes that tbf and netem count for each frame beside the IP packet."""


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """The way from sender to receiver, emulated on the first switch's interface that faces the second."""

    rate: float | None = None
    """Bottleneck, bit/s of Ethernet frames (tbf); None leaves the link unshaped."""
    delay: float = 0.0
    """Added to the data direction, seconds: all of the path's RTT that we make (netem)."""
    jitter: float = 0.0
    """Uniform spread of the delay to either side, seconds."""
    loss: float = 0.0
    """Probability that a data segment is dropped, independently of all others."""
    queue: int = 150_000
    """The bottleneck's buffer, bytes (tbf's limit)."""


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """How the end hosts are set up."""

    algorithm: str = "cubic"
    window: int | None = None
    """The receiver's window, bytes of payload it advertises at most; None leaves the kernel's autotuning."""
    mtu: int = 1500
    maxrate: float | None = None
    """Upper bound that the sender's fq sets on each flow, bit/s of Ethernet frames; None leaves fq out."""


class Flows(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic of each host pair: iperf3 with parallel streams."""

    streams: int = 1
    duration: float = 20.0
    """Measured part, seconds; the warm-up comes before it."""
    warmup: float = 2.0
    """Seconds at the start that are shown and left out of all means."""
    pacing: float | None = None
    """Upper bound that the application sets on each flow, bit/s of payload (SO_MAX_PACING_RATE)."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """All that the lab needs to know to run it; the same values and seed mean the same experiment."""

    name: str
    title: str = ""
    path: Path = Path()
    hosts: Hosts = Hosts()
    flows: Flows = Flows()
    pairs: int = 1
    """Host pairs (h1 to h2, h3 to h4 ...) that send at the same time, 1 to 4."""
    seed: int = 1
    sources: tuple[str, ...] = ()
    """The published results that it corresponds to, as `document` or `document: result`."""

    @property
    def seconds(self) -> float:
        """Lab time of the traffic, warm-up included."""
        return self.flows.warmup + self.flows.duration

    @property
    def bdp(self) -> float | None:
        """Bandwidth-delay product of the path, bytes; None without a rate or a delay."""
        return _bdp(self.path.rate, self.path.delay)

    @property
    def qdiscs(self) -> tuple[str, ...]:
        """The queue disciplines that the kernel must have for it."""
        path = self.path
        wanted = {
            "netem": path.delay or path.jitter or path.loss,
            "tbf": path.rate is not None,
            "fq": self.hosts.maxrate is not None,
        }
        return tuple(kind for kind, needed in wanted.items() if needed)

    @property
    def total_streams(self) -> int:
        """Flows of all pairs together."""
        return self.pairs * self.flows.streams

    @property
    def parameters(self) -> dict[str, float | int | str | None]:
        """The values by their parameter names, in base units (bit/s, s, probability, bytes)."""
        values: dict[str, float | int | str | None] = {}
        for name, parameter in PARAMETERS.items():
            values[name] = getattr(getattr(self, parameter.part), name)
        return values


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One knob: its unit, its bounds in base units, and what it does in a sentence."""

    name: str
    part: str
    """The part of Experiment that holds it: path, hosts or flows."""
    kind: units.Kind
    low: float = 0.0
    high: float = 0.0
    optional: bool = False
    """Whether "none" is a value (no shaper, no limit)."""
    help: str

    @property
    def bounds(self) -> str:
        """The bounds as the user writes them."""
        if self.kind == "name":
            return "a name like 'reno'"
        low, high = (units.write(bound, self.kind) for bound in (self.low, self.high))
        return f"{low} to {high}" + (", or none" if self.optional else "")


def _p(
    name: str, part: str, kind: units.Kind, low: float, high: float, help: str, optional: bool = False
) -> Parameter:
    return Parameter(name=name, part=part, kind=kind, low=low, high=high, help=help, optional=optional)


PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        _p("rate", "path", "rate", 1e4, 1e11, "rate of the bottleneck", optional=True),
        _p("delay", "path", "time", 0, 10, "delay added to the data direction, so to the RTT"),
        _p("jitter", "path", "time", 0, 10, "spread of the delay to either side"),
        _p("loss", "path", "ratio", 0, 0.9, "probability that a data segment is lost at random"),
        _p("queue", "path", "window", 3000, 1 << 30, "buffer of the bottleneck, in bytes or BDP"),
        _p("algorithm", "hosts", "name", 0, 0, "congestion control of the senders"),
        _p("streams", "flows", "count", 1, 64, "parallel TCP flows of each host pair"),
        _p("duration", "flows", "time", 1, 3600, "measured time, after the warm-up"),
        _p("warmup", "flows", "time", 0, 600, "time at the start left out of the means"),
        _p("window", "hosts", "window", 2048, 1 << 30, "receiver's window, in bytes or BDP", optional=True),
        _p("mtu", "hosts", "count", 576, 9000, "largest IP packet, bytes"),
        _p(
            "pacing",
            "flows",
            "rate",
            1e4,
            1e11,
            "largest rate of each flow, set by the application",
            optional=True,
        ),
        _p(
            "maxrate",
            "hosts",
            "rate",
            1e4,
            3e10,
            "largest rate of each flow, set by fq on the sender",
            optional=True,
        ),
    )
}
"""Every parameter of an experiment with one path, in the order in which they are shown."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,15}")
_KEYS = {"title", "parameters", "pairs", "seed", "sources"}


def _bdp(rate: float | None, delay: float) -> float | None:
    return rate * delay / 8 if rate and delay else None


def parameter(name: str) -> Parameter:
    """The parameter of that name. Raises ParameterError that lists the names there are."""
    try:
        return PARAMETERS[name]
    except KeyError:
        raise ParameterError(f"no parameter {name!r}: the parameters are {', '.join(PARAMETERS)}") from None


def read(name: str, text: str | float, bdp: float | None = None) -> Any:
    """The value of parameter `name` in base units (None for "none"), bounds checked.

    Raises ParameterError that names the parameter, the reason and the bounds.
    """
    known = parameter(name)
    text = str(text).strip()
    if known.optional and text.lower() == "none":
        return None
    if known.kind == "name":
        if not _NAME.fullmatch(text):
            raise ParameterError(f"{name}: {text!r} is not an algorithm's name: write it like 'reno'")
        return text
    try:
        value = units.parse_size(text, bdp) if known.kind == "window" else units.parse(text, known.kind)
    except UnitError as error:
        raise ParameterError(f"{name}: {error}") from None
    if not known.low <= value <= known.high:
        raise ParameterError(f"{name}: {text!r} is out of bounds: {known.bounds}")
    return round(value) if known.kind in ("count", "window") else value


def _default_queue(rate: float | None, delay: float, mtu: int) -> int:
    """One BDP, and never less than 64 full frames: enough for the bursts of slow start on short paths."""
    return max(round(_bdp(rate, delay) or 0), 64 * (mtu + ETHERNET_HEADER))


def build(
    name: str, table: Mapping[str, Any], overrides: Mapping[str, str] | None = None, seed: int | None = None
) -> Experiment:
    """The experiment `name` from its file's `table`, with `overrides` of its parameters.

    Raises ParameterError; the message names the key and the reason.
    """
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ParameterError(
            f"{unknown[0]!r} is not a key of an experiment: the keys are {', '.join(sorted(_KEYS))}"
        )
    given = table.get("parameters", {})
    if not isinstance(given, Mapping):
        raise ParameterError("'parameters' must be a table")
    text = {**given, **(overrides or {})}
    values: dict[str, Any] = {}
    bdp: float | None = None
    # rate, delay and mtu first: sizes may be multiples of the BDP that they make.
    for key in sorted(text, key=lambda key: key not in ("rate", "delay", "mtu")):
        if key in ("queue", "window"):
            bdp = _bdp(values.get("rate", Path().rate), values.get("delay", 0.0))
        values[key] = read(key, text[key], bdp)
    path = {key: values[key] for key in values if PARAMETERS[key].part == "path"}
    hosts = Hosts(**{key: values[key] for key in values if PARAMETERS[key].part == "hosts"})
    flows = Flows(**{key: values[key] for key in values if PARAMETERS[key].part == "flows"})
    path.setdefault("queue", _default_queue(path.get("rate"), path.get("delay", 0.0), hosts.mtu))
    if path.get("jitter", 0.0) > path.get("delay", 0.0):
        raise ParameterError("jitter: larger than the delay it spreads: give a jitter of at most the delay")
    pairs = table.get("pairs", 1)
    if not isinstance(pairs, int) or not 1 <= pairs <= 4:
        raise ParameterError(f"pairs: {pairs!r} is out of bounds: 1 to 4")
    seed = table.get("seed", 1) if seed is None else seed
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ParameterError(f"seed: {seed!r} is out of bounds: a whole number from 0 to 4294967295")
    title, sources = table.get("title", name), table.get("sources", ())
    if not isinstance(title, str) or not all(isinstance(source, str) for source in sources):
        raise ParameterError("'title' is a text, 'sources' is a list of texts")
    return Experiment(
        name=name,
        title=title,
        path=Path(**path),
        hosts=hosts,
        flows=flows,
        pairs=pairs,
        seed=seed,
        sources=tuple(sources),
    )

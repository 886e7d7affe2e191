"""From an experiment file's table and the user's overrides to an `Experiment`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tcptutor import units
from tcptutor.errors import ParameterError
from tcptutor.spec.parameters import PARAMETERS, read, read_sysctl, sysctl_name
from tcptutor.spec.parts import (
    ETHERNET_HEADER,
    HEADERS,
    Experiment,
    Flows,
    Hosts,
    Path,
    bdp,
    interface_names,
)

_KEYS = {"title", "parameters", "paper", "pairs", "seed", "sources"}
_SIZES = ("queue", "window", "send_buffer", "buffer", "reverse_queue", "changes")
"""Read after the others: they may be multiples of the BDP that rate and delay make."""

_CHANCES = ("loss", "loss_correlation", "duplicate", "reorder", "reverse_loss")
_CHANCE = 1e-9
"""The smallest probability: netem keeps 32 bits of one, a firewall rule 31."""
_DATAGRAM = 65_507
"""Bytes of payload that a UDP datagram over IPv4 holds."""
_BUCKET_SECONDS = 270.0
"""The longest time in which a bucket may be filled, s: the kernel keeps it in 32 bits of 64 ns."""

SCALES = ("bench", "paper")
"""Values for this machine, and those that the source printed."""


def _default_queue(rate: float | None, delay: float, mtu: int) -> int:
    """Bytes: one BDP, as far as a queue can be as large, and never less than 64 full frames, which hold the bursts of
    slow start on short paths."""
    return min(
        max(round(bdp(rate, delay) or 0), 64 * (mtu + ETHERNET_HEADER)), round(PARAMETERS["queue"].high)
    )


def build(
    name: str,
    table: Mapping[str, Any],
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    scale: str = "bench",
) -> Experiment:
    """The experiment `name` from its file's `table`, with `overrides` of its parameters.

    At the scale "paper" the file's `paper` table, the values that the source printed, goes over its parameters.
    Raises ParameterError; the message names the key and the reason.
    """
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ParameterError(
            f"{unknown[0]!r} is not a key of an experiment: the keys are {', '.join(sorted(_KEYS))}"
        )
    layers = (_parameters(table, "parameters"), _paper(name, table, scale), overrides or {})
    text = {**layers[0], **layers[1], **layers[2], **_from_the_start(layers)}
    path, hosts, flows, given = _parts(text)
    pairs = given.get("pairs", table.get("pairs", 1))
    if not isinstance(pairs, int) or not 1 <= pairs <= 4:
        raise ParameterError(f"pairs: {pairs!r} is out of bounds: 1 to 4")
    seed = table.get("seed", 1) if seed is None else seed
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ParameterError(f"seed: {seed!r} is out of bounds: a whole number from 0 to 4294967295")
    title, sources = table.get("title", name), table.get("sources", ())
    if not isinstance(title, str) or not all(isinstance(source, str) for source in sources):
        raise ParameterError("'title' is a text, 'sources' is a list of texts")
    experiment = Experiment(
        name=name,
        title=title,
        path=path,
        hosts=hosts,
        flows=flows,
        pairs=pairs,
        seed=seed,
        sources=tuple(sources),
        scale=scale,
    )
    _check(experiment)
    return experiment


def _from_the_start(layers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """No warm-up where `layers` fix the bytes and give none with them or after: all could be sent in the warm-up."""
    fixed = [number for number, layer in enumerate(layers) if "bytes" in layer]
    if not fixed or str(layers[fixed[-1]]["bytes"]).strip().lower() == "none":
        return {}
    return {} if any("warmup" in layer for layer in layers[fixed[0] :]) else {"warmup": 0}


def _parameters(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    given = table.get(key, {})
    if not isinstance(given, Mapping):
        raise ParameterError(f"{key!r} must be a table")
    return given


def _paper(name: str, table: Mapping[str, Any], scale: str) -> Mapping[str, Any]:
    """The source's values when `scale` asks for them. Raises ParameterError when there are none."""
    if scale not in SCALES:
        raise ParameterError(f"scale: {scale!r} is not one of {', '.join(SCALES)}")
    printed = _parameters(table, "paper")
    if scale == "bench":
        return {}
    if not printed:
        raise ParameterError(f"{name} has no values at the scale of its source: leave --scale out")
    return printed


def _parts(text: Mapping[str, Any]) -> tuple[Path, Hosts, Flows, dict[str, Any]]:
    """Path, hosts and flows with the values that `text` gives, and the values that are the experiment's own."""
    values: dict[str, dict[str, Any]] = {"path": {}, "hosts": {}, "flows": {}, "": {}}
    path, sysctls = values["path"], dict[str, str]()
    for key in sorted(text, key=lambda key: key in _SIZES):
        if key not in PARAMETERS and (sysctl := sysctl_name(key)):
            sysctls[sysctl] = read_sysctl(key, text[key])
            continue
        size = bdp(path.get("rate"), path.get("delay", 0.0)) if key in _SIZES else None
        value = read(key, text[key], size)
        values[PARAMETERS[key].part][key] = value
    hosts = Hosts(sysctls=sysctls, **values["hosts"])
    path.setdefault("queue", _default_queue(path.get("rate"), path.get("delay", 0.0), hosts.mtu))
    path.setdefault(
        "reverse_queue", _default_queue(path.get("reverse_rate"), path.get("delay", 0.0), hosts.mtu)
    )
    return Path(**path), hosts, Flows(**values["flows"]), values[""]


def _bucket_most(rate: float, seconds: float) -> int:
    """Bytes: a bucket that is larger lets all of a run of so many seconds through at once."""
    return math.floor(rate / 8 * min(seconds, _BUCKET_SECONDS))


def _check(experiment: Experiment) -> None:
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

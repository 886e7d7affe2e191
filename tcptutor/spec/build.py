"""Builds an `Experiment` from an experiment file's table and the user's overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, quoted
from tcptutor.spec import rate_trace
from tcptutor.spec.check import check
from tcptutor.spec.definition import Experiment
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, bdp
from tcptutor.spec.parameters import PARAMETERS, read, read_sysctl, sysctl_name
from tcptutor.spec.parts import Flows, Hosts, Path

_KEYS = {"title", "parameters", "paper", "pairs", "seed", "sources"}
_SIZES = ("queue", "window", "send_buffer", "buffer", "reverse_queue", "second_queue", "changes")
"""Parameters read last: they can be multiples of the BDP, which needs rate and delay."""

SCALES = ("bench", "paper")
"""Values for this machine, and values printed in the source."""


def build(
    name: str,
    table: Mapping[str, Any],
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    scale: str = "bench",
) -> Experiment:
    """Build the experiment `name` from its file's table.

    Args:
        name: Full name, module/experiment.
        table: The content of the experiment file.
        overrides: Parameter values as text, in place of the table's.
        seed: Seed in place of the table's.
        scale: "bench", or "paper" to apply the file's `paper` table, the values printed in the source.

    Raises:
        ParameterError: The message names the key and the reason.
    """
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ParameterError(
            f"{quoted(unknown[0])} is not a key of an experiment: the keys are {', '.join(sorted(_KEYS))}"
        )
    layers = (_parameters(table, "parameters"), _paper_values(name, table, scale), overrides or {})
    text = {**layers[0], **layers[1], **layers[2], **_no_warmup(layers)}
    path, hosts, flows, others = _parts(text, _is_rate_settled(layers))
    pairs = others.get("pairs", table.get("pairs", 1))
    if not isinstance(pairs, int) or not 1 <= pairs <= 4:
        raise ParameterError(f"pairs: {quoted(pairs)} is out of bounds: 1 to 4")
    seed = table.get("seed", 1) if seed is None else seed
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ParameterError(f"seed: {quoted(seed)} is out of bounds: a whole number from 0 to 4294967295")
    title, sources = table.get("title", name), table.get("sources", ())
    if not isinstance(title, str) or not all(isinstance(source, str) for source in sources):
        raise ParameterError("'title' must be a text, 'sources' a list of texts")
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
    check(experiment)
    return experiment


def _is_rate_settled(layers: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a layer sets the rate together with the trace, or after it: both must then agree."""
    traced = [number for number, layer in enumerate(layers) if "rate_trace" in layer]
    return bool(traced) and any("rate" in layer for layer in layers[traced[-1] :])


def _no_warmup(layers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return no warm-up for layers that fix the bytes without a warm-up: everything could be sent in the warm-up."""
    fixed = [number for number, layer in enumerate(layers) if "bytes" in layer]
    if not fixed or str(layers[fixed[-1]]["bytes"]).strip().lower() == "none":
        return {}
    return {} if any("warmup" in layer for layer in layers[fixed[0] :]) else {"warmup": 0}


def _parameters(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    values = table.get(key, {})
    if not isinstance(values, Mapping):
        raise ParameterError(f"{key!r} must be a table")
    return values


def _paper_values(name: str, table: Mapping[str, Any], scale: str) -> Mapping[str, Any]:
    if scale not in SCALES:
        raise ParameterError(f"scale: {scale!r} is not one of {', '.join(SCALES)}")
    printed = _parameters(table, "paper")
    if scale == "bench":
        return {}
    if not printed:
        raise ParameterError(f"{name} has no values at the scale of its source: omit --scale")
    return printed


def _parts(text: Mapping[str, Any], rate_is_settled: bool) -> tuple[Path, Hosts, Flows, dict[str, Any]]:
    """Return path, hosts and flows with the values of `text`, and the values of the experiment itself."""
    values: dict[str, dict[str, Any]] = {"path": {}, "hosts": {}, "flows": {}, "": {}}
    path, sysctls = values["path"], dict[str, str]()
    if trace := read("rate_trace", text.get("rate_trace", "none")):
        text = {**text, "rate": units.write(trace[0][1], "rate")} if not rate_is_settled else text
    for key in sorted(text, key=lambda key: key in _SIZES):
        if key not in PARAMETERS and (sysctl := sysctl_name(key)):
            sysctls[sysctl] = read_sysctl(key, text[key])
            continue
        link = ("second_rate", "second_delay") if key == "second_queue" else ("rate", "delay")
        size = bdp(path.get(link[0]), path.get(link[1], 0.0)) if key in _SIZES else None
        value = read(key, text[key], size)
        values[PARAMETERS[key].part][key] = value
    hosts = Hosts(sysctls=sysctls, **values["hosts"])
    path.setdefault("queue", _default_queue(path.get("rate"), path.get("delay", 0.0), hosts.mtu))
    path.setdefault(
        "reverse_queue", _default_queue(path.get("reverse_rate"), path.get("delay", 0.0), hosts.mtu)
    )
    if second := path.get("second_rate"):
        path.setdefault("second_queue", _default_queue(second, path.get("second_delay", 0.0), hosts.mtu))
    flows = Flows(**values["flows"])
    if trace:
        path["rate_trace"] = rate_trace.within(trace, flows.warmup + flows.duration)
    return Path(**path), hosts, flows, values[""]


def _default_queue(rate: float | None, delay: float, mtu: int) -> int:
    """Return the BDP in bytes, at least 64 full frames: the bursts of slow start on short paths."""
    return min(
        max(round(bdp(rate, delay) or 0), 64 * (mtu + ETHERNET_HEADER)), round(PARAMETERS["queue"].high)
    )

"""Experiments with a single change: of a parameter throughout, or from an instant of the run on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError
from tcptutor.spec import ALGORITHMS, Experiment, build, rate_trace
from tcptutor.spec.parameters import (
    PARAMETERS,
    Parameter,
    brief,
    change_name_text,
    parameter,
    read,
    read_sysctl,
    settings,
    sysctl_name,
)
from tcptutor.spec.parts import OF_ENDS

LINK = "link"
"""The state of the bottleneck link, up or down: it can change during a run and is not a parameter."""
DURING = ("rate", "delay", "jitter", "loss", "queue", LINK, *OF_ENDS)
"""Names that can change during a run."""
_FIRST_VALUES = {"loss": "0.1 %", "jitter": "1 ms", "delay": "20 ms", "duplicate": "1 %", "reorder": "1 %"}
"""Suggested values for parameters that are zero or unset."""
_SIZES = ("window", "size")
_MAX_SUGGESTIONS = 6
"""Largest number of suggested values."""


def apply_change(experiment: Experiment, name: str, text: str, at: float | None = None) -> Experiment:
    """Return `experiment` with the parameter or sysctl `name` set to `text`, throughout or from `at` s on.

    Later planned changes of the same parameter are dropped.

    Raises:
        ParameterError: The change is invalid or has no effect.
    """
    after = (
        _changed_throughout(experiment, name, text)
        if at is None
        else _changed_from(experiment, name, text, at)
    )
    if after == experiment:
        since = "" if at is None else f" at {at:g} s"
        raise ParameterError(f"{name} is already {current_value(experiment, name, at)}{since}")
    # Apply the checks of an experiment file; the values themselves keep their last digit.
    written = {each.name: each.text(each.of(after)) for each in PARAMETERS.values()}
    build(after.name, {"parameters": written | after.hosts.sysctls, "seed": after.seed})
    return after


def _changed_throughout(experiment: Experiment, name: str, text: str) -> Experiment:
    if name == LINK:
        raise ParameterError("link can only go down during a run: add a time")
    if name not in PARAMETERS and (sysctl := sysctl_name(name)):
        sysctls = {**experiment.hosts.sysctls, sysctl: read_sysctl(name, text)}
        return _replaced(experiment, "hosts", sysctls=sysctls)
    known = parameter(name)
    if name == "algorithm" and experiment.hosts.algorithms:
        raise ParameterError("algorithm: each flow of this experiment has its own: change algorithms")
    value = read(name, text, experiment.bdp)
    if name in DURING and any(change.name == name for change in experiment.path.changes):
        changes = tuple(change for change in experiment.path.changes if change.name != name)
        experiment = _replaced(experiment, "path", changes=changes)
    if name == "rate_trace" and value:
        value = rate_trace.within(value, experiment.seconds)
        experiment = _replaced(experiment, "path", rate=value[0][1])
    return _replaced(experiment, known.part, **{name: value})


def _changed_from(experiment: Experiment, name: str, text: str, at: float) -> Experiment:
    if name not in DURING and (name in PARAMETERS or sysctl_name(name)):
        raise ParameterError(f"{name} cannot change during a run; {', '.join(DURING)} can")
    (change,) = read("changes", f"{at!r} s {name}={text}", experiment.bdp)
    path = experiment.path
    kept = [one for one in path.changes if one.name != name or one.at < at]
    own_pairs = any(one.pair for one in kept)
    if own_pairs or _value_at(experiment, name, at) != change.value:
        kept.append(change)
    in_order = sorted(kept, key=lambda one: one.at)
    return _replaced(experiment, "path", changes=tuple(in_order))


def _replaced(experiment: Experiment, part: str, **values: Any) -> Experiment:
    if not part:
        return msgspec.structs.replace(experiment, **values)
    return msgspec.structs.replace(
        experiment, **{part: msgspec.structs.replace(getattr(experiment, part), **values)}
    )


def _value_at(experiment: Experiment, name: str, at: float | None, pair: int = 0) -> float | None:
    value: float | None
    if name == LINK:
        value = 1.0
    elif name == "algorithm":
        hosts = experiment.hosts
        is_known = hosts.algorithm in ALGORITHMS and not hosts.algorithms
        value = float(ALGORITHMS.index(hosts.algorithm)) if is_known else None
    else:
        parts = {"mtu": experiment.hosts, "streams": experiment.flows}
        value = getattr(parts.get(name, experiment.path), name)
    for change in experiment.path.changes:
        if at is not None and change.name == name and change.at <= at and change.pair in (0, pair):
            value = change.value
    return value if value is None else float(value)


def current_value(experiment: Experiment, name: str, at: float | None = None, pair: int = 0) -> str:
    """Format the value of `name` at `at` s, or at the start; "the kernel's own" for an unset sysctl.

    `pair` is the pair whose streams are meant, from 1; 0 for all.
    """
    if name == LINK:
        return "up" if _value_at(experiment, name, at) else "down"
    if name in DURING and at is not None:
        value = _value_at(experiment, name, at, pair)
        if name == "algorithm":
            return ", ".join(experiment.hosts.algorithms) if value is None else ALGORITHMS[int(value)]
        return PARAMETERS[name].text(round(value) if name in ("queue", "streams") and value else value)
    if name in PARAMETERS:
        return PARAMETERS[name].text(PARAMETERS[name].of(experiment))
    return experiment.hosts.sysctls.get(sysctl_name(name) or "", "the kernel's own")


def suggested_values(
    experiment: Experiment, name: str, at: float | None = None, algorithms: tuple[str, ...] = ALGORITHMS
) -> list[str]:
    """Suggest valid new values, the most likely first; `algorithms` lists the kernel's."""
    suggestions = []
    for text in dict.fromkeys(_candidates(experiment, name, at, algorithms)):
        try:
            apply_change(experiment, name, text, at)
        except ParameterError:
            continue
        suggestions.append(text)
    return suggestions[:_MAX_SUGGESTIONS]


def _candidates(
    experiment: Experiment, name: str, at: float | None, algorithms: tuple[str, ...]
) -> Iterator[str]:
    now = current_value(experiment, name, at)
    if name == LINK:
        yield "down" if now == "up" else "up"
    known = PARAMETERS.get(name)
    if known is None or known.is_list:
        return
    if known.choices or known.kind == "name":
        yield from (each for each in known.choices or algorithms if each != now)
        return
    if known.kind == "rate" and now == "none" and experiment.path.rate:
        yield units.write(experiment.path.rate / 2, "rate")
    yield from _scaled_candidates(known, now)


def _scaled_candidates(known: Parameter, now: str) -> Iterator[str]:
    try:
        value = units.parse_size(now) if known.kind == "window" else units.parse(now, known.kind)
    except UnitError:
        value = 0.0
    if known.kind == "ratio" and value:
        yield "0 %"
    if not value:
        first = _FIRST_VALUES.get(known.name)
        yield from [first] if first else []
        yield from ["64 kB", "256 kB"] if known.kind in _SIZES else []
    for factor in (2, 0.5, 10, 0.1):
        scaled = value * factor
        whole = round(scaled) if known.kind in ("count", *_SIZES) else scaled
        if whole and known.low <= whole <= known.high:
            yield units.write(whole, known.kind)
    if known.optional:
        yield "none"


def describe_changes(before: Experiment, after: Experiment) -> str:
    """Describe the changes in `after`: "loss 0.1 % → 0 %", "from 12 s on loss 0.1 % → 0 %"; empty for none."""
    parts = [
        f"{f'from {since} on ' if since else ''}{name}{f' {old} → {new}' if new else ' no longer changes'}"
        for name, since, old, new in _differences(before, after)
    ]
    return ", ".join(parts)


def summarize_changes(before: Experiment, after: Experiment) -> str:
    """Describe the changes in `after` without the old values: "loss 0 %", "loss 0 % from 12 s"."""
    parts = [
        f"{name} {new or 'unchanged'}{f' from {since}' if since else ''}"
        for name, since, _, new in _differences(before, after)
    ]
    return ", ".join(parts)


def _differences(before: Experiment, after: Experiment) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, time (empty for the start), and old and new value (empty if unchanged) of each difference."""
    was, now = settings(before), settings(after)
    for name in dict.fromkeys(chain(was, now)):
        if name != "changes" and was.get(name) != now.get(name):
            old, new = (brief(name, current_value(each, name)) for each in (before, after))
            yield name, "", old, new
    for change in after.path.changes:
        if change not in before.path.changes:
            old, new = (current_value(each, change.name, change.at, change.pair) for each in (before, after))
            yield change_name_text(change), units.write(change.at, "time"), old, new
    gone = {change.name for change in before.path.changes} - {change.name for change in after.path.changes}
    yield from ((name, "", "", "") for name in DURING if name in gone and was.get(name) == now.get(name))


def divergence_time(before: Experiment, after: Experiment) -> float | None:
    """Return when `after` first differs from `before`, s of the run; None if it differs from the start."""
    if _replaced(before, "path", changes=()) != _replaced(after, "path", changes=()):
        return None
    return min((change.at for change in {*before.path.changes} ^ {*after.path.changes}), default=None)

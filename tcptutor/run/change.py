"""An experiment with one thing changed: from the start, or from an instant of its run on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError
from tcptutor.spec import Experiment, Path, build
from tcptutor.spec.parameters import (
    ALGORITHMS,
    PARAMETERS,
    Parameter,
    parameter,
    read,
    read_sysctl,
    settings,
    sysctl_name,
)

LINK = "link"
"""What can change during a run and is no parameter: up or down."""
DURING = ("rate", "delay", "jitter", "loss", "queue", LINK)
"""What can change during a run."""
_FIRST = {"loss": "0.1 %", "jitter": "1 ms", "delay": "20 ms", "duplicate": "1 %", "reorder": "1 %"}
"""What is offered where there is none."""
_SIZES = ("window", "size")
_OFFERED = 6
"""Values that are offered at most."""


def apply_change(experiment: Experiment, name: str, text: str, at: float | None = None) -> Experiment:
    """`experiment` with the parameter `name`, or a sysctl, as `text` says: all the time, or from `at` s on.

    What the experiment itself would change of it after that is left out. Raises ParameterError, also where nothing
    would be another.
    """
    after = _throughout(experiment, name, text) if at is None else _from(experiment, name, text, at)
    if after == experiment:
        since = "" if at is None else f" at {at:g} s"
        raise ParameterError(f"{name}: it is {current_value(experiment, name, at)}{since} already")
    # The same checks as for an experiment of a file; the values themselves stay as they are, to the last digit.
    written = {each.name: each.text(each.of(after)) for each in PARAMETERS.values()}
    build(after.name, {"parameters": written | after.hosts.sysctls, "seed": after.seed})
    return after


def _throughout(experiment: Experiment, name: str, text: str) -> Experiment:
    if name == LINK:
        raise ParameterError("link: it can go down only from an instant on: say when")
    if name not in PARAMETERS and (sysctl := sysctl_name(name)):
        sysctls = {**experiment.hosts.sysctls, sysctl: read_sysctl(name, text)}
        return _replaced(experiment, "hosts", sysctls=sysctls)
    known = parameter(name)
    if name == "algorithm" and experiment.hosts.algorithms:
        raise ParameterError("algorithm: here each flow has its own: change algorithms")
    value = read(name, text, experiment.bdp)
    if name in DURING and any(change.name == name for change in experiment.path.changes):
        changes = tuple(change for change in experiment.path.changes if change.name != name)
        experiment = _replaced(experiment, "path", changes=changes)
    return _replaced(experiment, known.part, **{name: value})


def _from(experiment: Experiment, name: str, text: str, at: float) -> Experiment:
    if name not in DURING and (name in PARAMETERS or sysctl_name(name)):
        raise ParameterError(f"{name}: it holds for the whole run; during it {', '.join(DURING)} can change")
    (change,) = read("changes", f"{at!r} s {name}={text}", experiment.bdp)
    path = experiment.path
    kept = [one for one in path.changes if one.name != name or one.at < at]
    if _value_at(path, name, at) != change.value:
        kept.append(change)
    in_order = sorted(kept, key=lambda one: one.at)
    return _replaced(experiment, "path", changes=tuple(in_order))


def _replaced(experiment: Experiment, part: str, **values: Any) -> Experiment:
    if not part:
        return msgspec.structs.replace(experiment, **values)
    return msgspec.structs.replace(
        experiment, **{part: msgspec.structs.replace(getattr(experiment, part), **values)}
    )


def _value_at(path: Path, name: str, at: float | None) -> float | None:
    """As it is just before `at`; at first without."""
    value: float | None = 1.0 if name == LINK else getattr(path, name)
    for change in path.changes:
        if at is not None and change.name == name and change.at <= at:
            value = change.value
    return value if value is None else float(value)


def current_value(experiment: Experiment, name: str, at: float | None = None) -> str:
    """Its value as the user writes it, of what can change that at `at` s; "the kernel's own" for a sysctl not set."""
    if name == LINK:
        return "up" if _value_at(experiment.path, name, at) else "down"
    if name in DURING and at is not None:
        value = _value_at(experiment.path, name, at)
        return PARAMETERS[name].text(round(value) if name == "queue" and value else value)
    if name in PARAMETERS:
        return PARAMETERS[name].text(PARAMETERS[name].of(experiment))
    return experiment.hosts.sysctls.get(sysctl_name(name) or "", "the kernel's own")


def suggested_values(
    experiment: Experiment, name: str, at: float | None = None, algorithms: tuple[str, ...] = ALGORITHMS
) -> list[str]:
    """Values that may come next, the likeliest first: each can be run. `algorithms` are those that the kernel has."""
    found = []
    for text in dict.fromkeys(_next(experiment, name, at, algorithms)):
        try:
            apply_change(experiment, name, text, at)
        except ParameterError:
            continue
        found.append(text)
    return found[:_OFFERED]


def _next(experiment: Experiment, name: str, at: float | None, algorithms: tuple[str, ...]) -> Iterator[str]:
    now = current_value(experiment, name, at)
    if name == LINK:
        yield "down" if now == "up" else "up"
    known = PARAMETERS.get(name)
    if known is None or known.many:
        return
    if known.choices or known.kind == "name":
        yield from (each for each in known.choices or algorithms if each != now)
        return
    if known.kind == "rate" and now == "none" and experiment.path.rate:
        yield units.write(experiment.path.rate / 2, "rate")
    yield from _numbers(known, now)


def _numbers(known: Parameter, now: str) -> Iterator[str]:
    try:
        value = units.parse_size(now) if known.kind == "window" else units.parse(now, known.kind)
    except UnitError:
        value = 0.0
    if known.kind == "ratio" and value:
        yield "0 %"
    if not value:
        first = _FIRST.get(known.name)
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
    """What is another in `after`: "loss 0.1 % → 0 %", "from 12 s on loss 0.1 % → 0 %"; empty for nothing."""
    parts = [
        f"{f'from {since} on ' if since else ''}{name}{f' {old} → {new}' if new else ' no longer changes'}"
        for name, since, old, new in _differences(before, after)
    ]
    return ", ".join(parts)


def summarize_changes(before: Experiment, after: Experiment) -> str:
    """What is another in `after`, without what it was: "loss 0 %", "loss 0 % from 12 s"."""
    parts = [
        f"{name} {new or 'unchanged'}{f' from {since}' if since else ''}"
        for name, since, _, new in _differences(before, after)
    ]
    return ", ".join(parts)


def _differences(before: Experiment, after: Experiment) -> Iterator[tuple[str, str, str, str]]:
    """The name of each, since when (empty for the start), its value before and after (empty where it stays)."""
    was, now = settings(before), settings(after)
    for name in dict.fromkeys(chain(was, now)):
        if name != "changes" and was.get(name) != now.get(name):
            yield name, "", current_value(before, name), current_value(after, name)
    for change in after.path.changes:
        if change not in before.path.changes:
            old, new = (current_value(each, change.name, change.at) for each in (before, after))
            yield change.name, units.write(change.at, "time"), old, new
    gone = {change.name for change in before.path.changes} - {change.name for change in after.path.changes}
    yield from ((name, "", "", "") for name in DURING if name in gone and was.get(name) == now.get(name))


def divergence_time(before: Experiment, after: Experiment) -> float | None:
    """When `after` begins to be another than `before`, s of the run; None where it is so from the start."""
    if _replaced(before, "path", changes=()) != _replaced(after, "path", changes=()):
        return None
    return min((change.at for change in {*before.path.changes} ^ {*after.path.changes}), default=None)

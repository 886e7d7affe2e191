"""Two runs of one seed of which one thing was changed: up to which instant they are the same, and what differs then.

On the virtual clock a run repeats exactly, so what differs is what was changed. The same means to the byte, as run
files have it: each column of each table of samples.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal

import msgspec

from tcptutor.analysis.compared.explain import explain
from tcptutor.analysis.compared.run_findings import RunFindings
from tcptutor.analysis.observed.measured import Measured, between, measure
from tcptutor.run import TABLES, Run
from tcptutor.run.tables import Table, rounded
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import settings
from tcptutor.theory import jain_index
from tcptutor.theory.models import LimitedBy

Quantity = Literal[
    "throughput",
    "mean RTT",
    "mean cwnd",
    "sent again",
    "losses",
    "Jain's index",
    "link used",
    "queueing",
    "dropped",
]


class SettingChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of one run that has another value in the other, as the user writes it; empty for the default."""

    name: str
    before: str
    after: str


class SharedHistory(msgspec.Struct, frozen=True, kw_only=True):
    """How far two runs are the same."""

    until: float | None
    """The latest instant, s, of which both have samples, all of them the same to the byte; None for not even one."""
    differs_at: float | None
    """The time of the first sample that differs, or that only one has, s; None where nothing differs."""
    first: str = ""
    """What that is: "flow 1: cwnd", "queue: bytes"; empty where nothing differs."""


class FigureChanged(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of both runs; None where it was not measured."""

    quantity: Quantity
    unit: str
    """As the numbers are given: bit/s, s, segments; empty for counts, shares and indices."""
    before: float | None
    after: float | None

    @property
    def ratio(self) -> float | None:
        """After over before; None where either is missing, or nothing was before."""
        if self.before is None or self.after is None or not self.before:
            return None
        return self.after / self.before


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """One run beside another in which something was changed."""

    changed: tuple[SettingChanged, ...]
    same_seed: bool
    shared: SharedHistory
    whole: tuple[FigureChanged, ...]
    """Over the measured time of each."""
    since: tuple[FigureChanged, ...]
    """From where they differ to the end of the shorter one; empty where nothing differs, or too little follows."""
    limited_by: tuple[LimitedBy, LimitedBy]
    """What limited the one, and the other."""


def what_if(before: Run, after: Run) -> WhatIf:
    """`after` beside `before`. Never raises, whatever either lacks."""
    shared = shared_history(before, after)
    one, other = measure(before), measure(after)
    since: tuple[FigureChanged, ...] = ()
    if shared.differs_at is not None:
        end = min(before.sampled_until, after.sampled_until)
        since = _figures(*(between(each, shared.differs_at, end) for each in (one, other)))
    return WhatIf(
        changed=tuple(settings_changed(before.experiment, after.experiment)),
        same_seed=before.experiment.seed == after.experiment.seed,
        shared=shared,
        whole=_figures(one, other),
        since=since,
        limited_by=(explain(before).limited_by, explain(after).limited_by),
    )


def settings_changed(before: Experiment, after: Experiment) -> Iterator[SettingChanged]:
    """The settings that differ, in the order of the parameters."""
    was, now = settings(before), settings(after)
    for name in dict.fromkeys(chain(was, now)):
        if was.get(name) != now.get(name):
            yield SettingChanged(name=name, before=was.get(name, ""), after=now.get(name, ""))


def shared_history(one: Run, other: Run) -> SharedHistory:
    """Up to which sample of any table the two runs are equal to the byte."""
    found = [
        difference
        for name in TABLES
        if (difference := _first_difference(name, getattr(one, name), getattr(other, name))) is not None
    ]
    differs_at, first = min(found, default=(None, ""))
    times = chain.from_iterable(getattr(one, name).column("t") for name in TABLES)
    until = max((t for t in times if differs_at is None or t < differs_at), default=None)
    return SharedHistory(until=until, differs_at=differs_at, first=first)


def _first_difference(table: str, one: Table[Any], other: Table[Any]) -> tuple[float, str] | None:
    """When the first row that is not the same was taken, and what of it differs; None for equal tables."""
    rows, length = {}, min(len(one), len(other))
    for column in one.row.__struct_fields__:
        row = _equal_rows(one.column(column), other.column(column))
        if row < length:
            rows[column] = row
    if not rows and len(one) == len(other):
        return None
    row = min([*rows.values(), length])
    # Of two samples that differ in their time, the earlier one has no match.
    there = [each for each in (one, other) if row < len(each)]
    t = min(each.column("t")[row] for each in there)
    column = next((name for name, at in rows.items() if at == row and name not in ("flow", "host", "t")), "")
    whose = f"flow {there[0].column('flow')[row] + 1}" if "flow" in one.row.__struct_fields__ else table
    return float(t), f"{whose}: {column}" if column else f"{whose}: a sample that only one has"


def _equal_rows(one: array[Any], other: array[Any]) -> int:
    """How many values both begin with, as they are written to a file: one of the runs may come from there."""
    if one.tobytes() != other.tobytes() and one.typecode == "d":
        one, other = (array("d", rounded(column)) for column in (one, other))
    return _equal_bytes(one.tobytes(), other.tobytes()) // one.itemsize


def _equal_bytes(one: bytes, other: bytes) -> int:
    """How many both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _figures(before: Measured, after: Measured) -> tuple[FigureChanged, ...]:
    """Of both; nothing where neither measured anything."""
    was, now = _numbers(before), _numbers(after)
    return tuple(
        FigureChanged(quantity=name, unit=_UNITS.get(name, ""), before=was.get(name), after=now.get(name))
        for name in dict.fromkeys(chain(was, now))
    )


_UNITS: dict[Quantity, str] = {
    "throughput": "bit/s",
    "mean RTT": "s",
    "mean cwnd": "segments",
    "queueing": "s",
}


def _numbers(measured: Measured) -> dict[Quantity, float]:
    """What was measured; nothing is there that was not."""
    flows = measured.flows
    if not flows and not measured.udp:
        return {}
    found: dict[Quantity, float] = {"throughput": measured.throughput}
    if not flows:
        return found
    if rtts := [flow.mean_rtt_s for flow in flows if flow.mean_rtt_s]:
        found["mean RTT"] = sum(rtts) / len(rtts)
    if windows := [flow.mean_cwnd_segments for flow in flows if flow.mean_cwnd_segments]:
        found["mean cwnd"] = sum(windows) / len(windows)
    counted: dict[Quantity, float | None] = {"sent again": measured.retransmits, "losses": measured.losses}
    found |= {name: value for name, value in counted.items() if value is not None}
    if len(flows) > 1:
        found["Jain's index"] = jain_index([flow.throughput_bps for flow in flows])
    seen = RunFindings.of(measured).all(measured)
    if seen is not None:
        evidence = seen.evidence
        if evidence.link_used is not None:
            found["link used"] = evidence.link_used
        if evidence.queue_s is not None:
            found |= {"queueing": evidence.queue_s, "dropped": evidence.queue_drops}
    return found

"""Comparison of two runs with the same seed and a changed setting: common history, differences, and both as text.

On the virtual clock a run repeats exactly, so every difference stems from the change. Equality is to the byte in
every column of every sample table, as in run files.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from tcptutor.analysis.compared.verdict import explain
from tcptutor.analysis.observed.delays import queueing_delays, smoothed_rtts
from tcptutor.analysis.observed.facts import evidence_of_part
from tcptutor.analysis.observed.figures import compared_flows
from tcptutor.analysis.observed.measured import Measured, measure
from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES, LimitedBy
from tcptutor.run import TABLES, Run
from tcptutor.run.change import divergence_time
from tcptutor.run.tables import DIGITS, Table
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import settings
from tcptutor.theory import jain_index

Quantity = Literal[
    "throughput",
    "mean RTT",
    "smoothed RTT p95",
    "mean cwnd",
    "retransmitted",
    "losses",
    "Jain's index",
    "link used",
    "queueing",
    "queueing p95",
    "dropped",
]

_UNITS: dict[Quantity, str] = {
    "throughput": "bit/s",
    "mean RTT": "s",
    "smoothed RTT p95": "s",
    "mean cwnd": "segments",
    "queueing": "s",
    "queueing p95": "s",
}

Row = tuple[str, str, str, str]
"""Label, before, after, and change."""

_COUNTS: tuple[Quantity, ...] = ("retransmitted", "losses", "dropped")

_WRITTEN: dict[str, Callable[[float], str]] = {
    "bit/s": units.rate,
    "s": units.seconds,
    "segments": "{:.1f}".format,
    "link used": units.share,
    "Jain's index": "{:.3f}".format,
}
"""Formats by unit, or by quantity for figures without a unit; counts have none."""

_EARLY = 0.05
"""s"""

_MANY = 3.0
"""Ratio from which a change is shown as a factor."""

_MEANINGLESS = 100.0
"""Ratio above which the factor only shows that the value was near 0 before."""


class SettingChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Setting with different values in two runs, as the user writes it; empty for the default."""

    name: str
    before: str
    after: str


class SharedHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Common history of two runs."""

    until: float | None
    """Latest time of a common sample before the first difference, s; None without any."""
    differs_at: float | None
    """Time of the first differing or unmatched sample, s; None for equal runs."""
    first_difference: str = ""
    """Place of the first difference, e.g. "flow 1: cwnd" or "queue: bytes"; empty for equal runs."""


class FigureChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Figure of two runs; None if not measured."""

    quantity: Quantity
    unit: str
    """bit/s, s, or segments; empty for counts, shares and indexes."""
    before: float | None
    after: float | None

    @property
    def ratio(self) -> float | None:
        """After over before; None if either is missing, or before is 0."""
        if self.before is None or self.after is None or not self.before:
            return None
        return self.after / self.before


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with a repetition under a changed setting."""

    changed: tuple[SettingChanged, ...]
    same_seed: bool
    shared: SharedHistory
    figures: tuple[FigureChanged, ...]
    """Figures over each measured time."""
    figures_after: tuple[FigureChanged, ...]
    """Figures from the first difference to the shorter run's end; empty without a difference."""
    limited_by: tuple[LimitedBy, LimitedBy]
    """Limiting causes before and after."""


def what_if(before: Run, after: Run) -> WhatIf:
    """Return the comparison of `after` with `before`. Never raises."""
    shared = shared_history(before, after)
    one, other = measure(before), measure(after)
    since: tuple[FigureChanged, ...] = ()
    if shared.differs_at is not None:
        end = min(before.sampled_until, after.sampled_until)
        since = _figures(*(each.between(shared.differs_at, end) for each in (one, other)))
    return WhatIf(
        changed=tuple(settings_changed(before.experiment, after.experiment)),
        same_seed=before.experiment.seed == after.experiment.seed,
        shared=shared,
        figures=_figures(one, other),
        figures_after=since,
        limited_by=(explain(before).limited_by, explain(after).limited_by),
    )


def settings_changed(before: Experiment, after: Experiment) -> Iterator[SettingChanged]:
    """Yield the settings that differ, in the order of the parameters."""
    was, now = settings(before), settings(after)
    for name in dict.fromkeys(chain(was, now)):
        if was.get(name) != now.get(name):
            yield SettingChanged(name=name, before=was.get(name, ""), after=now.get(name, ""))


def shared_history(one: Run, other: Run) -> SharedHistory:
    """Return how far the two runs' samples are equal to the byte."""
    found = [
        difference
        for name in TABLES
        if (difference := _first_difference(name, getattr(one, name), getattr(other, name))) is not None
    ]
    differs_at, first = min(found, default=(None, ""))
    times = chain.from_iterable(getattr(one, name).column("t") for name in TABLES)
    until = max((t for t in times if differs_at is None or t < differs_at), default=None)
    return SharedHistory(until=until, differs_at=differs_at, first_difference=first)


def _first_difference(table: str, one: Table[Any], other: Table[Any]) -> tuple[float, str] | None:
    """Return the time and place of the first difference; None for equal tables."""
    rows, length = {}, min(len(one), len(other))
    for column in one.row.__struct_fields__:
        row = _equal_rows(one.column(column), other.column(column))
        if row < length:
            rows[column] = row
    if not rows and len(one) == len(other):
        return None
    row = min([*rows.values(), length])
    # If the times differ, the earlier sample is unmatched.
    tables = [each for each in (one, other) if row < len(each)]
    t = min(each.column("t")[row] for each in tables)
    column = next((name for name, at in rows.items() if at == row and name not in ("flow", "host", "t")), "")
    whose = f"flow {tables[0].column('flow')[row] + 1}" if "flow" in one.row.__struct_fields__ else table
    return float(t), f"{whose}: {column}" if column else f"{whose}: a sample that only one has"


def _equal_rows(one: array[Any], other: array[Any]) -> int:
    """Return the number of equal leading values, after rounding as in run files."""
    if one.tobytes() != other.tobytes() and one.typecode == "d":
        one, other = (array("d", [round(number, DIGITS) for number in column]) for column in (one, other))
    return _equal_bytes(one.tobytes(), other.tobytes()) // one.itemsize


def _equal_bytes(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _figures(before: Measured, after: Measured) -> tuple[FigureChanged, ...]:
    """Return the figures of both measurements; empty if neither has any."""
    was, now = _numbers(before), _numbers(after)
    return tuple(
        FigureChanged(quantity=name, unit=_UNITS.get(name, ""), before=was.get(name), after=now.get(name))
        for name in dict.fromkeys(chain(was, now))
    )


def _numbers(measured: Measured) -> dict[Quantity, float]:
    """Return the measured figures by quantity."""
    flows = measured.flows
    if not flows and not measured.udp:
        return {}
    found: dict[Quantity, float] = {"throughput": measured.throughput}
    if not flows:
        return found
    if rtts := [flow.mean_rtt_s for flow in flows if flow.mean_rtt_s]:
        found["mean RTT"] = sum(rtts) / len(rtts)
    if (rtt := smoothed_rtts(measured)) and (high := rtt.supported_quantile(0.95)) is not None:
        found["smoothed RTT p95"] = high
    if windows := [flow.mean_cwnd_segments for flow in flows if flow.mean_cwnd_segments]:
        found["mean cwnd"] = sum(windows) / len(windows)
    counted: dict[Quantity, float | None] = {"retransmitted": measured.retransmits, "losses": measured.losses}
    found |= {name: value for name, value in counted.items() if value is not None}
    rates = [flow.throughput_bps for flow in compared_flows(measured)]
    if len(rates) > 1 and any(rates):
        found["Jain's index"] = jain_index(rates)
    evidence = evidence_of_part(measured)
    if evidence is not None:
        if evidence.link_used is not None:
            found["link used"] = evidence.link_used
        if evidence.queue_s is not None:
            found["queueing"] = evidence.queue_s
            delays = queueing_delays(measured)
            if delays and (high := delays.supported_quantile(0.95)) is not None:
                found["queueing p95"] = high
            found["dropped"] = evidence.queue_drops
    return found


def sentence(what: WhatIf, before: Run, after: Run) -> str:
    """Return how long both runs are equal, and why they differ before the change if they do."""
    shared, at = what.shared, divergence_time(before.experiment, after.experiment)
    if shared.differs_at is None:
        if shared.until is None:
            return "Nothing was sampled."
        return f"Nothing differs: both are the same to the byte, to their end at {_time(shared.until)}."
    if at is not None and (shared.until is None or shared.differs_at < at):
        return f"{_differs(shared.differs_at)}, before the change: {_why(before, after)}."
    if shared.until is None:
        return f"{_differs(shared.differs_at)}."
    first = (
        f" (first: {shared.first_difference})"
        if shared.first_difference and "a sample" not in shared.first_difference
        else ""
    )
    return f"The same to the byte up to {_time(shared.until)}. {_differs(shared.differs_at)}{first}."


def _differs(at: float) -> str:
    return f"They differ from {_time(at)} on" if at else "They differ from the first sample on"


def _time(at: float) -> str:
    """Return a sample time: two decimals, with more precision for the first samples."""
    return f"{at:.2f} s" if at >= _EARLY else units.seconds(at)


def _why(before: Run, after: Run) -> str:
    first, second = before.environment, after.environment
    if {first.clock, second.clock} != {"virtual"}:
        return "only on the virtual clock does a seed repeat a run exactly"
    if first.versions != second.versions:
        return "another build or size of the guest ran it, in which the seed gives another history"
    return "the lab had to be set up for it from the start"


def limits(what: WhatIf) -> Row:
    """Return the row with both limiting causes."""
    was, now = what.limited_by
    return ("limited by", CAUSE_NAMES[was], CAUSE_NAMES[now], "same" if was == now else "")


def rows(figures: Sequence[FigureChanged]) -> list[Row]:
    """Return a row per figure."""
    return [
        (each.quantity, _text(each, each.before), _text(each, each.after), _change(each)) for each in figures
    ]


def _text(figure: FigureChanged, value: float | None) -> str:
    if value is None:
        return "–"
    write = _WRITTEN.get(figure.unit or figure.quantity)
    return write(value) if write else f"{value:.0f}"


def _change(figure: FigureChanged) -> str:
    if figure.before is None or figure.after is None:
        return ""
    if figure.before == figure.after:
        return "same"
    if figure.quantity in _COUNTS:
        more = figure.after - figure.before
        return f"{'+' if more > 0 else '−'}{abs(more):.0f}"
    ratio = figure.ratio
    if ratio is None or not figure.unit or ratio > _MEANINGLESS:
        return ""
    return f"× {ratio:.1f}" if ratio >= _MANY else units.signed_percent(ratio - 1)

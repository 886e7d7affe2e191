"""Text of a comparison of two runs: the common history, and both runs' figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tcptutor.analysis.compared.what_if import FigureChanged, Quantity, WhatIf
from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Run
from tcptutor.run.change import divergence_time

Row = tuple[str, str, str, str]
"""Label, before, after, and change."""

_COUNTS: tuple[Quantity, ...] = ("sent again", "losses", "dropped")
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

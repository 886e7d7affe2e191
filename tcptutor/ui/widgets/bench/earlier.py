"""The windows of the run that a what-if was changed from, to be drawn under its own."""

from __future__ import annotations

from array import array
from functools import lru_cache
from math import isnan, nan

from tcptutor.run import Run
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.history import STEPS, History, filled
from tcptutor.ui.widgets.bench.scene import FlowCurve

_FEW = 2
"""Flows whose windows are drawn one by one; of more their mean."""
NAME = "before"


class _Kept:
    """A run, told apart from others by its id: it has ended."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept) and other.run.id == self.run.id

    def __hash__(self) -> int:
        return hash(self.run.id)


def windows(live: Live, history: History) -> tuple[FlowCurve, ...]:
    """Over the time that `history` is of; empty where the run is no what-if. Called in a thread."""
    if live.changed_from is None:
        return ()
    return _windows(_Kept(live.changed_from), history.seconds, None if history.whole else history.start)


@lru_cache(maxsize=8)
def _windows(kept: _Kept, seconds: float, start: float | None) -> tuple[FlowCurve, ...]:
    history = History(seconds, start)
    history.follow(kept.run)
    flows = [history.flows[number] for number in sorted(history.flows)]
    if len(flows) <= _FEW:
        return tuple(FlowCurve(NAME, each.low, each.high, each.last, faint=True) for each in flows)
    mean = array("d", [nan]) * STEPS
    for at, values in enumerate(zip(*(filled(each.last) for each in flows), strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            mean[at] = sum(known) / len(known)
    return (FlowCurve(f"{NAME}, mean", mean, mean, mean, faint=True),)

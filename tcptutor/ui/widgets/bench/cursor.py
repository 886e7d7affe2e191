"""Where one looks into a run: an instant, a flow, and the part of the time that is shown. Each move makes a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

LOSS_BEFORE, LOSS_AFTER = 6, 14
"""Round trips that are shown before a loss, and after it."""

SAMPLES = 24
"""Samples of a flow that are shown at least, however short its round trip."""

CLOSER = 4
"""How much less of the time each zoom shows around the cursor."""


class TimeSpan(NamedTuple):
    """A part of a run's time."""

    start: float
    """s."""
    seconds: float
    """Its length."""

    @property
    def end(self) -> float:
        return self.start + self.seconds

    def column(self, t: float, columns: int) -> int:
        """Of so many columns side by side the one in which `t` is; the nearest one for what lies outside."""
        return min(columns - 1, max(0, int((t - self.start) / self.seconds * columns)))

    def within(self, whole: TimeSpan) -> TimeSpan:
        """As long, moved into `whole`; all of that where it is not longer."""
        if self.seconds >= whole.seconds:
            return whole
        return TimeSpan(min(max(self.start, whole.start), whole.end - self.seconds), self.seconds)


@dataclass(frozen=True)
class Cursor:
    """An instant of a run, and what is shown around it."""

    t: float
    """s."""
    whole: TimeSpan
    """The run's own time."""
    flow: int = 0
    """The number of the flow that is told of; no such flow where the run has none."""
    shown: tuple[TimeSpan, ...] = ()
    """Each zoom's, from the outermost to the one that is shown; empty for the whole run."""
    counted_from: float | None = None
    """The loss that was zoomed to, s: its round trips are counted from there."""
    sequence: bool = False
    """Whether the flow's bytes are drawn, in the place of its window."""

    @property
    def span(self) -> TimeSpan:
        return self.shown[-1] if self.shown else self.whole

    @property
    def zoomed(self) -> bool:
        return bool(self.shown)

    def column(self, columns: int) -> int:
        """The column in which it stands."""
        return self.span.column(self.t, columns)

    def moved(self, by: int, columns: int) -> Cursor:
        """So many columns on; at the edge of a zoom the part that is shown moves along."""
        step = self.span.seconds / columns
        return self.at(self.span.start + (self.column(columns) + by + 0.5) * step)

    def pointed(self, column: int, columns: int) -> Cursor:
        """At that column of those that are shown."""
        inside = min(columns - 1, max(0, column))
        return self.at(self.span.start + (inside + 0.5) * self.span.seconds / columns)

    def at(self, t: float) -> Cursor:
        """At that instant of the run; half of what is shown lies before it where it was not shown."""
        t = min(self.whole.end, max(self.whole.start, t))
        span = self.span
        if span.start <= t <= span.end:
            return replace(self, t=t)
        moved = TimeSpan(t - span.seconds / 2, span.seconds).within(self.whole)
        return replace(self, t=t, shown=(*self.shown[:-1], moved))

    def zoomed_to(self, loss: float | None, rtt: float, spacing: float) -> Cursor | None:
        """Closer: to that loss with its round trips where there is one, else to a part around the cursor.

        rtt, spacing: the flow's round trip and the time between its samples, s. None where it is as close as there is
        anything to see.
        """
        least = max((LOSS_BEFORE + LOSS_AFTER) * rtt, SAMPLES * spacing)
        now = self.span.seconds
        if loss is not None and least < now / 1.5:
            share = LOSS_BEFORE / (LOSS_BEFORE + LOSS_AFTER)
            span = TimeSpan(loss - share * least, least).within(self.whole)
            return replace(self, t=loss, shown=(*self.shown, span), counted_from=loss)
        length = max(now / CLOSER, least / 2)
        if length > now / 1.5:
            return None
        span = TimeSpan(self.t - length / 2, length).within(self.whole)
        return replace(self, shown=(*self.shown, span))

    def out(self) -> Cursor:
        """As much of the time as before the last zoom, moved to where the cursor is."""
        outer = replace(self, shown=self.shown[:-1])
        if not outer.zoomed:
            outer = replace(outer, counted_from=None)
        return outer.at(self.t)


def beside(losses: Sequence[float], t: float, direction: int) -> float | None:
    """The next of them after `t`, or with a direction of -1 the last before it; None for none."""
    there = [loss for loss in losses if (loss - t) * direction > 1e-6]
    return (min(there) if direction > 0 else max(there)) if there else None


def near(losses: Sequence[float], t: float, within: float) -> float | None:
    """The nearest of them, not farther than `within` seconds; None for none."""
    found = min(losses, key=lambda loss: abs(loss - t), default=None)
    return found if found is not None and abs(found - t) <= within else None

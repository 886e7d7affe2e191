"""Cursor in a run: instant, flow and visible span; immutable, each move returns a new cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

RTTS_BEFORE, RTTS_AFTER = 6, 14
"""Round trips shown before and after a loss event."""

MIN_SAMPLES = 24
"""Minimum samples of a flow that stay visible at any zoom."""

ZOOM_FACTOR = 4
"""Factor by which each zoom shortens the visible span."""


class TimeSpan(NamedTuple):
    """Part of a run's time."""

    start: float
    """In seconds."""
    seconds: float

    @property
    def end(self) -> float:
        return self.start + self.seconds

    def column(self, t: float, columns: int) -> int:
        """Return the column of `columns` that contains `t`, clipped to the span."""
        return min(columns - 1, max(0, int((t - self.start) / self.seconds * columns)))

    def within(self, outer: TimeSpan) -> TimeSpan:
        """Return the span moved inside `outer`, or `outer` if that is not longer."""
        if self.seconds >= outer.seconds:
            return outer
        return TimeSpan(min(max(self.start, outer.start), outer.end - self.seconds), self.seconds)


@dataclass(frozen=True)
class Cursor:
    """Instant of a run, with the span visible around it."""

    t: float
    """In seconds."""
    run_span: TimeSpan
    flow: int = 0
    """Number of the selected flow, or a number without a flow if the run has none."""
    zooms: tuple[TimeSpan, ...] = ()
    """Visible spans of the zooms, outermost first; empty without zoom."""
    loss_origin: float | None = None
    """Time of the loss event zoomed to, s; round trips are counted from here."""
    shows_sequence: bool = False
    """Whether the sequence graph replaces the flow's cwnd."""

    @property
    def span(self) -> TimeSpan:
        return self.zooms[-1] if self.zooms else self.run_span

    @property
    def is_zoomed(self) -> bool:
        return bool(self.zooms)

    def column(self, columns: int) -> int:
        return self.span.column(self.t, columns)

    def move(self, by: int, columns: int) -> Cursor:
        """Move by columns; beyond the edge of a zoom, the span moves along."""
        step = self.span.seconds / columns
        return self.move_to(self.span.start + (self.column(columns) + by + 0.5) * step)

    def move_to_column(self, column: int, columns: int) -> Cursor:
        """Move to a column of the visible span."""
        inside = min(columns - 1, max(0, column))
        return self.move_to(self.span.start + (inside + 0.5) * self.span.seconds / columns)

    def move_to(self, t: float) -> Cursor:
        """Move to an instant; if it is not visible, center the span on it."""
        t = min(self.run_span.end, max(self.run_span.start, t))
        span = self.span
        if span.start <= t <= span.end:
            return replace(self, t=t)
        centered = TimeSpan(t - span.seconds / 2, span.seconds).within(self.run_span)
        return replace(self, t=t, zooms=(*self.zooms[:-1], centered))

    def zoom(self, loss: float | None, rtt: float, spacing: float) -> Cursor | None:
        """Zoom in on a loss event with its round trips, or around the cursor without a loss event.

        Args:
            loss: Time of the loss event, s.
            rtt: RTT of the flow, s.
            spacing: Time between samples of the flow, s.

        Returns:
            The closer cursor; None if no closer view has data.
        """
        min_seconds = max((RTTS_BEFORE + RTTS_AFTER) * rtt, MIN_SAMPLES * spacing)
        now = self.span.seconds
        if loss is not None and min_seconds < now / 1.5:
            share = RTTS_BEFORE / (RTTS_BEFORE + RTTS_AFTER)
            span = TimeSpan(loss - share * min_seconds, min_seconds).within(self.run_span)
            return replace(self, t=loss, zooms=(*self.zooms, span), loss_origin=loss)
        length = max(now / ZOOM_FACTOR, min_seconds / 2)
        if length > now / 1.5:
            return None
        span = TimeSpan(self.t - length / 2, length).within(self.run_span)
        return replace(self, zooms=(*self.zooms, span))

    def zoom_out(self) -> Cursor:
        """Undo the last zoom, and move the span to contain the cursor."""
        outer = replace(self, zooms=self.zooms[:-1])
        if not outer.is_zoomed:
            outer = replace(outer, loss_origin=None)
        return outer.move_to(self.t)


def neighboring_loss(losses: Sequence[float], t: float, direction: int) -> float | None:
    """Return the first loss event after `t`, or the last before if `direction` is -1."""
    candidates = [loss for loss in losses if (loss - t) * direction > 1e-6]
    return (min(candidates) if direction > 0 else max(candidates)) if candidates else None


def nearest_loss(losses: Sequence[float], t: float, within: float) -> float | None:
    """Return the nearest loss event at most `within` seconds away."""
    nearest = min(losses, key=lambda loss: abs(loss - t), default=None)
    return nearest if nearest is not None and abs(nearest - t) <= within else None

"""Data derived from a run while a cursor is in it, recomputed as the run grows or the view changes.

An `Inspection` belongs to a single panel. Keys read it in the event loop while a thread draws from it: both use
the latest data, and concurrent computations give the same result.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tcptutor.base.errors import TutorError
from tcptutor.figures.lines import Line
from tcptutor.run import Run
from tcptutor.runs import packets
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.readout.cursor import Cursor, TimeSpan

if TYPE_CHECKING:
    from tcptutor.analysis import Insight, Instants, SequenceGraph
    from tcptutor.ui.widgets.readout.packet_steps import PacketSteps

_CACHE_SIZE = 4
"""Cached histories and pictures: enough for the zooms on the way out."""

ANALYSIS_STEP_S = 1.0
"""Run time analyzed at a time, s."""

_PAUSE_FACTOR = 4
"""Pause after an analysis of a live run, as a multiple of the time it took."""

_Value = TypeVar("_Value")


class _RecentCache(dict[object, _Value]):
    """Cache of the most recently used values."""

    def get_or_make(self, key: object, make: Callable[[], _Value]) -> _Value:
        """Return the value under `key`, computing it if missing; the oldest entry is evicted."""
        cached = self.pop(key, None)
        self[key] = make() if cached is None else cached
        while len(self) > _CACHE_SIZE:
            self.pop(next(iter(self)), None)
        return self[key]


@dataclass(frozen=True)
class Backdrop:
    """Parts of the picture that do not move with the cursor."""

    lines: tuple[Line, ...]
    ruled: range
    """Lines where the cursor is drawn as a rule; in the lines below, it marks a cell."""


class Inspection:
    """Caches of everything that a cursor in a run needs."""

    def __init__(self, live: Live, history: History, run_file: Path | None = None) -> None:
        """Inspect a run; packets are looked up next to `run_file`."""
        self.live, self._history, self._run_file = live, history, run_file
        self.insight: Insight | None = None
        """Limits of the flows over time; None until analyzed."""
        self._covers_all = False
        """Whether `insight` covers the complete run."""
        self._is_analyzing = False
        self._next_analysis = 0.0
        self._instants: Instants | None = None
        self._histories: _RecentCache[History] = _RecentCache()
        self._sequences: _RecentCache[tuple[SequenceGraph | None]] = _RecentCache()
        self.backdrops: _RecentCache[Backdrop] = _RecentCache()
        """Parts that do not move with the cursor, by everything they depend on."""

    def start_analysis(self, t: float) -> bool:
        """Return whether the caller should analyze the run now, so that `insight` covers `t`."""
        known, run = self.insight, self.live.run
        if self._is_analyzing or not self.live.has_samples:
            return False
        if known is None or (not self._covers_all and not self.live.in_progress):
            is_due = True
        else:
            lags = t > known.until - ANALYSIS_STEP_S and run.sampled_until >= known.until + ANALYSIS_STEP_S
            is_due = lags and time.monotonic() >= self._next_analysis
        self._is_analyzing = is_due
        return is_due

    async def analyze(self, make: Callable[[Run], Awaitable[Insight]]) -> None:
        """Analyze the run as it is now; call after `start_analysis`."""
        started, ended = time.monotonic(), not self.live.in_progress
        try:
            self.insight = await make(self.instants.run)
            self._covers_all = ended
        finally:
            now = time.monotonic()
            self._next_analysis = now + _PAUSE_FACTOR * (now - started)
            self._is_analyzing = False

    @property
    def row_counts(self) -> tuple[int, ...]:
        """Number of rows in each table of the run."""
        run = self.live.run
        tables = (run.samples, run.queue, run.udp_samples)
        return tuple(len(table.column(table.row.__struct_fields__[-1])) for table in tables)

    @property
    def latest(self) -> Instants:
        """The run as of the last picture."""
        return self._instants or self.instants

    @property
    def instants(self) -> Instants:
        """The run as it is now."""
        from tcptutor.analysis import Instants  # noqa: PLC0415  # takes a tenth of a second to import

        known, run = self._instants, self.live.run
        # Besides samples, an ended run has the results of its flows, and is marked complete.
        if known is None or known.run.complete != run.complete or self._has_grown(known):
            known = self._instants = Instants(run)
        return known

    def _has_grown(self, known: Instants) -> bool:
        return (len(known.run.samples), len(known.run.queue), len(known.run.udp_samples)) != self.row_counts

    def history(self, cursor: Cursor) -> History:
        """Return the history of the visible span; only for the drawing thread."""
        if not cursor.is_zoomed:
            history = self._history
        else:
            span = cursor.span
            history = self._histories.get_or_make(span, lambda: History(span.seconds, span.start))
        history.follow(self.live.run)
        return history

    def initial_cursor(self) -> Cursor:
        """Return a cursor at the middle of the measured time, at the first flow."""
        experiment, instants = self.live.run.experiment, self.latest
        run_span = TimeSpan(0.0, experiment.seconds)
        flow = instants.flows[0] if instants.flows else -1
        return Cursor(min(instants.until or run_span.end, run_span.end) / 2, run_span, flow)

    @property
    def has_sequence(self) -> bool:
        """Whether the flows' sequence numbers were traced, or packets captured."""
        acks = self.live.run.acks
        return (len(acks.column("acked")) > 0 and acks.column("acked")[0] >= 0) or self._has_packets

    @property
    def has_ack_trace(self) -> bool:
        """Whether an ended run's ACKs were traced, so that its packets can be stepped through."""
        acks = self.live.run.acks
        return not self.live.in_progress and len(acks) > 0 and acks.column("acked")[0] >= 0

    def packet_steps(self, flow: int, name: str) -> PacketSteps | None:
        """Return the pictures of a flow's packets; None if it was not traced. Takes up to a second."""
        from tcptutor.analysis import flight  # noqa: PLC0415
        from tcptutor.ui.widgets.readout.packet_steps import PacketSteps  # noqa: PLC0415

        run = self.instants.run
        found = flight(run, flow)
        return PacketSteps(run, flow, name, found, self._sequence_graph(run, flow)) if found else None

    @property
    def _has_packets(self) -> bool:
        return bool(self.live.run.captured) and not self.live.in_progress and self._run_file is not None

    def sequence(self, cursor: Cursor) -> SequenceGraph | None:
        """Return the sequence graph of the cursor's flow in the visible span; None without data."""
        run, flow = self.instants.run, cursor.flow
        key = flow, len(run.acks), self._has_packets
        (graph_of_run,) = self._sequences.get_or_make(key, lambda: (self._sequence_graph(run, flow),))
        return graph_of_run and graph_of_run.between(cursor.span.start, cursor.span.end)

    def _sequence_graph(self, run: Run, flow: int) -> SequenceGraph | None:
        """Prefer packets, which show each segment and SACKs; a capture without SYNs needs the ACKs for the window."""
        from tcptutor.analysis import sequence_of_acks, sequence_of_packets  # noqa: PLC0415

        from_acks, graph = sequence_of_acks(run, flow), None
        if self._has_packets and self._run_file is not None:
            with contextlib.suppress(TutorError):  # the capture file is missing: `plot` reports it
                graph = sequence_of_packets(run, flow, packets.load(run, self._run_file))
        if graph is None or from_acks is None or graph.window_end:
            return graph or from_acks
        return msgspec.structs.replace(graph, window_end=from_acks.window_end)

    def losses(self, flow: int) -> list[float]:
        """Return the times of window reductions of a flow by losses or marks, s."""
        return self.latest.cuts(flow) if flow in self.latest.traces else []

    def round_trip(self, cursor: Cursor) -> float:
        """Return the RTT of the cursor's flow at the cursor, s; 0 if unknown."""
        flows = self.latest.at(cursor.t, 0.0).flows
        return next((flow.rtt_s or 0.0 for flow in flows if flow.flow == cursor.flow), 0.0)

    def next_flow(self, cursor: Cursor) -> Cursor:
        """Return the cursor at the next flow, cyclically."""
        flows = self.latest.flows
        if not flows:
            return cursor
        at = flows.index(cursor.flow) if cursor.flow in flows else -1
        # Round trips are counted from a loss of a single flow.
        return replace(cursor, flow=flows[(at + 1) % len(flows)], loss_origin=None)

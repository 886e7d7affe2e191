"""What has been worked out of a run that is looked into: made anew where the run has grown or another part is shown.

A `Looking` belongs to one panel. Keys ask it in the event loop while a picture is drawn of it in a thread: each takes
what there is, and what both make at once is the same.
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
from tcptutor.run import Run
from tcptutor.runs import packets
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.cursor import Cursor, TimeSpan
from tcptutor.ui.widgets.bench.history import History
from tcptutor.ui.widgets.bench.lines import Line

if TYPE_CHECKING:
    from tcptutor.analysis import Insight, Instants, SequenceGraph

_KEPT = 4
"""Histories and pictures that are kept: those of the zooms on the way out."""

SECOND = 1.0
"""Seconds of a run that are judged at a time."""

_REST = 4
"""How much longer than to work out what limited the flows it is then let be, while the run goes on."""

_Made = TypeVar("_Made")


class _Recent(dict[object, _Made]):
    """What was last asked for, by its key."""

    def kept(self, key: object, make: Callable[[], _Made]) -> _Made:
        """What is there under that key, else what `make` gives; the oldest one goes."""
        found = self.pop(key, None)
        self[key] = make() if found is None else found
        while len(self) > _KEPT:
            self.pop(next(iter(self)), None)
        return self[key]


@dataclass(frozen=True)
class Drawn:
    """All that does not move with the cursor."""

    lines: tuple[Line, ...]
    ruled: range
    """Those in which the cursor is a line; in the others, down to the last one, it marks a cell."""


class Looking:
    """One run, while there is a cursor in it."""

    def __init__(self, live: Live, history: History, run_file: Path | None = None) -> None:
        """run_file: the run's own, beside which its packets are if they were kept."""
        self.live, self._history, self._run_file = live, history, run_file
        self.insight: Insight | None = None
        """What limited the flows; None until it has been worked out."""
        self._ended = False
        """Whether that is of all that there will be of the run."""
        self._working = False
        self._not_before = 0.0
        self._instants: Instants | None = None
        self._histories: _Recent[History] = _Recent()
        self._sequences: _Recent[tuple[SequenceGraph | None]] = _Recent()
        self.drawn: _Recent[Drawn] = _Recent()
        """What does not move with the cursor, by all that it depends on."""

    def take_on(self, t: float) -> bool:
        """Whether what limited the flows at `t` is to be worked out now, by who asks; not if it was just done."""
        known, run = self.insight, self.live.run
        if self._working or not self.live.has_samples:
            return False
        if known is None or (not self._ended and not self.live.in_progress):
            wanted = True
        else:
            behind = t > known.until - SECOND and run.sampled_until >= known.until + SECOND
            wanted = behind and time.monotonic() >= self._not_before
        self._working = wanted
        return wanted

    async def work_out(self, make: Callable[[Run], Awaitable[Insight]]) -> None:
        """Have what limited the flows made of the run as it stands; after `take_on`."""
        began, ended = time.monotonic(), not self.live.in_progress
        try:
            self.insight = await make(self.instants.run)
            self._ended = ended
        finally:
            now = time.monotonic()
            self._not_before = now + _REST * (now - began)
            self._working = False

    @property
    def size(self) -> tuple[int, ...]:
        """How much of the run there is."""
        run = self.live.run
        tables = (run.samples, run.queue, run.udp_samples)
        return tuple(len(table.column(table.row.__struct_fields__[-1])) for table in tables)

    @property
    def latest(self) -> Instants:
        """The run as it stood when a picture was last drawn of it."""
        return self._instants or self.instants

    @property
    def instants(self) -> Instants:
        """The run as it stands now."""
        from tcptutor.analysis import Instants  # noqa: PLC0415  # takes a tenth of a second to import

        known, run = self._instants, self.live.run
        # An ended run has more than its samples told: results of flows, and that it is whole.
        if known is None or known.run.complete != run.complete or self._grown(known):
            known = self._instants = Instants(run)
        return known

    def _grown(self, known: Instants) -> bool:
        return (len(known.run.samples), len(known.run.queue), len(known.run.udp_samples)) != self.size

    def history(self, cursor: Cursor) -> History:
        """Of the time that is shown. Called in the thread that draws, and nowhere else."""
        if not cursor.zoomed:
            history = self._history
        else:
            span = cursor.span
            history = self._histories.kept(span, lambda: History(span.seconds, span.start))
        history.follow(self.live.run)
        return history

    def first(self) -> Cursor:
        """A cursor in the middle of what there is of the run, at its first flow."""
        experiment, instants = self.live.run.experiment, self.latest
        whole = TimeSpan(0.0, experiment.seconds)
        flow = instants.flows[0] if instants.flows else -1
        return Cursor(min(instants.until or whole.end, whole.end) / 2, whole, flow)

    @property
    def has_sequence(self) -> bool:
        """Whether the flows' bytes were traced, or their packets kept."""
        acks = self.live.run.acks
        return (len(acks.column("acked")) > 0 and acks.column("acked")[0] >= 0) or self._has_packets

    @property
    def _has_packets(self) -> bool:
        return bool(self.live.run.captured) and not self.live.in_progress and self._run_file is not None

    def sequence(self, cursor: Cursor) -> SequenceGraph | None:
        """The bytes of its flow in the time that is shown; None where nothing tells of them."""
        run, flow = self.instants.run, cursor.flow
        key = flow, len(run.acks), self._has_packets
        (whole,) = self._sequences.kept(key, lambda: (self._whole(run, flow),))
        return whole and whole.between(cursor.span.start, cursor.span.end)

    def _whole(self, run: Run, flow: int) -> SequenceGraph | None:
        """Of packets, which tell of each segment and of SACKs; the receiver's window is in the ACKs' trace alone."""
        from tcptutor.analysis import sequence_of_acks, sequence_of_packets  # noqa: PLC0415

        traced, graph = sequence_of_acks(run, flow), None
        if self._has_packets and self._run_file is not None:
            with contextlib.suppress(TutorError):  # its file is gone: `plot` says so
                graph = sequence_of_packets(run, flow, packets.load(run, self._run_file))
        if graph is None or traced is None:
            return graph or traced
        return msgspec.structs.replace(graph, window_end=traced.window_end)

    def losses(self, flow: int) -> list[float]:
        """When that flow's sender answered losses or marks, s."""
        return self.latest.cuts(flow) if flow in self.latest.traces else []

    def round_trip(self, cursor: Cursor) -> float:
        """The RTT of the cursor's flow there, s; 0 where none is known."""
        flows = self.latest.at(cursor.t, 0.0).flows
        return next((flow.rtt_s or 0.0 for flow in flows if flow.flow == cursor.flow), 0.0)

    def next_flow(self, cursor: Cursor) -> Cursor:
        """At the same instant; after the last flow comes the first."""
        flows = self.latest.flows
        if not flows:
            return cursor
        at = flows.index(cursor.flow) if cursor.flow in flows else -1
        # Round trips are counted from a loss of one flow.
        return replace(cursor, flow=flows[(at + 1) % len(flows)], counted_from=None)

"""Picture of a flow's segments at an instant: the path as a pipe, bytes over time, and TCP's latest action."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcptutor.base.columns import wrapped
from tcptutor.figures.lines import BAD, DATA, MUTED, QUEUE, STRONG, TEXT, Line, Piece, spread
from tcptutor.figures.pipe_drawing import PacketKind, PipePacket, PipeState, draw_pipe, scale_of
from tcptutor.run import SSTHRESH_INFINITE, Run
from tcptutor.study import flight_words
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.readout import sequence
from tcptutor.ui.widgets.readout.cursor import TimeSpan

if TYPE_CHECKING:
    from tcptutor.analysis import Flight, FlightState, InFlight, SequenceGraph

_ROUND_TRIPS = 6
"""Round trips of the sequence graph."""
_MIN_GRAPH = 4
"""Lines below which the graph is left out."""
_SENTENCE_LINES = 3
_NOTE = "Places are computed from departure and ACK: what exceeds the empty path's RTT is time in the queue."


class PacketSteps:
    """Everything about a flow that its pictures have in common."""

    def __init__(self, run: Run, flow: int, name: str, flight: Flight, graph: SequenceGraph | None) -> None:
        self.run, self.flow, self.name, self.flight = run, flow, name, flight
        self._graph = graph
        experiment = run.experiment
        packet = experiment.packet
        rate = experiment.path.rate
        self._capacity = rate * flight.base_rtt / 2 / 8 / packet if rate else math.inf
        self._room = experiment.path.queue / packet if rate else math.inf
        waiting = max(run.queue.column("packets"), default=0) if len(run.queue) else 0
        self._longest = float(min(max(waiting, 1), self._room)) if rate else 0.0

    def render(self, t: float, head: str, width: int, height: int) -> list[Line]:
        """Return at most `height` lines; `head`, at the right, describes how time passes."""
        state = self.flight.at(t)
        pipe = self._pipe(state)
        packets = scale_of(pipe, width).packets_per_cell
        note = f"■ = {packets} segments. {_NOTE}" if packets > 1 else _NOTE
        top = [
            spread(Line.of((f"flow {self.name} at {t:.4f} s", STRONG)), Line.of((head, MUTED)), width),
            *self._numbers(state, width),
            Line(),
            *draw_pipe(pipe, width),
        ]
        words = [
            Line(),
            *self._sentence(state, width),
            *(Line.of((line, MUTED)) for line in wrapped(note, width)),
        ]
        rest = height - len(top) - len(words) - 4
        return [*top, *(self._drawn_graph(t, width, rest) if rest >= _MIN_GRAPH else []), *words][:height]

    def instant(self, t: float, width: int) -> list[Line]:
        """Return the path at `t` and the last event."""
        state = self.flight.at(t)
        head = Line.of((f"flow {self.name} at {t:.4f} s", STRONG))
        return [
            head,
            *self._numbers(state, width),
            *draw_pipe(self._pipe(state), width),
            *self._sentence(state, width),
        ]

    def in_words(self, t: float) -> str:
        """Return the state at `t` in sentences."""
        return flight_words.instant_in_words(self.flight, t)

    def _numbers(self, state: FlightState, width: int) -> list[Line]:
        """Return cwnd and where segments are, in as many lines as they need."""
        pieces: list[Piece] = [(f"cwnd {state.cwnd}", STRONG)]
        if state.event is not None and state.event.ssthresh < SSTHRESH_INFINITE:
            pieces.append((f"ssthresh {state.event.ssthresh}", TEXT))
        waiting = sum(each.place == "queue" for each in state.segments)
        pieces += [(f"{len(state.segments) - waiting} under way", DATA), (f"{waiting} queued", QUEUE)]
        if state.lost:
            pieces.append((f"{state.lost} lost so far", BAD))
        lines = [Line()]
        for text, style in pieces:
            gap = "   " if lines[-1].text else ""
            if len(lines[-1].text) + len(gap) + len(text) > width:
                lines.append(Line())
                gap = ""
            lines[-1] = Line.of(*lines[-1].pieces(), (gap, TEXT), (text, style))
        return lines

    def _pipe(self, state: FlightState) -> PipeState:
        queue = [each for each in state.segments if each.place == "queue"]
        return PipeState(
            segments=tuple(_packet(each) for each in state.segments if each.place == "link"),
            queues=(tuple(_packet(each) for each in queue),),
            acks=tuple(
                PipePacket("ack", each.progress, 1.0) for each in state.segments if each.place == "back"
            ),
            capacity=self._capacity,
            longest=self._longest,
            room=self._room,
            dropped=state.lost,
            is_dropping=state.is_dropping,
        )

    def _sentence(self, state: FlightState, width: int) -> list[Line]:
        lines = wrapped(flight_words.last_event(self.flight, state), width)[:_SENTENCE_LINES]
        return [Line.of((line, TEXT)) for line in lines] + [Line()] * (_SENTENCE_LINES - len(lines))

    def _drawn_graph(self, t: float, width: int, height: int) -> list[Line]:
        if self._graph is None:
            return []
        length = _ROUND_TRIPS * (self.flight.base_rtt or 0.1)
        end = self.run.experiment.seconds
        span = TimeSpan(t - length / 2, length).within(TimeSpan(0.0, end))
        graph = self._graph.between(span.start, span.end)
        if not (graph.sent or graph.retransmitted):
            return []
        lines = sequence.render(graph, span, width, height)
        title = sequence.title(graph, self.name, width)
        return [Line(), title, *_with_rule(lines, axes.GUTTER + span.column(t, axes.columns(width)), height)]


def _packet(each: InFlight) -> PipePacket:
    kind: PacketKind = "retransmission" if each.journey.is_retransmission else "segment"
    return PipePacket(kind, each.progress)


def _with_rule(lines: list[Line], column: int, height: int) -> list[Line]:
    """Mark the instant by a vertical line through the empty cells of the graph."""
    marked = []
    for number, line in enumerate(lines):
        full = line.fit(column + 1)
        is_free = number < height and full.text[column] == " "
        marked.append(
            Line(
                full.text[:column] + "│" + full.text[column + 1 :],
                (*full.styles[:column], STRONG, *full.styles[column + 1 :]),
            )
            if is_free
            else line
        )
    return marked

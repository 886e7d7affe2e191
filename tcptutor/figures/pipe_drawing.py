"""Drawing of a path at an instant: a queue in front of a link with segments on it, and below it the ACKs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import (
    ACK,
    BAD,
    DATA,
    FRAME,
    LIMIT,
    MUTED,
    OTHER,
    QUEUE,
    RTT,
    STRONG,
    WARN,
    Line,
    Piece,
)

FLOW_STYLES = (DATA, OTHER, RTT, LIMIT)
_SQUARES, _BLOCKS = "■□▣▤", "█▒▓░"
HALF_FULL = "▄"
_AGAIN = "◆"
_ACK_STEP = 2  # columns: a dense stream of ACKs looks the same all the time, and costs a terminal nothing
_SHORTEST_LINK = 8  # cells
_LONGEST_GAP = 4  # cells
_LEAST_OWN_CELL = 0.6  # cells per packet from which each packet has a cell of its own


PacketKind = Literal["segment", "retransmission", "ack", "duplicate", "lost"]


class PipePacket(NamedTuple):
    """A packet on the path or in the queue."""

    kind: PacketKind = "segment"
    front: float = 0.0
    """Way that it has covered, 0 to 1: of the link for a segment, from receiver to sender for an ACK."""
    length: float = 1.0
    """Length, in the unit of `PipeState.capacity`."""
    flow: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeState:
    """A path at an instant."""

    segments: tuple[PipePacket, ...] = ()
    """Packets on the link."""
    queues: tuple[tuple[PipePacket, ...], ...] = ((),)
    """Waiting packets, the next to leave first: a queue for all flows, or for each flow."""
    acks: tuple[PipePacket, ...] = ()
    capacity: float = math.inf
    """Segments that the link holds end to end; infinite for a link without a rate."""
    longest: float = 0.0
    """Packets for which the drawing keeps room in front of the link, in each queue; 0 for no queue."""
    room: float = math.inf
    """Packets that a queue can hold."""
    dropped: int = 0
    """Packets that died so far."""
    is_dropping: bool = False
    """Whether a packet has just found the queue full."""
    shows_drops: bool = False
    """Whether the drawing has a line for drops."""
    flows: int = 1
    """Flows with different hues."""
    label: str = ""
    numbers: tuple[Piece, ...] = ()
    """Texts at the right of the label, the most important first; texts that do not fit are left out."""
    parts: tuple[str, ...] = ()
    """Names to write above queue, bottleneck and link, in place of label and numbers; empty for none."""
    senders: tuple[str, ...] = ("h1",)
    """Name of each queue."""
    receiver: str = "h2"


class PipeScale(NamedTuple):
    """Columns of a drawing, and how long a packet is in it."""

    start: int
    """First column of the queue."""
    queue: int
    link: int
    """Cells."""
    packet: float
    """Cells per packet in the queue; below 1, a cell represents several packets."""

    @property
    def bottleneck(self) -> int:
        """Column between queue and link; with no queue, that before the link."""
        return self.start + self.queue

    @property
    def packets_per_cell(self) -> int:
        return 1 if self.packet >= 1 else round(1 / self.packet)


def scale_of(state: PipeState, width: int) -> PipeScale:
    """Return the columns of a drawing of `state`, which stay constant while packets move."""
    start = max(len(name) for name in state.senders) + 1
    inner = width - start - len(state.receiver) - 2
    if state.capacity == math.inf:
        return PipeScale(start, 0, inner, 1)
    packet = inner / (state.longest + state.capacity)
    if packet >= 1:
        # Whole cells per packet; what is left over makes room in front of the link.
        packet = math.floor(packet)
        link = min(inner, round(state.capacity * packet))
        return PipeScale(start, inner - link if state.longest else 0, link, packet)
    link = max(inner - math.ceil(state.longest * packet), _SHORTEST_LINK, inner // 7)
    return PipeScale(
        start, inner - link, link, min(packet, (inner - link) / state.longest) if state.longest else packet
    )


def draw_pipe(state: PipeState, width: int) -> list[Line]:
    """Return the path as lines, at most `width` columns; their number depends on the queues and on `shows_drops`."""
    scale = scale_of(state, width)
    count = len(state.queues)
    head = 1 if state.label or state.numbers or state.parts else 0
    # The link leaves the queues in the middle; an even number of queues leaves a line free for it.
    rows = [head + row + (1 if count % 2 == 0 and row >= count // 2 else 0) for row in range(count)]
    link_row = head + count // 2
    ack_row = rows[-1] + 1
    grid = Grid(width, ack_row + (2 if state.shows_drops else 1))
    if state.parts:
        _write_parts(grid, scale, state.parts)
    elif head:
        _write_head(grid, state)
    for row, queue, name in zip(rows, state.queues, state.senders, strict=True):
        grid.put(0, row, name, STRONG)
        _draw_queue(grid, scale, state, queue, row)
    if scale.queue:
        _draw_bottleneck(grid, scale.bottleneck, rows, link_row)
    _draw_link(grid, scale, state, link_row)
    grid.put(scale.bottleneck + scale.link + 2, link_row, state.receiver, STRONG)
    _draw_acks(grid, scale, state.acks, ack_row)
    if state.is_dropping:
        grid.put(scale.start - 1, rows[0], "✗", BAD)
    if state.dropped and state.shows_drops:
        grid.put(scale.start, ack_row + 1, f"✗ {state.dropped} dropped", BAD)
    return grid.lines()


def _write_head(grid: Grid, state: PipeState) -> None:
    grid.put(0, 0, state.label, STRONG)
    room = grid.width - len(state.label) - 2
    shown = list(state.numbers)
    while shown and len(" · ".join(text for text, _ in shown)) > room:
        shown.pop()
    column = grid.width - len(" · ".join(text for text, _ in shown))
    for number, (text, style) in enumerate(shown):
        if number:
            grid.put(column, 0, " · ", MUTED)
            column += 3
        grid.put(column, 0, text, style)
        column += len(text)


def _write_parts(grid: Grid, scale: PipeScale, parts: Sequence[str]) -> None:
    queue, bottleneck, link = parts
    start = scale.bottleneck - len(bottleneck) // 2
    grid.put(start, 0, bottleneck, STRONG)
    grid.put_center(scale.start, start - scale.start, 0, queue, QUEUE)
    end = start + len(bottleneck)
    grid.put_center(end, scale.bottleneck + 1 + scale.link - end, 0, link, DATA)


def _draw_queue(
    grid: Grid, scale: PipeScale, state: PipeState, queue: Sequence[PipePacket], row: int
) -> None:
    if not scale.queue:
        return
    if not queue and scale.queue >= len("queue") and state.room == math.inf:
        grid.put_right(scale.bottleneck - 1, row, "queue", MUTED)
    if state.room < math.inf:
        places = min(scale.queue, math.ceil(state.room * scale.packet))
        grid.put(scale.bottleneck - places, row, "·" * places, MUTED)
    if scale.packet < 1:
        cells = min(scale.queue, math.ceil(len(queue) * scale.packet))
        for cell in range(cells):
            packet = queue[min(len(queue) - 1, int((cell + 0.5) / scale.packet))]
            grid.put(scale.bottleneck - 1 - cell, row, *_waiting(_square(packet), state))
        return
    end = scale.bottleneck
    for packet in queue:
        cells = max(1, round(packet.length * scale.packet))
        grid.put(max(scale.start, end - cells), row, *_waiting(_bar(packet, cells), state))
        end -= cells
        if end <= scale.start:
            return


def _draw_bottleneck(grid: Grid, column: int, rows: Sequence[int], link_row: int) -> None:
    if len(rows) == 1:
        grid.put(column, link_row, "┃", FRAME)
        return
    grid.column_of(column, rows[0], rows[-1], "┃", FRAME)
    grid.put(column, rows[0], "┓", FRAME)
    grid.put(column, rows[-1], "┛", FRAME)
    grid.put(column, link_row, "┣" if link_row not in rows else "╋", FRAME)


def _draw_link(grid: Grid, scale: PipeScale, state: PipeState, row: int) -> None:
    start = scale.bottleneck + 1
    grid.put(start, row, "─" * scale.link, FRAME)
    per_packet = scale.link / state.capacity  # cells; 0 if a packet has no length
    if 0 < per_packet < _LEAST_OWN_CELL:
        _draw_covered(grid, scale, state.segments, row, per_packet)
    for packet in state.segments:
        front = packet.front * scale.link
        if packet.kind == "lost":
            grid.put(start + min(scale.link - 1, int(front)), row, "✗", BAD)
        elif not 0 < per_packet < _LEAST_OWN_CELL:
            last = round(front) if per_packet else int(front) + 1
            first = min(last - 1, round(front - packet.length * per_packet))
            bar, style = _bar(packet, last - first)
            grid.put(start + max(first, 0), row, bar[max(0, -first) : scale.link - first], style)
            if last <= scale.link and per_packet:
                _color_gap(grid, start + last, start + scale.link, row, style)


def _color_gap(grid: Grid, column: int, end: int, row: int, style: str) -> None:
    """Color a short gap in front of a packet like the packet: each change of color costs output."""
    gap = 0
    while gap <= _LONGEST_GAP and column + gap < end and grid.at(column + gap, row)[0] == "─":
        gap += 1
    if 0 < gap <= _LONGEST_GAP and column + gap < end:
        grid.put(column, row, "─" * gap, style)


def _draw_covered(
    grid: Grid, scale: PipeScale, packets: Sequence[PipePacket], row: int, per_packet: float
) -> None:
    """Draw packets that are shorter than a cell: a cell is full, half full or empty."""
    covered = [0.0] * scale.link
    packet_in: dict[int, PipePacket] = {}
    for packet in packets:
        if packet.kind == "lost":
            continue
        front = min(packet.front * scale.link, float(scale.link))
        back = max(0.0, front - packet.length * per_packet)
        for cell in range(int(back), min(scale.link, math.ceil(front))):
            part = min(front, cell + 1) - max(back, cell)
            covered[cell] += part
            if cell not in packet_in or packet.kind == "retransmission":
                packet_in[cell] = packet
    for cell in range(1, scale.link - 1):
        # Sparse packets are spread evenly: a gap between two half-full cells would only flicker.
        if cell not in packet_in and cell - 1 in packet_in and 0.05 < covered[cell + 1] <= 0.7:
            packet_in[cell], covered[cell] = packet_in[cell - 1], covered[cell - 1]
    for cell, packet in packet_in.items():
        character, style = _square(packet)
        if covered[cell] > 0.7:
            grid.put(scale.bottleneck + 1 + cell, row, character, style)
        elif covered[cell] > 0.05:
            grid.put(scale.bottleneck + 1 + cell, row, HALF_FULL, style)


def _draw_acks(grid: Grid, scale: PipeScale, acks: Sequence[PipePacket], row: int) -> None:
    start, cells = scale.start, scale.queue + scale.link + 1
    for ack in sorted(acks, key=lambda ack: ack.kind == "duplicate"):
        at = start + min(cells - 1, int((1 - ack.front) * cells)) // _ACK_STEP * _ACK_STEP
        if ack.kind == "lost":
            grid.put(at, row, "✗", BAD)
        elif ack.kind == "duplicate":
            grid.put(at, row, "◃", WARN)
        else:
            grid.put(at, row, "◂", ACK if ack.flow == 0 else FLOW_STYLES[ack.flow % len(FLOW_STYLES)])


def _waiting(piece: Piece, state: PipeState) -> Piece:
    """Return a waiting packet, in the hue of queues unless hues distinguish flows."""
    text, style = piece
    return text, QUEUE if style == DATA and state.flows == 1 else style


def _square(packet: PipePacket) -> Piece:
    if packet.kind == "retransmission":
        return _AGAIN, WARN
    flow = packet.flow % len(FLOW_STYLES)
    return _SQUARES[flow], FLOW_STYLES[flow]


def _bar(packet: PipePacket, cells: int) -> Piece:
    """Return a packet that is some cells long, with a gap behind it."""
    square, style = _square(packet)
    if cells <= 1:
        return square, style
    block = square if packet.kind == "retransmission" else _BLOCKS[packet.flow % len(_BLOCKS)]
    return "▐" + block * (cells - 1), style

"""Sliding window as a row: a sender's segments by number, acknowledged ones at the left, its window as a frame."""

from __future__ import annotations

from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import DATA, LIMIT, MUTED, TEXT, Line
from tcptutor.theory.packet_simulation import PacketTrace

_LABEL = "window"


def window_at(trace: PacketTrace, t: float) -> tuple[int, int, int]:
    """Return the first segment without an ACK, the last that the window allows, and the last that has left."""
    acks = [
        packet.number
        for packet in trace.packets
        if packet.kind == "ack" and packet.arrived is not None and packet.arrived <= t
    ]
    sent = [packet.number for packet in trace.packets if packet.kind == "segment" and packet.sent <= t]
    first = max(acks, default=1)
    allowed = int(min(trace.flows[0].window, trace.senders[0].cwnd_at(t)))
    return first, first + allowed - 1, max(sent, default=0)


def segments_of(trace: PacketTrace) -> int:
    """Return the number of segments to draw: all departures, and a further window."""
    last = max(packet.number for packet in trace.packets if packet.kind == "segment")
    return last + int(trace.flows[0].window)


def draw_window(trace: PacketTrace, t: float, width: int) -> Line:
    """Return the row; a segment keeps its place, and the window moves."""
    first, last, sent = window_at(trace, t)
    count = segments_of(trace)
    digits = len(str(count))
    start = len(_LABEL) + 2
    cell = digits + 2 if start + count * (digits + 2) < width else digits + 1
    grid = Grid(width, 1)
    grid.put(0, 0, _LABEL, LIMIT)
    for number in range(1, count + 1):
        style = MUTED if number < first else DATA if number <= sent else TEXT
        grid.put_right(start + number * cell - 1, 0, str(number), style)
    grid.put(start + first * cell - 2 - len(str(first)), 0, "[", LIMIT)
    grid.put(start + last * cell - 1, 0, "]", LIMIT)
    return grid.lines()[0]


def fits(trace: PacketTrace, width: int) -> bool:
    """Return True if the row fits a width."""
    count = segments_of(trace)
    return len(_LABEL) + 2 + count * (len(str(count)) + 1) < width


def in_words(trace: PacketTrace, t: float) -> str:
    """Describe the row in a sentence."""
    first, last, sent = window_at(trace, t)
    before = f"Segments up to {first - 1} are acknowledged. " if first > 1 else ""
    return f"{before}The window goes from {first} to {last}, and {sent} is the last segment sent."

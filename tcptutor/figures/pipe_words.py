"""Pipe in words: positions at an instant, the rhythm of departures, and drops."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median

from tcptutor.base import units
from tcptutor.figures.pipe_drawing import PipeState
from tcptutor.theory.packet_simulation import PacketTrace

_EVEN = 1.5
"""Longest gap over the shortest gap up to which segments leave evenly."""
_PAUSE = 4
"""A gap that is a pause, over the median gap."""


def describe_pipe(state: PipeState, trace: PacketTrace, t: float) -> str:
    """Return sentences about a path at instant `t`, and about its full simulation."""
    room = f" of {state.room:.0f}" if state.room < math.inf else ""
    places = [
        f"{_count(len(state.segments), 'segment')} on the link",
        f"{sum(len(queue) for queue in state.queues)} {f'in the queue{room}' if state.longest else 'still at h1'}",
        f"{_count(len(state.acks), 'ACK')} on the way back",
    ]
    words = f"{state.label}, at {units.seconds(t)}" if state.label else f"At {units.seconds(t)}"
    words += f": {', '.join(places)}."
    if state.parts:
        words += f" From left to right: {', '.join(filter(None, state.parts))}."
    if trace.path.schedule == "round-robin" and state.numbers:
        words += f" {', '.join(text for text, _ in state.numbers)}."
    words += "".join(f" {each}" for each in _rhythms(trace))
    if state.longest and (most := max(trace.queue)) > 1:
        words += (
            f" The queue is longest at {units.seconds(trace.queue_t[trace.queue.index(most)])}, with {most}."
        )
    if drops := [packet for packet in trace.packets if packet.dropped is not None]:
        verb = "dies" if len(drops) == 1 else "die"
        words += f" {_count(len(drops), 'packet')} {verb}, the first at {units.seconds(drops[0].end)}"
        again = [packet.sent for packet in trace.packets if packet.transmission > 1]
        words += f"; the first retransmission leaves at {units.seconds(again[0])}." if again else "."
    return words[0].upper() + words[1:]


def _rhythms(trace: PacketTrace) -> list[str]:
    """Return how segments leave the link's queue: of each flow with a fixed window, or of all if there are many."""
    is_fixed = all(flow.algorithm == "fixed" for flow in trace.flows)
    has_drops = any(packet.dropped is not None for packet in trace.packets)
    if not is_fixed or has_drops or trace.path.schedule == "round-robin":
        return []
    flows = range(len(trace.flows))
    found = [_rhythm(trace, flow) for flow in flows]
    if len(flows) == 1:
        return [f"Segments leave {each}." for each in found if each]
    if len(set(found)) == 1:
        return [f"Segments of each flow leave {each}." for each in found[:1] if each]
    return [f"Segments of flow {flow + 1} leave {each}." for flow, each in enumerate(found) if each]


def _rhythm(trace: PacketTrace, flow: int) -> str:
    """Return the rhythm of a flow's segments in its first round trip; empty without a rhythm."""
    rtt = 2 * trace.path.delay + trace.path.service(trace.flows[flow].size)
    times = [
        packet.left
        for packet in trace.packets
        if packet.kind == "segment" and packet.flow == flow and packet.left is not None
    ]
    times = [each for each in times if each <= times[0] + 1.01 * rtt]
    gaps = [after - before for before, after in pairwise(times)]
    if len(gaps) < 2:
        return ""
    if max(gaps) <= _EVEN * min(gaps):
        return f"evenly, one every {units.seconds(median(gaps))}"
    if max(gaps) > _PAUSE * median(gaps):
        together = gaps.index(max(gaps)) + 1
        return f"in bursts, {together} in a row and none for the next {units.seconds(max(gaps))}"
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")

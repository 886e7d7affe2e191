"""Steps from event to event through the packets of a run with 16 flows."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

from msgspec.structs import replace as changed

from tcptutor.analysis import flight, sequence_of_acks
from tcptutor.base import places
from tcptutor.run import AckTable, Run, load
from tcptutor.ui.widgets.readout.packet_steps import PacketSteps

_FLOWS = 16
_STEPS = 300
_SIZE = (120, 36)


class Stepping(NamedTuple):
    """Processor time, seconds."""

    opening: float
    """From the run to the first picture."""
    longest_step: float
    """99 % of the steps take at most as long."""


def sixteen_flows() -> Run:
    """The recorded run of slow start, as if each of 16 flows had gone through it."""
    run = load(places.assets() / "recorded/congestion-algorithms/slow-start.tcprun")
    rows = sorted(
        (changed(row, flow=flow) for row in run.acks for flow in range(_FLOWS)), key=lambda row: row.t
    )
    return changed(run, acks=AckTable(rows))


def measure() -> Stepping:
    """Open the packets of a flow, and step through them."""
    run = sixteen_flows()
    began = time.process_time()
    found = flight(run, 0)
    assert found is not None
    steps = PacketSteps(run, 0, "1", found, sequence_of_acks(run, 0))
    steps.render(0.0, "paused", *_SIZE)
    opening = time.process_time() - began
    times, t = [], 0.0
    for _ in range(_STEPS):
        began = time.process_time()
        event = found.neighbor(t, 1)
        assert event is not None
        t = event.t
        steps.render(t, "paused", *_SIZE)
        times.append(time.process_time() - began)
    return Stepping(opening, statistics.quantiles(times, n=100)[-1])

"""RTT of captured segments, from the packets next to a run's file."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tcptutor.analysis import SegmentRtt, rtts_of_packets
from tcptutor.base.errors import TutorError
from tcptutor.run import Run
from tcptutor.runs import packets


def captured_rtts(run: Run, file: Path | None) -> list[SegmentRtt]:
    """Return the RTT of each captured segment; empty without packets, or if they cannot be read."""
    if file is None or not run.captured:
        return []
    with contextlib.suppress(TutorError):
        return rtts_of_packets(run, packets.load(run, file))
    return []

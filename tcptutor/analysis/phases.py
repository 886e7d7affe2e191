"""The phases of a flow on the time axis, from the sender's state, ssthresh and its counter of timeouts.

Recovery is the kernel's states CWR and recovery, timeout its state loss; a timeout that is over between two samples
is seen by its counter. Otherwise the flow is in slow start while cwnd is below ssthresh, and else in congestion
avoidance. A HyStart exit is a mark: start and end are one.

BBR has no ssthresh of this kind, and tcp_info does not tell its mode. Linux sets its ssthresh when STARTUP ends, so
slow start stands for STARTUP; all the rest of its open time (drain, probing) is called congestion avoidance.
"""

from __future__ import annotations

from tcptutor.analysis.model import Phase, PhaseName
from tcptutor.analysis.trace import CWR, LOSS, Trace
from tcptutor.run import SSTHRESH_INFINITE

_HYSTART = frozenset({"cubic"})
"""Algorithms that have it in Linux."""


def phases(trace: Trace, algorithm: str) -> tuple[Phase, ...]:
    """In order of time; without gaps but for the marks between them. Empty for fewer than two samples."""
    if len(trace) < 2:
        return ()
    times = trace.column("t")
    names = _names(trace, algorithm == "bbr")
    exits = set(trace.hystart_exits) if algorithm in _HYSTART else set()
    found: list[Phase] = []
    start = times[0]
    for at in range(1, len(names)):
        if names[at] != names[at - 1]:
            found.append(Phase(start=start, end=times[at], name=names[at - 1]))
            start = times[at]
        if at in exits:
            found.append(Phase(start=times[at], end=times[at], name="hystart-exit"))
    found.append(Phase(start=start, end=times[-1], name=names[-1]))
    # The last sample alone would be a phase without a length.
    return tuple(phase for phase in found if phase.end > phase.start or phase.name == "hystart-exit")


def _names(trace: Trace, bbr: bool) -> list[PhaseName]:
    finite = 0 if bbr else SSTHRESH_INFINITE
    cwnds, thresholds, states, timeouts = (
        trace.column(name) for name in ("cwnd", "ssthresh", "ca_state", "total_rto")
    )
    columns = zip(cwnds, thresholds, states, timeouts, (timeouts[0], *timeouts), strict=False)
    return [
        "timeout"
        if state >= LOSS or count > before
        else "recovery"
        if state >= CWR
        else "slow-start"
        if ssthresh >= SSTHRESH_INFINITE or cwnd < ssthresh < finite
        else "congestion-avoidance"
        for cwnd, ssthresh, state, count, before in columns
    ]

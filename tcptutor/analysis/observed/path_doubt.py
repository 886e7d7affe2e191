"""Doubts about the path of a run: a rate that an import lacks, or that contradicts the data that arrived."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tcptutor.analysis.observed.measured import is_imported
from tcptutor.base import units
from tcptutor.run import FlowResult, Run, UdpResult
from tcptutor.spec.frame_sizes import WIRE_FRAMING

CREDIT = 1.05
"""Overshoot of the link rate that a short test may show, from credit saved by the shaper."""

_LEFT_TO_SEND = 1.02
"""Overshoot of the link capacity that a sender may show, from data left in its buffer at the end."""

_HEADERS = 52 + WIRE_FRAMING
"""Bytes of a frame without its payload: IP, TCP with timestamps, and Ethernet."""

_NO_RATE = "its path is not known: import it with --set rate=... to compare it"


def path_doubt(run: Run) -> str:
    """Return why the models cannot be applied to a run, as a sentence; empty if they can."""
    if unread := run.experiment.path.unread:
        return f"its path is not known: tcptutor does not read {', '.join(unread)}"
    if not is_imported(run):
        return ""
    used = _used_directions(run)
    path = run.experiment.path
    rates = {reverse: path.reverse_rate if reverse else path.rate for reverse in used}
    if None in rates.values():
        return _missing_rate(rates)
    if any(flow.reverse for flow in run.udp):
        return "no model here has UDP from the server to the client: it is not compared"
    doubts = (_too_much(run, reverse, rate or math.inf) for reverse, rate in sorted(rates.items()))
    return next(filter(None, doubts), "")


def is_path_known(run: Run) -> bool:
    """Return whether the models apply: an import has a path only if its importer described it."""
    return not path_doubt(run)


def rate_doubt(run: Run) -> str:
    """Return the doubt about the rate supplied for an imported run; empty if none was supplied, or it fits."""
    path = run.experiment.path
    return path_doubt(run) if path.rate is not None or path.reverse_rate is not None else ""


def counted_by_sender(flows: Iterable[FlowResult]) -> bool:
    """Return whether any throughput is a sender's count because the receiver's is missing."""
    return any(flow.receiver_bps is None for flow in flows)


def _missing_rate(rates: Mapping[bool, float | None]) -> str:
    if len(rates) == 1:
        if True in rates:
            return "its flows run from server to client: import it with --set reverse_rate=... to compare it"
        return _NO_RATE
    missing = [name for reverse, name in ((False, "rate"), (True, "reverse_rate")) if rates[reverse] is None]
    options = " ".join(f"--set {name}=..." for name in missing)
    return f"its flows run both ways: import it with {options}{' as well' if len(missing) == 1 else ''} to compare it"


def _used_directions(run: Run) -> set[bool]:
    tcp = {run.experiment.reversed(flow.flow) for flow in run.flows}
    return (tcp | {flow.reverse for flow in run.udp}) or {False}


def _too_much(run: Run, reverse: bool, rate: float) -> str:
    """Return a message that more data arrived or was written than the rate allows; empty if not."""
    flows = [flow for flow in run.flows if run.experiment.reversed(flow.flow) == reverse]
    total = math.fsum(flow.throughput_bps for flow in flows) + _received(run.udp, reverse)
    mss = max((flow.mss for flow in flows), default=0)
    payload = mss / (mss + _HEADERS) if mss else 1.0
    if counted_by_sender(flows) and total > _LEFT_TO_SEND * payload * rate:
        written = f"{units.rate(total)} were written, more than the link's {units.rate(rate)}"
        return f"{written}: what arrived is not in this file"
    if total <= CREDIT * rate:
        return ""
    return f"{units.rate(total)} arrived, more than a link of {units.rate(rate)} carries: check the rate"


def _received(flows: Iterable[UdpResult], reverse: bool) -> float:
    return math.fsum(flow.received_bps or 0.0 for flow in flows if flow.reverse == reverse)

"""Predictions that need no loss: the link, the receiver's window, pacing, the sawtooth, the buffers."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor import units
from tcptutor.analysis.case import Candidate, Case
from tcptutor.spec import ETHERNET_HEADER
from tcptutor.theory import goodput_ratio, sawtooth_utilisation, shared_utilisation, window_limited

LINK_ERROR = 0.02
"""ARP, ACKs, and the bursts of the shaper."""

WINDOW_ERROR = 0.05
"""The queue and the hosts lengthen the RTT a little."""

PACING_ERROR = 0.05
"""The kernel paces payload by its own timer, and keeps credit for late packets."""

BBR_ERROR = 0.05
"""BBR empties the pipe every ten seconds and probes below its estimate."""

BURST_FRAMES = 10
"""Queue in full frames below which TCP's own bursts overflow it and no model of the sawtooth holds."""

BURST_ERROR = 0.5

SAWTOOTH_ERROR = 0.05
"""A drop at the tail often costs more than one segment."""

KERNEL_BUFFER = 3 << 20
"""Payload that fits the largest receive buffer of the lab's hosts (6 MiB, half of it bookkeeping), bytes."""


def limit_candidates(case: Case) -> Iterator[Candidate]:
    """Every limit of `case` that is there whatever is lost."""
    if case.link is not None:
        yield from _link(case, case.link)
    window = case.experiment.hosts.window
    if window is not None:
        # Only full segments are sent, so up to one may find no room.
        error = WINDOW_ERROR + min(0.5, case.mss / window)
        total = case.flows * window_limited(window, case.rtt)
        formula = f"{case.times}{units.size(window)} / {case.rtt_text}"
        label = f"{case.times}receiver's window"
        yield Candidate("window", label, total, formula, error, "receive-window")
    pacing = case.experiment.flows.pacing
    if pacing is not None:
        formula = f"{case.times}{units.rate(pacing)}"
        yield Candidate("pacing", f"{case.times}pacing", case.flows * pacing, formula, PACING_ERROR, "pacing")
    maxrate = case.experiment.hosts.maxrate
    if maxrate is not None:
        # fq counts whole frames, as tbf does.
        mtu = case.experiment.hosts.mtu
        total = case.flows * maxrate * goodput_ratio(mtu)
        formula = f"{case.times}{units.rate(maxrate)} × {mtu - 52}/{mtu + ETHERNET_HEADER}"
        yield Candidate("fq", f"{case.times}fq maxrate", total, formula, PACING_ERROR, "pacing")
    if case.link is None and window is None:
        total = case.flows * window_limited(KERNEL_BUFFER, case.rtt)
        formula = f"{case.times}{units.size(KERNEL_BUFFER)} / {case.rtt_text}"
        yield Candidate("buffer", f"{case.times}kernel's buffer", total, formula, 0.5, "receive-window")


def bursts_overflow(case: Case) -> bool:
    """Whether the bottleneck's queue is too short for a few segments at once."""
    frame = case.experiment.hosts.mtu + ETHERNET_HEADER
    return case.link is not None and case.experiment.path.queue < BURST_FRAMES * frame


def _link(case: Case, link: float) -> Iterator[Candidate]:
    """The link, and below it what a short buffer leaves of it when nothing but that buffer loses segments."""
    mtu, rate = case.experiment.hosts.mtu, case.experiment.path.rate or 0.0
    x, error = case.buffer_ratio, BBR_ERROR if case.experiment.hosts.algorithm == "bbr" else LINK_ERROR
    burst = BURST_ERROR if bursts_overflow(case) else 0.0
    short = x is not None and x < 1 and case.loss == 0 and case.experiment.hosts.algorithm != "bbr"
    if short and x is not None:
        used = sawtooth_utilisation(x)
        if case.flows > 1:
            # Flows that take turns in losing leave less unused; without a buffer it is Altman's formula.
            used = 1 - (1 - used) * (1 - shared_utilisation(case.flows, 0.5)) / (1 - sawtooth_utilisation(0))
        reno = case.experiment.hosts.algorithm == "reno"
        name = "sawtooth" if case.flows == 1 else "shared"
        turns = "" if case.flows == 1 else f", {case.flows} flows in turn"
        formula = f"{units.rate(link)} × ¾ (1+x)²/(1+x+x²), x = {x:.2g}{turns}"
        label = f"{case.times}Reno, short buffer"
        yield Candidate(name, label, link * used, formula, SAWTOOTH_ERROR + burst, "bottleneck", best=reno)
        error += 1 - used + burst
    formula = f"{units.rate(rate)} × {mtu - 52}/{mtu + ETHERNET_HEADER}"
    yield Candidate("link", "link", link, formula, error, "bottleneck")

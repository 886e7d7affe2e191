"""What each model says of a cell, and its regime: where it claims to hold by its own assumptions, not by results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tcptutor import theory
from tcptutor.analysis.case import PATH_RTT
from tcptutor.analysis.expected.loss import CUBIC_SPREAD, HTCP_SPREAD, RENO_SPREAD
from tests.validation.kept import Result
from tests.validation.simulated import KEPT

Predict = Callable[[Result], float]
Holds = Callable[[Result], bool]

SPREAD = {"reno": RENO_SPREAD, "cubic": CUBIC_SPREAD, "htcp": HTCP_SPREAD, "bbr": 0.0}
"""Relative standard deviation of a throughput times the square root of its loss events, from simulation."""
FEW_TIMEOUTS = 0.011
"""Loss up to which Mathis and the laws without timeouts claim to hold: a mean window of 12 segments and more."""


@dataclass(frozen=True)
class Model:
    name: str
    label: str
    studies: tuple[str, ...]
    predict: Predict
    """Payload of all flows, bit/s."""
    holds: Holds
    regime: str
    law: bool = False
    """Whether it is one of the loss models of which the goal is asked, with a derived constant."""
    limits: tuple[str, ...] = ()
    """The verdicts under which a cell says something about it; any when empty."""


def rtt(result: Result) -> float:
    """Of the empty path, s."""
    return result.experiment.path.delay + PATH_RTT


def loss(result: Result) -> float:
    return result.experiment.path.loss


def link(result: Result) -> float:
    """Payload that the bottleneck carries, bit/s."""
    rate = result.experiment.path.rate
    return math.inf if rate is None else rate * theory.goodput_ratio(result.experiment.hosts.mtu)


def mathis(c: float) -> Predict:
    return lambda result: theory.mathis(result.mss, rtt(result), loss(result), c)


def window(segments: Callable[[float, float], float]) -> Predict:
    """A law of the mean window, from loss and RTT."""
    segments = cache(segments)
    return lambda result: theory.window_limited(result.mss * segments(loss(result), rtt(result)), rtt(result))


def sender(result: Result) -> float:
    """The rate of the cell's own sender, derived from its code."""
    return 8 * result.mss * theory.limited_rates([_flow(result)])[0]


def together(result: Result) -> float:
    """The same for all flows of the cell on their link."""
    path, mss = result.experiment.path, result.mss
    queue = path.queue * theory.goodput_ratio(result.experiment.hosts.mtu) / mss
    flows = [_flow(result)] * result.experiment.total_streams
    return 8 * mss * math.fsum(theory.limited_rates(flows, link(result) / 8 / mss, queue))


def _flow(result: Result) -> theory.LimitedFlow:
    algorithm = result.experiment.hosts.algorithm
    return theory.LimitedFlow(algorithm=algorithm, rtt=rtt(result), loss=loss(result), rto=result.rto)


def law(result: Result) -> float:
    """The law of the cell's own algorithm, simulated with independent losses."""
    return _simulated(result, "law")


def kernel(result: Result) -> float:
    """The kernel's code of that algorithm, simulated the same way."""
    return _simulated(result, "kernel")


def _simulated(result: Result, way: str) -> float:
    return KEPT.throughput(way, result.experiment.hosts.algorithm, result.mss, rtt(result), loss(result))


def _padhye(result: Result) -> float:
    return theory.padhye(result.mss, rtt(result), loss(result), result.rto)


def _padhye_full(result: Result) -> float:
    return theory.padhye_full(result.mss, rtt(result), loss(result), result.rto)


def _tfrc(result: Result) -> float:
    return theory.tfrc(result.mss, rtt(result), loss(result))


def _bbr(result: Result) -> float:
    # The lab's netem drops before its bottleneck, so that what is lost has not used the link.
    return link(result)


def _bbr_lost_behind(result: Result) -> float:
    return theory.bbr_throughput(link(result), loss(result))


def timeouts(result: Result) -> float:
    """Share of Mathis's throughput that Padhye's timeouts would take, 0 to below 1."""
    without = theory.mathis(result.mss, rtt(result), loss(result), theory.MATHIS_PERIODIC)
    return max(0.0, 1 - _padhye(result) / without)


def aggregate(result: Result) -> float:
    """Hacker's equation 5 with the path's own loss and RTT, and the constant for random loss."""
    one = (result.mss, rtt(result), loss(result))
    return theory.aggregate(
        [one] * result.experiment.total_streams, c=theory.MATHIS_RANDOM, link=link(result)
    )


def estimated(result: Result, c: float) -> float:
    """Equation 5 as the paper used it: with loss and RTT as measured, not capped by the link."""
    row = result.row
    one = (result.mss, row.mean_rtt_s or rtt(result), row.loss_rate)
    return theory.aggregate([one] * result.experiment.total_streams, c=c)


def _window(result: Result) -> float:
    return min(theory.window_limited(float(result.experiment.hosts.window or 0), rtt(result)), link(result))


def buffer_ratio(result: Result) -> float:
    return result.experiment.path.queue / (result.experiment.bdp or math.inf)


def _buffer(result: Result) -> float:
    return link(result) * theory.sawtooth_utilisation(buffer_ratio(result))


def sockets_load(result: Result) -> float:
    """What the sockets would send without a link, over the link."""
    one = (result.mss, rtt(result), loss(result))
    return theory.aggregate([one] * result.experiment.total_streams, c=theory.MATHIS_RANDOM) / link(result)


def _rare(result: Result) -> bool:
    return loss(result) <= FEW_TIMEOUTS


def _always(_result: Result) -> bool:
    return True


_RANDOM = ("random-loss", "timeout")
_RENO, _CUBIC, _HTCP = ("laws-reno",), ("laws-cubic",), ("laws-htcp",)
_UP_TO_1 = "loss up to 1 %"
_ALL = "the whole grid"

MODELS = (
    Model("reno", "Reno, derived from its code", _RENO, sender, _always, _ALL, True, _RANDOM),
    Model("cubic", "CUBIC, derived from its code", _CUBIC, sender, _always, _ALL, True, _RANDOM),
    Model("htcp", "H-TCP, derived from its code", _HTCP, sender, _always, _ALL, True, _RANDOM),
    Model("padhye", "Reno: Padhye, short form", _RENO, _padhye, _always, _ALL, True, _RANDOM),
    Model("padhye-full", "Reno: Padhye, full form", _RENO, _padhye_full, _always, _ALL, True, _RANDOM),
    Model("bbr", "BBR: the link", ("laws-bbr",), _bbr, _always, _ALL, True),
    Model("mss", "Reno, derived from its code, over MSS", ("mss",), sender, _always, _ALL, True, _RANDOM),
    Model("together", "K sockets and the link, simulated together", ("sockets",), together, _always,
          "1 to 20 sockets, three MTUs", True),
    Model(
        "aggregate", "K sockets: Hacker's eq. 5, C = 1.31, and the link", ("sockets",), aggregate, _always,
        "1 to 20 sockets, three MTUs", True,
    ),
    Model("window", "receiver's window", ("window",), _window, _always, "8 KiB to 2 BDP"),
    Model("buffer", "Reno's sawtooth over a buffer", ("buffer",), _buffer, _always, "0.1 to 2 BDP"),
)  # fmt: skip
"""Those that are meant to hold, in the order of the report."""

OTHERS = (
    Model("mathis", "Reno: Mathis, C = 1.31 (random loss)", _RENO,
          mathis(theory.MATHIS_RANDOM), _rare, _UP_TO_1, False, _RANDOM),
    Model("mathis-periodic", "Reno: Mathis, C = 1.2247 (periodic loss)", _RENO,
          mathis(theory.MATHIS_PERIODIC), _rare, _UP_TO_1, False, _RANDOM),
    Model("mathis-manual", "Reno: Mathis, C = 1 (the lab manuals)", _RENO,
          mathis(theory.MATHIS_MANUAL), _rare, _UP_TO_1, False, _RANDOM),
    Model("tfrc", "Reno: RFC 5348", _RENO, _tfrc, _always, _ALL, False, _RANDOM),
    Model("cubic-periodic", "CUBIC: RFC 9438 (periodic loss)", _CUBIC,
          window(theory.cubic_window), _rare, _UP_TO_1, False, _RANDOM),
    Model("htcp-periodic", "H-TCP (periodic loss)", _HTCP,
          window(theory.htcp_window), _rare, _UP_TO_1, False, _RANDOM),
    Model("bbr-lost-behind", "BBR: link × (1 − p)", ("laws-bbr",), _bbr_lost_behind, _always, _ALL),
    Model("law-reno", "Reno's law, simulated", _RENO, law, _rare, _UP_TO_1, False, _RANDOM),
    Model("law-cubic", "CUBIC's law, simulated", _CUBIC, law, _rare, _UP_TO_1, False, _RANDOM),
    Model("law-htcp", "H-TCP's law, simulated", _HTCP, law, _rare, _UP_TO_1, False, _RANDOM),
    Model("kernel-reno", "Reno's code, simulated", _RENO, kernel, _rare, _UP_TO_1, False, _RANDOM),
    Model("kernel-cubic", "CUBIC's code, simulated", _CUBIC, kernel, _rare, _UP_TO_1, False, _RANDOM),
    Model("kernel-htcp", "H-TCP's code, simulated", _HTCP, kernel, _rare, _UP_TO_1, False, _RANDOM),
)  # fmt: skip
"""For comparison: other constants, the laws and the kernel's code without a formula in between."""


def named(name: str) -> Model:
    """Of those that are meant to hold."""
    return next(model for model in MODELS if model.name == name)

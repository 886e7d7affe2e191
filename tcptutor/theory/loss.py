"""Mathis 1997: throughput under loss, the inverse square root law."""

from __future__ import annotations

import math

from tcptutor.theory.domain import loss_rate, path, positive

MATHIS_PERIODIC = math.sqrt(3 / 2)
"""1.2247: a loss every 1/p segments exactly, every segment counted as acknowledged."""

MATHIS_PERIODIC_DELAYED = math.sqrt(3 / 4)
"""0.8660: the same with growth counted by delayed ACKs, one for two segments."""

MATHIS_RANDOM = 1.31
"""Independent random loss, every segment counted: what netem does to Reno on Linux."""

MATHIS_RANDOM_DELAYED = 0.93
"""The same with delayed ACKs."""

MATHIS_MANUAL = 1.0
"""The lab manuals leave the constant out."""


def mathis(mss: float, rtt: float, loss: float, c: float = MATHIS_PERIODIC) -> float:
    """Throughput of one Reno flow in congestion avoidance, bit/s: 8 * mss * c / (rtt * sqrt(loss)).

    mss: payload bytes of a segment, above 0. rtt: seconds, above 0. loss: loss events per segment, above 0
    and at most 1; without timeouts in it, so too high above about 0.02. c: the constant of the loss pattern,
    above 0; the default is the paper's own derivation, MATHIS_RANDOM fits independent random loss. Source:
    Mathis, Semke, Mahdavi, Ott: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR
    27(3), 1997, eq. 3 and its table of constants. Raises ParameterError outside the domain.
    """
    path(mss, rtt)
    loss_rate(loss)
    positive("c", c, "the constant is about 1")
    return 8 * mss * c / (rtt * math.sqrt(loss))

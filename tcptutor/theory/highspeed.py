"""HighSpeed TCP's response function."""

from __future__ import annotations

import math

from tcptutor.theory.aimd import reno_window
from tcptutor.theory.domain import loss_rate


def highspeed_window(loss: float) -> float:
    """Mean congestion window of HighSpeed TCP, segments: 0.12 / loss^0.835, and Reno's where that is more.

    loss: loss events per segment, above 0 and at most 1; the two meet near 1e-3, at about 38 segments.
    Source: RFC 3649, section 5, with its default parameters. Raises ParameterError outside the domain.
    """
    loss_rate(loss)
    return max(0.12 / math.pow(loss, 0.835), reno_window(loss))

"""Validation of the models' arguments, with uniform messages."""

from __future__ import annotations

import math

from tcptutor.base.errors import ParameterError


def require(ok: bool, name: str, value: object, bound: str, reason: str) -> None:
    """Raise ParameterError with the parameter, its bound and the reason, unless `ok`."""
    if not ok:
        shown = f"{value:.12g}" if isinstance(value, float) else value
        raise ParameterError(f"{name}: {shown} is out of bounds: {bound}: {reason}")


def positive(name: str, value: float, reason: str) -> None:
    """Raise ParameterError unless `value` is a finite number above 0."""
    require(math.isfinite(value) and value > 0, name, value, "above 0", reason)


def at_least(name: str, value: float, minimum: float, reason: str) -> None:
    """Raise ParameterError unless `value` is a finite number of `least` or more."""
    require(math.isfinite(value) and value >= minimum, name, value, f"{minimum:g} or above", reason)


def loss_rate(value: float, *, certain: bool = True) -> None:
    """Raise ParameterError unless `value` is above 0 and at most 1, or below 1 if not `certain`."""
    reason = "loss events per segment; without losses no loss model applies"
    ok = 0 < value < 1 or (certain and value == 1)
    require(ok, "loss", value, f"above 0, {'at most' if certain else 'below'} 1", reason)


def path(mss: float, rtt: float) -> None:
    """Raise ParameterError unless segment size and round-trip time are positive."""
    positive("mss", mss, "payload bytes of a full segment")
    positive("rtt", rtt, "a round trip takes time, in seconds")

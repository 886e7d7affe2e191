"""The throughput models with their properties."""

from __future__ import annotations

from enum import StrEnum

from tcptutor.base.causes import LimitedBy
from tcptutor.theory import loss_laws
from tcptutor.theory.senders import RELATED

LOSS_BLIND = frozenset({"bbr"})
"""Algorithms that do not treat loss as congestion: loss models do not bind them."""


MODELLED = frozenset({"reno", "cubic", "htcp", "highspeed"}) | LOSS_BLIND | RELATED.keys()
"""Algorithms with a model for random loss. Files of other programs may contain others."""


class ThroughputModel(StrEnum):
    """A model of the aggregate throughput; its value is its name in JSON and files."""

    LINK = "link", "link", "bottleneck"
    SAWTOOTH = "sawtooth", "Reno, short buffer", "bottleneck", "reno"
    SHARED = "shared", "Reno, short buffer", "bottleneck", "reno"
    AQM = "aqm", "Reno", "bottleneck", "reno"
    BBR = "bbr", "BBR", "bottleneck", "bbr"
    WINDOW = "window", "receiver's window", "receive-window"
    SEND_BUFFER = "send-buffer", "send buffer", "send-buffer"
    SOCKET_BUFFER = "socket-buffer", "socket buffers", "receive-window"
    KERNEL_BUFFER = "buffer", "kernel's buffer", "receive-window"
    PACING = "pacing", "pacing", "pacing"
    FQ = "fq", "fq maxrate", "pacing"
    WRITES = "writes", "small writes", "application"
    RENO = "reno", "Reno", "random-loss", "reno"
    MATHIS = "mathis", "Mathis, C=1.31", "random-loss", "reno", loss_laws.MATHIS_RANDOM
    MATHIS_PERIODIC = "mathis-periodic", "Mathis", "random-loss", "reno", loss_laws.MATHIS_PERIODIC
    MATHIS_MANUAL = "mathis-manual", "Mathis, manual C=1", "random-loss", "reno", loss_laws.MATHIS_MANUAL
    PADHYE = "padhye", "Padhye", "random-loss", "reno"
    CUBIC = "cubic", "CUBIC", "random-loss", "cubic"
    CUBIC_PERIODIC = "cubic-periodic", "CUBIC, periodic", "random-loss", "cubic"
    HTCP = "htcp", "H-TCP", "random-loss", "htcp"
    HIGHSPEED = "highspeed", "HighSpeed", "random-loss", "highspeed"
    RELATED = "related", "", "random-loss"
    REORDERING = "reordering", "reordering", "reordering"
    OWN_LAWS = "own", "own models", "random-loss"
    MEETING = "meeting", "", None
    WAY_BACK = "way-back", "ACKs on the way back", "bottleneck"
    OWN_LIMITS = "each", "own limit", None
    COMPLETION = "completion", "", None
    STRETCHES = "phases", "", None
    SQUARE_ROOT = "square-root", "square-root law", "bottleneck"
    PROPORTIONAL = "proportional", "proportionally fair", "bottleneck"
    MAX_MIN = "max-min", "max-min fair", "bottleneck"
    UDP = "udp", "UDP", None

    def __new__(
        cls,
        name: str,
        label: str,
        limited_by: LimitedBy | None,
        algorithm: str = "",
        constant: float | None = None,
    ) -> ThroughputModel:
        member = str.__new__(cls, name)
        member._value_ = name
        member.label, member.limited_by = label, limited_by
        member.algorithm, member.constant = algorithm, constant
        return member

    label: str
    """Label on the screen for a single flow; empty if it is built from numbers."""
    limited_by: LimitedBy | None
    """The cause for which the model holds; None for combinations of models with any cause."""
    algorithm: str
    """Algorithm of the model; empty for any algorithm."""
    constant: float | None
    """C in Mathis's formula; None for other models."""

    @property
    def is_of_loss(self) -> bool:
        """Return True for models of random loss. The sum of such flows is limited by the link (Hacker 2001)."""
        return self.limited_by == "random-loss"

    @property
    def is_of_link(self) -> bool:
        """Return True for models of a link whose full queue limits the flows."""
        return self.limited_by == "bottleneck" and self is not ThroughputModel.BBR

    @property
    def is_by_round_trip(self) -> bool:
        """Return True for models inversely proportional to the round trip: losses, windows and buffers."""
        return self.is_of_loss or self.limited_by in ("receive-window", "send-buffer")

    @property
    def has_timeouts(self) -> bool:
        """Return True if the model includes timeouts."""
        return self.constant is None and self is not ThroughputModel.CUBIC_PERIODIC

    @property
    def has_start(self) -> bool:
        """Return True if the model includes slow start."""
        return self is ThroughputModel.COMPLETION

    def is_expected(self, algorithm: str) -> bool:
        """Return True if flows of `algorithm` should match this loss model; Reno's is used for unknown algorithms."""
        if self is ThroughputModel.RELATED:
            return algorithm in RELATED
        return self in _EXPECTED and self.algorithm == (algorithm if algorithm in MODELLED else "reno")


_EXPECTED = frozenset(
    {ThroughputModel.RENO, ThroughputModel.CUBIC, ThroughputModel.HTCP, ThroughputModel.HIGHSPEED}
)
"""Models of independent random losses, derived from Linux's own code."""

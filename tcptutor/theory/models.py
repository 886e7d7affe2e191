"""The causes that may limit a flow, and the models that say how fast it is then, each with what sets it apart."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tcptutor.theory import reno
from tcptutor.theory.related import RELATED

LimitedBy = Literal[
    "application",
    "receive-window",
    "send-buffer",
    "pacing",
    "random-loss",
    "bottleneck",
    "growing",
    "reordering",
    "timeout",
    "unexplained",
]
"""`unexplained`: the samples show none of the others."""

CAUSE_NAMES: dict[LimitedBy, str] = {
    "application": "the application",
    "receive-window": "the receiver's window",
    "send-buffer": "the send buffer",
    "pacing": "pacing",
    "random-loss": "random loss",
    "bottleneck": "the bottleneck",
    "growing": "slow growth",
    "reordering": "reordering",
    "timeout": "timeouts",
    "unexplained": "no known cause",
}

LOSS_BLIND = frozenset({"bbr"})
"""Algorithms that do not take a loss for congestion: no loss model binds them."""


MODELLED = frozenset({"reno", "cubic", "htcp", "highspeed"}) | LOSS_BLIND | RELATED.keys()
"""Algorithms with a model under random loss. A file of another program may name others."""


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
    MATHIS = "mathis", "Mathis, C=1.31", "random-loss", "reno", reno.MATHIS_RANDOM
    MATHIS_PERIODIC = "mathis-periodic", "Mathis", "random-loss", "reno", reno.MATHIS_PERIODIC
    MATHIS_MANUAL = "mathis-manual", "Mathis, manual C=1", "random-loss", "reno", reno.MATHIS_MANUAL
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
    """As it stands on the screen for one flow; empty where it is made of numbers."""
    limited_by: LimitedBy | None
    """What limits flows for which it holds; None for a combination of models, which may be limited by anything."""
    algorithm: str
    """Whose model it is; empty for any algorithm."""
    constant: float | None
    """C in Mathis's formula; None elsewhere."""

    @property
    def is_of_loss(self) -> bool:
        """Whether random loss is what it is about. Together such flows get at most the link (Hacker 2001)."""
        return self.limited_by == "random-loss"

    @property
    def is_of_link(self) -> bool:
        """Whether it says what the link gives to flows that a full queue stops."""
        return self.limited_by == "bottleneck" and self is not ThroughputModel.BBR

    @property
    def is_by_round_trip(self) -> bool:
        """Whether it has the round trip under the bar: losses, windows and buffers."""
        return self.is_of_loss or self.limited_by in ("receive-window", "send-buffer")

    @property
    def has_timeouts(self) -> bool:
        """Whether it counts what timeouts take."""
        return self.constant is None and self is not ThroughputModel.CUBIC_PERIODIC

    @property
    def has_start(self) -> bool:
        """Whether it counts what the flows' start takes."""
        return self is ThroughputModel.COMPLETION

    def is_believed(self, algorithm: str) -> bool:
        """Whether flows of `algorithm` are expected to do as this loss model says: Reno's where there is no other."""
        if self is ThroughputModel.RELATED:
            return algorithm in RELATED
        return self in _BELIEVED and self.algorithm == (algorithm if algorithm in MODELLED else "reno")


_BELIEVED = frozenset(
    {ThroughputModel.RENO, ThroughputModel.CUBIC, ThroughputModel.HTCP, ThroughputModel.HIGHSPEED}
)
"""Those for independent random losses, one of each algorithm: derived from Linux's own code."""

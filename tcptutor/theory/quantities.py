"""The parameters of the models by name: notation and meaning."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal[
    "rate", "time", "size", "ratio", "number", "count", "switch", "rates", "times", "sizes", "numbers", "streams",
    "queue", "names",
]  # fmt: skip


class Quantity(NamedTuple):
    """A parameter of one or more models."""

    kind: Kind
    meaning: str
    example: str
    """A value as the user writes it."""


QUANTITIES = {
    "alpha": Quantity("number", "segments added each round trip", "1"),
    "b": Quantity("number", "segments that one ACK acknowledges; 1 is Linux, which counts them", "1"),
    "beta": Quantity("number", "fraction of the window left by a loss", "0.5"),
    "buffer": Quantity("size", "size of the bottleneck's queue", "250kB"),
    "buffer_ratio": Quantity("number", "the queue's size over the bandwidth-delay product", "0.5"),
    "c": Quantity("number", "1.2247 for periodic loss, 1.31 for random loss, 1 in the manuals", "1.31"),
    "elapsed": Quantity("time", "since the last loss", "3s"),
    "flows": Quantity("number", "flows that share the bottleneck", "4"),
    "framing": Quantity("size", "bytes a frame adds to the packet: 14 counted by tbf, 38 on a wire", "38"),
    "gain": Quantity("number", "window over bandwidth-delay product", "2"),
    "initial": Quantity("number", "segments of the first window", "10"),
    "link": Quantity("rate", "goodput of the link that the streams share", "100Mbit/s"),
    "longest": Quantity("time", "round trip with the queue full", "80ms"),
    "loss": Quantity("ratio", "loss events per segment", "0.1%"),
    "marking": Quantity("ratio", "ECN marks per segment", "5%"),
    "max_window": Quantity("number", "the receiver's window in segments", "64"),
    "mss": Quantity("size", "payload of a full segment; 1448 for an MTU of 1500", "1448"),
    "mtu": Quantity("size", "the largest IP packet", "1500"),
    "peak": Quantity("number", "window at the last loss, segments", "1000"),
    "power": Quantity("number", "1 at equal loss rates, 2 when all lose together", "1"),
    "rate": Quantity("rate", "of the link", "100Mbit/s"),
    "rates": Quantity("rates", "rate of each flow, separated by commas", "10Mbit/s,20Mbit/s"),
    "rto": Quantity("time", "first retransmission timeout", "250ms"),
    "rtt": Quantity("time", "round-trip time", "50ms"),
    "rtts": Quantity("times", "round trip of each flow, separated by commas", "10ms,40ms"),
    "samples": Quantity("numbers", "numbers or rates, separated by commas", "9.5,10,10.5"),
    "size": Quantity("size", "payload of the transfer", "1MB"),
    "sizes": Quantity("sizes", "segment size of each flow, separated by commas", "1448,1448"),
    "start": Quantity("number", "window just after the loss, segments", "700"),
    "step": Quantity("switch", "yes: marked above a threshold; no: each by chance", "yes"),
    "streams": Quantity(
        "streams", "MSS:RTT:LOSS of each, separated by commas", "1448:70ms:0.01%,1448:70ms:0.01%"
    ),
    "timestamps": Quantity("switch", "whether segments carry TCP's timestamp option", "yes"),
    "window": Quantity("number", "congestion window in segments", "100"),
}
"""Usual meaning of each parameter name; a model can override it."""

WINDOW_BYTES = Quantity("size", "limit of the data in flight, such as the receiver's window", "64KiB")
"""The window of models in bytes."""

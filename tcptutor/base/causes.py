"""Causes that can limit a flow: models and verdicts name them, lessons ask for them."""

from __future__ import annotations

from typing import Literal

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
"""`unexplained`: the samples show no other cause."""

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

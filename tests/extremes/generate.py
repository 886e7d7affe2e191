"""Experiments with one to four parameters at, or near, an end of their bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.spec import ALGORITHMS, PARAMETERS, Experiment, Parameter

BASE = {"rate": "10 Mbit/s", "delay": "20 ms", "duration": "2 s", "warmup": "0.5 s"}
_LEFT = {
    # An hour of an emulated guest tells nothing that two seconds do not.
    "duration", "warmup", "starts",
    # About what is kept of a run, not what happens in it.
    "acks", "capture", "capture_at", "snaplen", "capture_size",
}  # fmt: skip
_TYPICAL = {
    "changes": (
        "1s rate=1Mbit/s", "1s rate=50Mbit/s", "0.7s delay=200ms; 1.5s delay=1ms", "1s link=down; 1.4s link=up",
        "1s algorithm=bbr; 1.5s mtu=600", "0.8s streams=5; 1.4s streams=1", "1.2s pair 1 streams=3",
    ),
    "rate_trace": ("0s 20Mbit/s; 0.5s 1Mbit/s; 1.2s 8Mbit/s", "0s 100kbit/s; 1s 100Mbit/s"),
    "directions": ("reverse", "forward, reverse"),
    "algorithms": ("reno, bbr", "cubic, dctcp"),
    "pair_delays": ("0s", "2s", "0s, 100ms", "1ms, 2s"),
}  # fmt: skip


def experiments(number: int, seed: int) -> Iterator[tuple[dict[str, str], Experiment | ParameterError]]:
    """So many legal ones, and between them those that are refused: what was asked for, and what comes of it."""
    draw = random.Random(seed)
    names = [name for name in PARAMETERS if name not in _LEFT]
    found = 0
    while found < number:
        chosen = draw.sample(names, draw.randint(1, 4))
        asked = {name: _value(PARAMETERS[name], draw) for name in chosen}
        try:
            made = spec.build("extremes/one", {"parameters": BASE}, asked, seed=draw.randrange(1 << 32))
        except ParameterError as error:
            yield asked, error
            continue
        found += 1
        yield asked, made


def _value(known: Parameter, draw: random.Random) -> str:
    if known.name in _TYPICAL:
        return draw.choice(_TYPICAL[known.name])
    if known.choices:
        return draw.choice(known.choices)
    if known.kind == "name":
        return draw.choice(ALGORITHMS)
    low, high = known.low, known.high
    middle = math.sqrt(max(low, high / 1e6) * high)
    value = draw.choice((low, high, low + (middle - low) * 0.01, high * 0.99, middle))
    return known.text_of(float(round(value)) if known.kind in ("count", "size", "window") else value)

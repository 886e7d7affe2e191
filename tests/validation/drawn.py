"""Experiments drawn by chance: those in which two limits meet, and those with one. A seed names them for good.

What a limit allows is estimated here by the papers' formulas, so that the limits are within a factor of two of each
other; what is expected of the experiments is not used.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tcptutor import spec, theory
from tcptutor.spec import Experiment

_MSS, _FRAME = 1448, 1514
_LEAST_SECONDS, _MOST_SECONDS = 4.0, 120.0
_LOSS_BASED = ("reno", "cubic", "htcp", "highspeed")

Settings = dict[str, str]


class Drawn(NamedTuple):
    """One experiment, and what was drawn."""

    kind: str
    experiment: Experiment


class Draw:
    """A path and what meets on it. Owns the random numbers of one experiment."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.rtt = self.between(0.015, 0.150)
        self.streams = chance.choice((1, 1, 1, 2, 3, 4, 6))
        self.algorithm = chance.choice(_LOSS_BASED)
        self.loss = self.between(0.002, 0.03)
        self.rate = self.between(1.5e6, 20e6)
        self.apart = self.between(0.5, 2.0)
        """One limit over the other."""

    def between(self, low: float, high: float) -> float:
        return math.exp(self.chance.uniform(math.log(low), math.log(high)))

    @property
    def window(self) -> float:
        """Segments that losses leave a flow of."""
        if self.algorithm == "cubic":
            return theory.cubic_window(self.loss, self.rtt)
        if self.algorithm == "htcp":
            return theory.htcp_window(self.loss, self.rtt)
        if self.algorithm == "highspeed":
            return theory.highspeed_window(self.loss)
        return theory.reno_window(self.loss)

    @property
    def link(self) -> float:
        """Segments a second."""
        return self.rate * theory.goodput_ratio(1500) / 8 / _MSS

    def path(self, **more: str) -> Settings:
        return {"algorithm": self.algorithm, "delay": _time(self.rtt), "streams": str(self.streams), **more}

    def lossy(self, **more: str) -> Settings:
        return self.path(loss=f"{100 * self.loss:.3g} %", **more)

    def long_enough(self, settings: Settings, segments_per_second: float) -> Settings:
        """For a hundred losses, or for many sawteeth where none are random."""
        wanted = 2500 + 5500 * self.chance.random()
        if "loss" in settings:
            wanted = min(12000.0, max(3000.0, 110 / self.loss))
        seconds = min(_MOST_SECONDS, max(_LEAST_SECONDS, wanted / segments_per_second))
        window = segments_per_second * self.rtt / self.streams
        warmup = 1 + self.rtt * math.log2(max(2.0, window)) + 10 * self.rtt
        if "loss" in settings:
            warmup += 3 / (self.loss * segments_per_second / self.streams)
        warmup = min(20.0, warmup)
        return {**settings, "duration": f"{math.ceil(seconds)} s", "warmup": f"{math.ceil(warmup)} s"}


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


def _rate(bits: float) -> str:
    return f"{bits / 1e6:.4g} Mbit/s"


def _size(amount: float) -> str:
    return f"{amount / 1024:.2f} KiB"


def _loss_window(draw: Draw) -> Settings:
    window = max(4.0, draw.apart * draw.window)
    least = min(window, draw.window)
    given = draw.lossy(window=_size(window * _MSS))
    return draw.long_enough(given, draw.streams * least / draw.rtt)


def _loss_send_buffer(draw: Draw) -> Settings:
    window = max(8.0, draw.apart * draw.window)
    given = draw.lossy(send_buffer=_size(window * _MSS / 0.92))
    return draw.long_enough(given, draw.streams * min(window, draw.window) / draw.rtt)


def _loss_pacing(draw: Draw) -> Settings:
    rate = draw.apart * draw.window / draw.rtt
    name, size = draw.chance.choice((("pacing", _MSS), ("maxrate", _FRAME)))
    given = draw.lossy(**{name: _rate(rate * 8 * size)})
    return draw.long_enough(given, draw.streams * min(rate, draw.window / draw.rtt))


def _loss_link(draw: Draw) -> Settings:
    together = draw.streams * draw.window / draw.rtt
    draw.rate = min(25e6, draw.apart * together * 8 * _FRAME)
    queue = max(3 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(0.15, 2.0))
    given = draw.lossy(rate=_rate(draw.rate), queue=_size(queue))
    return draw.long_enough(given, min(together, draw.link))


def _window_link(draw: Draw) -> Settings:
    draw.algorithm = draw.chance.choice((*_LOSS_BASED, "bbr"))
    product = draw.link * draw.rtt
    window = max(4.0, draw.apart * product / draw.streams)
    queue = max(12 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(0.4, 2.0))
    given = draw.path(rate=_rate(draw.rate), queue=_size(queue), window=_size(window * _MSS))
    return draw.long_enough(given, min(draw.streams * window / draw.rtt, draw.link))


def _pacing_link(draw: Draw) -> Settings:
    draw.algorithm = draw.chance.choice((*_LOSS_BASED, "bbr"))
    each = draw.apart * draw.link / draw.streams
    name, size = draw.chance.choice((("pacing", _MSS), ("maxrate", _FRAME)))
    queue = max(12 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(0.4, 2.0))
    given = draw.path(rate=_rate(draw.rate), queue=_size(queue), **{name: _rate(each * 8 * size)})
    return draw.long_enough(given, min(draw.streams * each, draw.link))


def _window_pacing(draw: Draw) -> Settings:
    window = draw.between(6, 40)
    rate = draw.apart * window / draw.rtt
    given = draw.path(window=_size(window * _MSS), pacing=_rate(rate * 8 * _MSS))
    return draw.long_enough(given, draw.streams * min(rate, window / draw.rtt))


def _short_queue(draw: Draw) -> Settings:
    """The link and its buffer: mostly several Reno flows."""
    draw.algorithm = draw.chance.choice(("reno", "reno", "reno", *_LOSS_BASED))
    draw.streams = draw.chance.choice((1, 2, 3, 4, 6, 8))
    queue = max(4 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(0.05, 1.0))
    given = draw.path(rate=_rate(draw.rate), queue=_size(queue))
    return draw.long_enough(given, draw.link)


def _bbr_loss(draw: Draw) -> Settings:
    draw.algorithm, draw.streams = "bbr", draw.chance.choice((1, 1, 2))
    queue = max(12 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(0.3, 2.0))
    what = draw.chance.choice(("", "window", "pacing"))
    given = draw.lossy(rate=_rate(draw.rate), queue=_size(queue))
    each = min(1.0, draw.apart) * draw.link / draw.streams
    if what == "window":
        given["window"] = _size(max(4.0, each * draw.rtt) * _MSS)
    elif what == "pacing":
        given["pacing"] = _rate(each * 8 * _MSS)
    return draw.long_enough(given, draw.streams * each if what else draw.link)


def _unlike(draw: Draw) -> Settings:
    """Two or three host pairs of different algorithms or round trips, loss near the link."""
    pairs = draw.chance.choice((2, 3))
    draw.streams = pairs
    together = pairs * draw.window / draw.rtt
    draw.rate = min(25e6, draw.apart * together * 8 * _FRAME)
    queue = max(6 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(0.3, 2.0))
    given = draw.lossy(rate=_rate(draw.rate), queue=_size(queue), pairs=str(pairs))
    given["streams"] = "1"
    if draw.chance.random() < 0.5:
        given["algorithms"] = ", ".join(draw.chance.sample(_LOSS_BASED, pairs))
    else:
        given["pair_delays"] = ", ".join(_time(draw.between(0.001, draw.rtt)) for _ in range(pairs))
    return draw.long_enough(given, min(together, draw.link))


_MEETING: tuple[tuple[str, int, Callable[[Draw], Settings]], ...] = (
    ("loss, window", 5, _loss_window),
    ("loss, pacing", 4, _loss_pacing),
    ("loss, link", 6, _loss_link),
    ("loss, send buffer", 1, _loss_send_buffer),
    ("window, link", 3, _window_link),
    ("pacing, link", 2, _pacing_link),
    ("window, pacing", 1, _window_pacing),
    ("short queue", 4, _short_queue),
    ("BBR, loss", 2, _bbr_loss),
    ("unlike flows", 2, _unlike),
)


def _only_loss(draw: Draw) -> Settings:
    draw.loss = draw.between(0.0015, 0.03)
    return draw.long_enough(draw.lossy(), draw.streams * draw.window / draw.rtt)


def _much_loss(draw: Draw) -> Settings:
    draw.loss = draw.between(0.03, 0.5)
    slow = theory.padhye(_MSS, draw.rtt, draw.loss, draw.rtt + 0.2) / 8 / _MSS
    return {**draw.long_enough(draw.lossy(), draw.streams * slow), "warmup": "5 s"}


def _only_window(draw: Draw) -> Settings:
    window = draw.between(3, 60)
    given = draw.path(window=_size(window * _MSS))
    return draw.long_enough(given, draw.streams * window / draw.rtt)


def _only_link(draw: Draw) -> Settings:
    draw.algorithm = draw.chance.choice((*_LOSS_BASED, "bbr"))
    queue = max(24 * _FRAME, draw.rate * draw.rtt / 8 * draw.between(1.2, 3.0))
    return draw.long_enough(draw.path(rate=_rate(draw.rate), queue=_size(queue)), draw.link)


def _slow_link(draw: Draw) -> Settings:
    draw.algorithm = draw.chance.choice((*_LOSS_BASED, "bbr"))
    draw.rate, draw.streams = draw.between(0.1e6, 1e6), draw.chance.choice((1, 1, 2))
    given = draw.path(rate=_rate(draw.rate))
    if draw.chance.random() < 0.5:
        given["queue"] = _size(draw.between(8, 64) * _FRAME)
    return {**given, "duration": f"{draw.chance.choice((20, 30, 60))} s", "warmup": "5 s"}


def _only_pacing(draw: Draw) -> Settings:
    draw.algorithm = draw.chance.choice((*_LOSS_BASED, "bbr"))
    rate = draw.between(40, 800)
    name, size = draw.chance.choice((("pacing", _MSS), ("maxrate", _FRAME)))
    return draw.long_enough(draw.path(**{name: _rate(rate * 8 * size)}), draw.streams * rate)


def _way_back(draw: Draw) -> Settings:
    """Losses or a slow link on the way back, of acknowledgements."""
    given = draw.path(rate=_rate(draw.rate))
    if draw.chance.random() < 0.5:
        given["reverse_loss"] = f"{100 * draw.between(0.01, 0.5):.3g} %"
        if draw.chance.random() < 0.5:
            given["loss"] = f"{100 * draw.loss:.3g} %"
    else:
        # Acknowledgements of the full link take 1/46 of it.
        given["reverse_rate"] = _rate(draw.rate / 46 * draw.between(0.4, 4))
    return draw.long_enough(given, draw.link)


def _amount(draw: Draw) -> Settings:
    segments = draw.between(30, 3000)
    given = draw.lossy() if draw.chance.random() < 0.4 else draw.path()
    given |= {"rate": _rate(draw.rate), "bytes": _size(segments * _MSS), "warmup": "0 s"}
    slow = min(draw.link, draw.window / draw.rtt) if "loss" in given else draw.link
    seconds = 3 + 20 * draw.rtt + 3 * draw.streams * segments / slow
    return {**given, "duration": f"{math.ceil(min(_MOST_SECONDS, seconds))} s"}


_SINGLE: tuple[tuple[str, int, Callable[[Draw], Settings]], ...] = (
    ("loss", 8, _only_loss),
    ("much loss", 3, _much_loss),
    ("window", 3, _only_window),
    ("link", 3, _only_link),
    ("slow link", 3, _slow_link),
    ("pacing", 2, _only_pacing),
    ("way back", 2, _way_back),
    ("amount", 3, _amount),
)

SETS = {"meeting": _MEETING, "single": _SINGLE}
"""What is drawn, with how many of each kind in a turn."""


def draw(name: str, seed: int, count: int) -> Iterator[Drawn]:
    """`count` experiments of the set `name`: the kinds in turn, each as often as its weight."""
    turn = [(kind, make) for kind, weight, make in SETS[name] for _ in range(weight)]
    random.Random(f"order {name} {seed}").shuffle(turn)
    for number in range(count):
        kind, make = turn[number % len(turn)]
        chance = random.Random(f"{name} {seed} {number}")
        settings = make(Draw(chance))
        table = {"title": kind, "parameters": settings}
        yield Drawn(
            kind, spec.build(f"validation/{name}-{seed}-{number}", table, seed=chance.getrandbits(32))
        )

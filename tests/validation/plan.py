"""Every cell of the validation: which settings, and for how long so that a model can be told from chance.

A cell is as long as it takes, by the model, to lose EVENTS times or more; the warm-up is slow start and a few losses.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product

import msgspec

from tcptutor import spec, theory
from tcptutor.spec import Experiment
from tcptutor.sweep.grid import Cell

MSS = 1448
ALGORITHMS = ("reno", "cubic", "htcp", "bbr")
LOSSES = (3e-4, 1e-3, 3e-3, 1e-2, 5e-2)
RTTS = (0.010, 0.030, 0.080, 0.200)
EVENTS = {3e-4: 115, 1e-3: 125, 3e-3: 150, 1e-2: 300, 5e-2: 400}
"""Losses that a cell is long enough for; the rarer they are, the more a cell costs, and where windows are small two
losses are often one event."""
ENOUGH = 110
"""Losses that no cell has less of, however slowly they come."""
LONG = 200.0
"""Seconds from which on a cell only goes on to have ENOUGH."""
LONGER = {
    ("htcp", 3e-3, 0.200): 1.2,
    ("htcp", 3e-4, 0.200): 1.2,
    ("bbr", 3e-3, 0.010): 1.3,
    ("bbr", 3e-3, 0.200): 1.3,
    ("bbr", 1e-3, 0.080): 1.2,
    ("bbr", 3e-4, 0.010): 1.25,
    ("sockets", 3000, 5): 1.3,
    ("sockets", 1500, 2): 1.2,
    ("mss", 588, 1e-2): 1.3,
    ("mss", 1500, 1e-2): 1.2,
}
"""Cells that met less than a hundred losses in a first run take so many times as long; that run does not count."""
BBR_RATE = 20e6
SOCKETS = {
    4418: (*range(1, 9), 10, 12, 16, 20),
    3000: (*range(1, 9), 10, 12, 16, 20),
    1500: tuple(range(1, 21)),
}
"""By MTU, as in figures 1 to 3 of the parallel-sockets paper: every number where the knee is printed to be."""
SOCKETS_PATH = {
    "rate": "40 Mbit/s",
    "delay": "65 ms",
    "loss": "0.3 %",
    "algorithm": "reno",
    "length": "256 KiB",
}
FIGURE3_RATE, FIGURE3_LOSS = 20e6, 2e-3
FIGURE3_RTTS = (0.005, 0.010, 0.020, 0.040, 0.080, 0.120, 0.160)
BUFFERS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)
BUFFER_RATE, BUFFER_RTT = 25e6, 0.060
WINDOWS = ("8 KiB", "16 KiB", "24 KiB", "32 KiB", "48 KiB", "64 KiB", "96 KiB", "1 BDP", "1.5 BDP", "2 BDP")
WINDOW_RATE, WINDOW_RTT = 20e6, 0.050


class Study(msgspec.Struct, frozen=True):
    """Cells that are kept in one file."""

    name: str
    title: str
    points: tuple[dict[str, str], ...]
    """The settings of each cell, as the user writes them."""

    def cells(self) -> list[Cell]:
        """Each with a seed of its own, so that no two cells share their luck."""
        return [
            Cell(index, point, self._experiment(point, zlib.crc32(f"{self.name} {point}".encode())))
            for index, point in enumerate(self.points)
        ]

    def _experiment(self, point: dict[str, str], seed: int) -> Experiment:
        table = {"title": self.title, "parameters": point}
        return spec.build(f"validation/{self.name}", table, seed=seed)


@cache
def studies() -> dict[str, Study]:
    """All of them by name, the most important first."""
    made = [
        *(
            Study(f"laws-{name}", f"{name} over loss and RTT", tuple(_laws(name)))
            for name in ALGORITHMS
        ),
        Study("sockets", "parallel sockets on a lossy path, three MTUs", tuple(_sockets())),
        Study("window", "the receiver's window", tuple(_windows())),
        Study("buffer", "Reno and the bottleneck's buffer", tuple(_buffers())),
        Study("mss", "the segment size under loss", tuple(_segment_sizes())),
        Study("figure3", "throughput against RTT, as figure 3 of the congestion-control lab", tuple(_figure3())),
    ]  # fmt: skip
    return {study.name: study for study in made}


STAGES = (125.0, 250.0)
"""Seconds of a core from which on a cell comes later, and still later."""


def in_order(cells: Iterable[tuple[str, Cell]]) -> list[tuple[str, Cell]]:
    """Cells with their studies' names: what costs little comes first, and then what comes first here."""
    cells = list(cells)
    names = list(dict.fromkeys(name for name, _ in cells))

    def key(one: tuple[str, Cell]) -> tuple[int, int, float]:
        seconds = cost(one[1].experiment)
        return sum(seconds > stage for stage in STAGES), names.index(one[0]), seconds

    return sorted(cells, key=key)


def cost(experiment: Experiment) -> float:
    """About how many seconds of one core a cell takes: by its segments, and by its samples."""
    rate = _segments_per_second(experiment)
    return 3 + experiment.seconds * (rate / 2100 + 0.10 + 0.01 * experiment.total_streams)


def _laws(algorithm: str) -> Iterator[dict[str, str]]:
    for loss, rtt in product(sorted(LOSSES, reverse=True), RTTS):
        one = _bbr_rate(loss) if algorithm == "bbr" else law_rate(algorithm, loss, rtt)
        losses = one * loss
        seconds = max(ENOUGH / losses, min(EVENTS[loss] / losses, LONG), 20.0)
        point = {"algorithm": algorithm, "loss": _share(loss), "delay": _ms(rtt)}
        if algorithm == "bbr":
            seconds = max(20.0, 100 / losses)
            point["rate"] = "20 Mbit/s"
        seconds *= LONGER.get((algorithm, loss, rtt), 1.0)
        yield point | _length(seconds, 10.0 if algorithm == "bbr" else _warmup(loss, rtt, one))


def _sockets() -> Iterator[dict[str, str]]:
    rate, rtt, loss = 40e6, 0.065, 3e-3
    for mtu, streams in ((mtu, streams) for mtu, numbers in SOCKETS.items() for streams in numbers):
        one = theory.mathis(mtu - 52, rtt, loss, theory.MATHIS_RANDOM) / 8 / (mtu - 52)
        together = min(streams * one, rate * theory.goodput_ratio(mtu) / 8 / (mtu - 52))
        seconds = max(12.0, 120 / (together * loss)) * LONGER.get(("sockets", mtu, streams), 1.0)
        yield {**SOCKETS_PATH, "mtu": str(mtu), "streams": str(streams)} | _length(seconds, 5.0)


def _windows() -> Iterator[dict[str, str]]:
    for window in WINDOWS:
        path = {"rate": "20 Mbit/s", "delay": _ms(WINDOW_RTT), "queue": "2 BDP", "algorithm": "reno"}
        yield {**path, "window": window} | _length(15.0, 3.0)


def _buffers() -> Iterator[dict[str, str]]:
    bdp = theory.bdp(BUFFER_RATE, BUFFER_RTT)
    for ratio in BUFFERS:
        period = theory.sawtooth_period(BUFFER_RATE, BUFFER_RTT, MSS + 66, ratio * bdp)
        path = {"rate": "25 Mbit/s", "delay": _ms(BUFFER_RTT), "algorithm": "reno"}
        yield {**path, "queue": f"{ratio:g} BDP"} | _length(min(60.0, max(25.0, 5 * period)), 12.0)


def _segment_sizes() -> Iterator[dict[str, str]]:
    rtt = 0.050
    for loss, mtu in product((1e-2, 3e-3, 1e-3), (588, 1500, 9000)):
        one = law_rate("reno", loss, rtt)
        point = {"algorithm": "reno", "loss": _share(loss), "delay": _ms(rtt), "mtu": str(mtu)}
        seconds = max(ENOUGH / (one * loss), 20.0) * LONGER.get(("mss", mtu, loss), 1.0)
        yield point | _length(seconds, _warmup(loss, rtt, one))


def _figure3() -> Iterator[dict[str, str]]:
    link = FIGURE3_RATE * theory.goodput_ratio(1500) / 8 / MSS
    for rtt in FIGURE3_RTTS:
        path = {"rate": "20 Mbit/s", "delay": _ms(rtt)}
        yield {**path, "algorithm": "reno", "loss": "0 %"} | _length(10.0, 4.0)
        for algorithm in ("reno", "htcp"):
            one = min(link, law_rate(algorithm, FIGURE3_LOSS, rtt))
            point = {**path, "algorithm": algorithm, "loss": _share(FIGURE3_LOSS)}
            yield point | _length(60 / (one * FIGURE3_LOSS), _warmup(FIGURE3_LOSS, rtt, one))


@cache
def law_rate(algorithm: str, loss: float, rtt: float) -> float:
    """About what one flow sends by its law, segments/s; less where timeouts count."""
    window = {
        "reno": theory.reno_window(loss),
        "cubic": theory.cubic_window(loss, rtt),
        "htcp": theory.htcp_window(loss, rtt),
    }[algorithm]
    slow = theory.padhye(MSS, rtt, loss, rtt + 0.2) / theory.mathis(MSS, rtt, loss)
    return window / rtt * (slow if loss > 2e-2 else 1.0)


def _bbr_rate(loss: float) -> float:
    return theory.bbr_throughput(BBR_RATE * theory.goodput_ratio(1500), loss) / 8 / MSS


def _segments_per_second(experiment: Experiment) -> float:
    path, mss = experiment.path, experiment.hosts.mtu - 52
    link = path.rate * theory.goodput_ratio(experiment.hosts.mtu) / 8 / mss if path.rate else math.inf
    if experiment.hosts.window:
        link = min(link, experiment.hosts.window / path.delay / mss)
    if not path.loss or experiment.hosts.algorithm == "bbr":
        return link
    return min(link, experiment.total_streams * law_rate(experiment.hosts.algorithm, path.loss, path.delay))


def _warmup(loss: float, rtt: float, rate: float) -> float:
    """Seconds of slow start until the first loss, and of the three losses after it."""
    return 1.0 + rtt * math.log2(max(2.0, 0.1 / loss)) + 3 / (loss * rate)


def _length(seconds: float, warmup: float) -> dict[str, str]:
    return {"duration": f"{math.ceil(seconds)} s", "warmup": f"{math.ceil(warmup)} s"}


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:g} ms"


def _share(loss: float) -> str:
    return f"{loss * 100:g} %"

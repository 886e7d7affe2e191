"""Throughput of all flows together: a line of blocks on the run's whole time, and the number."""

from __future__ import annotations

from bisect import bisect_right

from textual.content import Content

from tcptutor import units
from tcptutor.ui.live import Live

BLOCKS = "▁▂▃▄▅▆▇█"
NUMBER_WIDTH = 13
"""Columns of the longest number, "99.9 Mbit/s" and its blanks: fixed, so that the line does not jump."""


def line(live: Live, width: int) -> Content:
    """ "throughput ▁▂▅▆▇▇▇▆▇ 75.9 Mbit/s" in `width` columns."""
    link = live.run.experiment.path.rate
    label = "throughput "
    if link and width >= 60:
        label += f"of {units.rate(link)} "  # what a full block stands for
    number = units.rate(live.report.throughput_bps if live.report else latest(live.rates))
    columns = width - len(label) - NUMBER_WIDTH
    blocks = sparkline(live.rates, live.run.experiment.seconds, columns, link)
    return Content.assemble(label, (blocks, "$primary"), (number.rjust(NUMBER_WIDTH), "bold"))


def latest(rates: list[tuple[float, float]], over: float = 1.0) -> float:
    """The mean of the last second, bit/s: single points jump too much to be read."""
    if not rates:
        return 0.0
    end = rates[-1][0]
    recent = [rate for t, rate in rates[-200:] if t > end - over]
    return sum(recent) / len(recent)


def sparkline(rates: list[tuple[float, float]], seconds: float, columns: int, full: float | None) -> str:
    """A block for each column of the time axis, blank where nothing was measured yet.

    The whole block is `full` (the link's rate), or the highest column when the link has none.
    """
    if columns < 1:
        return ""
    full = full or max((rate for _, rate in rates), default=0) or 1
    blocks = []
    ends = [t for t, _ in rates]
    for column in range(columns):
        # A point stands for the time up to it: a column takes those that end in it, or the one that spans it.
        first = bisect_right(ends, column / columns * seconds)
        last = max(bisect_right(ends, (column + 1) / columns * seconds), first + 1)
        inside = [rate for _, rate in rates[first:last]]
        blocks.append(_block(sum(inside) / len(inside) if inside else None, full))
    return "".join(blocks)


def _block(rate: float | None, full: float) -> str:
    if rate is None:
        return " "
    return BLOCKS[min(int(rate / full * len(BLOCKS)), len(BLOCKS) - 1)]

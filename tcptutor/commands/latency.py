"""Lines of a report on delays: percentiles with the samples behind them, and latency under load."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.analysis import DelayFigures, Latency
from tcptutor.base import units
from tcptutor.base.columns import length, table
from tcptutor.commands.output import count, width

_INDENT, _GAP = 2, 2


def latency_lines(found: Latency, warmup: float, of_path: bool = True) -> list[str]:
    """Format a table with a line per delay, then the latency under load; empty without measurements.

    Args:
        found: The latency of a run.
        warmup: Its warm-up, s.
        of_path: Include predictions from the path's settings.
    """
    rows = list(_rows(found, of_path))
    if not rows:
        return []
    head = ("latency", "p50", "p95", "p99", "after the warm-up" if warmup else "")
    cells = [head, *rows]
    widths = [max(length(row[place]) for row in cells) for place in range(len(head) - 1)]
    room = width()
    lines = table(
        cells,
        widths,
        indent=_INDENT,
        gap=_GAP,
        right=(False, True, True, True, False),
        fold=room is not None,
        width=room or 0,
    )
    return [*lines, *_under_load(found)]


def _rows(found: Latency, of_path: bool) -> Iterator[tuple[str, ...]]:
    limit = found.queue_limit if of_path else None
    if found.queueing:
        expected = [f"{limit.label} is {units.seconds(limit.delay_s)}"] if limit else []
        yield _row(
            "queueing delay",
            found.queueing,
            [count(found.queueing.samples, "sample") + " of the queue", *expected],
        )
    if found.rtt:
        smallest = [f"smallest {units.seconds(found.smallest_rtt_s)}"] if found.smallest_rtt_s else []
        if found.rtt.source == "segments":
            yield _row("RTT", found.rtt, [count(found.rtt.samples, "captured segment"), *smallest])
        else:
            yield _row("smoothed RTT", found.rtt, [count(found.rtt.samples, "sample"), *smallest])
    if found.completion:
        yield _row("completion", found.completion, _transfers(found, of_path))


def _transfers(found: Latency, of_path: bool) -> list[str]:
    assert found.completion is not None
    figures = found.completion
    parts = [count(figures.samples, "transfer")]
    if figures.unfinished:
        parts.append(f"{figures.unfinished} not finished")
    elif figures.max_s is not None:
        parts.append(f"slowest {units.seconds(figures.max_s)}")
        if of_path and found.slowest_expected_s is not None:
            parts[-1] += f" (expected {units.seconds(found.slowest_expected_s)})"
    return parts


def _row(name: str, figures: DelayFigures, remarks: list[str]) -> tuple[str, ...]:
    percentiles = (figures.p50_s, figures.p95_s, figures.p99_s)
    return f"  {name}", *(units.or_dash(each, units.seconds) for each in percentiles), ", ".join(remarks)


def _under_load(found: Latency) -> Iterator[str]:
    loaded, idle = found.trips_loaded, found.trips_idle
    if loaded is None or idle is None:
        return
    room = width()
    text = f"median RTT {idle / loaded:.2g} × the smallest: {loaded:.0f} round trips a minute, not {idle:.0f}"
    yield from table([("  under load", text)], indent=_INDENT, fold=room is not None, width=room or 0)

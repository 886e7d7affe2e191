"""Lines of a report on delays: percentiles with the samples behind them, and latency under load."""

from __future__ import annotations

from tcptutor.analysis import Latency, delay_rows, load_text
from tcptutor.base.columns import length, table

_INDENT = 2


def latency_lines(found: Latency, warmup: float, room: int | None, of_path: bool = True) -> list[str]:
    """Format a table with a line per delay, then the latency under load; empty without measurements.

    Args:
        found: The latency of a run.
        warmup: Its warm-up, s.
        room: Columns of the terminal; None does not fold.
        of_path: Include predictions from the path's settings.
    """
    rows = [(f"  {each.name}", *each.percentiles, each.remark) for each in delay_rows(found, of_path)]
    if not rows:
        return []
    rows.insert(0, ("latency", "p50", "p95", "p99", "after the warm-up" if warmup else ""))
    widths = [max(length(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    folded = {"indent": _INDENT, "fold": room is not None, "width": room or 0}
    lines = table(rows, widths, right=(False, True, True, True, False), **folded)  # type: ignore[arg-type]
    loaded = load_text(found)
    return [*lines, *(table([("  under load", loaded)], **folded) if loaded else [])]  # type: ignore[arg-type]

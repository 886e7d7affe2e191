"""Table of the page's run, earlier runs and another page's run."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.ui.live import EarlierRun

HEAD = ("Your runs", "throughput", "RTT", "resent")
SEVERAL = ("Jain", "CoV")
"""Additional columns for runs of several flows: fairness and steadiness."""
NOT_YET = "not run yet"
GAPS = (4, 2, 1)
"""Blanks between columns, widest that fits."""


class RunsTable(Static):
    """Table of runs, hidden until there are runs to compare."""

    def __init__(self) -> None:
        super().__init__(id="runs", markup=False)
        self.display = False
        self._rows: Sequence[tuple[str, EarlierRun | None]] = ()
        self._spread = ""

    def show(self, rows: Sequence[tuple[str, EarlierRun | None]], spread: str) -> None:
        """Show a row per run, the displayed run last, and a line about their spread."""
        self._rows, self._spread = rows, spread
        self.display = len(rows) > 1
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self._rows:
            return
        has_flows = any(run and run.jain_index is not None for _, run in self._rows)
        head = (*HEAD, *SEVERAL) if has_flows else HEAD
        cells = [head, *(_cells(*row)[: len(head)] for row in self._rows)]
        # Names left-aligned, figures right-aligned.
        width = max(len(name) for name, *_ in cells)
        cells = [(name.ljust(width), *numbers) for name, *numbers in cells]
        for gap in GAPS:
            lines = table(cells, indent=0, gap=gap, right=True)
            if max(map(len, lines)) <= self.content_size.width:
                break
        first, *others, last = lines
        styled = [Content.styled(first, "bold $primary"), *map(Content, others), Content.styled(last, "bold")]
        self.update(Content("\n").join([*styled, *([Content(self._spread)] if self._spread else [])]))


def _cells(name: str, run: EarlierRun | None) -> tuple[str, ...]:
    if run is None:
        return name, NOT_YET, "", "", "", ""
    rtt = units.seconds(run.mean_rtt_s) if run.mean_rtt_s else "–"
    jain = "–" if run.jain_index is None else f"{run.jain_index:.3f}"
    cov = "–" if run.cov is None else f"{run.cov:.2f}"
    return name, units.rate(run.throughput_bps), rtt, units.or_dash(run.retransmits), jain, cov

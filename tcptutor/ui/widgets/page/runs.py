"""The page's run beside the runs before it and beside another page's, in numbers: what the text says to compare."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tcptutor import units
from tcptutor.columns import table
from tcptutor.ui.live import RunBefore

HEAD = ("Your runs", "throughput", "RTT", "sent again")
NOT_YET = "not run yet"


class RunsTable(Static):
    """Empty and away while there is nothing to compare with."""

    def __init__(self) -> None:
        super().__init__(id="runs", markup=False)
        self.display = False

    def show(self, rows: Sequence[tuple[str, RunBefore | None]], spread: str) -> None:
        """A line for each run, the last one of which is on show, and one for their spread."""
        # Words at the left, numbers at the right.
        width = max(len(name) for name in (HEAD[0], *(name for name, _ in rows)))
        cells = [HEAD, *(_cells(*row) for row in rows)]
        lines = table([(row[0].ljust(width), *row[1:]) for row in cells], indent=0, gap=3, right=True)
        text = Content("\n".join([*lines, *filter(None, [spread])]))
        self.update(text.stylize("bold", 0, len(lines[0])))
        self.display = len(rows) > 1


def _cells(name: str, run: RunBefore | None) -> tuple[str, str, str, str]:
    if run is None:
        return name, NOT_YET, "", ""
    rtt = units.seconds(run.mean_rtt_s) if run.mean_rtt_s else "–"
    return name, units.rate(run.throughput_bps), rtt, f"{run.retransmits}"

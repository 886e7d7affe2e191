"""What the chart shows, in words: no colour is needed to read it."""

from __future__ import annotations

from textual.content import Content

from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import plot, traces


def title(live: Live, width: int) -> Content:
    """Over the chart: what the axis is and what it cuts off on the left, who sends on the right."""
    left = Content.styled("cwnd, segments", "bold")
    if peak := _peak(live):
        left += Content(f"   peak {peak} in the warm-up")
    right = Content(words.flows_line(live.run.experiment))
    return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right


def legend(live: Live, width: int) -> Content:
    """Under the title: which line is which."""
    many = live.run.experiment.total_streams > 1
    parts = (
        [
            Content.assemble(
                ("⡠⠊", "$secondary 70%"), " each flow   ", (plot.MEAN * 2, "$primary"), " their mean"
            )
        ]
        if many
        else []
    )
    if live.expectation and live.expectation.cwnd_segments:
        model = live.expectation.binding.label
        label = f" expected mean {live.expectation.cwnd_segments:.3g} ({model}){_measured(live)}"
        parts.append(Content.assemble((plot.EXPECTED * 2, "$accent"), label))
    shown = Content("")
    for part in parts:
        longer = shown + Content("   ") + part if shown.cell_length else part
        if longer.cell_length <= width:
            shown = longer
    return shown


def _measured(live: Live) -> str:
    """The mean over the flows after the run."""
    means = [flow.mean_cwnd_segments for flow in live.run.flows]
    return f", measured {sum(means) / len(means):.3g}" if means else ""


def _peak(live: Live) -> int:
    """The highest window if the chart cuts it off, else 0."""
    samples = live.run.samples
    expected = live.expectation.cwnd_segments if live.expectation else None
    upper = traces.top(samples, live.run.experiment.flows.warmup, expected)
    highest = max((sample.cwnd for sample in samples), default=0)
    return highest if highest > upper else 0

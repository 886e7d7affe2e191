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
    """Under the title: which line is which. The model's name, then the measured mean give way if they must."""
    flows = Content("")
    if live.run.experiment.total_streams > 1:
        flows = Content.assemble(
            ("⡠⠊", "$secondary 70%"), " each flow   ", (plot.MEAN * 2, "$primary"), " their mean   "
        )
    expectation = live.expectation
    drawn = bool(expectation and expectation.trajectory)
    if expectation is None or not expectation.cwnd_segments:
        return flows + _course("expected course") if drawn else flows
    expected = f" expected mean {expectation.cwnd_segments:.3g}"
    model, measured = f" ({expectation.binding.label})", _measured(live)
    courses = (
        [Content("   ") + _course(word) for word in ("expected course", "course")] if drawn else [Content("")]
    )
    texts = (expected + model + measured, expected + measured, expected)
    for text, course in ((text, course) for text in texts for course in courses):
        whole = flows + Content.assemble((plot.EXPECTED * 2, "$accent"), text) + course
        if whole.cell_length <= width:
            break
    return whole


def _course(word: str) -> Content:
    return Content.assemble((plot.COURSE * 3, "$accent 60%"), f" {word}")


def _measured(live: Live) -> str:
    """The mean over the flows after the run."""
    means = [flow.mean_cwnd_segments for flow in live.run.flows]
    return f", measured {sum(means) / len(means):.3g}" if means else ""


def _peak(live: Live) -> int:
    """The highest window if the chart cuts it off, else 0."""
    samples = live.drawn
    expected = live.expectation.cwnd_segments if live.expectation else None
    upper = traces.top(samples, live.run.experiment.flows.warmup, expected)
    highest = max((sample.cwnd for sample in samples), default=0)
    return highest if highest > upper else 0

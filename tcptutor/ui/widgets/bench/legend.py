"""What the chart shows, in words: no colour is needed to read it."""

from __future__ import annotations

from textual.content import Content

from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import plot, traces


def title(live: Live, width: int) -> Content:
    """Over the chart: what the axis is and what it cuts off on the left, who sends on the right."""
    right = Content(words.flows_line(live.run.experiment))
    peak = _peak(live)
    for more in (f"   peak {peak} in the warm-up", f"   peak {peak}", "") if peak else ("",):
        left = Content.assemble(("cwnd, segments", "bold"), more)
        if left.cell_length + right.cell_length < width:
            break
    return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right


def legend(live: Live, width: int) -> Content:
    """Under the title: which line is which. The model's name, then the measured mean give way, then words shorten."""
    expectation = live.expectation
    if expectation is None or not expectation.cwnd_segments:
        return _lines(live, "", "each flow", "their mean", "expected course")
    mean = f"{expectation.cwnd_segments:.3g}"
    model, measured = f" ({expectation.binding.label})", _measured(live)
    wordings = [
        *(
            (f"expected mean {mean}{more}", "each flow", "their mean")
            for more in (model + measured, measured, "")
        ),
        (f"expected {mean}", "flows", "mean"),
    ]
    for wording in wordings:
        for course in ("expected course", "course"):
            whole = _lines(live, *wording, course)
            if whole.cell_length <= width:
                return whole
    return whole


def _lines(live: Live, expected: str, each: str, their: str, course: str) -> Content:
    """A sample of each line that is drawn, and its words."""
    several = live.run.experiment.total_streams > 1
    drawn = bool(live.expectation and live.expectation.trajectory)
    shown = (
        ("⡠⠊", "$secondary 70%", each, several),
        (plot.MEAN * 2, "$primary", their, several),
        (plot.EXPECTED * 2, "$accent", expected, bool(expected)),
        (plot.COURSE * 3, "$accent 60%", course, drawn),
    )
    return Content("   ").join(
        [Content.assemble((sample, style), f" {word}") for sample, style, word, there in shown if there]
    )


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

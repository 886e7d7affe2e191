"""Runs of the course's own recordings as the screen has them, at their end or in their middle, and pictures of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from tcptutor import analysis
from tcptutor.figures.lines import Line
from tcptutor.run import QueueTable, Run, SampleTable, load
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.build import scene_of
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.chart.scene import OwnPrediction, Scene
from tcptutor.ui.widgets.panel import layout

RECORDED = Path(__file__).parents[2] / "assets" / "recorded" / "parallel-streams"
STORED = Path(__file__).parents[1] / "analysis" / "runs"

ONE, FOUR, EIGHT = "one-lossy-flow", "four-lossy-flows", "eight-flows-one-link"
WINDOW = "one-small-window"


@cache
def stored(name: str) -> Run:
    """A recording, else a run that the analysis is tested with."""
    path = RECORDED / f"{name}.tcprun"
    return load(path if path.exists() else STORED / f"{name}.tcprun")


def live_of(run: Run, state: str = "ended") -> Live:
    live = Live("module", "step", run, state=state)  # type: ignore[arg-type]
    live.expectation = msgspec.structs.replace(
        analysis.expect(run.experiment), trajectory=analysis.window_trajectories(run.experiment)
    )
    throughput = analysis.Throughput()
    throughput.add(run.samples)
    live.rates = throughput.points
    if state == "ended":
        live.report = analysis.report(run)
    return live


def ended(name: str) -> Live:
    return live_of(stored(name))


def going(name: str, until: float) -> Live:
    """The same run when it had come so far."""
    whole = stored(name)
    run = msgspec.structs.replace(
        whole,
        samples=SampleTable(row for row in whole.samples if row.t <= until),
        queue=QueueTable(row for row in whole.queue if row.t <= until),
        flows=[],
        complete=False,
        experiment_s=until,
    )
    return live_of(run, "running")


def scene(live: Live, own: OwnPrediction | None = None) -> Scene:
    return scene_of(live, _followed(live), own)


def screen(
    live: Live,
    width: int = 78,
    height: int = 22,
    view: layout.View = "chart",
    own: OwnPrediction | None = None,
    said: str = "",
) -> list[str]:
    """The panel as text: 78 x 22 is what a terminal of 80 x 24 leaves it."""
    lines = layout.render(live, _followed(live), own, said, view, width, height)
    return [line.text for line in lines]


def _followed(live: Live) -> History:
    history = History(live.run.experiment.seconds)
    history.follow(live.run)
    return history


def words(line: Line) -> str:
    """The text of a line with one blank between its words, however they are aligned."""
    return " ".join(line.text.split())

"""The run of a slide: it grows from the lecture process's messages, and provides figures for a room."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from statistics import fmean
from typing import NamedTuple

import msgspec

from tcptutor.backends.events import add
from tcptutor.base import decoding
from tcptutor.course.measures import MEASURES
from tcptutor.figures.lines import STRONG
from tcptutor.room.protocol import RunBegins
from tcptutor.room.slide_runs import SlideRun
from tcptutor.run import Finished, Run
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.axes import rate_unit
from tcptutor.ui.widgets.chart.build import scene_of
from tcptutor.ui.widgets.chart.chart import flow_style
from tcptutor.ui.widgets.chart.flows import flow_names
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.chart.scene import Scene
from tcptutor.wire.protocol import Samples, event_decoder

MOST_FLOWS = 4
"""Flows up to which each has a key figure of its own."""


class KeyFigure(NamedTuple):
    """A figure of a run, large enough for the back row."""

    number: str
    unit: str
    label: str
    style: str = STRONG


class StageRun:
    """A run as it grows; `draw_scene` computes its chart in a thread."""

    def __init__(self, begun: RunBegins, planned: SlideRun | None) -> None:
        """Create it from the message that a run begins.

        Args:
            begun: The message.
            planned: The run as the slide's page has it; None for a run of no page.

        Raises:
            msgspec.MsgspecError: The header is not that of a run.
        """
        self.id, self.source = begun.id, begun.source
        run = decoding.decode_json(begun.header, Run)
        self.live = Live("", "", run, state="running", formula=planned.model if planned else "")
        if planned is not None:
            self.live.charted = planned.chart
        self.scene: Scene | None = None
        self.figures: tuple[KeyFigure, ...] = ()
        self._history = History(run.experiment.seconds)
        self._rates: background.Rates | None = None
        self.is_up_to_date = True
        """False if something has arrived since the last drawing began."""

    def take(self, raw: msgspec.Raw) -> None:
        """Add an event of the lab; called only from the event loop.

        Raises:
            msgspec.MsgspecError: `raw` is no event.
        """
        event = event_decoder.decode(raw)
        add(self.live.run, event)
        self.live.report, self.is_up_to_date = None, False
        match event:
            case Samples(rows=rows):
                self._rates = self._rates or background.Rates()
                self.live.rates = self._rates.add(rows)
            case Finished():
                self.live.state = "ended"
            case _:
                pass

    def end(self) -> None:
        """Mark a run as ended without its last event."""
        if self.live.in_progress:
            self.live.state, self.is_up_to_date = "ended", False

    async def draw_scene(self) -> None:
        """Compute chart and figures of the data received so far."""
        live, self.is_up_to_date = self.live, True
        if live.expectation is None:
            live.expectation = await background.expectation(live.run.experiment)
        if live.state == "ended" and live.report is None:
            live.report = await background.report(live.run)
        if live.has_samples:
            self.scene, self.figures = await background.in_thread(self._compute)

    def _compute(self) -> tuple[Scene, tuple[KeyFigure, ...]]:
        self._history.follow(self.live.run)
        scene = scene_of(self.live, self._history, None, quantity=self.live.charted)
        return scene, tuple(self._key_figures())

    def _key_figures(self) -> Iterator[KeyFigure]:
        live, report, history = self.live, self.live.report, self._history
        total = report.throughput_bps if report else live.rates[-1][1] if live.rates else None
        if 1 < len(history.flows) <= MOST_FLOWS:
            yield from self._flow_figures()
            if report is not None and report.jain_index is not None:
                yield KeyFigure(f"{report.jain_index:.2f}", "", "fairness, of 1")
            return
        if total is not None:
            label = "throughput" if report else f"throughput {self._instant}"
            flows = len(history.flows) + len(history.udp)
            yield _rate(total, f"{label}, {flows} flows" if flows > 1 else label)
        rtt = MEASURES["rtt"].compute(report) if report else _latest_rtt(history)
        if rtt:
            number, _, unit = MEASURES["rtt"].written(rtt).partition(" ")
            yield KeyFigure(number, unit, "mean RTT" if report else f"RTT {self._instant}")
        if history.flows:
            count = sum(flow.total_retransmits for flow in history.flows.values())
            yield KeyFigure(str(count), "", "retransmission" if count == 1 else "retransmissions")

    @property
    def _instant(self) -> str:
        """Time of the latest figures; a run that ended before the measured time has no others."""
        return "now" if self.live.in_progress else "at its end"

    def _flow_figures(self) -> Iterator[KeyFigure]:
        experiment, history = self.live.run.experiment, self._history
        measured = (
            {each.flow: each.throughput_bps for each in self.live.report.flows} if self.live.report else {}
        )
        numbers = sorted(history.flows)
        names = flow_names(experiment, history.flows)
        many = len({experiment.algorithm(flow) for flow in numbers}) > 1
        for at, (flow, name) in enumerate(zip(numbers, names, strict=True)):
            now = next((rate for rate in reversed(history.throughput(flow)) if not isnan(rate)), 0.0)
            yield _rate(measured.get(flow, now), name if many else f"flow {name}", flow_style(at))


def _rate(bps: float, label: str, style: str = STRONG) -> KeyFigure:
    scale, unit = rate_unit(bps)
    value = bps / scale
    return KeyFigure(f"{value:.3g}" if value < 1000 else f"{value:.0f}", unit, label, style)


def _latest_rtt(history: History) -> float | None:
    latest = (
        next((rtt for rtt in reversed(flow.rtt) if not isnan(rtt)), None) for flow in history.flows.values()
    )
    known = [rtt for rtt in latest if rtt]
    return fmean(known) if known else None

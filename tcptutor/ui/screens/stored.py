"""A stored run: chart, figures, environment and a table of flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.run import FlowResult, Run
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.lab_state import place
from tcptutor.ui.screens.chart_screen import ChartScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.workers import start_worker


class StoredScreen(ChartScreen):
    """A run from a file, titled `name`. Needs no lab, journal or course."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "flows", "flows", id="stored.flows", tooltip="each flow's figures, or the chart"),
        Binding(
            "v",
            "turn",
            "view",
            id="stored.turn",
            tooltip="cycle through chart, all models, each flow, delays",
        ),
    ]
    OTHER_KEYS = (("↑ ↓", "scroll the flows"),)
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = (
        ("cursor.toggle", "look"),
        ("stored.turn", "view"),
        ("stored.flows", "flows / chart"),
        ("app.keys", "keys"),
        ("app.quit", "quit"),
    )

    def __init__(self, run: Run, name: str, file: Path | None = None) -> None:
        super().__init__()
        self._run, self._place_name, self._file = run, name, file
        self._panel = RunPanel()
        self.connect(self._panel)

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield Static(_facts(self._run), id="facts", markup=False)
        with Container(id="body"):
            yield self._panel
            with VerticalScroll(id="flows"):
                yield Static(id="flow-table", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TopBar).show_place(self._place_name)
        self.set_class(not self._run.samples, "-flows")
        start_worker(self, self._show)

    async def _show(self) -> None:
        flows = await background.flow_results(self._run)
        self.query_one("#flow-table", Static).update(_flows(self._run, flows))
        live = await background.recall("", "", self._run)
        self._panel.show(live, None)

    def run_file(self, run: Run) -> Path | None:  # noqa: ARG002
        return self._file

    @property
    def bench_experiment(self) -> Experiment | None:
        return self._run.experiment

    @property
    def chart(self) -> RunPanel:
        return self._panel

    @property
    def chart_visible(self) -> bool:
        return not self.has_class("-flows")

    def action_toggle_cursor(self) -> None:
        self.remove_class("-flows")
        super().action_toggle_cursor()

    def action_turn(self) -> None:
        self._panel.cycle_view()

    def action_flows(self) -> None:
        self.toggle_class("-flows")

    def _lab_line(self) -> str:
        return place(self._run.environment)


class OpenedRunScreen(StoredScreen):
    """A stored run, on top of the screen that opened it; Esc returns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", id="stored.back", tooltip="back to where the run was opened"),
    ]
    FOOTER = (("stored.back", "back"), *StoredScreen.FOOTER[:-1], ("app.what-if", "what if"))

    def run_file(self, run: Run) -> Path | None:
        return ChartScreen.run_file(self, run)

    def action_back(self) -> None:
        if self.has_cursor:
            self.action_close_cursor()
        else:
            self.dismiss()


class CellScreen(OpenedRunScreen):
    """A run of a sweep, over its page."""

    FOOTER = (("stored.back", "back to the curve"), *OpenedRunScreen.FOOTER[1:])


def _facts(run: Run) -> Content:
    """Return experiment, time, environment and fidelity."""
    experiment, environment = run.experiment, run.environment
    when = run.started[:16].replace("T", " ")
    # The longest fact comes last, where a narrow terminal cuts it.
    cut = [] if run.complete else ["cut short"]
    facts = [when, *cut, f"fidelity {run.fidelity.status}", environment.system]
    return Content.assemble(
        (experiment.name, "bold"),
        f"  {experiment.title}\n",
        (" · ".join(facts), "$text-muted"),
    )


def _life(experiment: Experiment, flow: int) -> tuple[float, float]:
    """Return start and end of a flow, s since the traffic began."""
    end = experiment.end(flow)
    return experiment.start(flow), experiment.seconds if end is None else end


def _flows(run: Run, flows: Sequence[FlowResult]) -> Content:
    """Return a table with a line for each flow, TCP before UDP."""
    experiment = run.experiment
    times = ("from", "to") if experiment.lives else ()
    rows = [("flow", *times, "throughput", "mean RTT", "mean cwnd", "retrans", "losses", "algorithm")]
    rows += [
        (
            f"{flow.flow + 1}",
            *(units.seconds(each) for each in _life(experiment, flow.flow) if times),
            units.rate(flow.throughput_bps),
            units.seconds(flow.mean_rtt_s) if flow.mean_rtt_s else units.UNKNOWN,
            f"{flow.mean_cwnd_segments:.1f}" if flow.mean_cwnd_segments else units.UNKNOWN,
            units.or_dash(flow.retransmits),
            units.or_dash(flow.losses),
            flow.algorithm or experiment.algorithm(flow.flow),
        )
        for flow in flows
    ]
    lines = table(rows, indent=0, gap=3, right=True) if len(rows) > 1 else []
    datagrams = [("UDP", "sent", "received", "lost", "of", "jitter", "out of order")]
    datagrams += [
        (
            f"{each.flow + 1}" if each.flows == 1 else f"{each.flow + 1}–{each.flow + each.flows}",
            units.or_dash(each.sent_bps, units.rate),
            units.or_dash(each.received_bps, units.rate),
            units.or_dash(each.lost),
            units.or_dash(each.datagrams),
            units.or_dash(each.jitter_s, units.seconds),
            units.or_dash(each.out_of_order),
        )
        for each in run.udp
    ]
    if run.udp:
        lines += [*([""] if lines else []), *table(datagrams, indent=0, gap=3, right=True)]
    return Content("\n".join(lines or ["No flow was measured."]))

"""Panel of a run: chart, strips, ruler and verdict, laid out for any size.

With a cursor in the run, a readout of the instant replaces ruler and verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events

from tcptutor.course.activities.run import ChartName
from tcptutor.course.setting_line import experiment_line
from tcptutor.figures.figure import MIN_WIDTH
from tcptutor.figures.kinds.network import NetworkFigure, of_experiment
from tcptutor.figures.lines import TEXT, Line, paragraph
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.edge import EdgeKeys
from tcptutor.ui.widgets.chart.flows import flow_names
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.chart.scene import OwnPrediction
from tcptutor.ui.widgets.panel import layout, preview
from tcptutor.ui.widgets.panel.preview import Guess
from tcptutor.ui.widgets.readout import cursor_view
from tcptutor.ui.widgets.readout.cursor import Cursor, nearest_loss, neighboring_loss
from tcptutor.ui.widgets.readout.inspection import Inspection
from tcptutor.ui.workers import start_worker

if TYPE_CHECKING:
    from tcptutor.ui.widgets.readout.packet_steps import PacketSteps

_NEAR_COLUMNS = 2
"""Maximum distance of the cursor from a loss event, in columns, for a zoom on the event."""


class RunPanel(LinePanel):
    """View of a `Live`; redraws at a limited rate as its data grows."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None
        self._history: History | None = None
        self._own: OwnPrediction | None = None
        self._experiment: Experiment | None = None
        self._network: NetworkFigure | None = None
        self._message = ""
        self._charted: ChartName = "cwnd"
        self._guess: Guess | None = None
        self._view: layout.View = "chart"
        self._cursor: Cursor | None = None
        self._inspection: Inspection | None = None
        self._could_inspect = False
        self.changed: Callable[[], None] = lambda: None
        """Called when the active keys change, as the cursor appears, disappears or zooms; set by the screen."""
        self.run_file: Callable[[Run], Path | None] = lambda _: None
        """Returns the file of a run, next to which its packets are; set by the screen."""

    def show_idle(
        self,
        experiment: Experiment,
        instruction: str,
        network: NetworkFigure | None = None,
        charted: ChartName = "cwnd",
        guess: Guess | None = None,
    ) -> None:
        """Show the network, the instruction, and the axes of the predicted quantity, before any run.

        The default network is the network that the experiment sets up.
        """
        self._charted, self._guess = charted, guess
        self._live, self._history = None, None
        self._end_inspection()
        self._experiment, self._message = experiment, " ".join((instruction, *_capture_sentence(experiment)))
        self._network = network or of_experiment(experiment, hosts=True)
        self._notify_can_inspect()
        self.set_class(False, "-live")
        self.refresh(layout=True)
        self.draw()

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        """Show a run; no-op if the page was left meanwhile."""
        if not self.is_attached:
            return
        if live is not self._live:
            self._live, self._history = live, History(live.run.experiment.seconds)
            self._view = "chart"
            self._end_inspection()
        self._own, self._message = own, ""
        self.set_class(True, "-live")
        self.set_class(live.state == "ended", "-ended")
        self.call_after_refresh(self.pace.draw_now)
        self._update_insight()
        self._notify_can_inspect()

    @property
    def guess(self) -> Guess | None:
        """The prediction before a run as typed so far; None on a page without a prediction."""
        return self._guess

    def show_guess(self, guess: Guess | None) -> None:
        """Move the mark of the prediction, before a run."""
        if guess != self._guess:
            self._guess = guess
            if self._live is None:
                self.draw()

    @property
    def shows_keys(self) -> bool:
        return self._cursor is None and super().shows_keys

    @property
    def displayed_run(self) -> Live | None:
        """Run on display; None before any."""
        return self._live

    def show_message(self, text: str) -> None:
        """Show a message in place of the run's status."""
        self._message = text
        self.draw()

    def redraw_changes(self) -> None:
        """Redraw for new data of the run."""
        if self._live is not None:
            self._message = ""
            seconds = self._live.run.experiment.seconds
            if self._history is not None and self._history.seconds != seconds:
                # The run takes longer than announced, or has ended: its length was unknown.
                self._history = History(seconds)
        self.pace.request()
        self._update_insight()
        self._notify_can_inspect()

    @property
    def has_views(self) -> bool:
        return self._live is not None

    def cycle_view(self) -> None:
        """Show the next view: chart, table of models, flows, delays."""
        if self._live is None:
            return
        self._end_inspection()
        views = layout.views(self._live)
        at = views.index(self._view) if self._view in views else 0
        self._view = views[(at + 1) % len(views)]
        self.draw()

    # The cursor

    @property
    def can_inspect(self) -> bool:
        """Whether the run on display can be inspected."""
        return self._live is not None and self._live.has_samples and not self._live.hides_fault

    def _notify_can_inspect(self) -> None:
        if self.can_inspect != self._could_inspect:
            self._could_inspect = self.can_inspect
            self.changed()

    @property
    def cursor(self) -> Cursor | None:
        """Cursor in the run; None outside an inspection."""
        return self._cursor

    def toggle_inspection(self) -> None:
        """Start or end the inspection of the run."""
        if self._cursor is not None:
            self._end_inspection()
            self.draw()
        elif self._start_inspection() is not None:
            self.draw()

    def can_move(self, command: str) -> bool:
        """Return True if the command has an effect on the cursor: see `move_cursor`."""
        cursor = self._cursor
        possible = {
            "zoom_out": cursor is not None and cursor.is_zoomed,
            "next_flow": self.has_flows,
            "to_loss": self.has_losses,
            "sequence": self.has_sequence,
        }
        return cursor is not None and possible.get(command, True)

    def move_cursor(self, command: str, *arguments: int) -> None:
        """Carry out a command of the cursor: the name of a method below, with its arguments."""
        getattr(self, command)(*arguments)

    def step(self, by: int) -> None:
        """Move the cursor by columns."""
        if self._cursor is not None:
            self._set_cursor(self._cursor.move(by, self._columns))

    def to_loss(self, direction: int) -> None:
        """Move to the next loss or mark of the flow, or to the previous if `direction` is -1."""
        if self._cursor is None or self._inspection is None:
            return
        loss = neighboring_loss(self._inspection.losses(self._cursor.flow), self._cursor.t, direction)
        if loss is not None:
            self._set_cursor(self._cursor.move_to(loss))

    def zoom(self) -> None:
        """Zoom to the loss event at the cursor, or around the cursor."""
        cursor, inspection = self._cursor, self._inspection
        if cursor is None or inspection is None:
            return
        within = (_NEAR_COLUMNS + 0.5) * cursor.span.seconds / self._columns
        loss = nearest_loss(inspection.losses(cursor.flow), cursor.t, within)
        closer = cursor.zoom(loss, inspection.round_trip(cursor), inspection.latest.spacing(cursor.flow))
        if closer is not None:
            self._set_cursor(closer)

    def zoom_out(self) -> None:
        """Undo the last zoom."""
        if self._cursor is not None and self._cursor.is_zoomed:
            self._set_cursor(self._cursor.zoom_out())

    def next_flow(self) -> None:
        """Select the next flow."""
        if self._cursor is not None and self._inspection is not None:
            self._set_cursor(self._inspection.next_flow(self._cursor))

    def sequence(self) -> None:
        """Toggle between the flow's cwnd and its sequence graph."""
        if self._cursor is not None and self.has_sequence:
            self._set_cursor(replace(self._cursor, shows_sequence=not self._cursor.shows_sequence))

    @property
    def has_losses(self) -> bool:
        """Whether the flow under the cursor lost segments, or was marked."""
        inspection, cursor = self._inspection, self._cursor
        return inspection is not None and cursor is not None and bool(inspection.losses(cursor.flow))

    @property
    def has_sequence(self) -> bool:
        return self._inspection is not None and self._inspection.has_sequence

    @property
    def has_ack_trace(self) -> bool:
        """Whether the packets of the run under the cursor can be stepped through."""
        return self._inspection is not None and self._inspection.has_ack_trace

    async def packet_steps(self) -> PacketSteps | None:
        """Return the pictures of the packets of the cursor's flow; None without a trace of it."""
        inspection, cursor = self._inspection, self._cursor
        if inspection is None or cursor is None:
            return None
        flows = inspection.latest.flows
        names = flow_names(inspection.live.run.experiment, flows)
        name = dict(zip(flows, names, strict=True)).get(cursor.flow, "")
        return await asyncio.to_thread(inspection.packet_steps, cursor.flow, name)

    @property
    def has_flows(self) -> bool:
        """Whether the run has several flows."""
        return self._inspection is not None and len(self._inspection.latest.flows) > 1

    @property
    def _columns(self) -> int:
        return max(1, axes.columns(self.content_size.width))

    def _start_inspection(self) -> Cursor | None:
        if self._live is None or self._history is None or not self.can_inspect:
            return None
        if self._inspection is None:
            self._inspection = Inspection(self._live, self._history, self.run_file(self._live.run))
        self._view, self._cursor = "chart", self._inspection.initial_cursor()
        self._update_insight()
        self.changed()
        return self._cursor

    def _end_inspection(self) -> None:
        self._inspection = None
        if self._cursor is not None:
            self._cursor = None
            self.changed()

    def _set_cursor(self, cursor: Cursor) -> None:
        before, self._cursor = self._cursor, cursor
        if cursor != before:
            self.draw()
            self._update_insight()
            if before is None or before.is_zoomed != cursor.is_zoomed:
                self.changed()

    def _update_insight(self) -> None:
        """Analyze the run in a thread, unless the analysis covers the cursor already."""
        inspection, cursor = self._inspection, self._cursor
        if inspection is not None and cursor is not None and inspection.start_analysis(cursor.t):
            start_worker(self, self._analyze, inspection, group="insight")

    async def _analyze(self, inspection: Inspection) -> None:
        await inspection.analyze(background.insight)
        if inspection is self._inspection:
            self.draw()
            self._update_insight()  # the run may have ended meanwhile

    # The mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._point_at(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button == 1 and self._cursor is not None:
            self._point_at(event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if self._cursor is not None:
            event.stop()
            self._point_at(event)
            self.zoom()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if self._cursor is not None:
            event.stop()
            self.zoom_out()

    def _point_at(self, event: events.MouseEvent) -> None:
        """Move the cursor to the mouse, or start the inspection with a click on the chart."""
        region = self.content_region
        column, row = int(event.screen_x) - region.x - axes.GUTTER, int(event.screen_y) - region.y
        if not 0 <= column < self._columns:
            return
        at_chart = 0 <= row < len(self.lines) and self.lines[row][axes.GUTTER - 1 : axes.GUTTER] in ("┤", "│")
        cursor = self._cursor or (self._start_inspection() if at_chart else None)
        if cursor is not None:
            self._set_cursor(cursor.move_to_column(column, self._columns))

    # Its lines

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if self._live is not None and self._history is not None:
            return None
        if self._experiment is None or self._network is None:
            return []
        drawing = self._network.draw(max(MIN_WIDTH, width))
        instruction = paragraph("", TEXT, self._message, width)
        if height >= len(drawing) + len(instruction) + 2:
            shown = [*drawing, Line(), Line(), *instruction]
            room = height - len(shown) - 2
            keys = (self.edge_keys() if self.shows_keys else None) or EdgeKeys()
            following = preview.frames(self._experiment, self._charted, self._guess, width, room, keys.chart)
            return [*shown, Line(), Line(), *following] if following else shown
        return [*paragraph("", TEXT, experiment_line(self._experiment), width), *instruction]

    def picture(self) -> Callable[[int, int], list[Line]]:
        if self._cursor is not None and self._inspection is not None:
            return partial(cursor_view.render, self._inspection, self._cursor)
        live, history = self._live, self._history
        assert live is not None
        assert history is not None
        view: layout.View = self._view if self._view in layout.views(live) else "chart"
        return partial(_render, live, history, self._own, self._message, view, keys=self.edge_keys())


def _capture_sentence(experiment: Experiment) -> tuple[str, ...]:
    if not experiment.flows.capture:
        return ()
    from tcptutor.analysis import capture_size  # noqa: PLC0415  # takes a tenth of a second to import

    expected = capture_size(experiment)
    return (f"{expected.sentence[:1].upper()}{expected.sentence[1:]}.",) if expected else ()


def _render(
    live: Live,
    history: History,
    own: OwnPrediction | None,
    message: str,
    view: layout.View,
    width: int,
    height: int,
    keys: EdgeKeys | None,
) -> list[Line]:
    history.follow(live.run)
    return layout.render(live, history, own, message, view, width, height, keys)

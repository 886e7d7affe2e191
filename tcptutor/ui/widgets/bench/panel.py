"""The run's side of the screen, in whatever room it has: the chart, the strips under it, the ruler, and why.

With a cursor in it, what is told of that instant stands in the place of ruler and verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from textual import events

from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.ui import background, words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axes, layout, look, network
from tcptutor.ui.widgets.bench.cursor import Cursor, beside, near
from tcptutor.ui.widgets.bench.drawn import DrawnPanel
from tcptutor.ui.widgets.bench.history import History
from tcptutor.ui.widgets.bench.lines import TEXT, Line, paragraph
from tcptutor.ui.widgets.bench.looking import Looking
from tcptutor.ui.widgets.bench.scene import OwnPrediction

_NEAR = 2
"""Columns from a loss within which a zoom is one to that loss."""


class RunPanel(DrawnPanel):
    """Draws one `Live`; told when it moved, it draws at its own pace."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None
        self._history: History | None = None
        self._own: OwnPrediction | None = None
        self._experiment: Experiment | None = None
        self._said = ""
        self._view: layout.View = "chart"
        self._cursor: Cursor | None = None
        self._looking: Looking | None = None
        self._could_look = False
        self.changed: Callable[[], None] = lambda: None
        """Called when other keys work than before: the cursor came or went, or zoomed. The screen sets it."""
        self.run_file: Callable[[Run], Path | None] = lambda _: None
        """Gives the file of a run, beside which its packets are. The screen sets it."""

    def idle(self, experiment: Experiment, instruction: str) -> None:
        """Nothing was run yet: say what would be, and how to start it."""
        self._live, self._history = None, None
        self._forget()
        self._experiment, self._said = experiment, " ".join((instruction, *_kept(experiment)))
        self._say_can_look()
        self.set_class(False, "-live")
        self.refresh(layout=True)
        self.draw()

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        """Show this run now; nothing when the page was left meanwhile."""
        if not self.is_attached:
            return
        if live is not self._live:
            self._live, self._history = live, History(live.run.experiment.seconds)
            self._view = "chart"
            self._forget()
        self._own, self._said = own, ""
        self.set_class(True, "-live")
        self.set_class(live.state == "ended", "-ended")
        self.call_after_refresh(self.pace.now)
        self._understand()
        self._say_can_look()

    @property
    def shown(self) -> Live | None:
        """The run on show; None while nothing was run."""
        return self._live

    def say(self, text: str) -> None:
        """A word about running, where its state stands."""
        self._said = text
        self.draw()

    def moved(self) -> None:
        """The run on show has new data."""
        if self._live is not None:
            self._said = ""
            seconds = self._live.run.experiment.seconds
            if self._history is not None and self._history.seconds != seconds:
                # One whose end was not known takes longer than the chart was for, or has ended.
                self._history = History(seconds)
        self.pace.ask()
        self._understand()
        self._say_can_look()

    def turn(self) -> None:
        """The next view: the chart, the table of models, each flow by itself."""
        if self._live is None:
            return
        self._forget()
        there = layout.views(self._live)
        at = there.index(self._view) if self._view in there else 0
        self._view = there[(at + 1) % len(there)]
        self.draw()

    # The cursor

    @property
    def can_look(self) -> bool:
        """Whether there is anything to look into."""
        return self._live is not None and self._live.has_samples and not self._live.hides_fault

    def _say_can_look(self) -> None:
        if self.can_look != self._could_look:
            self._could_look = self.can_look
            self.changed()

    @property
    def cursor(self) -> Cursor | None:
        """Where it stands; None while there is none."""
        return self._cursor

    def look(self) -> None:
        """Into the run, or no longer."""
        if self._cursor is not None:
            self._forget()
            self.draw()
        elif self._begin_looking() is not None:
            self.draw()

    def step(self, by: int) -> None:
        """So many columns on; back where it is negative."""
        if self._cursor is not None:
            self._to(self._cursor.moved(by, self._columns))

    def to_loss(self, direction: int) -> None:
        """To the next loss or mark of the flow, or with -1 to the one before."""
        if self._cursor is None or self._looking is None:
            return
        there = beside(self._looking.losses(self._cursor.flow), self._cursor.t, direction)
        if there is not None:
            self._to(self._cursor.at(there))

    def zoom(self) -> None:
        """To the loss at the cursor and its round trips; where there is none, to a part around it."""
        cursor, looking = self._cursor, self._looking
        if cursor is None or looking is None:
            return
        within = (_NEAR + 0.5) * cursor.span.seconds / self._columns
        loss = near(looking.losses(cursor.flow), cursor.t, within)
        closer = cursor.zoomed_to(loss, looking.round_trip(cursor), looking.latest.spacing(cursor.flow))
        if closer is not None:
            self._to(closer)

    def zoom_out(self) -> None:
        """To what was shown before the last zoom."""
        if self._cursor is not None and self._cursor.zoomed:
            self._to(self._cursor.out())

    def next_flow(self) -> None:
        """Tell of the next one."""
        if self._cursor is not None and self._looking is not None:
            self._to(self._looking.next_flow(self._cursor))

    def sequence(self) -> None:
        """Draw the flow's bytes in the place of its window, or its window again."""
        if self._cursor is not None and self.has_sequence:
            self._to(replace(self._cursor, sequence=not self._cursor.sequence))

    @property
    def has_sequence(self) -> bool:
        """Whether the flows' bytes were traced."""
        return self._looking is not None and self._looking.has_sequence

    @property
    def has_flows(self) -> bool:
        """Whether there is another flow to be told of."""
        return self._looking is not None and len(self._looking.latest.flows) > 1

    @property
    def _columns(self) -> int:
        """Of the time axis."""
        return max(1, axes.columns(self.content_size.width))

    def _begin_looking(self) -> Cursor | None:
        if self._live is None or self._history is None or not self.can_look:
            return None
        if self._looking is None:
            self._looking = Looking(self._live, self._history, self.run_file(self._live.run))
        self._view, self._cursor = "chart", self._looking.first()
        self._understand()
        self.changed()
        return self._cursor

    def _forget(self) -> None:
        self._looking = None
        if self._cursor is not None:
            self._cursor = None
            self.changed()

    def _to(self, cursor: Cursor) -> None:
        before, self._cursor = self._cursor, cursor
        if cursor != before:
            self.draw()
            self._understand()
            if before is None or before.zoomed != cursor.zoomed:
                self.changed()

    def _understand(self) -> None:
        """Work out what limited the flows, in a thread, where it is not known yet of what was measured by now."""
        looking, cursor = self._looking, self._cursor
        if looking is not None and cursor is not None and looking.take_on(cursor.t):
            self.run_worker(self._work_out(looking), group="insight")

    async def _work_out(self, looking: Looking) -> None:
        await looking.work_out(background.insight)
        if looking is self._looking:
            self.draw()
            self._understand()  # a run that ended meanwhile

    # The mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._point(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button == 1 and self._cursor is not None:
            self._point(event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if self._cursor is not None:
            event.stop()
            self._point(event)
            self.zoom()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if self._cursor is not None:
            event.stop()
            self.zoom_out()

    def _point(self, event: events.MouseEvent) -> None:
        """The cursor goes where the chart was pointed at, and comes where there was none."""
        region = self.content_region
        column, row = int(event.screen_x) - region.x - axes.GUTTER, int(event.screen_y) - region.y
        if not 0 <= column < self._columns:
            return
        at_chart = 0 <= row < len(self.lines) and self.lines[row][axes.GUTTER - 1 : axes.GUTTER] in ("┤", "│")
        cursor = self._cursor or (self._begin_looking() if at_chart else None)
        if cursor is not None:
            self._to(cursor.pointed(column, self._columns))

    # Its lines

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if self._live is not None and self._history is not None:
            return None
        if self._experiment is None:
            return []
        drawn = network.drawing(self._experiment)
        instruction = paragraph("", TEXT, self._said, width)
        if height >= len(drawn) + len(instruction) + 2:
            return [*drawn, Line(), Line(), *instruction]
        return [*paragraph("", TEXT, words.experiment_line(self._experiment), width), *instruction]

    def picture(self) -> Callable[[int, int], list[Line]]:
        if self._cursor is not None and self._looking is not None:
            return partial(look.picture, self._looking, self._cursor)
        live, history = self._live, self._history
        assert live is not None
        assert history is not None
        view: layout.View = self._view if self._view in layout.views(live) else "chart"
        return partial(_drawn, live, history, self._own, self._said, view)


def _kept(experiment: Experiment) -> tuple[str, ...]:
    """What a run will keep of packets, if any."""
    if not experiment.flows.capture:
        return ()
    from tcptutor.analysis import capture_size  # noqa: PLC0415  # takes a tenth of a second to import

    expected = capture_size(experiment)
    return (f"{expected.sentence[:1].upper()}{expected.sentence[1:]}.",) if expected else ()


def _drawn(
    live: Live,
    history: History,
    own: OwnPrediction | None,
    said: str,
    view: layout.View,
    width: int,
    height: int,
) -> list[Line]:
    """Called in a thread."""
    history.follow(live.run)
    return layout.picture(live, history, own, said, view, width, height)

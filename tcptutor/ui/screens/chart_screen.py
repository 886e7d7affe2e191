"""Screens with a chart of a run and a cursor in it, moved by the same keys everywhere.

Arrows move the cursor, and so do comma and full stop, as in video players.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tcptutor.run import Run
from tcptutor.ui import bindings
from tcptutor.ui.bindings import Entries, FooterKey, priority
from tcptutor.ui.screens.base import TutorScreen, WhatIfBase
from tcptutor.ui.screens.packet_steps_screen import PacketStepsScreen
from tcptutor.ui.widgets.panel.panel import RunPanel

_FAST = 8
"""Columns of a long step."""

ARROWS: list[BindingType] = [
    priority("left", "cursor('step', -1)", "back", "cursor.back", "the cursor: back by a column"),
    priority("right", "cursor('step', 1)", "on", "cursor.on", "the cursor: on by a column"),
]
"""Bindings to list before a screen's own arrow keys, which apply without a cursor."""

POINTS: list[BindingType] = [
    priority("comma", "cursor('step', -1)", "back", "cursor.back", "the cursor: back by a column"),
    priority("full_stop", "cursor('step', 1)", "on", "cursor.on", "the cursor: on by a column"),
    priority(
        "less_than_sign",
        f"cursor('step', {-_FAST})",
        "far back",
        "cursor.far-back",
        f"the cursor: back by {_FAST}",
    ),
    priority(
        "greater_than_sign",
        f"cursor('step', {_FAST})",
        "far on",
        "cursor.far-on",
        f"the cursor: on by {_FAST}",
    ),
]
"""Bindings to list before a screen's own keys for moving figures, which apply without a cursor."""

_BINDINGS: list[BindingType] = [
    *ARROWS,
    priority(
        "i",
        "toggle_cursor",
        "look into",
        "cursor.toggle",
        "a cursor in the chart, to explain an instant; again to close it",
    ),
    *POINTS,
    priority(
        "j",
        "cursor('to_loss', -1)",
        "previous loss",
        "cursor.previous-loss",
        "the cursor: to the loss before",
    ),
    priority("l", "cursor('to_loss', 1)", "next loss", "cursor.next-loss", "the cursor: to the next loss"),
    priority(
        "z",
        "cursor('zoom')",
        "zoom in",
        "cursor.zoom-in",
        "closer: to a loss at the cursor and its round trips",
    ),
    priority("Z", "cursor('zoom_out')", "zoom out", "cursor.zoom-out", "back to what was shown before"),
    priority("o", "cursor('next_flow')", "other flow", "cursor.flow", "the cursor: explain the next flow"),
    priority(
        "b",
        "cursor('sequence')",
        "bytes",
        "cursor.bytes",
        "switch between the flow's bytes over time (runs with acks=on) and its window",
    ),
    priority(
        "k",
        "packets",
        "packets",
        "cursor.packets",
        "the flow's packets at the cursor, step by step (runs with acks=on)",
    ),
    # On a page, the page's own action closes the cursor first.
    Binding("escape", "close_cursor", show=False, priority=True, id="cursor.close"),
]

_CURSOR_FOOTER = (
    ("cursor.back cursor.on", "move"),
    ("cursor.far-back cursor.far-on", "far"),
    ("cursor.previous-loss cursor.next-loss", "loss"),
    ("cursor.zoom-in", "zoom"),
    ("cursor.zoom-out", "out"),
    ("cursor.flow", "flow"),
    ("cursor.packets", "packets"),
    ("cursor.bytes", "bytes"),
    ("cursor.toggle", "close"),
)


class ChartScreen(TutorScreen):
    """A screen with a chart that has a cursor. Subclasses call `check_chart_action` in `check_action`."""

    BINDINGS: ClassVar[list[BindingType]] = _BINDINGS

    @property
    def chart(self) -> RunPanel | None:
        """The chart; None if the screen shows no run."""
        raise NotImplementedError

    @property
    def chart_visible(self) -> bool:
        return True

    def connect(self, panel: RunPanel) -> None:
        """Let a panel report changes of its keys and find the files of its runs."""
        panel.changed, panel.run_file = self.keys_changed, self.run_file

    def run_file(self, run: Run) -> Path | None:
        """Return the file of `run`; None if it is not stored."""
        return self.tutor.journal.runs.file(run.id)

    @property
    def what_if_base(self) -> WhatIfBase | None:
        live = self.chart.displayed_run if self.chart is not None else None
        if live is None or live.state != "ended" or not live.run.complete or live.hides_fault:
            return None
        cursor = self.chart.cursor if self.chart is not None and self.has_cursor else None
        return WhatIfBase(live, cursor.t if cursor else None)

    @property
    def has_cursor(self) -> bool:
        """True if a visible chart has a cursor."""
        return self.chart is not None and self.chart_visible and self.chart.cursor is not None

    def check_chart_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return True if a key of the cursor works now; None for other keys."""
        chart = self.chart
        match action:
            case "toggle_cursor":
                return chart is not None and chart.can_inspect
            case "close_cursor":
                return self.has_cursor
            case "packets":
                return chart is not None and self.has_cursor and chart.has_ack_trace
            case "cursor":
                return chart is not None and self.has_cursor and chart.can_move(str(parameters[0]))
            case _:
                return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.check_chart_action(action, parameters) is not False

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return bindings.footer_entries(self, with_cursor(self.FOOTER) if self.has_cursor else self.FOOTER)

    def keys_changed(self) -> None:
        """Update keys and footer."""
        self.refresh_bindings()
        self.schedule_keys()

    def action_toggle_cursor(self) -> None:
        if self.chart is not None:
            self.chart.toggle_inspection()

    def action_close_cursor(self) -> None:
        if self.has_cursor:
            self.action_toggle_cursor()

    async def action_packets(self) -> None:
        if self.chart is None or self.chart.cursor is None:
            return
        t, steps = self.chart.cursor.t, await self.chart.packet_steps()
        if steps is not None:
            self.app.push_screen(PacketStepsScreen(steps, t, steps.run.experiment.title))

    def action_cursor(self, command: str, *arguments: int) -> None:
        if self.chart is not None:
            self.chart.move_cursor(command, *arguments)


def with_cursor(footer: Entries) -> Entries:
    """Return the footer with the cursor's keys first."""
    return (*_CURSOR_FOOTER, *(entry for entry in footer if entry[0] != "cursor.toggle"))

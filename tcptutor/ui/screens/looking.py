"""Keys of the cursor in a run's chart, the same on every screen.

Arrows move the cursor, and so do comma and full stop, as in video players.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tcptutor.run import Run
from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.screens.base import TutorScreen, WhatIfBase
from tcptutor.ui.widgets.bench.panel import RunPanel

Entries = tuple[tuple[str, str], ...]

FAST = 8
"""Columns of a long step."""

MOVES = ("step", "to_loss", "zoom", "zoom_out", "next_flow", "sequence", "stop_looking")


def _key(keys: str, action: str, word: str, id: str, tooltip: str) -> Binding:
    return Binding(keys, action, word, priority=True, id=id, tooltip=tooltip)


ARROWS: list[BindingType] = [
    _key("left", "step(-1)", "back", "look.back", "the cursor: back by a column"),
    _key("right", "step(1)", "on", "look.on", "the cursor: on by a column"),
]
"""Bindings to list before a screen's own arrow keys, which apply without a cursor."""

BINDINGS: list[BindingType] = [
    *ARROWS,
    _key(
        "i",
        "look",
        "look into",
        "look.look",
        "a cursor in the chart, to explain an instant; again to close it",
    ),
    _key("comma", "step(-1)", "back", "look.back", "the cursor: back by a column"),
    _key("full_stop", "step(1)", "on", "look.on", "the cursor: on by a column"),
    _key("less_than_sign", f"step({-FAST})", "far back", "look.far-back", f"the cursor: back by {FAST}"),
    _key("greater_than_sign", f"step({FAST})", "far on", "look.far-on", f"the cursor: on by {FAST}"),
    _key("j", "to_loss(-1)", "previous loss", "look.loss-before", "the cursor: to the loss before"),
    _key("l", "to_loss(1)", "next loss", "look.next-loss", "the cursor: to the next loss"),
    _key("z", "zoom", "zoom in", "look.zoom", "closer: to a loss at the cursor and its round trips"),
    _key("Z", "zoom_out", "zoom out", "look.out", "back to what was shown before"),
    _key("o", "next_flow", "other flow", "look.flow", "the cursor: explain the next flow"),
    _key(
        "b",
        "sequence",
        "bytes",
        "look.bytes",
        "switch between the flow's bytes over time (runs with acks=on) and its window",
    ),
    # On a page, the page's own action closes the cursor first.
    Binding("escape", "stop_looking", show=False, priority=True, id="look.close"),
]

FOOTER = (
    ("look.back look.on", "move"),
    ("look.far-back look.far-on", "far"),
    ("look.loss-before look.next-loss", "loss"),
    ("look.zoom", "zoom"),
    ("look.out", "out"),
    ("look.flow", "flow"),
    ("look.bytes", "bytes"),
    ("look.look", "closes"),
)


def with_cursor(footer: Entries) -> Entries:
    """Return the footer with the cursor's keys first."""
    return (*FOOTER, *(entry for entry in footer if entry[0] != "look.look"))


class LookingScreen(TutorScreen):
    """A screen with a chart that has a cursor. Subclasses call `can_look` in `check_action`."""

    BINDINGS: ClassVar[list[BindingType]] = BINDINGS

    @property
    def chart(self) -> RunPanel | None:
        """The chart; None if the screen shows no run."""
        raise NotImplementedError

    def connect(self, panel: RunPanel) -> None:
        """Let a panel report changes of its keys and find the files of its runs."""
        panel.changed, panel.run_file = self.keys_changed, self.run_file

    def run_file(self, run: Run) -> Path | None:
        """Return the file of `run`; None if it is not stored."""
        return self.tutor.journal.runs.file(run.id)

    @property
    def chart_visible(self) -> bool:
        """True if the chart is visible."""
        return True

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

    def can_look(self, action: str) -> bool | None:
        """Return True if a key of the cursor works now; None for other keys."""
        chart = self.chart
        if action == "look":
            return chart is not None and chart.can_inspect
        if action not in MOVES:
            return None
        if chart is None or chart.cursor is None or not self.chart_visible:
            return False
        there = {
            "zoom_out": chart.cursor.is_zoomed,
            "next_flow": chart.has_flows,
            "sequence": chart.has_sequence,
        }
        return there.get(action, True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return self.can_look(action) is not False

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return bindings.footer_entries(self, with_cursor(self.FOOTER) if self.has_cursor else self.FOOTER)

    def keys_changed(self) -> None:
        """Update keys and footer."""
        self.refresh_bindings()
        self.schedule_keys()

    def action_look(self) -> None:
        if self.chart is not None:
            self.chart.toggle_inspection()

    def action_stop_looking(self) -> None:
        if self.has_cursor:
            self.action_look()

    def action_step(self, by: int) -> None:
        if self.chart is not None:
            self.chart.step(by)

    def action_to_loss(self, direction: int) -> None:
        if self.chart is not None:
            self.chart.to_loss(direction)

    def action_zoom(self) -> None:
        if self.chart is not None:
            self.chart.zoom()

    def action_zoom_out(self) -> None:
        if self.chart is not None:
            self.chart.zoom_out()

    def action_sequence(self) -> None:
        if self.chart is not None:
            self.chart.sequence()

    def action_next_flow(self) -> None:
        if self.chart is not None:
            self.chart.next_flow()

"""A run's packets step by step: from event to event, or slowed down, on the path drawn as a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer

from tcptutor.figures.lines import Line
from tcptutor.ui.bindings import Entries
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.chart.line_panel import LinePanel

if TYPE_CHECKING:
    from tcptutor.analysis import EventKind
    from tcptutor.ui.widgets.readout.packet_steps import PacketSteps

_SPEEDS = (0.001, 0.01, 0.1, 1.0)
_FRAME_S = 0.1
_LOSSES: tuple[EventKind, ...] = ("loss", "timeout", "probe")
_AGAIN: tuple[EventKind, ...] = ("loss", "retransmission", "timeout", "probe")
_ACKS: tuple[EventKind, ...] = ("ack", "duplicate")


class PacketStepsScreen(TutorScreen):
    """Steps through the packets of a flow, from the instant at which it is opened; Esc returns to the chart."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,full_stop", "step(1)", "next", id="steps.next", tooltip="to the next event"),
        Binding("left,comma", "step(-1)", "back", id="steps.back", tooltip="to the event before"),
        Binding("a", "step(1,'acks')", "next ACK", id="steps.ack", tooltip="to the next ACK"),
        Binding("l", "step(1,'losses')", "next loss", id="steps.loss", tooltip="to the next loss or timeout"),
        Binding(
            "j", "step(-1,'losses')", "previous loss", id="steps.loss-before", tooltip="to the loss before"
        ),
        Binding(
            "r",
            "step(1,'again')",
            "next retransmission",
            id="steps.again",
            tooltip="to the next retransmission",
        ),
        Binding("f,space", "play", "play", id="steps.play", tooltip="play slowed down, or pause"),
        Binding("less_than_sign", "speed(-1)", "slower", id="steps.slower", tooltip="ten times slower"),
        Binding("greater_than_sign", "speed(1)", "faster", id="steps.faster", tooltip="ten times faster"),
        Binding("escape", "back", "back", id="steps.leave", tooltip="back to the chart"),
    ]
    FOOTER: ClassVar[Entries] = (
        ("steps.back steps.next", "step"),
        ("steps.ack", "ACK"),
        ("steps.loss-before steps.loss", "loss"),
        ("steps.again", "resent"),
        ("steps.play", "play"),
        ("steps.slower steps.faster", "speed"),
        ("steps.leave", "chart"),
        ("app.keys", "keys"),
    )

    def __init__(self, steps: PacketSteps, t: float, place: str) -> None:
        super().__init__()
        self._steps, self._place = steps, place
        first = steps.flight.neighbor(t + 1e-9, -1) or steps.flight.neighbor(t, 1)
        self._t = first.t if first else t
        self._speed = _SPEEDS.index(0.1)
        self._timer: Timer | None = None
        self._shown_at = 0.0
        self._view = PacketStepsView(steps)

    @property
    def t(self) -> float:
        """Instant on display, seconds of the run."""
        return self._t

    @property
    def is_playing(self) -> bool:
        return self._timer is not None

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield self._view
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TopBar).show_place(self._place)
        self._show()

    def show_lab(self) -> None:
        """No-op: the packets of a stored run need no lab."""

    def action_step(self, direction: int, kinds: str = "") -> None:
        self._pause()
        wanted = {"acks": _ACKS, "losses": _LOSSES, "again": _AGAIN}.get(kinds, ())
        event = self._steps.flight.neighbor(self._t, direction, wanted)
        if event is not None:
            self._t = event.t
        else:
            self.notify(
                "Nothing of the kind follows." if direction > 0 else "Nothing of the kind came before."
            )
        self._show()

    def action_play(self) -> None:
        if self.is_playing:
            self._pause()
        else:
            self._shown_at = time.monotonic()
            self._timer = self.set_interval(_FRAME_S, self._advance)
        self._show()

    def action_speed(self, by: int) -> None:
        self._speed = min(max(self._speed + by, 0), len(_SPEEDS) - 1)
        self._show()

    def action_back(self) -> None:
        self._pause()
        self.dismiss()

    def _advance(self) -> None:
        now = time.monotonic()
        self._t += (now - self._shown_at) * _SPEEDS[self._speed]
        self._shown_at = now
        end = self._steps.run.sampled_until
        if self._t >= end:
            self._t = end
            self._pause()
        self._show()

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _show(self) -> None:
        speed = _SPEEDS[self._speed]
        times = "real time" if speed == 1 else f"1/{1 / speed:.0f} of real time"
        self._view.show(self._t, f"▶ {times}" if self.is_playing else f"paused, {times}")


class PacketStepsView(LinePanel):
    """Picture of an instant."""

    def __init__(self, steps: PacketSteps) -> None:
        super().__init__()
        self._steps, self._t, self._head = steps, 0.0, ""

    def show(self, t: float, head: str) -> None:
        """Draw the instant `t`; an instant that is overtaken is not drawn."""
        self._t, self._head = t, head
        self.draw()

    def waiting(self, width: int, height: int) -> None:  # noqa: ARG002
        return None

    def picture(self) -> Callable[[int, int], list[Line]]:
        return partial(self._steps.render, self._t, self._head)

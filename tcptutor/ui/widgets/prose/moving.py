"""Widget of a moving figure: it redraws changed cells, and shows the state of its player in a line below."""

from __future__ import annotations

from textual import events
from textual.message import Message

from tcptutor.figures.figure import Figure, Motion
from tcptutor.figures.lines import Line
from tcptutor.ui.widgets.prose import play_line
from tcptutor.ui.widgets.prose.figure import FigureView
from tcptutor.ui.widgets.prose.playback import Playback

_SLICES = 12
_BYTES_A_PART, _BYTES_A_PIECE = 10, 20
"""Bytes to move the terminal's cursor to a part, and to set the color of a piece: see `tcptutor.ui.output`."""


class MovingView(FigureView):
    """A moving figure; the page's `FigurePlayer` moves it."""

    class Clicked(Message):
        """The figure was clicked."""

        def __init__(self, view: MovingView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, figure: Figure, motion: Motion) -> None:
        super().__init__(figure, _SLICES)
        self.playback = Playback.at_rest(motion)
        self.has_played = False
        """True once the figure has played by itself, or the student has used it."""
        self._hint = ""

    def show(self, playback: Playback) -> int:
        """Show a state of the player, and return roughly how many bytes the terminal is sent."""
        if playback == self.playback:
            return 0
        self.playback = playback
        return self._redraw()

    def hint(self, text: str) -> None:
        """Show the effect of keys and clicks while the figure does not play."""
        if text != self._hint:
            self._hint = text
            self._redraw()

    def _redraw(self) -> int:
        if not self._drawn_width or self.is_in_words:
            return 0
        written = self.show_lines(self._draw(self._drawn_width))
        return sum(
            _BYTES_A_PART + _BYTES_A_PIECE * len(self.pieces(part)) + len(part.text.encode())
            for part in written
        )

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked(self))

    def _draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        lines = super()._draw(width, self.playback.t)
        return [*lines, play_line.draw(self.playback, self._hint, width)]

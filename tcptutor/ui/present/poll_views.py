"""Polls on the stage: how to join, the open vote, and the results, each fitting any size from 80x24."""

from __future__ import annotations

from rich.style import Style
from textual.app import ComposeResult
from textual.widget import Widget

from tcptutor.room.talk import AudienceView, PollView
from tcptutor.ui.present.poll_drawing import QR, draw_join, draw_results, draw_voting
from tcptutor.ui.present.prediction_histogram import draw_histogram
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_view import StageView

_DARK_ON_LIGHT = Style(color="#000000", bgcolor="#ffffff")
"""Style of a QR code in every theme: some phones cannot read light on dark."""


class PollCells(StageView):
    """Cells of a poll's view."""

    def cell_style(self, name: str) -> Style:
        return _DARK_ON_LIGHT if name == QR else super().cell_style(name)


class PollWidget(Widget):
    """Base of the views of a poll; subclasses draw on a canvas of the widget's size."""

    def draw(self, canvas: StageCanvas) -> None:
        """Draw the view."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield PollCells("poll-cells")

    def on_mount(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw the view anew."""
        width, height = self.content_size
        if not self.children or not width or not height:
            return  # the widget's mount or its size follows
        # Only the stage knows what its terminal can do.
        canvas = StageCanvas(width, height, is_scaled=getattr(self.app, "scales_text", False))
        self.draw(canvas)
        cells = self.query_one(PollCells)
        cells.styles.height = height
        cells.show(canvas)


class JoinView(PollWidget):
    """Instructions for joining: QR code, address and code, with the number of participants."""

    def __init__(self, audience: AudienceView, id: str | None = None) -> None:
        super().__init__(id=id)
        self._audience = audience

    def show(self, audience: AudienceView) -> None:
        """Show a later state."""
        self._audience = audience
        self.redraw()

    def draw(self, canvas: StageCanvas) -> None:
        draw_join(canvas, self._audience)


class VotingView(PollWidget):
    """Question and choices of an open poll, the run that it is about, and the number of answers."""

    def __init__(self, poll: PollView, audience: AudienceView, id: str | None = None) -> None:
        super().__init__(id=id)
        self._poll, self._audience = poll, audience

    def show(self, poll: PollView, audience: AudienceView) -> None:
        """Show a later state."""
        self._poll, self._audience = poll, audience
        self.redraw()

    def draw(self, canvas: StageCanvas) -> None:
        draw_voting(canvas, self._poll, self._audience)


class _RevealedView(PollWidget):
    def __init__(self, poll: PollView, id: str | None = None) -> None:
        super().__init__(id=id)
        self._poll = poll

    def show(self, poll: PollView) -> None:
        """Show a later state."""
        self._poll = poll
        self.redraw()


class ResultsView(_RevealedView):
    """Votes per choice once revealed, both rounds side by side."""

    def draw(self, canvas: StageCanvas) -> None:
        draw_results(canvas, self._poll)


class HistogramView(_RevealedView):
    """Numeric answers once revealed, with models and measurement."""

    def draw(self, canvas: StageCanvas) -> None:
        draw_histogram(canvas, self._poll)

"""Polls on the stage: how to join, the open vote, and the results, each fitting any size from 80x24."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from tcptutor.figures.lines import GOOD, MUTED, STRONG, TEXT, WARN
from tcptutor.room.talk import AudienceView, PollView
from tcptutor.ui.present import prediction_histogram as histogram
from tcptutor.ui.present.poll_drawing import LETTER, QR, draw_join, draw_results, draw_voting
from tcptutor.ui.present.prediction_histogram import draw_histogram
from tcptutor.ui.present.stage_canvas import StageCanvas

_STYLES = {
    TEXT: "$foreground",
    STRONG: "bold $foreground",
    MUTED: "$text-muted",
    GOOD: "bold $success",
    WARN: "bold $warning",
    LETTER: "bold $accent",
    QR: "#000000 on #ffffff",
    histogram.ROOM: "bold $you",
    histogram.FIRST_VOTE: "$secondary",
    histogram.NOTCH[histogram.ROOM]: "bold $background on $you",
    histogram.NOTCH[histogram.FIRST_VOTE]: "bold $background on $secondary",
    histogram.MODEL: "bold $accent",
    histogram.MEASURED: "bold $foreground",
    histogram.AXIS: "$secondary",
}


class PollWidget(Widget):
    """Base of the views of a poll; subclasses draw on a canvas of the widget's size."""

    def draw(self, canvas: StageCanvas) -> None:
        """Draw the view."""
        raise NotImplementedError

    def render(self) -> Content:
        canvas = StageCanvas(*self.content_size)
        self.draw(canvas)
        return Content("\n").join(
            [
                Content.assemble(*((text, _STYLES[style]) for text, style in line.pieces()))
                for line in canvas.lines()
            ]
        )


class JoinView(PollWidget):
    """How to join, as QR code, address and code, and how many have joined."""

    def __init__(self, audience: AudienceView, id: str | None = None) -> None:
        super().__init__(id=id)
        self._audience = audience

    def show(self, audience: AudienceView) -> None:
        """Show a later state."""
        self._audience = audience
        self.refresh()

    def draw(self, canvas: StageCanvas) -> None:
        draw_join(canvas, self._audience)


class VotingView(PollWidget):
    """Question and choices of an open poll, and the number of answers."""

    def __init__(self, poll: PollView, audience: AudienceView, id: str | None = None) -> None:
        super().__init__(id=id)
        self._poll, self._audience = poll, audience

    def show(self, poll: PollView, audience: AudienceView) -> None:
        """Show a later state."""
        self._poll, self._audience = poll, audience
        self.refresh()

    def draw(self, canvas: StageCanvas) -> None:
        draw_voting(canvas, self._poll, self._audience)


class _RevealedView(PollWidget):
    def __init__(self, poll: PollView, id: str | None = None) -> None:
        super().__init__(id=id)
        self._poll = poll

    def show(self, poll: PollView) -> None:
        """Show a later state."""
        self._poll = poll
        self.refresh()


class ResultsView(_RevealedView):
    """Votes per choice once revealed, both rounds side by side."""

    def draw(self, canvas: StageCanvas) -> None:
        draw_results(canvas, self._poll)


class HistogramView(_RevealedView):
    """Numeric answers once revealed, with models and measurement."""

    def draw(self, canvas: StageCanvas) -> None:
        draw_histogram(canvas, self._poll)

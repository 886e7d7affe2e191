"""Box of "you are the sender": the instant of the student's run, drawn as a pipe, and the choices."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from tcptutor.course.activities.sender_question import SenderQuestion
from tcptutor.figures.figure import Figure
from tcptutor.figures.lines import Line
from tcptutor.run import Run
from tcptutor.ui.widgets.page.lists import ObserveBox
from tcptutor.ui.widgets.prose.figure import FigureView
from tcptutor.ui.workers import start_worker

if TYPE_CHECKING:
    from tcptutor.ui.widgets.readout.packet_steps import PacketSteps


class SenderInstant(Figure, frozen=True, kw_only=True):
    """A flow's segments at an instant of a run."""

    steps: PacketSteps
    t: float
    """Seconds of the run."""

    def draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        return self.steps.instant(self.t, width)

    def describe(self) -> str:
        return self.steps.in_words(self.t)


class SenderBox(ObserveBox):
    """Choice of the sender's next action, below a picture of its path."""

    TITLE: ClassVar[str] = "You are the sender"

    def compose_entry(self) -> ComposeResult:
        self._instant = Vertical(classes="instant")
        yield self._instant
        yield from super().compose_entry()

    def show_run(self, run: Run) -> None:
        start_worker(self, self._draw, run, exclusive=True, group="instant")

    async def _draw(self, run: Run) -> None:
        assert isinstance(self.activity, SenderQuestion)
        drawn = await asyncio.to_thread(_view_of, self.activity, run)
        await self._instant.remove_children()
        if drawn is not None and self._instant.is_attached:
            await self._instant.mount(drawn)


def _view_of(question: SenderQuestion, run: Run) -> FigureView | None:
    from tcptutor.ui.widgets.readout.packet_steps import PacketSteps  # noqa: PLC0415  # the first frame needs none

    response = question.response(run)
    if response is None:
        return None
    flow = response.flight.flow
    steps = PacketSteps(run, flow, str(flow + 1), response.flight, None)
    return FigureView(SenderInstant(id=question.id, steps=steps, t=response.before))

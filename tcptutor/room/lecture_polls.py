"""Polls of a lecture: votes on its questions, and the page where students join."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.room.asked import AskedQuestion
from tcptutor.room.flows import FLOWS, FlowMeter
from tcptutor.room.protocol import ClosePoll, Discuss, OpenPoll
from tcptutor.room.records import OpenedLecture
from tcptutor.room.slides import Ask, FlowsShown, Slide
from tcptutor.room.talk import AlgorithmTotal, AudienceView, MarkedValue, PollView, RunSource, TeacherView
from tcptutor.room.vote_report import VoteReport
from tcptutor.room.votes import Votes
from tcptutor.room.web.audience import AudienceServer

PollCommand = OpenPoll | ClosePoll | Discuss

_COUNT_S = 0.2
"""Minimum seconds between updates of join and answer counts on the terminals."""


class LecturePolls:
    """Votes and their server, if the lecture has votes."""

    def __init__(self, folder: Path, opened: OpenedLecture, on_change: Callable[[], None]) -> None:
        self._folder, self._opened, self._on_change = folder, opened, on_change
        self._votes: Votes | None = None
        self._server: AudienceServer | None = None
        self._shown_version = 0
        self._counting: asyncio.TimerHandle | None = None
        """Timer for counts that terminals do not show yet."""
        self._problem = "the page to join is starting" if opened.has_votes else "this lecture has no votes"

    async def start(self) -> None:
        """Resume the votes and serve their page. Never raises: the lecture continues without votes."""
        if not self._opened.has_votes:
            return
        try:
            self._votes = Votes(self._folder, self._folder.name, with_names=self._opened.with_names)
            self._votes.on_change = self._changed
            server = AudienceServer(
                self._votes,
                self._folder,
                title=self._opened.lecture.title,
                listen=self._opened.listen,
                public_url=self._opened.public_url,
                with_names=self._opened.with_names,
            )
            await server.start()
            self._server = server
        except TutorError as error:
            self._problem = str(error)
        self._on_change()

    async def close(self) -> None:
        """Stop the server and close the file of votes."""
        if self._counting is not None:
            self._counting.cancel()
        if self._server is not None:
            await self._server.close()
        if self._votes is not None:
            self._votes.close_file()

    def obey(self, command: PollCommand, asked: AskedQuestion | None) -> None:
        """Execute a command; `asked` is the question to open. Raises TutorError."""
        votes = self._votes
        if votes is None or self._server is None:
            raise UsageError(self._problem)
        match command:
            case OpenPoll() if asked is not None:
                votes.open(asked)
            case ClosePoll(reveal=True):
                votes.reveal()
            case ClosePoll():
                votes.close()
            case Discuss():
                votes.discuss()

    @property
    def asked(self) -> AskedQuestion | None:
        """Question of the current poll."""
        return self._votes.asked if self._votes is not None else None

    def compare(self, measured: float | None, models: tuple[MarkedValue, ...]) -> None:
        """Show the measured value and the models' values next to the room's prediction."""
        if self._votes is not None:
            self._votes.compare(measured, models)

    @property
    def picks(self) -> dict[str, int]:
        """Index of the picked algorithm by voter."""
        return self._votes.picks if self._votes is not None else {}

    @property
    def earlier_flows(self) -> tuple[AlgorithmTotal, ...]:
        """Results of the first vote's flows; empty before the second vote."""
        return self._votes.earlier_flows if self._votes is not None else ()

    def check_picks(self, source: RunSource) -> None:
        """Raise UsageError while the vote on flows is open, unless a live run can use the picks so far."""
        view = self._votes.view if self._votes is not None and self.asked is not None else None
        if view is None or view.activity != FLOWS or view.phase not in ("voting", "voting again"):
            return
        if not view.answered:
            raise UsageError("a vote is open and nobody has answered: v closes it")
        if source == "prepared":
            raise UsageError("a vote is open, and the prepared run is not its result: v closes it")

    def show_flows(self, meter: FlowMeter | None) -> None:
        """Show the voters their flows."""
        if self._votes is not None:
            self._votes.show_flows(meter)

    def view(self, slide: Slide) -> PollView | None:
        """Return the poll if its question is on the slide."""
        asked = self.asked
        if self._votes is None or asked is None or not _is_on(slide, asked):
            return None
        return self._votes.view

    @property
    def audience(self) -> AudienceView:
        """Address and code for joining, or the reason why votes are off."""
        return self._server.view if self._server is not None else AudienceView(problem=self._problem)

    def speaker_view(self, view: TeacherView) -> TeacherView:
        """Add the private information on the poll to the speaker's view."""
        if self._votes is None:
            return view
        reach = self._server.remarks if self._server is not None else ()
        return msgspec.structs.replace(
            view,
            right_share=self._votes.right_share,
            suggestion=self._votes.suggestion,
            answer=_answer(self.asked, self._votes.view),
            remarks=(*view.remarks, *reach, *self._votes.remarks),
        )

    def report(self) -> VoteReport | None:
        """Return the results of all questions; None without questions."""
        report = self._votes.report() if self._votes is not None else None
        return report if report is not None and report.questions else None

    def _changed(self) -> None:
        """Show a new phase at once, but batch joins and answers, which arrive by the hundred."""
        if self._server is not None:
            self._server.wake()
        version = self._votes.version if self._votes is not None else 0
        if version != self._shown_version:
            self._shown_version = version
            self._on_change()
        elif self._counting is None:
            self._counting = asyncio.get_running_loop().call_later(_COUNT_S, self._show_counts)

    def _show_counts(self) -> None:
        self._counting = None
        self._on_change()


def _answer(asked: AskedQuestion | None, poll: PollView | None) -> str:
    return asked.rounds[poll.round - 1].right_answer if asked is not None and poll is not None else ""


def _is_on(slide: Slide, asked: AskedQuestion) -> bool:
    module, page, activity = asked.place
    if activity == FLOWS:
        return any(isinstance(step, FlowsShown) for step in slide.steps)
    return (slide.module, slide.page) == (module, page) and any(
        isinstance(step, Ask) and step.activity == activity for step in slide.steps
    )

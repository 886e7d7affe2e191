"""Base of the screens of a lecture: its state, and the keys that drive it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from tcptutor.base.errors import JournalError
from tcptutor.journal.saved import Settings
from tcptutor.room.lecture_state import clamped, shown_run
from tcptutor.room.protocol import (
    Black,
    ClosePoll,
    Discuss,
    EndLecture,
    FromTerminal,
    Go,
    OpenPoll,
    StartRun,
    StepBy,
    StopRun,
)
from tcptutor.room.slides import Lecture
from tcptutor.room.talk import LecturePlace, RunSource, Talk
from tcptutor.ui import themes
from tcptutor.ui.bindings import priority
from tcptutor.ui.present.slide_list import SlideList
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.dialogs import ConfirmScreen


class LectureScreen(TutorScreen):
    """Screen of a terminal that drives the lecture. `send` sends commands to the lecture process."""

    BINDINGS: ClassVar[list[BindingType]] = [
        priority("right,space,enter,pagedown,n", "step(1)", "next", "lecture.next", "reveal the next step"),
        priority("left,pageup,p,backspace", "step(-1)", "back", "lecture.back", "back by a step"),
        priority(
            "b,full_stop", "black", "black", "lecture.black", "black the screen, or show the slide again"
        ),
        priority("r", "run('live')", "run", "lecture.run", "run the slide's experiment live"),
        priority("R", "run('prepared')", "prepared", "lecture.prepared", "play the prepared run"),
        priority("x", "stop_run", "stop", "lecture.stop", "stop the run"),
        priority("v", "vote", "vote", "lecture.vote", "open the vote, close it, or vote again"),
        priority("d", "discuss", "discuss", "lecture.discuss", "let the room discuss after the first vote"),
        priority("s", "reveal", "results", "lecture.results", "show the results of the vote now"),
        priority("g", "list", "go to", "lecture.list", "go to a slide"),
        priority("plus,equals_sign", "zoom(1)", "larger", "lecture.larger", "larger text"),
        priority("minus", "zoom(-1)", "smaller", "lecture.smaller", "smaller text"),
        priority("t", "theme", "light", "lecture.theme", "light or dark ground"),
        priority("e", "end", "end", "lecture.end", "end the lecture"),
    ]

    def __init__(self, send: Callable[[FromTerminal], object], settings: Settings) -> None:
        super().__init__()
        self.send, self.settings = send, settings
        self.lecture: Lecture | None = None
        self.talk = Talk()

    def action_step(self, by: int) -> None:
        self.send(StepBy(1 if by > 0 else -1))

    def action_black(self) -> None:
        self.send(Black(not self.talk.is_black))

    def action_run(self, source: RunSource) -> None:
        """Run the experiment on screen, or that of the next step, which is revealed first."""
        place = self.talk.place
        if self.lecture is not None and shown_run(self.lecture, place) is None:
            after = LecturePlace(place.slide, place.step + 1)
            if shown_run(self.lecture, clamped(self.lecture, after)) is not None:
                self.send(Go(after))
        self.send(StartRun(source))

    def action_stop_run(self) -> None:
        self.send(StopRun())

    def action_vote(self) -> None:
        is_open = self.talk.poll is not None and self.talk.poll.phase in ("voting", "voting again")
        self.send(ClosePoll() if is_open else OpenPoll())

    def action_discuss(self) -> None:
        self.send(Discuss())

    def action_reveal(self) -> None:
        self.send(ClosePoll(reveal=True))

    def action_list(self) -> None:
        def go(number: int | None) -> None:
            if number is not None:
                self.send(Go(LecturePlace(number)))

        if self.lecture is not None:
            headlines = [slide.headline for slide in self.lecture.slides]
            self.app.push_screen(SlideList(headlines, self.talk.place.slide), go)

    def action_zoom(self, by: int) -> None:
        """Enlarge or reduce the text."""
        raise NotImplementedError

    def action_theme(self) -> None:
        name = "light" if self.app.current_theme.dark else "dark"
        self.app.theme = themes.named(name).name
        with contextlib.suppress(JournalError):  # kept for this lecture
            self.settings.set_lecture_theme(name)

    def action_end(self) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self.send(EndLecture())

        question = ConfirmScreen(
            "End the lecture?",
            "Students can't vote any more, and the lecture can't be resumed. ctrl+q only closes this terminal.",
            "end it",
        )
        self.app.push_screen(question, answered)

"""A connection that plays the lecture process: tests put messages in, and read what the terminal sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from tcptutor.backends.replay import playback
from tcptutor.room.protocol import FromTerminal, RunBegins, RunEvent, Shows, ToTerminal, Welcome
from tcptutor.room.slides import Lecture, Slide
from tcptutor.room.talk import RunSource, RunView, Talk
from tcptutor.run import Run
from tcptutor.run.files import text_lines
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Samples

RUN = "r1"


class StandIn:
    """Connection to no process."""

    def __init__(self, *slides: Slide) -> None:
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self.talk = Talk()
        self.sent: list[FromTerminal] = []
        self.say(Welcome(Lecture(title="A lecture", slides=slides, digest="d")), Shows(self.talk))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def send(self, message: FromTerminal) -> None:
        self.sent.append(message)

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            yield await self._messages.get()

    def say(self, *messages: ToTerminal) -> None:
        for message in messages:
            self._messages.put_nowait(message)

    def show(self, **changes: Any) -> None:
        """Show the lecture's state with these changes."""
        self.talk = replace(self.talk, **changes)
        self.say(Shows(self.talk))

    def play(self, run: Run, *, until: float | None = None, source: RunSource = "live") -> None:
        """Play a recorded run at once, up to a time if it is given."""
        header = next(text_lines(replace(run, flows=[], udp=[], experiment_s=0.0, complete=False)))
        self.show(run=RunView(state="running", source=source, id=RUN))
        self.say(RunBegins(RUN, source, msgspec.Raw(header)))
        for event in playback(run):
            if until is None or (isinstance(event, Samples) and event.t <= until):
                self.say(RunEvent(RUN, msgspec.Raw(protocol.line(event))))
        if until is None:
            self.show(run=RunView(state="ended", source=source, id=RUN))

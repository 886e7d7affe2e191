"""Base of the apps of a lecture's terminals: they show the state of the lecture process, and send it commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Protocol

from textual.binding import Binding, BindingType

from tcptutor.base.errors import TutorError
from tcptutor.journal.saved import Settings
from tcptutor.room.client import Interrupted
from tcptutor.room.protocol import FromTerminal, LectureEnded
from tcptutor.ui.frame import MINIMUM, Frame
from tcptutor.ui.workers import start_worker


class LectureMessages(Protocol):
    """Open connection to the lecture process."""

    def send(self, message: FromTerminal) -> None:
        """Send a command."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """Yield messages up to `LectureEnded`."""


LectureConnection = AbstractAsyncContextManager[LectureMessages]


class LectureApp(Frame, inherit_bindings=False):
    """App of a terminal of a lecture. It keeps no state that the lecture process does not have."""

    MEANWHILE = "The lecture goes on meanwhile; ctrl+q only closes this terminal's view."
    LEAST = MINIMUM
    BINDINGS: ClassVar[list[BindingType]] = [
        # Without q: a slip would show a shell to the room.
        Binding(
            "ctrl+q,ctrl+c",
            "quit",
            "leave",
            id="app.quit-anywhere",
            priority=True,
            tooltip="close this terminal's view; the lecture goes on",
        ),
    ]

    def __init__(self, connection: LectureConnection, settings: Settings | None = None) -> None:
        own = settings or Settings.of_user()
        super().__init__(own, own.lecture_theme)
        self._connection = connection
        self._messages: LectureMessages | None = None
        self._is_answered = False
        """True while the lecture process answers."""

    def on_mount(self) -> None:
        start_worker(self, self._follow, group="lecture")

    @property
    def come_back(self) -> str:
        """Command that shows this view again."""
        raise NotImplementedError

    async def action_quit(self) -> None:
        if not self.is_leaving:
            self.exit(message=f"the lecture goes on: `{self.come_back}`" if self._is_answered else None)

    def take_message(self, message: Any) -> None:
        """Show a message of the lecture process."""
        raise NotImplementedError

    def send(self, message: FromTerminal) -> None:
        """Send a command, once the lecture process is connected."""
        if self._messages is not None:
            self._messages.send(message)

    async def _follow(self) -> None:
        try:
            async with self._connection as messages:
                self._messages = messages
                async for message in messages:
                    self._is_answered = not isinstance(message, Interrupted | LectureEnded)
                    self.take_message(message)
                    if isinstance(message, LectureEnded):
                        self.exit(message=message.reason or None)
        except TutorError as error:
            self.exit(return_code=1, message=f"tcptutor: {error}")

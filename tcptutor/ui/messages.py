"""Facts that travel upwards. Widgets and the bench post them, screens and the app act on them."""

from __future__ import annotations

from textual.message import Message

from tcptutor.ui.lab import LabState
from tcptutor.ui.live import Live


class LabChanged(Message):
    """The lab came up, or did not."""

    def __init__(self, state: LabState) -> None:
        self.state = state
        super().__init__()


class RunMoved(Message):
    """The run has new data or is in a new phase. A newer one takes the place of one not yet handled."""

    def __init__(self, live: Live) -> None:
        self.live = live
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RunMoved) and message.live is self.live


class RunEnded(Message):
    """The run has ended, whole or cut short, and is in the journal."""

    def __init__(self, live: Live) -> None:
        self.live = live
        super().__init__()


class Predicted(Message):
    """The student typed a prediction and wants it locked."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class Answered(Message):
    """The student gave an answer: indexes of choices, or text."""

    def __init__(self, question: str, answer: tuple[int, ...] | str) -> None:
        self.question = question
        self.answer = answer
        super().__init__()

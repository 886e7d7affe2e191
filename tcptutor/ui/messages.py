"""Messages posted by widgets and the bench, handled by screens and the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from tcptutor.course.activity import Activity
    from tcptutor.study.lab_state import LabState
    from tcptutor.study.live import Live
    from tcptutor.study.live_sweep import LiveSweep
    from tcptutor.ui.host_shell import Shell
    from tcptutor.wire.protocol import Event


class LabChanged(Message):
    """The lab's state changed."""

    def __init__(self, state: LabState) -> None:
        self.state = state
        super().__init__()


class RunUpdated(Message):
    """The run has new data or a new phase. Replaces an older unhandled message."""

    def __init__(self, live: Live) -> None:
        self.live = live
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RunUpdated) and message.live is self.live


class RunFinished(Message):
    """The run has ended, complete or aborted, and is in the journal."""

    def __init__(self, live: Live) -> None:
        self.live = live
        super().__init__()


class SweepUpdated(Message):
    """The sweep has a new run or new progress. Replaces an older unhandled message."""

    def __init__(self, sweep: LiveSweep) -> None:
        self.sweep = sweep
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, SweepUpdated) and message.sweep is self.sweep


class SweepEnded(Message):
    """The sweep has ended, complete or stopped; its runs are in the journal."""

    def __init__(self, sweep: LiveSweep) -> None:
        self.sweep = sweep
        super().__init__()


class SessionUpdated(Message):
    """The shell session began, ended or reported an event."""

    def __init__(self, event: Event | None = None) -> None:
        self.event = event
        """The reported event; None if the session began or ended."""
        super().__init__()


class LabWanted(Message):
    """Other students wait for the lab of a terminal that has been idle for long."""

    def __init__(self, waiting: int, closes_in: float) -> None:
        self.waiting, self.closes_in = waiting, closes_in
        super().__init__()


class GoalsUpdated(Message):
    """The state of the page's goals changed."""


class ShellUpdated(Message):
    """A shell has new output or has ended. Replaces an older unhandled message."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ShellUpdated) and message.shell is self.shell


class HintWanted(Message):
    """The student asked for the next hint of an activity."""

    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        super().__init__()


class RedrawWanted(Message):
    """The student asked to repeat an activity with new numbers."""

    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        super().__init__()


class RunLoaded(Message):
    """The page's latest complete run is loaded, so responses can be marked."""

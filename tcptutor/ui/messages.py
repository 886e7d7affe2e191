"""Facts that travel upwards. Widgets and the bench post them, screens and the app act on them."""

from __future__ import annotations

from textual.message import Message

from tcptutor.course.activity import Activity
from tcptutor.ui.host_shell import Shell
from tcptutor.ui.lab_state import LabState
from tcptutor.ui.live import Live
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.wire.protocol import Event


class LabChanged(Message):
    """The lab came up, or did not."""

    def __init__(self, state: LabState) -> None:
        self.state = state
        super().__init__()


class RunUpdated(Message):
    """The run has new data or is in a new phase. A newer one takes the place of one not yet handled."""

    def __init__(self, live: Live) -> None:
        self.live = live
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RunUpdated) and message.live is self.live


class RunFinished(Message):
    """The run has ended, whole or cut short, and is in the journal."""

    def __init__(self, live: Live) -> None:
        self.live = live
        super().__init__()


class SweepUpdated(Message):
    """The sweep has a new run, or goes on with one. A newer one takes the place of one not yet handled."""

    def __init__(self, sweep: LiveSweep) -> None:
        self.sweep = sweep
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, SweepUpdated) and message.sweep is self.sweep


class SweepEnded(Message):
    """The sweep has ended, whole or stopped; its runs are in the journal."""

    def __init__(self, sweep: LiveSweep) -> None:
        self.sweep = sweep
        super().__init__()


class SessionUpdated(Message):
    """The lab in the student's hands began, ended, or has told something: the bench's session knows all of it."""

    def __init__(self, event: Event | None = None) -> None:
        self.event = event
        """What it has told; None where it began or ended."""
        super().__init__()


class GoalsUpdated(Message):
    """The goals of a page stand otherwise: the bench's session knows how."""


class ShellUpdated(Message):
    """A shell shows something else, or has ended. A newer one takes the place of one not yet handled."""

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
    """The student asked for an activity once more, with other numbers."""

    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        super().__init__()


class RunLoaded(Message):
    """The page's latest whole run is there: it can be marked against."""

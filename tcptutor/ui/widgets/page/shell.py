"""Box of goals reached by hand: their state according to the kernel, and commands to start with."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tcptutor.base.key_names import key_name
from tcptutor.course.activities.shell import ShellActivity, ShownCommand
from tcptutor.course.goals.goal import GoalBoard, GoalState
from tcptutor.course.goals.near_misses.error_messages import is_taken
from tcptutor.course.page_record import Given
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.lists import EntryLine
from tcptutor.ui.widgets.page.text import inline
from tcptutor.wire.kernel_state import SessionState

_ALL_TYPED = "That was the last command; ↑ chooses one again."
REACHED, OPEN, LATER = "✓", "○", "·"


def sign(goal: GoalState) -> str:
    """Return the sign of a goal's state."""
    return REACHED if goal.ticked else OPEN if goal.due else LATER


def near_misses(board: GoalBoard) -> list[Content]:
    """Return a paragraph per near miss, and a paragraph about the last message printed in a terminal."""
    feedback = [
        Content.assemble((f"{number} ", "bold"), inline(goal.near.text))
        for number, goal in enumerate(board.goals, start=1)
        if goal.near is not None
    ]
    return [*feedback, inline(board.printed.text)] if board.printed is not None else feedback


class CommandLine(Static):
    """Command of the page after its host: "› s1  tc qdisc ..."."""

    def __init__(self, command: ShownCommand, place: int) -> None:
        super().__init__(classes="command", markup=False)
        self._command, self._place = command, place

    class Clicked(Message):
        """The command was clicked."""

        def __init__(self, place: int) -> None:
            self.place = place
            super().__init__()

    def on_click(self) -> None:
        self.post_message(self.Clicked(self._place))

    def show(self, is_next: bool) -> None:
        """Mark whether the keys act on this command."""
        mark = ("› " if is_next else "  ", "bold $accent")
        command = self._command
        self.update(Content.assemble(mark, (f"{command.host}  ", "$text-muted"), (command.run, "$accent")))


class ShellBox(ActivityBox[ShellActivity], can_focus=True):
    """Board of goals; the watcher of the session passes boards in (`journal.goals.WatchedGoals`)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, priority=True, id="shell.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="shell.down"),
    ]
    TITLE: ClassVar[str] = "By hand"
    SIGN, HUE, KIND = "$", "$flow-4", "hand"
    FOLDS: ClassVar[bool] = False
    asks_sureness: ClassVar[bool] = False

    def __init__(self, activity: ShellActivity) -> None:
        super().__init__(activity)
        self._gone = ""
        """Sentence about a network that has been removed; otherwise empty."""
        self._next = 0
        """Index of the command that the keys act on."""
        self._board = GoalBoard(
            goals=tuple(
                GoalState(id=goal.id, text=goal.text, due=not activity.in_order or place == 0)
                for place, goal in enumerate(activity.goals)
            )
        )

    @property
    def how(self) -> str:
        return f"{key_name('lesson.terminal')} opens the terminal"

    def ask(self) -> Content:
        how = " in this order" if self.activity.in_order else ""
        return Content(
            f"Reach these goals{how}, on {', '.join(self.activity.hosts)}. The kernel's state ticks them."
        )

    def compose_entry(self) -> ComposeResult:
        for number, goal in enumerate(self.activity.goals, start=1):
            yield EntryLine(goal.text, number)
        yield Static("", classes="line near", markup=False)
        if self.activity.commands:
            yield Static(classes="line how", markup=False)
        for place, command in enumerate(self.activity.commands):
            yield CommandLine(command, place)

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()
        self._select(0)

    @property
    def command(self) -> ShownCommand | None:
        """Command that the keys act on; None after the last command."""
        return next(iter(self.activity.commands[self._next :]), None)

    def next_command(self) -> None:
        """Advance to the next command; after the last, the keys act on none."""
        self._select(min(self._next + 1, len(self.activity.commands)))

    def next_applicable(self, state: SessionState | None) -> ShownCommand | None:
        """Skip commands that `state` has made pointless, and return the next command."""
        while (command := self.command) is not None and is_taken(command.run, state):
            self.next_command()
        return self.command

    def on_command_line_clicked(self, event: CommandLine.Clicked) -> None:
        event.stop()
        self._select(event.place)

    def action_move(self, by: int) -> None:
        target = self._next + by
        if not 0 <= target < len(self.activity.commands):
            raise SkipAction  # the page scrolls instead
        self._select(target)

    def _select(self, place: int) -> None:
        self._next = place
        for line in self.query(".how").results(Static):
            line.update(_how() if self.command else _ALL_TYPED)
        for at, line in enumerate(self.query(CommandLine)):
            line.show(at == place)

    def show_board(self, board: GoalBoard) -> None:
        """Show the goals as the kernel's state has them now."""
        reached = zip(self._board.goals, board.goals, strict=True)
        if any(after.ticked and not before.ticked for before, after in reached):
            self.pulse()
        self._put(board)

    def _put(self, board: GoalBoard) -> None:
        if board != self._board or self._gone:
            self._board, self._gone = board, ""
            self._draw()

    def show_closed(self, board: GoalBoard) -> None:
        """Show that the page's network was closed before all goals of `board` were reached."""
        reached, total = len(board.reached), len(board.goals)
        if reached and not board.done:
            self._gone = (
                f"The network was closed with {reached} of {total} goals reached; "
                f"{key_name('lesson.terminal')} starts a new one."
            )
            self._draw()

    def show_answer(self, given: Given) -> None:
        """Show the goals reached at the same time earlier; later boards show the current state."""
        goals = (
            GoalState(id=goal.id, text=goal.text, ticked=goal.id in given) for goal in self.activity.goals
        )
        self._put(GoalBoard(goals=tuple(goals)))

    def feedback(self, response: MarkedResponse) -> Content:
        if not response.mark.correct:
            return super().feedback(response)
        at_one_time = not any(goal.stays_ticked for goal in self.activity.goals)
        how = "The kernel held all of it at one time." if at_one_time else "The kernel showed each of them."
        return Content.assemble(("✓ Reached. ", "$success bold"), how)

    def _draw(self) -> None:
        for number, (line, goal) in enumerate(
            zip(self.query(EntryLine), self._board.goals, strict=True), start=1
        ):
            line.show(False, number, sign(goal), goal.text, goal.ticked)
        near_text = self.query_one(".near", Static)
        feedback = [Content(self._gone)] if self._gone else near_misses(self._board)
        near_text.display = bool(feedback)
        near_text.update(Content("\n").join(feedback))


def _how() -> str:
    type_command, copy = key_name("lesson.type-command"), key_name("lesson.copy-command")
    return f"{type_command} types the command at › into the shell of its host, {copy} copies it."

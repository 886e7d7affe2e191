"""The page's goals: what is to be reached by hand, what the kernel says of each, and commands to begin with."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.board import GoalBoard, GoalState
from tcptutor.course.record import Given
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.list_box import EntryLine
from tcptutor.ui.widgets.page.text import inline

REACHED, OPEN, LATER = "✓", "○", "·"


class ShellBox(ActivityBox[ShellActivity], can_focus=True):
    """Shows a board; whoever watches the session hands it down (`journal.watched.WatchedGoals`)."""

    TITLE: ClassVar[str] = "By hand"
    HOW: ClassVar[str] = "t opens a terminal"

    def __init__(self, activity: ShellActivity) -> None:
        super().__init__(activity)
        self._board = GoalBoard(
            goals=tuple(
                GoalState(id=goal.id, text=goal.text, due=not activity.in_order or place == 0)
                for place, goal in enumerate(activity.goals)
            )
        )

    def ask(self) -> Content:
        how = " one after the other" if self.activity.in_order else ""
        return Content(f"Reach these{how}, on {', '.join(self.activity.hosts)}. The kernel ticks them.")

    def compose_entry(self) -> ComposeResult:
        for number, goal in enumerate(self.activity.goals, start=1):
            yield EntryLine(goal.text, number)
        yield Static("", classes="line near", markup=False)
        for command in self.activity.commands:
            yield Static(
                Content.assemble((f"{command.host}  ", "$text-muted"), (command.run, "$accent")), markup=False
            )

    def on_mount(self) -> None:
        super().on_mount()
        self._draw()

    def show_board(self, board: GoalBoard) -> None:
        """How the goals stand now."""
        if board != self._board:
            self._board = board
            self._draw()

    def show_given(self, given: Given) -> None:
        """What was reached together before; a board that is told afterwards is of now."""
        goals = (
            GoalState(id=goal.id, text=goal.text, ticked=place in given)
            for place, goal in enumerate(self.activity.goals)
        )
        self.show_board(GoalBoard(goals=tuple(goals)))

    def told(self, response: MarkedResponse) -> Content:
        if response.mark is None or not response.mark.correct:
            return super().told(response)
        return Content.assemble(("✓ Reached. ", "$success bold"), "The kernel held all of it at one time.")

    def _draw(self) -> None:
        for number, (line, goal) in enumerate(
            zip(self.query(EntryLine), self._board.goals, strict=True), start=1
        ):
            sign = REACHED if goal.ticked else OPEN if goal.due else LATER
            line.show(False, number, sign, goal.text, goal.ticked)
        near = self.query_one(".near", Static)
        told = [
            Content.assemble((f"{number} ", "bold"), inline(goal.near.text))
            for number, goal in enumerate(self._board.goals, start=1)
            if goal.near is not None
        ]
        if self._board.printed is not None:
            told.append(inline(self._board.printed.text))
        near.display = bool(told)
        near.update(Content("\n").join(told))

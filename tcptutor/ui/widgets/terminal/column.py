"""What stands beside the page while a terminal is open: chart of what is sent, goals, hosts as tabs, and the pane."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tcptutor.course.activities.shell import ShownCommand
from tcptutor.course.goals.board import GoalBoard
from tcptutor.ui.widgets.bench.panel import RunPanel
from tcptutor.ui.widgets.page.shell import near_misses, sign
from tcptutor.ui.widgets.page.text import inline
from tcptutor.ui.widgets.terminal.pane import TerminalPane


class HostTabs(Static):
    """The hosts of the network; a click on one shows its shell."""

    class HostChosen(Message):
        """A host was clicked."""

        def __init__(self, host: str) -> None:
            self.host = host
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="tabs", markup=False)
        self._shown: object = None

    def show(self, hosts: tuple[str, ...], shown: str, opened: tuple[str, ...], right: str) -> None:
        """Which there are, which one is shown, which have a shell; and a word on the right."""
        wanted = (hosts, shown, opened, right, self.size.width)
        if wanted == self._shown:
            return
        self._shown = wanted
        parts: list[Content] = []
        for host in hosts:
            click = Style.from_meta({"@click": f"choose('{host}')"})
            name = Content.styled(
                f"[{host}]" if host == shown else f" {host}{'*' if host in opened else ' '}", click
            )
            parts.append(name.stylize("bold reverse" if host == shown else "$text-muted"))
        left = Content("").join(parts)
        gap = max(1, self.size.width - left.cell_length - len(right))
        # It stays one line high: a layout would draw the whole screen anew, at each new rate.
        self.update(left + Content(" " * gap) + Content.styled(right, "$text-muted"), layout=False)

    def action_choose(self, host: str) -> None:
        self.post_message(self.HostChosen(host))


class GoalLines(Static):
    """How the page's goals stand, where its text is out of sight: signs, the next one, and what is nearly right."""

    def __init__(self) -> None:
        super().__init__(classes="goals", markup=False)
        self.display = False
        self._shown: tuple[GoalBoard | None, ShownCommand | None] = (None, None)

    def show(self, board: GoalBoard | None, command: ShownCommand | None = None) -> None:
        """None for a page without goals. command: what F9 types next, where the page that shows it is out of sight."""
        if (board, command) == self._shown:
            return
        self._shown, self.display = (board, command), board is not None
        if board is None:
            return
        signs = "".join(f" {number}{sign(goal)}" for number, goal in enumerate(board.goals, start=1))
        due = next((goal.text for goal in board.goals if goal.due and not goal.ticked), "")
        first = Content.assemble(("goals", "$text-muted"), (signs, "bold"), "  ", inline(due))
        # One line has room here: what was just refused comes before what is nearly right.
        near = [inline(board.printed.text)] if board.printed is not None else near_misses(board)[:1]
        told = [Content("all goals are reached")] if board.done else near
        typed = [Content.assemble(("F9 ", "bold"), f"{command.host}: {command.run}")] if command else []
        self.update(Content("\n").join([first, *told, *typed]))


class TerminalColumn(Vertical):
    """Chart, goals, tabs and pane; which of them there is room for the screen says by classes."""

    def __init__(self, type_ahead: Callable[[bytes], object]) -> None:
        """type_ahead: called with keys that are typed while there is no shell."""
        super().__init__(classes="side terminal")
        self.chart, self.goals, self.tabs = RunPanel(), GoalLines(), HostTabs()
        self.pane = TerminalPane(type_ahead)

    def compose(self) -> ComposeResult:
        yield self.chart
        yield self.goals
        yield self.tabs
        yield self.pane

"""Lines above a shell: goals of the page, tabs of the hosts."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tcptutor.course.activities.shell import ShownCommand
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.ui.widgets.page.shell import near_misses, sign
from tcptutor.ui.widgets.page.text import inline


class HostTabs(Static):
    """Hosts of the network; a click shows the host's shell."""

    class HostChosen(Message):
        """A click on a host's tab."""

        def __init__(self, host: str) -> None:
            self.host = host
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="tabs", markup=False)
        self._shown: object = None

    def show(self, hosts: tuple[str, ...], shown: str, opened: tuple[str, ...], right: str) -> None:
        """Show the hosts, marking the current host and hosts with an open shell, and a note at the right."""
        state = (hosts, shown, opened, right, self.size.width)
        if state == self._shown:
            return
        self._shown = state
        parts: list[Content] = []
        for host in hosts:
            click = Style.from_meta({"@click": f"choose('{host}')"})
            name = Content.styled(
                f"[{host}]" if host == shown else f" {host}{'*' if host in opened else ' '}", click
            )
            parts.append(name.stylize("bold reverse" if host == shown else "$text-muted"))
        left = Content("").join(parts)
        gap = max(1, self.size.width - left.cell_length - len(right))
        # The height stays one line: a layout would redraw the whole screen at each new rate.
        self.update(left + Content(" " * gap) + Content.styled(right, "$text-muted"), layout=False)

    def action_choose(self, host: str) -> None:
        self.post_message(self.HostChosen(host))


class GoalLines(Static):
    """Summary of the page's goals while its text is hidden: ticks, next goal, near misses."""

    def __init__(self) -> None:
        super().__init__(classes="goals", markup=False)
        self.display = False
        self._shown: tuple[GoalBoard | None, ShownCommand | None] = (None, None)

    def show(self, board: GoalBoard | None, command: ShownCommand | None = None) -> None:
        """Show a board, or hide if None; `command` is the command that F9 types next, if its page is hidden."""
        if (board, command) == self._shown:
            return
        self._shown, self.display = (board, command), board is not None
        if board is None:
            return
        signs = "".join(f" {number}{sign(goal)}" for number, goal in enumerate(board.goals, start=1))
        due = next((goal.text for goal in board.goals if goal.due and not goal.ticked), "")
        first = Content.assemble(("goals", "$text-muted"), (signs, "bold"), "  ", inline(due))
        # There is room for one line: a command just refused matters more than a near miss.
        near = [inline(board.printed.text)] if board.printed is not None else near_misses(board)[:1]
        notes = [Content("all goals are reached")] if board.done else near
        command_line = (
            [Content.assemble(("F9 ", "bold"), f"{command.host}: {command.run}")] if command else []
        )
        self.update(Content("\n").join([first, *notes, *command_line]))

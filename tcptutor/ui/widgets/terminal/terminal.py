"""Terminal of a page: chart of its traffic, goals, host tabs and shells."""

from __future__ import annotations

import re
from functools import cached_property
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tcptutor.base import units
from tcptutor.base.errors import TutorError
from tcptutor.base.key_names import key_name
from tcptutor.course import experiments
from tcptutor.course.activities.shell import ShownCommand
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.course.step import Step
from tcptutor.spec import Experiment
from tcptutor.study.live import Live
from tcptutor.study.study import Study
from tcptutor.ui import lab_network
from tcptutor.ui.bench import Bench
from tcptutor.ui.bindings import priority
from tcptutor.ui.host_shell import Shell
from tcptutor.ui.messages import GoalsUpdated, RunFinished, RunUpdated, SessionUpdated, ShellUpdated
from tcptutor.ui.widgets.page.shell import ShellBox, near_misses, sign
from tcptutor.ui.widgets.page.text import inline
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.terminal.pane import TerminalPane
from tcptutor.wire.kernel_state import SessionState

_SHELL_COMMAND = re.compile(r"tcptutor shell [hs]\d --experiment (?P<name>[\w-]+/[\w-]+)")
"""Command in a page's text that names the experiment for a shell."""
_DEFAULT_SIZE = (24, 80)
"""Size of a shell in lines and columns before it is laid out."""


class Terminal(Vertical):
    """View of the page's session, mounted while it is open. CSS classes of the screen choose the visible parts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        priority(
            "f7", "turn_host(-1)", "previous host", "terminal.previous-host", "the previous host's shell"
        ),
        priority("f8", "turn_host(1)", "next host", "terminal.next-host", "the next host's shell"),
    ]

    def __init__(self, study: Study, bench: Bench, box: ShellBox | None) -> None:
        """Build a terminal; `box` has the page's goals and commands, None without any."""
        super().__init__(classes="side terminal")
        self._study, self._bench, self._box = study, bench, box
        self.chart, self._goals, self._tabs = RunPanel(), GoalLines(), HostTabs()
        self.pane = TerminalPane(self._type_ahead)
        self._host = ""
        self._live: Live | None = None
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        yield self.chart
        yield self._goals
        yield self._tabs
        yield self.pane

    @cached_property
    def network(self) -> Experiment | None:
        """Network to open the terminal on; None if the page has none."""
        return network_of(self._study.step)

    @property
    def can_open(self) -> bool:
        """True if the page has a network that a terminal can be opened on."""
        return self.network is not None and not self.network.topology.has_second

    @property
    def is_open(self) -> bool:
        """True while a session of this page is open, starting or ending."""
        return self._bench.session.is_of(self._study.module.id, self._study.step.id)

    def open(self) -> str:
        """Open a session if none is open; return the reason if that is impossible."""
        if self.is_open:
            return ""
        if self._bench.busy:
            stop = key_name("lesson.stop")
            return f"A run is in progress: {stop} stops it, then {key_name('lesson.terminal')} opens the terminal."
        if obstacle := self._bench.obstacle:
            return obstacle
        if self.network is None:
            return "This page has no network to open the terminal on."
        if not self.can_open:
            return "A terminal needs a network with one bottleneck, and this page has two."
        module, step = self._study.module, self._study.step
        self._bench.open_session(module.id, step.id, self.network, step.shell)
        self._host = ""
        return ""

    @property
    def line(self) -> Content:
        """State in a line, for when the terminal is hidden."""
        live = self._live
        status = "the terminal is open"
        if live is not None and live.in_progress and live.rates:
            status = f"▶ {units.rate(live.rates[-1][1])}"
        elif live is not None and live.report is not None:
            status = f"measured {units.rate(live.report.throughput_bps)}"
        return Content.assemble((f"{key_name('lesson.pane')}: terminal   ", "$text-muted"), (status, "bold"))

    # Hosts and commands

    def show_host(self, host: str) -> None:
        """Show the shell on a host, opening it if necessary."""
        self._host = host
        self.show(opens_shell=True)

    def action_turn_host(self, by: int) -> None:
        hosts = self._bench.session.hosts
        if hosts:
            at = hosts.index(self._host) if self._host in hosts else 0
            self.show_host(hosts[(at + by) % len(hosts)])

    def type_next_command(self) -> str:
        """Type the page's next command into its host's shell without running it; return the reason if it is not."""
        session, box = self._bench.session, self._box
        command = box.next_applicable(session.state) if box is not None else None
        if box is None or command is None:
            return "That was the page's last command."
        has_unfinished_line = session.has_unfinished_line(command.host)
        self.show_host(command.host)
        if has_unfinished_line:
            return "The prompt holds an unfinished line: Enter runs it, ^U clears it."
        session.type(command.host, command.run.encode())
        box.next_command()
        self.show()
        return ""

    def _type_ahead(self, data: bytes) -> None:
        self._bench.session.type(self._host, data)
        self.show()

    # Drawing

    def show(self, opens_shell: bool = False) -> None:
        """Update all parts. Opens a shell if `opens_shell` or if no shell is open."""
        session = self._bench.session
        if not self.is_open or not self.is_attached:
            return
        size = self.pane.content_size
        lines, columns = (size.height, size.width) if size.height > 1 and size.width > 1 else _DEFAULT_SIZE
        if not self._host and session.hosts:
            self._host = next(iter(session.shells), session.hosts[0])
        shell = session.shells.get(self._host)
        if shell is None and (opens_shell or not session.shells):
            shell = session.shell(self._host, lines, columns)
        for host in tuple(session.typed_ahead):
            session.shell(host, lines, columns)
        text = "the terminal is closing ..."
        if session.stage == "starting":
            place = self._bench.state.place
            text = f"waiting for a lab: {place} ..." if place else "the lab is starting for the terminal ..."
            if session.typed_ahead:
                text += " your keys wait for the prompt"
        self.pane.show(shell, "" if shell else text)
        self._show_chart()
        self._show_goals()
        self._show_tabs()

    def _show_chart(self) -> None:
        """Show the latest run; before the first, the network."""
        session = self._bench.session
        if session.live is not None:
            if session.live is not self._live:
                self._live = session.live
                self.chart.show(session.live, None)
            return
        self._live = None
        experiment, network = session.network, lab_network.of_session(session)
        if experiment is not None and (experiment, network) != self._drawn:
            self._drawn = experiment, network
            self.chart.show_idle(
                experiment, "Your traffic is drawn here, with the models' predictions for the path.", network
            )

    def _show_goals(self) -> None:
        """Show the goals and, if the terminal covers the page, the next command."""
        covers = self.is_attached and self.screen.has_class("-narrow")
        command = self._box.command if self._box is not None and covers else None
        self._goals.show(self._bench.session.board, command)

    def _show_tabs(self) -> None:
        session, live = self._bench.session, self._live
        rate = f"▶ {units.rate(live.rates[-1][1])}" if live and live.in_progress and live.rates else ""
        if session.closes_in is not None:
            rate = f"others wait: closes in {session.closes_in:.0f} s, a key keeps it"
        self._tabs.show(session.hosts, self._host, tuple(session.shells), rate)

    # Messages

    def bench_changed(self, message: Message) -> None:
        """Update after a message of the bench."""
        match message:
            case SessionUpdated(event=event) if event is None or isinstance(event, SessionState):
                self.show()
            case GoalsUpdated() if self.is_open:
                self._show_goals()
            case ShellUpdated(shell=shell):
                self._update_shell(shell)
            case RunUpdated(live=live) | RunFinished(live=live):
                if live is self._bench.session.live and self.is_open:
                    self._update_run(live, ended=isinstance(message, RunFinished))

    def _update_shell(self, shell: Shell) -> None:
        if shell.over:
            if shell.host == self._host:
                self._host = next(iter(self._bench.session.shells), "")
            self.show()
        elif shell is self.pane.shell:
            self.pane.redraw_changes()

    def _update_run(self, live: Live, ended: bool) -> None:
        if live is not self._live or ended:
            self._live = live
            self.chart.show(live, None)
        else:
            self.chart.redraw_changes()
        self._show_tabs()


def network_of(step: Step) -> Experiment | None:
    """Return the network for a terminal: the page's own, or the network named in its text; None without either."""
    if step.shell is not None:
        return step.shell.experiment
    named = _SHELL_COMMAND.search(step.prose)
    own = next(iter(step.experiments), None)
    if own is not None or named is None:
        return own
    try:
        return experiments.build(named["name"], {}, None, scale="bench")
    except TutorError:
        return None


class HostTabs(Static):
    """Hosts of the network; a click shows the host's shell."""

    class HostChosen(Message):
        """A click on a host's tab."""

        def __init__(self, host: str) -> None:
            self.host = host
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="tabs", markup=False)
        self.auto_links = False  # the names are tabs, not links
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
            parts.append(name.stylize("bold $accent" if host == shown else _tab_style(host in opened)))
        left = Content("").join(parts)
        gap = max(1, self.size.width - left.cell_length - len(right))
        # The height stays one line: a layout would redraw the whole screen at each new rate.
        self.update(left + Content(" " * gap) + Content.styled(right, "$text-muted"), layout=False)

    def action_choose(self, host: str) -> None:
        self.post_message(self.HostChosen(host))


def _tab_style(is_open: bool) -> str:
    return "$foreground" if is_open else "$text-muted"


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

"""Terminal of a page: its shells, chart and goals."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from textual.content import Content

from tcptutor import course
from tcptutor.base import units
from tcptutor.base.errors import TutorError
from tcptutor.course.activities.shell import ShownCommand
from tcptutor.spec import Experiment
from tcptutor.ui.bench import Bench
from tcptutor.ui.host_shell import Shell
from tcptutor.ui.live import Live
from tcptutor.ui.messages import SessionUpdated
from tcptutor.ui.study import Study
from tcptutor.ui.widgets.terminal.column import TerminalColumn
from tcptutor.ui.widgets.terminal.pane import TerminalPane
from tcptutor.wire.kernel_state import SessionState

_SHELL_COMMAND = re.compile(r"tcptutor shell [hs]\d --experiment (?P<name>[\w-]+/[\w-]+)")
"""Command in a page's text that names the experiment for a shell."""
_DEFAULT_SIZE = (24, 80)
"""Size of a shell in lines and columns before it is laid out."""


class TerminalSide:
    """Connects the bench's session with the terminal column of a page. `say` notifies the student."""

    def __init__(self, study: Study, bench: Bench, say: Callable[[str], object]) -> None:
        self.study, self.bench, self._say = study, bench, say
        self.widget = TerminalColumn(self._store_keys)
        self._host = ""
        self._live: Live | None = None
        self._drawn: Experiment | None = None
        self.next_command: ShownCommand | None = None

    @property
    def pane(self) -> TerminalPane:
        return self.widget.pane

    @property
    def is_open(self) -> bool:
        """True if a session of this page is in progress."""
        return self.bench.session.is_of(self.study.module.id, self.study.step.id)

    def open(self) -> bool:
        """Open a session if possible; return True if a session is open or starting."""
        if self.is_open:
            return True
        shell, experiment = self.study.step.shell, self.network
        if self.bench.busy:
            self._say("A run is in progress: s stops it, then t opens a terminal.")
        elif obstacle := self.bench.obstacle:
            self._say(obstacle)
        elif experiment is None:
            self._say("This page has no network to open a terminal on.")
        else:
            self.bench.open_session(self.study.module.id, self.study.step.id, experiment, shell)
            self._host = ""
        return self.is_open

    @cached_property
    def network(self) -> Experiment | None:
        """Network for a terminal: the page's own, or the network named in its text; None without either."""
        step = self.study.step
        if step.shell is not None:
            return step.shell.experiment
        named = _SHELL_COMMAND.search(step.prose)
        own = next(iter(step.experiments), None)
        if own is not None or named is None:
            return own
        try:
            return course.experiment(named["name"], {}, None, scale="bench")
        except TutorError:
            return None

    def turn_host(self, by: int) -> None:
        """Show the shell of the host `by` places away."""
        hosts = self.bench.session.hosts
        if hosts:
            at = hosts.index(self._host) if self._host in hosts else 0
            self.show_host(hosts[(at + by) % len(hosts)])

    def type(self, command: ShownCommand) -> bool:
        """Type a command into its host's shell without running it.

        Returns:
            False if that shell's prompt holds an unfinished line.
        """
        session = self.bench.session
        begun = session.has_unfinished_line(command.host)
        self.show_host(command.host)
        if not begun:
            session.type(command.host, command.run.encode())
            self.show()
        return not begun

    def _store_keys(self, data: bytes) -> None:
        self.bench.session.type(self._host, data)
        self.show()

    def show_host(self, host: str) -> None:
        """Show the shell on a host, opening it if necessary."""
        self._host = host
        self.show(wanted=True)

    def show(self, wanted: bool = False) -> None:
        """Update the column. Opens a shell if `wanted` or if no shell is open."""
        session = self.bench.session
        if not self.is_open or not self.widget.is_attached:
            return
        size = self.pane.content_size
        lines, columns = (size.height, size.width) if size.height > 1 and size.width > 1 else _DEFAULT_SIZE
        if not self._host and session.hosts:
            self._host = next(iter(session.shells), session.hosts[0])
        shell = session.shells.get(self._host)
        if shell is None and (wanted or not session.shells):
            shell = session.shell(self._host, lines, columns)
        for host in tuple(session.typed_ahead):
            session.shell(host, lines, columns)
        text = "the terminal is closing ..."
        if session.stage == "starting":
            text = "the lab is starting for a terminal ..."
            if session.typed_ahead:
                text += " your keys wait for the prompt"
        self.pane.show(shell, "" if shell else text)
        self._show_chart()
        self.show_goals()
        self.show_tabs()

    def show_goals(self) -> None:
        """Show the goals and, if the terminal covers the page, the next command."""
        covers = self.widget.is_attached and self.widget.screen.has_class("-narrow")
        self.widget.goals.show(self.bench.session.board, self.next_command if covers else None)

    def show_tabs(self) -> None:
        session, live = self.bench.session, self._live
        rate = f"▶ {units.rate(live.rates[-1][1])}" if live and live.in_progress and live.rates else ""
        self.widget.tabs.show(session.hosts, self._host, tuple(session.shells), rate)

    def _show_chart(self) -> None:
        """Show the latest run; before the first, the network."""
        session, chart = self.bench.session, self.widget.chart
        if session.live is not None:
            if session.live is not self._live:
                self._live = session.live
                chart.show(session.live, None)
            return
        self._live = None
        experiment = session.network
        if experiment is not None and experiment != self._drawn:
            self._drawn = experiment
            chart.show_idle(
                experiment, "Your traffic is drawn here, with the models' predictions for the path."
            )

    # Session events

    def session_updated(self, message: SessionUpdated) -> None:
        if message.event is None or isinstance(message.event, SessionState):
            self.show()

    def goals_updated(self) -> None:
        self.show_goals()

    def shell_updated(self, shell: Shell) -> None:
        if shell.over:
            if shell.host == self._host:
                self._host = next(iter(self.bench.session.shells), "")
            self.show()
        elif shell is self.pane.shell:
            self.pane.redraw_changes()

    def run_updated(self, live: Live) -> None:
        if live is self.bench.session.live and self.is_open:
            if live is self._live:
                self.widget.chart.redraw_changes()
            else:
                self._show_chart()
            self.show_tabs()

    def run_ended(self, live: Live) -> None:
        if live is self.bench.session.live and self.is_open:
            self._live = live
            self.widget.chart.show(live, None)
            self.show_tabs()

    @property
    def line(self) -> Content:
        """State in a line, for when the terminal is hidden."""
        live = self._live
        status = "a terminal is open"
        if live is not None and live.in_progress and live.rates:
            status = f"▶ {units.rate(live.rates[-1][1])}"
        elif live is not None and live.report is not None:
            status = f"measured {units.rate(live.report.throughput_bps)}"
        return Content.assemble(("F6: terminal   ", "$text-muted"), (status, "bold"))

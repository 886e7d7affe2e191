"""The terminal of a page: when it may be opened, and what of the session is shown."""

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

_NAMED = re.compile(r"tcptutor shell [hs]\d --experiment (?P<name>[\w-]+/[\w-]+)")
"""How a page's text offers a shell on an experiment."""
_FIRST = (24, 80)
"""Lines and columns of a shell whose place is not known yet."""


class TerminalSide:
    """Between the bench's session and the column, for one page. `say` tells the student something in one line."""

    def __init__(self, study: Study, bench: Bench, say: Callable[[str], object]) -> None:
        self.study, self.bench, self._say = study, bench, say
        self.widget = TerminalColumn(self._type_ahead)
        self._host = ""
        self._live: Live | None = None
        self._drawn: Experiment | None = None
        self.next_command: ShownCommand | None = None
        """The page's own that comes next."""

    @property
    def pane(self) -> TerminalPane:
        return self.widget.pane

    @property
    def is_open(self) -> bool:
        """Whether this page's terminal is there."""
        return self.bench.session.is_of(self.study.module.id, self.study.step.id)

    def open(self) -> bool:
        """The student asks for a terminal; whether one is there or on its way."""
        if self.is_open:
            return True
        shell, experiment = self.study.step.shell, self.network
        if self.bench.busy:
            self._say("A run goes on: s stops it, then t opens a terminal.")
        elif obstacle := self.bench.obstacle:
            self._say(obstacle)
        elif experiment is None:
            self._say("This page has no network: t opens a terminal on pages that run something.")
        else:
            self.bench.open_session(self.study.module.id, self.study.step.id, experiment, shell)
            self._host = ""
        return self.is_open

    @cached_property
    def network(self) -> Experiment | None:
        """What a terminal here opens on: the page's own network, else that which its text names; None without one."""
        step = self.study.step
        if step.shell is not None:
            return step.shell.experiment
        named = _NAMED.search(step.prose)
        own = next(iter(step.experiments), None)
        if own is not None or named is None:
            return own
        try:
            return course.experiment(named["name"], {}, None, scale="bench")
        except TutorError:
            return None

    def turn_host(self, by: int) -> None:
        """The shell of the next host, or of the one before."""
        hosts = self.bench.session.hosts
        if hosts:
            at = hosts.index(self._host) if self._host in hosts else 0
            self.show_host(hosts[(at + by) % len(hosts)])

    def type(self, command: ShownCommand) -> bool:
        """Type it into the shell of its host, which is opened if it is not; it runs when the student says so.

        Returns False where a line waits at that host's prompt to be run.
        """
        session = self.bench.session
        begun = session.has_unfinished_line(command.host)
        self.show_host(command.host)
        if not begun:
            session.type(command.host, command.run.encode())
            self.show()
        return not begun

    def _type_ahead(self, data: bytes) -> None:
        """Keep keys that are typed before the host has a shell."""
        self.bench.session.type(self._host, data)
        self.show()

    def show_host(self, host: str) -> None:
        """The shell on that host, opened if it is not."""
        self._host = host
        self.show(wanted=True)

    def show(self, wanted: bool = False) -> None:
        """What the session is now. A shell is opened where one is `wanted`, and as the first one."""
        session = self.bench.session
        if not self.is_open or not self.widget.is_attached:
            return
        size = self.pane.content_size
        lines, columns = (size.height, size.width) if size.height > 1 and size.width > 1 else _FIRST
        if not self._host and session.hosts:
            self._host = next(iter(session.shells), session.hosts[0])
        shell = session.shells.get(self._host)
        if shell is None and (wanted or not session.shells):
            shell = session.shell(self._host, lines, columns)
        for host in tuple(session.typed_ahead):
            session.shell(host, lines, columns)
        text = "the terminal ends ..."
        if session.stage == "starting":
            text = "the lab is starting for a terminal ..."
            if session.typed_ahead:
                text += " what you type is kept for its prompt"
        self.pane.show(shell, "" if shell else text)
        self._show_chart()
        self.show_goals()
        self.show_tabs()

    def show_goals(self) -> None:
        """How the goals stand; over the page also which command comes next."""
        covers = self.widget.is_attached and self.widget.screen.has_class("-narrow")
        self.widget.goals.show(self.bench.session.board, self.next_command if covers else None)

    def show_tabs(self) -> None:
        session, live = self.bench.session, self._live
        rate = f"▶ {units.rate(live.rates[-1][1])}" if live and live.in_progress and live.rates else ""
        self.widget.tabs.show(session.hosts, self._host, tuple(session.shells), rate)

    def _show_chart(self) -> None:
        """The latest run; before the first the network."""
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
            chart.idle(experiment, "What you send is drawn here, with what is expected of the path.")

    # What the session tells

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
            self.pane.moved()

    def run_updated(self, live: Live) -> None:
        if live is self.bench.session.live and self.is_open:
            if live is self._live:
                self.widget.chart.moved()
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
        """It in a line, where there is no room beside the page."""
        live = self._live
        stands = "a terminal is open"
        if live is not None and live.in_progress and live.rates:
            stands = f"▶ {units.rate(live.rates[-1][1])}"
        elif live is not None and live.report is not None:
            stands = f"measured {units.rate(live.report.throughput_bps)}"
        return Content.assemble(("F6: terminal   ", "$text-muted"), (stands, "bold"))

"""A shell session: the lab, its shells, and the runs detected from typed commands.

Knows no widgets and reports by messages. The bench ensures that no page's run is in progress at the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.course.goals.session_record import SessionRecord
from tcptutor.course.page_record import Given, Response
from tcptutor.journal import Journal
from tcptutor.run import Environment
from tcptutor.runs.conduct import ConductedSession
from tcptutor.spec import Experiment, host_names
from tcptutor.ui.host_shell import Shell, begins_line
from tcptutor.ui.idle_limit import IdleLimit
from tcptutor.ui.messages import GoalsUpdated, LabWanted, RunUpdated, SessionUpdated, ShellUpdated
from tcptutor.ui.session_run import SessionRun
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event

if TYPE_CHECKING:
    from textual.message import Message

    from tcptutor.backends.lab import Lab
    from tcptutor.backends.session import Session
    from tcptutor.course.activities.shell import ShellActivity
    from tcptutor.course.goals.goal import GoalBoard
    from tcptutor.journal.goals import WatchedGoals
    from tcptutor.study.live import Live

Stage = Literal["none", "starting", "open", "ending"]

_LAST_EVENTS_WAIT = 1.0
"""Seconds to wait for the agent's last events."""

_IDLE_LOOK_S = 1.0
"""Seconds between checks for idle shells."""

_GREETING = (
    "`h2 iperf3 -s -D` starts a server on h2, then `iperf3 -c h2` sends to it.\r\n"
    "Your traffic is drawn, saved and explained like a run.\r\n\r\n"
)
_GREETING_WITHOUT_RUNS = "`h2 COMMAND` runs a command on h2; F7 and F8 show the other hosts.\r\n\r\n"


class LabSession:
    """The session in progress, if any. Owns its shells and its latest run, and passes messages to `post`."""

    def __init__(self, lab: Lab, journal: Journal, post: Callable[[Message], object]) -> None:
        self._lab, self._journal, self._post = lab, journal, post
        self.stage: Stage = "none"
        self.page = ("", "")
        """Module and step of the session's page."""
        self.experiment: Experiment | None = None
        self.environment: Environment | None = None
        self.state: SessionState | None = None
        """The lab as reported by the kernel; None before the session is open."""
        self.shells: dict[str, Shell] = {}
        self.problem = ""
        """Reason for an unexpected end; empty if the student ended the session."""
        self.gave_way = False
        """True if it ended for others who waited for its lab."""
        self.typed_ahead: dict[str, bytes] = {}
        """Keys waiting for a shell, by host."""
        self.closes_in: float | None = None
        """Seconds until the session ends for others who wait for its lab, unless a key is pressed; None usually."""
        self.files_left_out: tuple[str, ...] = ()
        """Files in `~` that could not be stored: too large or too many."""
        self.goals: WatchedGoals | None = None
        self._needs: Experiment | None = None
        self._trap = ""
        self._page_shell: ShellActivity | None = None
        self._offered: tuple[str, ...] = ()
        self._session: Session | None = None
        self._run: SessionRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    @property
    def in_progress(self) -> bool:
        return self.stage != "none"

    @property
    def live(self) -> Live | None:
        """The current or latest run of this session."""
        return self._run.live if self._run is not None else None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts on which a shell may be opened."""
        return self._offered or (host_names(self.experiment.pairs) if self.experiment else ())

    def is_of(self, module: str, step: str) -> bool:
        """Return True if a session of that page is in progress."""
        return self.in_progress and self.page == (module, step)

    @property
    def board(self) -> GoalBoard | None:
        """State of the page's goals; None if the page has none."""
        return self.goals.board if self.goals is not None else None

    @property
    def hides_fault(self) -> bool:
        """True while a fault of the network is still to be found."""
        return bool(self._trap) and not (self.board is not None and self.board.done)

    @property
    def goal_interfaces(self) -> dict[str, str]:
        """Interfaces that the page's goals are about, by goal."""
        goals = self._page_shell.goals if self._page_shell is not None else ()
        return {goal.id: goal.interface for goal in goals if goal.interface}

    @property
    def network(self) -> Experiment | None:
        """The network to draw: the kernel's state or, while a fault is unfixed, the network without the fault."""
        return self._intended_network() or (
            self.state.experiment if self.state is not None else self.experiment
        )

    @property
    def bench_experiment(self) -> Experiment | None:
        """Settings for opening the bench, from the latest run or, before any, from the lab."""
        return self.live.run.experiment if self.live is not None else self.experiment

    def _intended_network(self) -> Experiment | None:
        return self.experiment if self.hides_fault else None

    def open(
        self, module: str, step: str, experiment: Experiment, shell: ShellActivity | None = None
    ) -> None:
        """Set the lab up in the background for a page and its shell activity. No-op if a session is in progress."""
        if self.in_progress:
            return
        self.page, self.experiment = (module, step), experiment
        from tcptutor.journal.goals import WatchedGoals  # noqa: PLC0415  # not for the first frame

        self.goals = WatchedGoals(module, step, shell, self._record_goals) if shell is not None else None
        self._needs, self._offered = (
            (shell.kernel_requirements, shell.hosts) if shell is not None else (None, ())
        )
        self._page_shell = shell
        self._trap = shell.fault if shell is not None else ""
        self.environment = self.state = self._run = None
        self.problem, self.gave_way, self.files_left_out, self.typed_ahead = "", False, (), {}
        self.shells, self._ended = {}, asyncio.Event()
        self.stage = "starting"
        self._task = asyncio.create_task(self._run_session())

    def shell(self, host: str, lines: int, columns: int) -> Shell | None:
        """Return the shell on `host`, opening it if necessary; None while the lab starts or ends."""
        if self._session is None or self.stage != "open":
            return None
        if host not in self.shells:
            shell = self._page_shell
            first = not self.shells
            terminal = self._session.shell(host, lines, columns)
            self.shells[host] = Shell(
                host, terminal, lines, columns, self._shell_updated, self._explain_output
            )
            if keys := self.typed_ahead.pop(host, b""):
                self.shells[host].write(keys)
            if first:
                asks_for_runs = shell is None or any(goal.about_run for goal in shell.parsed_goals)
                self.shells[host].say(_GREETING if asks_for_runs else _GREETING_WITHOUT_RUNS)
        return self.shells[host]

    def type(self, host: str, data: bytes) -> None:
        """Send keys to the shell of `host`, or store them until the shell opens. Without a lab they are dropped."""
        if host in self.shells:
            self.shells[host].write(data)
        elif self.stage in ("starting", "open") and host:
            self.typed_ahead[host] = self.typed_ahead.get(host, b"") + data

    def has_unfinished_line(self, host: str) -> bool:
        """Return True if the prompt of `host` may hold an unfinished line."""
        if host in self.shells:
            return self.shells[host].begun
        return begins_line(self.typed_ahead.get(host, b""))

    def end(self) -> None:
        """End the session in order, keeping the run in progress."""
        if self.stage in ("starting", "open"):
            if self.stage == "starting" and self._task is not None:
                self._task.cancel()
            self.stage = "ending"
            self._ended.set()
            self._post(SessionUpdated())

    async def close(self) -> None:
        """End the session and wait for it. Never raises."""
        self.end()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def _explain_output(self, host: str, data: bytes) -> None:
        if self.goals is not None:
            before = self.goals.board
            if self.goals.printed(host, data) is not before:
                self._post(GoalsUpdated())

    def _record_goals(self, shell: ShellActivity, given: Given, session: SessionRecord) -> None:
        """Write to the journal before any message is posted."""
        module, step = self.page
        try:
            self._journal.record_goals(module, step, shell.id, session)
            self._journal.respond(module, step, shell.id, Response(given, shell.mark(given).correct))
        except JournalError as error:
            self.problem = str(error)

    def _shell_updated(self, shell: Shell) -> None:
        if shell.over and self.shells.get(shell.host) is shell:
            del self.shells[shell.host]
            if not self.shells:
                self.end()
        self._post(ShellUpdated(shell))

    async def _run_session(self) -> None:
        assert self.experiment is not None
        self._post(SessionUpdated())
        try:
            opened = self._lab.session(self.experiment, self._needs, self._trap)
            async with opened as (session, environment):
                self._session, self.environment, self.stage = session, environment, "open"
                await self._hold_open(session, environment)
        except TutorError as error:
            self.problem = str(error)
        except asyncio.CancelledError:
            pass  # ended by the student
        except Exception as error:  # a bug of ours must not close the student's page
            self.problem = f"the terminal failed unexpectedly ({type(error).__name__}: {error})"
        finally:
            for shell in self.shells.values():
                shell.close()
            self._session, self.shells, self.stage = None, {}, "none"
            if self.goals is not None:
                self.goals.close()
                self.goals = None
            self._post(SessionUpdated())

    async def _hold_open(self, session: Session, environment: Environment) -> None:
        """Keep the session open until the student or the lab ends it.

        Raises:
            TutorError: if the lab has ended.
        """
        conducted = ConductedSession(session, environment, self._journal.runs)
        following = asyncio.create_task(self._follow(conducted))
        ended = asyncio.create_task(self._ended.wait())
        left_alone = asyncio.create_task(self._give_way_if_idle())
        try:
            await asyncio.wait([following, ended, left_alone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stage, self.closes_in = "ending", None
            ended.cancel()
            left_alone.cancel()
            # Files in ~ are stored at the end, also while the app is closing.
            await asyncio.shield(session.leave())
            # A silent agent ends with its backend: do not wait longer for its last events.
            await asyncio.wait([following], timeout=_LAST_EVENTS_WAIT)
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
            self.files_left_out = session.home.omitted

    async def _give_way_if_idle(self) -> None:
        """Return once the shells have been idle for too long while other students wait for the lab."""
        limit = IdleLimit()
        while self.closes_in != 0:
            await asyncio.sleep(_IDLE_LOOK_S)
            last_key = max((shell.last_key for shell in self.shells.values()), default=time.monotonic())
            before, self.closes_in = self.closes_in, limit.seconds_left(self._lab.demand, last_key)
            if self.closes_in is not None and before is None:
                self._post(LabWanted(self._lab.demand.waiting, self.closes_in))
            if self.closes_in != before:
                self._post(SessionUpdated())
        self.gave_way = True
        self.problem = (
            "The terminal is closed: nobody typed in it, and others waited for the lab. Your goals and files are"
            " kept. t opens it again."
        )

    async def _follow(self, conducted: ConductedSession) -> None:
        async with conducted:
            async for event in conducted:
                if isinstance(event, SessionState):
                    self.state = event
                await self._follow_run(conducted, event)
                if self.goals is not None:
                    before = self.goals.board
                    if await self.goals.take(event, conducted) is not before:
                        self._post(GoalsUpdated())
                self._post(SessionUpdated(event))
        await self._finish_run(conducted)

    async def _follow_run(self, conducted: ConductedSession, event: Event) -> None:
        if conducted.growing is None:
            await self._finish_run(conducted)
        elif self._run is None or self._run.growing is not conducted.growing:
            await self._finish_run(conducted)
            self._run = SessionRun(*self.page, conducted.growing, self._post, self._intended_network)
        if conducted.growing is not None and self._run is not None:
            self._run.take(event)

    def _save_run(self, found: SessionRun) -> None:
        self._journal.runs.finish(found.growing.run)
        found.live.unsaved = ""
        self._post(RunUpdated(found.live))

    async def _finish_run(self, conducted: ConductedSession) -> None:
        if self._run is not None and self._run.live.in_progress and self._run.growing in conducted.ended:
            found = self._run
            await found.end()
            if problem := found.growing.unsaved:
                self._journal.save_later(lambda: self._save_run(found), problem)

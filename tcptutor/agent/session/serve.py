"""Session: the lab set up for an experiment, with terminals on its hosts and observation of their use.

A single thread waits for requests, terminals, and the times of the next poll and the next sample.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tcptutor.agent import host_settings, traps
from tcptutor.agent.channel import Channel
from tcptutor.agent.experiment import set_up
from tcptutor.agent.network import Network
from tcptutor.agent.session.datagrams import Datagrams
from tcptutor.agent.session.detected_run import DetectedRun, Finder
from tcptutor.agent.session.shells import Bounds, Commands, PseudoTerminal
from tcptutor.agent.session.state import KernelState
from tcptutor.agent.session.steady_clock import SteadyClock
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.run import Environment
from tcptutor.spec import host_names
from tcptutor.wire import home_files
from tcptutor.wire.protocol import (
    CloseTerminal,
    Failed,
    HomeFile,
    OpenSession,
    OpenTerminal,
    Request,
    ResizeTerminal,
    SessionEnded,
    Stop,
    TerminalInput,
    TerminalOutput,
)

_POLL_FLOWS = 0.05
"""Time between two searches for new flows, s: about the first round trips of an unannounced flow."""

_POLL_STATE = 0.2
"""Time between two polls of the kernel's state, s. A change is reported within half a second, and a poll takes an
emulated guest some milliseconds."""

_FINAL_READS = 64
"""Reads from a terminal after its shell has exited: the kernel buffers at most about 64 KB of output."""

_PRIORITY = -10


class SessionServer:
    """Server of a session on a network. Owns the terminals and the observers."""

    def __init__(
        self, network: Network, request: OpenSession, channel: Channel, environment: Environment
    ) -> None:
        self._network, self._request, self._channel = network, request, channel
        self._environment = environment
        self._terminals: dict[int, PseudoTerminal] = {}
        self._home = Path(request.home) if request.home else home_files.FOLDER
        self._run: DetectedRun | None = None
        self._commands, self._bounds = Commands(), Bounds()
        self._finder: Finder
        self._datagrams: Datagrams
        self._state: KernelState
        self._steady = SteadyClock() if environment.clock == "virtual" else None

    def serve(self) -> None:
        """Serve until Stop or the end of the input, and restore the network. Raises LabError or KernelLacks.

        Programs left running are ended by the backend, with their namespaces or the guest.
        """
        experiment = self._request.experiment
        with set_up(self._network, experiment):
            self._set_algorithms()
            self._finder, self._state = Finder(self._network), KernelState(self._network, experiment)
            self._datagrams = Datagrams(self._network)
            try:
                with _raised_priority():
                    self._begin()
                    self._loop()
            finally:
                self._close()

    def _set_algorithms(self) -> None:
        """Set the experiment's algorithms as the hosts' defaults, for programs that name none.

        A host's own kernel may refuse most of them in its namespaces; the flows then report the actual algorithm.
        """
        network, experiment = self._network, self._request.experiment
        for pair, ends in enumerate(zip(network.senders, network.receivers, strict=True)):
            algorithm = experiment.pair_algorithm(pair)
            for host in ends:
                with contextlib.suppress(UsageError):
                    host_settings.sysctl(host, "net.ipv4.tcp_congestion_control", algorithm)

    def _begin(self) -> None:
        """Report the initial state: the lab as requested, or as changed by a trap."""
        if not self._request.trap:
            self._channel.send(self._state.report(self._request.experiment))
            return
        # Trap after the first report, so that it is reported as a change, and repairing it reverts the change.
        traps.switch_on(self._request.trap, self._network, self._request.experiment)
        self._state.poll()
        self._state.read_all()
        self._report_state()

    def _close(self) -> None:
        if self._run is not None:
            self._run.close()
        self._close_terminals()
        self._finder.close()
        self._datagrams.close()
        self._state.close()
        self._commands.close()
        if self._steady is not None:
            self._steady.close()

    def _close_terminals(self) -> None:
        while self._terminals:
            self._terminals.popitem()[1].close()

    def _loop(self) -> None:
        next_poll = next_state_poll = 0.0
        overrun = ""
        waited = False
        while not self._channel.closed and not (overrun := self._bounds.overrun()):
            now = time.monotonic()
            # First: a due sample must not wait for other work.
            if self._run is not None and now >= self._run.due and not self._run.sample(waited):
                self._finish(complete=True)
            if now >= next_state_poll:
                next_state_poll = now + _POLL_STATE
                self._poll_state()
            if now >= next_poll:
                next_poll = now + _POLL_FLOWS
                if self._steady is not None:
                    self._steady.poll(now)
                self._find_flows()
                self._report_commands()
            due = min(next_poll, self._run.due) if self._run is not None else next_poll
            seconds = due - time.monotonic()
            slept = self._wait(max(0.0, seconds))
            if slept is None:
                break
            waited = seconds > 0 and slept
        if self._run is not None:
            self._finish(complete=False)
        self._close_terminals()  # a shell writes its history when it exits
        if not self._request.home:
            for piece in home_files.pieces(self._home):
                self._channel.send(piece)
        self._channel.send(Failed(overrun) if overrun else SessionEnded())

    def _wait(self, seconds: float) -> bool | None:
        """Handle requests and output for `seconds`: True if none came, None when the session is to end."""
        for number, terminal in list(self._terminals.items()):
            terminal.write()
            if terminal.has_exited:
                self._read_last(number)
                self._hang_up(number)
        terminals = {
            terminal.descriptor: number
            for number, terminal in self._terminals.items()
            if terminal.is_readable
        }
        request, ready = self._channel.wait(seconds, list(terminals))
        if request is not None and not self._answer(request):
            return None
        for descriptor in ready:
            if terminals.get(descriptor) in self._terminals:
                self._read(terminals[descriptor])
        return request is None and not ready

    def _poll_state(self) -> None:
        if self._state.poll():
            if self._run is not None:
                self._run.record_changes()
            else:
                self._report_state()

    def _report_commands(self) -> None:
        for command in self._commands.poll(host_names(self._network.pairs)):
            self._channel.send(command)

    def _report_state(self) -> None:
        sender, receiver = self._network.senders[0], self._network.receivers[0]
        self._channel.send(self._state.report(self._state.experiment(self._state.path(), sender, receiver)))

    def _answer(self, request: Request) -> bool:
        match request:
            case Stop():
                return False
            case OpenTerminal(terminal=number):
                try:
                    self._terminals[number] = PseudoTerminal(
                        self._network, request, self._home, self._commands.writing
                    )
                except TutorError as error:
                    self._channel.send(TerminalOutput(number, f"{error}\r\n".encode()))
                    self._channel.send(TerminalOutput(number, b""))
            case HomeFile() as piece:
                if not self._request.home:
                    home_files.write_piece(self._home, piece)
            case TerminalInput(terminal=number, data=data) if number in self._terminals:
                if self._steady is not None:
                    self._steady.take_input(time.monotonic())
                self._terminals[number].write(data)
            case ResizeTerminal(terminal=number, rows=rows, columns=columns) if number in self._terminals:
                self._terminals[number].resize(rows, columns)
            case CloseTerminal(terminal=number) if number in self._terminals:
                self._hang_up(number)
            case TerminalInput() | ResizeTerminal() | CloseTerminal():
                pass  # its shell has just exited
            case _:
                self._channel.send(Failed("a session is open: end it first", "protocol"))
        return True

    def _read(self, number: int) -> bool:
        """Forward the output of a terminal, and return whether it had any."""
        if data := self._terminals[number].read():
            self._channel.send(TerminalOutput(number, data))
        return bool(data)

    def _read_last(self, number: int) -> None:
        """Forward the last output of an exited shell; its background jobs may still write."""
        for _ in range(_FINAL_READS):
            if not self._read(number):
                return

    def _hang_up(self, number: int) -> None:
        self._terminals.pop(number).close()
        self._channel.send(TerminalOutput(number, b""))

    def _find_flows(self) -> None:
        starts, udp = self._finder.poll(), self._datagrams.find()
        if not starts and not udp:
            return
        if self._run is None:
            self._poll_state()  # a change just before the run is not a change during it
        if self._run is not None:
            self._run.add(starts)
        else:
            self._run = DetectedRun(
                self._network,
                self._state,
                self._channel,
                starts,
                self._datagrams,
                self._environment,
                self._request.sample_hz,
            )

    def _finish(self, complete: bool) -> None:
        assert self._run is not None
        run, self._run = self._run, None
        try:
            run.finish(complete)
            self._report_state()  # the run has reported the state of its first pair
        except LabError as error:
            # The user deleted a part that the run needed; the next run may be fine.
            self._channel.send(Failed(str(error), "run"))


@contextlib.contextmanager
def _raised_priority() -> Iterator[None]:
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)

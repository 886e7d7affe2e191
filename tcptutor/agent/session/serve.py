"""A session: the lab set up as an experiment says, terminals on its hosts, and an eye on what is done there.

One thread waits for all of it: requests, terminals, the time to look at the kernel, that of a sample.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tcptutor.agent import hosts, traps
from tcptutor.agent.channel import Channel
from tcptutor.agent.experiment import set_up
from tcptutor.agent.network import Network
from tcptutor.agent.session.bounds import Bounds
from tcptutor.agent.session.commands import Commands
from tcptutor.agent.session.datagrams import Datagrams
from tcptutor.agent.session.finder import Finder
from tcptutor.agent.session.state import KernelState
from tcptutor.agent.session.terminal import PseudoTerminal
from tcptutor.agent.session.unplanned import UnplannedRun
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

_LOOK = 0.05
"""How often to look for new flows, s: about the first round trips of a flow that nobody announced."""

_LOOK_AT_STATE = 0.2
"""How often to look what the kernel holds, s: a change is told within half a second, and each look costs an emulated
guest some milliseconds."""

_LAST_READS = 64
"""How often to read a terminal whose shell has ended: the kernel keeps some 64 KB of output at most."""

_PRIORITY = -10


@contextlib.contextmanager
def _first() -> Iterator[None]:
    """Where the processor is shared with all that is started here, looking must not wait for it."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)


class SessionServer:
    """Owns the terminals and what is observed. Not for two at once on one network."""

    def __init__(
        self, network: Network, request: OpenSession, channel: Channel, environment: Environment
    ) -> None:
        self._network, self._request, self._channel = network, request, channel
        self._environment = environment
        self._terminals: dict[int, PseudoTerminal] = {}
        self._home = Path(request.home) if request.home else home_files.FOLDER
        self._run: UnplannedRun | None = None
        self._commands, self._bounds = Commands(), Bounds()
        self._finder: Finder
        self._datagrams: Datagrams
        self._state: KernelState

    def serve(self) -> None:
        """Until Stop or the end of the input. Raises LabError or KernelLacks; leaves the network as it found it.

        What somebody started there and left running is the backend's to end, with the namespaces or the guest.
        """
        experiment = self._request.experiment
        with set_up(self._network, experiment):
            self._choose_algorithms()
            self._finder, self._state = Finder(self._network), KernelState(self._network, experiment)
            self._datagrams = Datagrams(self._network)
            try:
                with _first():
                    self._begin()
                    self._loop()
            finally:
                self._close()

    def _choose_algorithms(self) -> None:
        """As the hosts' own: nobody names one for what is started by hand.

        A machine's own kernel may keep most of them from its namespaces; what a flow then has is told of it.
        """
        network, experiment = self._network, self._request.experiment
        for pair, ends in enumerate(zip(network.senders, network.receivers, strict=True)):
            algorithm = experiment.algorithm(pair * experiment.flows.streams)
            for host in ends:
                with contextlib.suppress(UsageError):
                    hosts.sysctl(host, "net.ipv4.tcp_congestion_control", algorithm)

    def _begin(self) -> None:
        """The first word: the lab as it was asked for, or what a trap has made of that."""
        if not self._request.trap:
            self._channel.send(self._state.report(self._request.experiment))
            return
        # After the first look, so that what is told is a change, and mending it takes the change back.
        traps.switch_on(self._request.trap, self._network, self._request.experiment)
        self._state.look()
        self._state.read_all()
        self._tell_state()

    def _close(self) -> None:
        if self._run is not None:
            self._run.close()
        self._close_terminals()
        self._finder.close()
        self._datagrams.close()
        self._state.close()
        self._commands.close()

    def _close_terminals(self) -> None:
        while self._terminals:
            self._terminals.popitem()[1].close()

    def _loop(self) -> None:
        look = look_at_state = 0.0
        overrun = ""
        waited = False
        while not self._channel.closed and not (overrun := self._bounds.overrun()):
            now = time.monotonic()
            # First: what waits for its time must not wait for our own work.
            if self._run is not None and now >= self._run.due and not self._run.sample(waited):
                self._finish(complete=True)
            if now >= look_at_state:
                look_at_state = now + _LOOK_AT_STATE
                self._look_at_state()
            if now >= look:
                look = now + _LOOK
                self._find()
                self._tell_commands()
            due = min(look, self._run.due) if self._run is not None else look
            seconds = due - time.monotonic()
            woken = self._wait(max(0.0, seconds))
            if woken is None:
                break
            waited = seconds > 0 and woken
        if self._run is not None:
            self._finish(complete=False)
        self._close_terminals()  # a shell writes its history when it ends
        if self._request.carried:
            for piece in home_files.pieces(self._home):
                self._channel.send(piece)
        self._channel.send(Failed(overrun) if overrun else SessionEnded())

    def _wait(self, seconds: float) -> bool | None:
        """Do what comes in that time at most: whether nothing came; None when it is time to end."""
        for number, terminal in list(self._terminals.items()):
            terminal.write()
            if terminal.over:
                self._read_rest(number)
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

    def _look_at_state(self) -> None:
        if self._state.look():
            if self._run is not None:
                self._run.settings_changed()
            else:
                self._tell_state()

    def _tell_commands(self) -> None:
        for one in self._commands.look(host_names(self._network.pairs)):
            self._channel.send(one)

    def _tell_state(self) -> None:
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
                if self._request.carried:
                    home_files.write_piece(self._home, piece)
            case TerminalInput(terminal=number, data=data) if number in self._terminals:
                self._terminals[number].write(data)
            case ResizeTerminal(terminal=number, rows=rows, columns=columns) if number in self._terminals:
                self._terminals[number].resize(rows, columns)
            case CloseTerminal(terminal=number) if number in self._terminals:
                self._hang_up(number)
            case TerminalInput() | ResizeTerminal() | CloseTerminal():
                pass  # its shell has just ended
            case _:
                self._channel.send(Failed("a session is open: end it first", "protocol"))
        return True

    def _read(self, number: int) -> bool:
        """Pass on the output of a terminal, and return whether there was any."""
        if data := self._terminals[number].read():
            self._channel.send(TerminalOutput(number, data))
        return bool(data)

    def _read_rest(self, number: int) -> None:
        """Pass on what an ended shell wrote last; its jobs in the background may still write."""
        for _ in range(_LAST_READS):
            if not self._read(number):
                return

    def _hang_up(self, number: int) -> None:
        self._terminals.pop(number).close()
        self._channel.send(TerminalOutput(number, b""))

    def _find(self) -> None:
        starts, udp = self._finder.look(), self._datagrams.find()
        if not starts and not udp:
            return
        if self._run is None:
            self._look_at_state()  # what was changed just before it began is no change during it
        if self._run is not None:
            self._run.add(starts)
        else:
            self._run = UnplannedRun(
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
            self._tell_state()  # a run tells those that it began with
        except LabError as error:
            # Somebody took away what it rested on: the next run may be sound.
            self._channel.send(Failed(str(error), "run"))

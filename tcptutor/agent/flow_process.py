"""One process whose threads are the ends of a run's TCP flows.

A process of its own, as the agent's main thread would wait for Python's lock after each of its calls: 16 flows that
have always something to send would let it take a sample in seconds. One for all flows, for the sake of an emulated
processor: each change of process empties what it knows of the memory, and a flow's sender and receiver take turns at
every segment.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import NoReturn


class Gate:
    """Where the flows' threads wait until the agent lets them go on, once and for all."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def wait(self) -> None:
        """Called by a thread."""
        os.read(self._read, 1)

    def open(self) -> None:
        """Called by the agent; safe to call twice."""
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def close(self) -> None:
        """Nobody waits any more."""
        self.open()
        os.close(self._read)


class FlowProcess:
    """Owns the process and its gates. What it shares with the agent, sockets and memory, is made before it starts."""

    def __init__(self) -> None:
        self._work: list[Callable[[], None]] = []
        self._gates: list[Gate] = []
        self._pid = 0
        self._ended = False

    def add(self, work: Callable[[], None]) -> None:
        """One more thread, which does this."""
        self._work.append(work)

    def gate(self) -> Gate:
        """A gate that opens when the agent ends, too."""
        gate = Gate()
        self._gates.append(gate)
        return gate

    def start(self) -> None:
        """Start the process and its threads; without any work there is none."""
        if self._work:
            self._pid = os.fork()
            if not self._pid:
                self._be()

    def _be(self) -> NoReturn:
        """The process, from its first to its last instruction. Its threads end before it does, and it holds their ends
        of the connections until it is stopped."""
        try:
            for gate in self._gates:
                gate.open()
            for work in self._work:
                threading.Thread(target=work, daemon=True).start()
            while True:
                signal.pause()
        finally:
            os._exit(1)

    @property
    def ended(self) -> bool:
        """Whether it has ended although nobody stopped it."""
        if self._pid and not self._ended:
            self._ended = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        return self._ended

    def stop(self) -> None:
        """End it and all its threads; safe to call twice."""
        if self._pid and not self.ended:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._pid = 0
        while self._gates:
            self._gates.pop().close()

"""The process of the TCP flows: its threads, and the gates at which they wait.

The flows need a process of their own: in the agent's process each call of its main thread would wait for Python's lock,
and with 16 busy flows a sample would take seconds. All flows share one process because each process switch flushes an
emulated processor's address translations, and a flow's sender and receiver alternate at every segment.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import NoReturn


class Gate:
    """Barrier at which the flows' threads wait until the agent opens it for good."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def wait(self) -> None:
        os.read(self._read, 1)

    def open(self) -> None:
        """Let all threads pass, from the agent; safe to call twice."""
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def close(self) -> None:
        self.open()
        os.close(self._read)


class FlowProcess:
    """Owner of the process and its gates. Shared sockets and memory must exist before it starts."""

    def __init__(self) -> None:
        self._work: list[Callable[[], None]] = []
        self._gates: list[Gate] = []
        self._pid = 0
        self._ended = False

    def add(self, work: Callable[[], None]) -> None:
        self._work.append(work)

    def gate(self) -> Gate:
        """Return a new gate, which also opens when the agent exits."""
        gate = Gate()
        self._gates.append(gate)
        return gate

    def start(self) -> None:
        """Start the process and its threads, unless no work was added."""
        if self._work:
            self._pid = os.fork()
            if not self._pid:
                self._run()

    def _run(self) -> NoReturn:
        """Run the process. It outlives its threads, and so keeps the connections open until it is stopped."""
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
        if self._pid and not self._ended:
            self._ended = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        return self._ended

    def stop(self) -> None:
        """Kill the process and its threads; safe to call twice."""
        if self._pid and not self.ended:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._pid = 0
        while self._gates:
            self._gates.pop().close()

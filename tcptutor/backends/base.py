"""The interface that every backend implements."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tcptutor.backends.session import Session
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event


class Backend(Protocol):
    """A place to run experiments sequentially. A backend that failed can be opened again."""

    async def open(self) -> Environment:
        """Bring the lab up and return its environment; no-op when it is up. Raises LabUnavailable."""
        ...

    def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        """Run `experiment` and yield its events; the last event is Finished.

        Closing the iterator early (`aclose`, or cancelling the task) stops the run in the lab. Raises LabError when
        the run fails; the events before the failure remain valid.
        """
        ...

    def session(self, experiment: Experiment, trap: str = "") -> AbstractAsyncContextManager[Session]:
        """Set up the lab for `experiment` and keep it open for interactive use in real time.

        `trap` names a fault to plant before the session starts (`agent.traps.TRAPS`); empty for a healthy lab. Raises
        LabUnavailable without a lab, LabError or KernelLacks when the lab cannot be set up.
        """
        ...

    async def close(self) -> None:
        """Shut the lab down and clean up. Never raises; safe to call twice."""
        ...

"""The one small interface that every backend gives."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tcptutor.backends.session import Session
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event


class Backend(Protocol):
    """A place where experiments run. Not for two runs at once; a backend that failed can be opened again."""

    async def open(self) -> Environment:
        """Bring the lab up, or give the environment at once when it is up. Raises LabUnavailable."""
        ...

    def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        """Run it. The last event is Finished. A failure raises LabError; the events before it stay true.

        Closing the iterator early (`aclose`, or cancelling the task) stops the run in the lab.
        """
        ...

    def session(self, experiment: Experiment, trap: str = "") -> AbstractAsyncContextManager[Session]:
        """The lab set up as `experiment` says, for work by hand in real time, while the block lasts.

        trap: what is wrong with it from the beginning (`agent.traps.TRAPS`); empty for nothing.
        Raises LabUnavailable where there is none, LabError or KernelLacks when it cannot be set up.
        """
        ...

    async def close(self) -> None:
        """End the lab and leave nothing behind. Never raises; safe to call twice."""
        ...

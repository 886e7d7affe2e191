"""The lab as the app and the command line use it: warm before it is needed, choosing for each experiment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from tcptutor.base.errors import LabError, LabUnavailable, SetupError
from tcptutor.run import Environment
from tcptutor.spec import Experiment, Path
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Ready

if TYPE_CHECKING:
    from tcptutor.backends.ahead import AheadRun
    from tcptutor.backends.choice import ChosenBackend
    from tcptutor.backends.session import Session

_USUAL = Experiment(name="usual", path=Path(rate=1e8, delay=0.02, loss=0.001))
"""What most of the course needs of a kernel."""


def _place(choice: ChosenBackend) -> tuple[str, str, int]:
    """What a backend that is open must be, to be the one that was chosen."""
    return choice.name, choice.clock, choice.memory


class Lab:
    """Owns at most one open backend at a time."""

    def __init__(self, backend: str = "auto", clock: str = "auto") -> None:
        self._backend, self._clock = backend, clock
        self._choice: ChosenBackend | None = None
        self.environment: Environment | None = None
        """Where the last run took place or a coming one will; None before `warm`."""
        self._ahead: AheadRun | None = None
        self._given_up: set[asyncio.Task[None]] = set()
        """Runs begun ahead that nobody asked for, while they end."""

    async def warm(self, experiment: Experiment = _USUAL) -> Environment:
        """Bring up what `experiment` will need. Raises LabUnavailable when it cannot run here."""
        # Not at the top: the app draws its first frame before it needs any backend.
        from tcptutor.backends.choice import choose, recordings  # noqa: PLC0415

        try:
            return await self._open(await choose(experiment, self._backend, self._clock))
        except LabError as error:
            # What was killed while it started is no reason to play recordings: the next try will do.
            raise LabUnavailable(str(error)) from error
        except (LabUnavailable, SetupError) as error:
            if self._backend == self._clock == "auto":
                return await self._open(recordings(str(error)))
            if isinstance(error, LabUnavailable):
                raise
            raise LabUnavailable(str(error)) from error

    async def _open(self, choice: ChosenBackend) -> Environment:
        if self._choice is None or _place(choice) != _place(self._choice):
            await self.close()
            self._choice = choice
        environment = await self._choice.backend.open()
        self.environment = msgspec.structs.replace(environment, reason=environment.reason or choice.reason)
        return self.environment

    def expect(self, experiment: Experiment | None) -> None:
        """That run will probably be asked for next: begin it now, where that costs nothing that is missed.

        What was expected before is given up; None for that alone.
        """
        from tcptutor.backends import ahead  # noqa: PLC0415

        if self._ahead is not None and self._ahead.experiment != experiment:
            self._give_up()
        if experiment is not None and self._ahead is None and ahead.worthwhile(experiment):
            lab = self.beside()
            self._ahead = ahead.AheadRun(lab, experiment) if lab is not None else None

    def _here(self, ready: Ready) -> Ready:
        """As this lab says it: why it is this one was asked of this one."""
        reason = self.environment.reason if self.environment is not None else ""
        self.environment = msgspec.structs.replace(ready.environment, reason=reason)
        return msgspec.structs.replace(ready, environment=self.environment)

    def _give_up(self) -> None:
        given_up, self._ahead = self._ahead, None
        if given_up is not None:
            ending = asyncio.create_task(given_up.close())
            self._given_up.add(ending)
            ending.add_done_callback(self._given_up.discard)

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        """The run's events; the first is Ready and says where, the last is Finished.

        Raises LabError or LabUnavailable.
        """
        expected = self._ahead
        if expected is not None and expected.experiment == experiment and not expected.failed:
            self._ahead = None
            async with aclosing(expected.events()) as events:
                async for event in events:
                    yield self._here(event) if isinstance(event, Ready) else event
            return
        self._give_up()
        yield Ready(protocol.VERSION, await self.warm(experiment))
        assert self._choice is not None
        async with aclosing(self._choice.backend.run(experiment)) as events:
            async for event in events:
                if isinstance(event, Ready):
                    self.environment = event.environment  # each recorded run has its own
                yield event

    @asynccontextmanager
    async def session(
        self, experiment: Experiment, needs: Experiment | None = None, trap: str = ""
    ) -> AsyncIterator[tuple[Session, Environment]]:
        """The lab set up as `experiment` says, for work by hand, and where it is; beside the backend that is warm.

        needs: an experiment that the kernel has to be able to do as well, of what is to be set there by hand.
        trap: what is wrong with it from the beginning (`agent.traps.TRAPS`); empty for nothing.
        Raises LabUnavailable, LabError or KernelLacks.
        """
        from tcptutor.backends.choice import choose  # noqa: PLC0415

        self._give_up()  # a session takes real time
        choice = await choose(needs or experiment, self._backend, "real")
        try:
            environment = await choice.backend.open()
            environment = msgspec.structs.replace(environment, reason=choice.reason)
            async with choice.backend.session(experiment, trap) as session:
                yield session, environment
        except SetupError as error:
            raise LabUnavailable(str(error)) from error
        finally:
            await choice.backend.close()

    def beside(self) -> Lab | None:
        """Another one, not up yet, in which a run may go on at the same time.

        Only guests on the virtual clock do not disturb each other; None without a second core or memory for it.
        """
        from tcptutor.backends.guest import sizes  # noqa: PLC0415

        here = self._choice
        if here is None or (here.name, here.clock) != ("guest", "virtual"):
            return None
        two = len(os.sched_getaffinity(0)) > 1 and sizes.room(here.memory) > 0
        return Lab("guest", "virtual") if two else None

    async def close(self) -> None:
        """End it; leaves nothing behind. Never raises: who is cancelled meanwhile goes on when that is done."""
        self._give_up()
        ending = [*self._given_up]
        if self._choice is not None:
            ending.append(asyncio.ensure_future(self._choice.backend.close()))
        closing = asyncio.gather(*ending, return_exceptions=True)
        while not closing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(closing)
        self._choice = None

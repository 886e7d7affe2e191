"""The lab of the app and the command line: warmed up in advance, with the right backend per experiment.

A likely run is started before the student asks for it, so that its events are ready at once. On the guest's virtual
clock a run is the same whenever it is made. The prefetched run has a lab of its own, next to the idle warm lab, and is
discarded as soon as other work needs the machine.

On a server (`backends.lab_turn`) a run or session waits for its turn, and a lab that is not in use is given up as soon
as another student waits.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tcptutor.backends.events import UNKNOWN, Recording
from tcptutor.backends.guest import sizes
from tcptutor.backends.lab_turn import LabDemand, LabPlace, turns_here
from tcptutor.backends.live_capture import listening
from tcptutor.base.errors import LabError, LabUnavailable, SetupError
from tcptutor.run import Environment, Run
from tcptutor.spec import Experiment
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Ready

if TYPE_CHECKING:
    from tcptutor.backends.selection import ChosenBackend
    from tcptutor.backends.session import Session

_USUAL = Experiment(name="usual", path=NetworkPath(rate=1e8, delay=0.02, loss=0.001))
"""An experiment with the kernel features that most of the course needs."""
_MAX_FLOW_SECONDS = 1000.0
"""Largest experiment to prefetch, in flow-seconds: about 10 MB of samples."""
_REPLAY_S, _STEPS = 2.0, 50
"""Replay buffered events over 2 s in 50 steps, so that the chart still grows."""
_MIN_FREE_MIB = 200
"""Minimum of free memory, MiB; below it an unused prefetched run is discarded."""
_CHECK_S = 1.0
"""Seconds between two checks of free memory."""
_POWER = Path("/sys/class/power_supply")


def _identity(choice: ChosenBackend) -> tuple[str, str, int]:
    return choice.name, choice.clock, choice.memory


class Lab:
    """Owner of the open backend, if any."""

    def __init__(self, backend: str = "auto", clock: str = "auto") -> None:
        self._backend, self._clock = backend, clock
        self._choice: ChosenBackend | None = None
        self.environment: Environment | None = None
        """Environment of the last run, or after `warm` of the next; None before."""
        self.on_build: Callable[[], object] = lambda: None
        """Called if a start takes a minute or more, since an update has made a prepared part useless."""
        self.on_place: Callable[[LabPlace | None], object] = lambda _: None
        """Called with the place in a server's queue while a run or session waits, and with None at the end."""
        self._turns = turns_here()
        if self._turns is not None:
            self._turns.on_place = self._show_place
            self._turns.on_wanted = self._give_way
        self._uses = 0
        """Runs and sessions that wait for the lab or use it."""
        self._giving_way: asyncio.Task[None] | None = None
        self._prefetched: PrefetchedRun | None = None
        self._closing: set[asyncio.Task[None]] = set()
        """Discarded prefetched runs that are still shutting down."""

    async def warm(self, experiment: Experiment = _USUAL) -> Environment:
        """Bring up the backend for `experiment`; on a server only if a lab is free.

        Raises:
            LabUnavailable: It cannot run here.
        """
        return await self._bring_up(experiment, waits=False)

    async def _bring_up(self, experiment: Experiment, *, waits: bool) -> Environment:
        # Lazy import: the app draws its first frame before it needs a backend.
        from tcptutor.backends.selection import choose, choose_replay  # noqa: PLC0415

        try:
            return await self._open(await choose(experiment, self._backend, self._clock), waits)
        except LabError as error:
            # A backend that died while starting may work next time: no reason to fall back to recordings.
            raise LabUnavailable(str(error)) from error
        except (LabUnavailable, SetupError) as error:
            if self._backend == self._clock == "auto":
                return await self._open(choose_replay(str(error)), waits)
            if isinstance(error, LabUnavailable):
                raise
            raise LabUnavailable(str(error)) from error

    async def _open(self, choice: ChosenBackend, waits: bool) -> Environment:
        if self._choice is None or _identity(choice) != _identity(self._choice):
            await self._close_backend()
            self._choice = choice
        backend = self._choice.backend
        has_lab = await self._take_turn(self._choice, waits=waits)
        environment = await (backend.open if has_lab else backend.describe)(self.on_build)
        self.environment = msgspec.structs.replace(environment, reason=environment.reason or choice.reason)
        return self.environment

    async def _take_turn(self, choice: ChosenBackend, *, waits: bool) -> bool:
        """Return whether this app may use a lab; always after a wait. Raises LabError."""
        if self._turns is None or choice.name == "replay":
            return True
        return await self._turns.take(waits=waits)

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[None]:
        """Keep the lab from other students during the block."""
        self._uses += 1
        try:
            if self._giving_way is not None:
                await asyncio.shield(self._giving_way)
            yield
        finally:
            self._uses -= 1
            self._give_way()

    def _give_way(self) -> None:
        """Give the lab to the student who waits for it, unless it is in use."""
        is_giving = self._giving_way is not None and not self._giving_way.done()
        if self._turns is not None and self._turns.waiting and not self._uses and not is_giving:
            self._giving_way = asyncio.create_task(self._close_and_release())

    async def _close_and_release(self) -> None:
        try:
            await self._close_backend()
        finally:
            if self._turns is not None:
                self._turns.release()

    def _show_place(self, place: LabPlace | None) -> None:
        self.on_place(place)

    @property
    def demand(self) -> LabDemand:
        """Demand of other students for the lab that this app has."""
        return (
            LabDemand(self._turns.waiting, self._turns.idle_s) if self._turns is not None else LabDemand(0, 0)
        )

    def prefetch(self, experiment: Experiment | None) -> None:
        """Start `experiment` in the background as the likely next run, if this machine has resources to spare.

        Any other prefetched run is discarded; None only discards.
        """
        if self._prefetched is not None and self._prefetched.experiment != experiment:
            self._discard_prefetched()
        if experiment is not None and self._prefetched is None and is_worthwhile(experiment):
            lab = self.second_lab()
            if lab is not None:
                self._prefetched = PrefetchedRun(experiment, lab.run(experiment), lab.close)

    def _with_own_reason(self, ready: Ready) -> Ready:
        reason = self.environment.reason if self.environment is not None else ""
        self.environment = msgspec.structs.replace(ready.environment, reason=reason)
        return msgspec.structs.replace(ready, environment=self.environment)

    def _discard_prefetched(self) -> None:
        run, self._prefetched = self._prefetched, None
        if run is not None:
            closing = asyncio.create_task(run.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        """Run `experiment` and yield its events, from Ready, which has the environment, to Finished.

        Raises LabError when the run fails, LabUnavailable without a backend.
        """
        expected = self._prefetched
        if expected is not None and expected.experiment == experiment and not expected.failed:
            self._prefetched = None
            async with aclosing(expected.events()) as events:
                async for event in events:
                    yield self._with_own_reason(event) if isinstance(event, Ready) else event
            return
        self._discard_prefetched()
        async with self._in_use():
            yield Ready(protocol.VERSION, await self._bring_up(experiment, waits=True))
            assert self._choice is not None
            async with aclosing(self._choice.backend.run(experiment)) as events:
                async for event in events:
                    if isinstance(event, Ready):
                        self.environment = event.environment  # each recorded run has its own
                    yield event

    async def run_whole(self, experiment: Experiment) -> Run:
        """Run `experiment` to its end without saving it. Raises LabError or LabUnavailable."""
        recording = Recording(experiment, self.environment or UNKNOWN)
        async with aclosing(self.run(experiment)) as events:
            async for event in events:
                recording.take(event)
        return recording.run

    @asynccontextmanager
    async def session(
        self, experiment: Experiment, needs: Experiment | None = None, trap: str = ""
    ) -> AsyncIterator[tuple[Session, Environment]]:
        """Set up a lab for `experiment` for interactive use and yield it with its environment; a warm backend stays up.

        The kernel must also support the experiment `needs`, for settings made by hand. `trap` names a fault to plant
        before the session starts (`agent.traps.TRAPS`). Raises LabUnavailable without a lab, LabError or KernelLacks
        when the lab cannot be set up.
        """
        from tcptutor.backends.selection import choose_for_session  # noqa: PLC0415

        self._discard_prefetched()  # a session takes real time
        choice = await choose_for_session(needs or experiment, self._backend, self._clock)
        async with self._in_use():
            if self._turns is not None:
                await self._close_backend()  # a turn is one lab
            try:
                await self._take_turn(choice, waits=True)
                environment = await choice.backend.open()
                environment = msgspec.structs.replace(environment, reason=choice.reason)
                async with choice.backend.session(experiment, trap) as session, listening(session):
                    yield session, environment
            except SetupError as error:
                raise LabUnavailable(str(error)) from error
            finally:
                await choice.backend.close()

    def second_lab(self) -> Lab | None:
        """Return an additional lab for a concurrent run, not started yet; None without resources for it.

        Only guests on the virtual clock do not disturb each other, and each needs a core and memory of its own. On a
        server these are for other students.
        """
        from tcptutor.backends.guest import sizes  # noqa: PLC0415

        here = self._choice
        if self._turns is not None or here is None or (here.name, here.clock) != ("guest", "virtual"):
            return None
        has_room = len(os.sched_getaffinity(0)) > 1 and sizes.room_for(here.memory) > 0
        return Lab("guest", "virtual") if has_room else None

    async def close(self) -> None:
        """Shut down all backends. Never raises; a cancellation takes effect after the shutdown."""
        if self._giving_way is not None:
            await asyncio.wait([self._giving_way])
        await self._close_and_release()

    async def _close_backend(self) -> None:
        self._discard_prefetched()
        ending = [*self._closing]
        if self._choice is not None:
            ending.append(asyncio.ensure_future(self._choice.backend.close()))
        closing = asyncio.gather(*ending, return_exceptions=True)
        while not closing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(closing)
        self._choice = None


def is_worthwhile(experiment: Experiment) -> bool:
    """Check that this machine has cores, power and memory to spare for `experiment`."""
    return (
        experiment.total_streams * experiment.seconds <= _MAX_FLOW_SECONDS
        and not (experiment.flows.acks or experiment.flows.capture)
        and os.getloadavg()[0] < len(os.sched_getaffinity(0))
        and not on_battery()
    )


def on_battery(folder: Path = _POWER) -> bool:
    """Check whether this machine runs on battery."""
    for state in folder.glob("*/status"):
        with suppress(OSError):
            if state.read_text().strip() == "Discharging":
                return True
    return False


class PrefetchedRun:
    """A run with the given events, started on construction. Calls `close_lab` when it has ended."""

    def __init__(
        self,
        experiment: Experiment,
        events: AsyncGenerator[Event, None],
        close_lab: Callable[[], Awaitable[None]],
    ) -> None:
        self.experiment = experiment
        self._arriving, self._close_lab = events, close_lab
        self._events = deque[Event]()
        self._news = asyncio.Event()
        self._is_used = False
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        checked = time.monotonic()
        try:
            async with aclosing(self._arriving) as events:
                async for event in events:
                    self._events.append(event)
                    self._news.set()
                    if not self._is_used and time.monotonic() > checked + _CHECK_S:
                        checked = time.monotonic()
                        if (free := sizes.available()) is not None and free < _MIN_FREE_MIB:
                            raise LabError("run discarded: this machine has little memory left")
        finally:
            self._news.set()
            await self._close_lab()

    @property
    def failed(self) -> bool:
        """Whether the run has ended with an error, so that a new run is needed."""
        return self._task.done() and (self._task.cancelled() or self._task.exception() is not None)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the buffered events within `_REPLAY_S`, then further events as they arrive; closing ends the run.

        Raises LabError or LabUnavailable.
        """
        self._is_used = True
        try:
            batch = max(1, len(self._events) // _STEPS)
            count = 0
            while True:
                while self._events:
                    yield self._events.popleft()
                    count += 1
                    if count % batch == 0 and self._events:
                        await asyncio.sleep(_REPLAY_S / _STEPS)
                if self._task.done():
                    self._task.result()
                    return
                self._news.clear()
                await self._news.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """End the run and its lab. Never raises."""
        self._task.cancel()
        await asyncio.wait([self._task])
        _ = self.failed  # retrieves the exception, so that asyncio does not log it

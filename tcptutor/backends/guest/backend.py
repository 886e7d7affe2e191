"""The guest backend: every run starts from a fresh copy of the snapshot, while the next copy is prepared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from tcptutor.backends.events import EventReader, failure, next_event
from tcptutor.backends.guest.machine import Machine
from tcptutor.backends.guest.snapshots import Manifest, Snapshots
from tcptutor.backends.session import Home, Session
from tcptutor.base.errors import ImageDamaged, LabError, LabUnavailable
from tcptutor.run import SNAPSHOT, Environment, Finished
from tcptutor.spec import Experiment
from tcptutor.wire import protocol, ring
from tcptutor.wire.protocol import Event, Failed, OpenSession, RunExperiment

_SILENCE = 600.0
"""Longest time without an event before the guest counts as dead, seconds. A QEMU that exits is noticed at once; an
overloaded emulated guest was silent for 36 s, and for more than 120 s on a busy machine."""


class GuestBackend:
    """The lab in a QEMU guest. Owns the idle machine, which is stopped, and the machine of the current run.

    A session on the virtual clock has to be `paced`: idle time passes as on this machine.
    """

    def __init__(self, clock: str, snapshots: Snapshots | None = None, *, paced: bool = False) -> None:
        self.clock, self._paced = clock, paced
        self._snapshots = snapshots or Snapshots()
        self._manifest: Manifest | None = None
        self._environment: Environment | None = None
        """Environment of the machines restored from the current snapshot."""
        self._next: asyncio.Task[Machine] | None = None
        self._machines: set[Machine] = set()

    async def describe(self, on_build: Callable[[], object] = lambda: None) -> Environment:
        if self._manifest is None:
            try:
                self._manifest = self._snapshots.manifest(self.clock)
            except ImageDamaged:
                self._snapshots.image.check()
                on_build()
                self._manifest = await self._snapshots.build(self.clock, lambda _part, _text: None)
        if self._environment is None:
            here = self._manifest.environment
            self._environment = msgspec.structs.replace(
                here, versions={**here.versions, SNAPSHOT: self._manifest.id}
            )
        return self._environment

    async def open(self, on_build: Callable[[], object] = lambda: None) -> Environment:
        environment = await self.describe(on_build)
        assert self._manifest is not None
        await self._drop_dead_machine()
        if self._next is None:
            self._next = asyncio.create_task(self._restore(self._manifest))
        try:
            await asyncio.shield(self._next)
        except (ImageDamaged, LabError):
            # The next call retries: setup may have built a snapshot by then, or the machine be less busy.
            self._next = self._manifest = self._environment = None
            raise
        return environment

    async def _drop_dead_machine(self) -> None:
        idle = self._next
        if idle is not None and idle.done() and not idle.cancelled() and idle.exception() is None:
            machine = idle.result()
            if not machine.alive:
                self._next = None
                await self._end(machine)

    async def _restore(self, manifest: Manifest) -> Machine:
        try:
            return await self._restore_once(manifest)
        except LabError as first:
            if isinstance(first.__cause__, TimeoutError):
                raise  # this machine is busy, and the snapshot is intact
            # A killed QEMU and a damaged snapshot look alike, but only damage persists.
            try:
                return await self._restore_once(manifest)
            except LabError as error:
                raise ImageDamaged(
                    "the guest's snapshot cannot be used: run `tcptutor setup --again` to rebuild it"
                ) from error

    async def _restore_once(self, manifest: Manifest) -> Machine:
        machine = Machine(self._snapshots.architecture)
        self._machines.add(machine)
        try:
            mode = self._snapshots.mode(self.clock, manifest.kvm, manifest.exact)._replace(paced=self._paced)
            await machine.restore(mode, self._snapshots.file(self.clock))
        except BaseException:
            await self._end(machine)
            raise
        return machine

    async def _end(self, machine: Machine) -> None:
        await machine.kill()
        self._machines.discard(machine)

    async def _take_idle_machine(self) -> Machine:
        await self.open()
        assert self._next is not None
        machine = await self._next
        self._next = None
        return machine

    async def _event(self, machine: Machine, timeout: float | None) -> Event:
        async def last_words() -> str:
            return machine.last_words()

        return await next_event(machine.readline, timeout, "the guest", last_words)

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        machine = await self._take_idle_machine()
        left_early = True
        reading = EventReader()
        try:
            known, changes = ring.split_deferred(experiment)
            await machine.submit(protocol.line(RunExperiment(known)), changes)
            while True:
                event = await reading.read(await self._event(machine, _SILENCE))
                left_early = not isinstance(event, (Finished, Failed))
                if isinstance(event, Failed):
                    raise failure(event)
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            await self._end(machine)
            # After an early exit the lab may be about to close, so restore the next machine on demand.
            if not left_early and self._manifest is not None:
                self._next = asyncio.create_task(self._restore(self._manifest))

    @asynccontextmanager
    async def session(self, experiment: Experiment, trap: str = "") -> AsyncIterator[Session]:
        if self.clock == "virtual" and not self._paced:
            raise LabUnavailable("this lab's idle time does not pass as here: open another for a session")
        machine = await self._take_idle_machine()
        session = Session(
            experiment,
            lambda request: machine.send(protocol.line(request)),
            lambda: self._event(machine, None),
            Home(),
        )
        try:
            await machine.submit(protocol.line(OpenSession(experiment, trap=trap)))
            await session.begin(carry=True)
            yield session
        finally:
            await session.abandon()
            await self._end(machine)

    async def close(self) -> None:
        # Kill processes first: a machine being restored may be waiting for its monitor.
        for machine in self._machines:
            machine.abort()
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
            if not self._next.cancelled():
                self._next.exception()  # retrieves the exception, so that asyncio does not log it
            self._next = None
        for machine in list(self._machines):
            await self._end(machine)
        self._manifest = self._environment = None

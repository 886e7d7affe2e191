"""The guest backend: every run on a fresh copy of the snapshot, with the next copy made ready behind it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import msgspec

from tcptutor.backends.guest.machine import Machine
from tcptutor.backends.guest.snapshots import Manifest, Snapshots
from tcptutor.errors import AgentDied, ImageDamaged, KernelLacks, LabError
from tcptutor.lab import protocol
from tcptutor.lab.protocol import Event, Failed, Finished, RunExperiment
from tcptutor.run import Environment
from tcptutor.spec import Experiment

_SILENCE = 120.0
"""Longest time without an event before the guest is taken for dead, s."""


class GuestBackend:
    """Owns one machine that waits, stopped, and the one that runs."""

    def __init__(self, clock: str, snapshots: Snapshots | None = None) -> None:
        self.clock = clock
        self._snapshots = snapshots or Snapshots()
        self._manifest: Manifest | None = None
        self._next: asyncio.Task[Machine] | None = None
        self._running: Machine | None = None

    async def open(self) -> Environment:
        """Have a machine ready, building the snapshot first when only that is missing."""
        if self._manifest is None:
            try:
                self._manifest = self._snapshots.manifest(self.clock)
            except ImageDamaged:
                self._snapshots.image.check()
                self._manifest = await self._snapshots.build(self.clock, lambda _part, _text: None)
        if self._next is None:
            self._next = asyncio.create_task(self._restore(self._manifest))
        await asyncio.shield(self._next)
        return self._manifest.environment

    async def _restore(self, manifest: Manifest) -> Machine:
        machine = Machine()
        try:
            await machine.restore(self.clock, self._snapshots.file(self.clock), manifest.kvm)
        except LabError as error:
            await machine.kill()
            raise ImageDamaged(
                "the guest's snapshot cannot be used: run `tcptutor setup --again` to build it again"
            ) from error
        except BaseException:
            await machine.kill()
            raise
        return machine

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        await self.open()
        assert self._next is not None
        machine = self._running = await self._next
        self._next = None
        try:
            machine.writer.write(protocol.line(RunExperiment(experiment)))
            await machine.resume()
            while True:
                event = await self._event(machine)
                if isinstance(event, Failed):
                    raise (KernelLacks if event.kind == "kernel" else LabError)(event.reason)
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            self._running = None
            await machine.kill()
            if self._manifest is not None:
                self._next = asyncio.create_task(self._restore(self._manifest))

    async def _event(self, machine: Machine) -> Event:
        try:
            line = await asyncio.wait_for(machine.reader.readline(), _SILENCE)
            return protocol.event_decoder.decode(line)
        except TimeoutError:
            raise AgentDied("the guest does not answer any more: run the experiment again") from None
        except (msgspec.MsgspecError, ConnectionError):
            raise AgentDied(
                f"the guest ended during the run ({machine.last_words() or 'no last words'}): run it again"
            ) from None

    async def close(self) -> None:
        if self._next is not None:
            waiting, self._next = self._next, None
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await (await waiting).kill()
        if self._running is not None:
            await self._running.kill()
        self._manifest = None

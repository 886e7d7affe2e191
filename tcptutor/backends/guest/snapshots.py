"""Snapshots: a booted guest with its agent and network, stopped and written down, one for each clock and size.

A run starts from it in about a second, and always from the same state.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from tcptutor.backends import locks
from tcptutor.backends.guest import composition, digests, leftovers, sizes
from tcptutor.backends.guest.architecture import Architecture, chosen
from tcptutor.backends.guest.digests import FileDigest
from tcptutor.backends.guest.image import ELSEWHERE, WAITING, Image
from tcptutor.backends.guest.image_build import Progress
from tcptutor.backends.guest.machine import Machine, Mode
from tcptutor.base import files, places
from tcptutor.base.errors import AgentDied, ImageDamaged, LabError, SetupError, TutorError, refused
from tcptutor.run import Environment, lab_parts
from tcptutor.run.ended import Ended
from tcptutor.spec import Experiment, Flows, Hosts
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Failed, Ready, RunExperiment, event_decoder

CLOCKS = ("virtual", "real")
_BUILT = "snapshot ready"
_BOOT_TIMEOUT = 300.0
_KVM_TIMEOUT = 15.0
"""A working KVM boots in a few seconds; one that does not work stalls."""
_TRIAL = Experiment(
    name="trial",
    path=NetworkPath(rate=1e7, delay=0.005),
    hosts=Hosts(algorithm="reno"),
    flows=Flows(duration=0.5, warmup=0.0),
)
_EXACT_BOOTS = 3
"""On a busy machine a guest may be stopped too late for exact runs."""
_EXACT_TIMEOUT = 60.0
"""An exact run of half a second takes two; longer, and QEMU is taken to stand still."""


class Manifest(msgspec.Struct, frozen=True):
    """What is known of a snapshot."""

    key: str
    """Of all that it was made from: another key needs another snapshot."""
    file: FileDigest
    """What the snapshot's file was when it was written."""
    kvm: bool
    """Whether the guest ran with hardware virtualisation."""
    environment: Environment
    """What its agent told of the guest, and what the guest is made of."""
    exact: bool = False
    """Whether equal runs are equal to the byte: on the virtual clock, where this QEMU can do it."""
    repeats: bool = False
    """Whether another snapshot with this key is equal to the byte: it was booted exactly, too."""

    @property
    def id(self) -> str:
        """Tells it from snapshots from which a run could be another one."""
        return self.key if self.repeats else f"{self.key}-{self.file.whole[:8]}"


class Snapshots:
    """The snapshots of one image, in `folder`, of this machine's architecture unless another one is chosen.

    `memory` is that of the guests, MiB.
    """

    def __init__(
        self,
        folder: Path | None = None,
        architecture: Architecture | None = None,
        memory: int = sizes.ORDINARY,
    ) -> None:
        self.memory = memory
        self.architecture = architecture or chosen()
        own = "guest" if self.architecture.native else f"guest-{self.architecture.name}"
        self.folder = folder or places.cache() / own
        self.image = Image(self.folder / "image", self.architecture)

    def _name(self, clock: str) -> str:
        """What the files of one snapshot begin with."""
        return clock if self.memory == sizes.ORDINARY else f"{clock}-{self.memory}"

    def file(self, clock: str) -> Path:
        return self.folder / f"{self._name(clock)}.snapshot"

    def _manifest_file(self, clock: str) -> Path:
        return self.folder / f"{self._name(clock)}.json"

    def mode(self, clock: str, kvm: bool = False, exact: bool = False) -> Mode:
        """How a guest with this memory is run."""
        return Mode(clock, kvm, exact, self.memory)

    def composition(self, clock: str, kvm: bool = False) -> dict[str, str]:
        """What the lab here is made of, as `run.lab` has it. Raises LabUnavailable where there is none."""
        mode = self.mode(clock, kvm, exact=True)
        return {**self.image.composition(), **composition.of_machine(self.architecture, mode)}

    def _key(self, clock: str, kvm: bool) -> str:
        return lab_parts.fingerprint(self.composition(clock, kvm))

    def version(self) -> str:
        """A key of all but the experiment that decides what a run on the virtual clock gives: system, our code, QEMU.

        Raises LabUnavailable where there is no guest.
        """
        self.image.check()
        return self._key("virtual", kvm=False)

    def manifest(self, clock: str, *, whole: bool = False) -> Manifest:
        """What is known of the snapshot for `clock`, when its file is sound by a few places or as a `whole`.

        Raises ImageDamaged when it is missing, damaged or out of date.
        """
        self.image.check(whole=whole)
        again = "run `tcptutor setup` to build it again"
        damaged = ImageDamaged(f"the snapshot for the {clock} clock is damaged: {again}")
        missing = ImageDamaged(f"there is no snapshot for the {clock} clock: run `tcptutor setup`")
        if not os.path.lexists(self._manifest_file(clock)):
            raise missing
        try:
            with files.open_bounded(self._manifest_file(clock), digests.KIND) as text:
                manifest = msgspec.json.decode(text, type=Manifest)
        except TutorError:
            raise damaged from None
        if manifest.key != self._key(clock, manifest.kvm):
            raise ImageDamaged(f"the snapshot for the {clock} clock is of another version: {again}")
        try:
            if not manifest.file.fits(self.file(clock), whole=whole):
                raise damaged
        except FileNotFoundError:
            raise missing from None
        return manifest

    def size(self, clock: str) -> int:
        """Bytes on disk."""
        return self.file(clock).stat().st_size

    async def build(self, clock: str, progress: Progress) -> Manifest:
        """Boot the image, let the agent get ready, and write the snapshot; nothing half-written is ever used.

        When another program is building it, that is waited for and the result taken. The real clock takes hardware
        virtualisation when it works here. Raises SetupError.
        """

        def waiting() -> None:
            progress(0.0, WAITING)

        async with AsyncExitStack() as stack:
            try:
                lock = locks.held_async(self.folder / f"{self._name(clock)}.lock", waiting)
                waited = await stack.enter_async_context(lock)
                # Nobody puts another image in its place while this one boots.
                await stack.enter_async_context(locks.held_async(self.image.lock, waiting, shared=True))
            except OSError as error:
                raise self._unwritable(error) from error
            if waited:
                with contextlib.suppress(ImageDamaged):
                    manifest = self.manifest(clock)
                    progress(1.0, _BUILT)
                    return manifest
            return await self._build_once(clock, progress)

    def _unwritable(self, error: OSError) -> SetupError:
        return SetupError(f"the snapshot cannot be written in {self.folder}: {refused(error, ELSEWHERE)}")

    async def _build_once(self, clock: str, progress: Progress) -> Manifest:
        self.image.check(whole=True)
        leftovers.remove(self.folder)
        if clock == "real" and self.architecture.native and os.access("/dev/kvm", os.R_OK | os.W_OK):
            progress(0.0, "trying hardware virtualisation")
            with contextlib.suppress(SetupError):
                return await self._build(self.mode(clock, kvm=True), progress, _KVM_TIMEOUT)
        if clock == "virtual":
            for _ in range(_EXACT_BOOTS):
                try:
                    return await self._build(self.mode(clock, exact=True), progress, _BOOT_TIMEOUT)
                except SetupError as error:
                    # Not every QEMU can; but what cannot be written, cannot be written in another way either.
                    if isinstance(error.__cause__, OSError):
                        raise
        return await self._build(self.mode(clock), progress, _BOOT_TIMEOUT)

    async def _build(self, mode: Mode, progress: Progress, timeout: float) -> Manifest:
        clock, kvm = mode.clock, mode.kvm
        beside = self.folder / f".snapshot.{clock}.{os.getpid()}"
        machine = Machine(self.architecture)
        try:
            progress(0.05, "booting the guest")
            await machine.boot(mode, self.image)
            environment = await _ready(machine, timeout)
            progress(0.9, "writing the snapshot")
            try:
                await machine.save(beside)
            except AgentDied as error:
                said = machine.last_words() or "it said nothing"
                raise SetupError(
                    f"QEMU ended while it wrote the snapshot ({said}): run `tcptutor setup` again"
                ) from error
            except LabError as error:
                if mode.exact and os.strerror(errno.ENOSPC) not in str(error):
                    raise SetupError(str(error)) from error
                refusal = OSError(str(error))
                raise self._unwritable(refusal) from refusal
            await machine.kill()  # before another one starts, so that there is memory for it
            exact = await self._try(beside, mode, timeout)
            parts = self.composition(clock, kvm)
            environment = msgspec.structs.replace(environment, lab=parts)
            manifest = Manifest(
                lab_parts.fingerprint(parts), FileDigest.of(beside), kvm, environment, exact, mode.exact
            )
            for path in (self._manifest_file(clock), self.file(clock)):
                digests.clear(path)
            beside.replace(self.file(clock))
            self._manifest_file(clock).write_bytes(msgspec.json.encode(manifest))
            progress(1.0, _BUILT)
            return manifest
        except OSError as error:
            raise self._unwritable(error) from error
        except LabError as error:
            raise SetupError(f"the guest does not start: {error}") from error
        finally:
            await machine.kill()
            beside.unlink(missing_ok=True)

    async def _try(self, snapshot: Path, mode: Mode, timeout: float) -> bool:
        """Whether runs from it are exact. Raises LabError where they do not come to their end at all."""
        if mode.clock == "virtual" and await self._runs(snapshot, mode._replace(exact=True), _EXACT_TIMEOUT):
            return True
        # What was written while every step was recorded can be read in the same way only.
        if not mode.exact and await self._runs(snapshot, mode, timeout):
            return False
        raise LabError("it does not go on from its snapshot: run `tcptutor setup` again")

    async def _runs(self, snapshot: Path, mode: Mode, timeout: float) -> bool:
        """Whether a run from it comes to its end in time. A QEMU of another version may give up where it is exact."""
        machine = Machine(self.architecture)
        try:
            async with asyncio.timeout(timeout):
                await machine.restore(mode, snapshot)
                await machine.submit(protocol.line(RunExperiment(_TRIAL)))
                while line := await machine.readline():
                    event = event_decoder.decode(line)
                    if isinstance(event, (Ended, Failed)):
                        return isinstance(event, Ended)
        except (LabError, TimeoutError):
            pass
        finally:
            await machine.kill()
        return False


async def _ready(machine: Machine, timeout: float) -> Environment:
    """Wait for the booted agent's Ready."""
    try:
        async with asyncio.timeout(timeout):
            line = await machine.readline()
    except TimeoutError:
        raise LabError(
            f"not ready after {timeout:.0f} s; its last words: {machine.last_words() or 'none'}"
        ) from None
    if not line:
        raise LabError(f"it ended; its last words: {machine.last_words() or 'none'}")
    event = protocol.event(line)
    if isinstance(event, Failed):
        raise LabError(event.reason)
    assert isinstance(event, Ready)
    return event.environment

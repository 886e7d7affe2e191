"""Snapshots: the saved state of a booted guest with its agent and network, for each clock and memory size.

A run starts from a snapshot within about a second, and always from the same state.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

import msgspec

from tcptutor.backends.guest import cached_files, qemu_process, recipe, sizes
from tcptutor.backends.guest.architecture import Architecture, chosen
from tcptutor.backends.guest.cached_files import FileDigest
from tcptutor.backends.guest.image import ELSEWHERE, WAITING, Image
from tcptutor.backends.guest.image_build import Progress
from tcptutor.backends.guest.machine import Machine, Mode, command, kernel_command
from tcptutor.base import decoding, files, places
from tcptutor.base.errors import AgentDied, ImageDamaged, LabError, SetupError, TutorError, refused
from tcptutor.run import Ended, Environment, lab_parts
from tcptutor.spec import Experiment, Flows, Hosts
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Failed, Ready, RunExperiment, event_decoder

CLOCKS = ("virtual", "real")
_BUILT = "snapshot ready"
_BOOT_TIMEOUT = 300.0
_KVM_TIMEOUT = 15.0
"""Longest boot with KVM, seconds. A working KVM boots in a few; a broken KVM hangs."""
_TRIAL = Experiment(
    name="trial",
    path=NetworkPath(rate=1e7, delay=0.005),
    hosts=Hosts(algorithm="reno"),
    flows=Flows(duration=0.5, warmup=0.0),
)
_EXACT_BOOTS = 3
"""Number of attempts at an exact boot: on a busy machine the guest may stop too late for exact runs."""
_EXACT_TIMEOUT = 60.0
"""Longest exact trial run, seconds. It takes about 2 s unless QEMU hangs."""


class Manifest(msgspec.Struct, frozen=True):
    """Description of a snapshot, stored next to it."""

    key: str
    """Hash of everything the snapshot was made from; a different key needs a new snapshot."""
    file: FileDigest
    """Digest of the snapshot's file."""
    kvm: bool
    """Whether the guest ran with hardware virtualization."""
    environment: Environment
    """Environment reported by the agent, with the parts of the guest's lab."""
    exact: bool = False
    """Whether equal runs are byte-identical: on the virtual clock, if this QEMU supports it."""
    repeats: bool = False
    """Whether rebuilding with this key gives a byte-identical snapshot, because the boot was exact too."""

    @property
    def id(self) -> str:
        """Identifier of the snapshot: equal only if runs from the snapshots are equal."""
        return self.key if self.repeats else f"{self.key}-{self.file.whole[:8]}"


class Snapshots:
    """Snapshots of an image in `folder`, for guests with `memory` MiB of this machine's or a chosen architecture."""

    def __init__(
        self,
        folder: Path | None = None,
        architecture: Architecture | None = None,
        memory: int = sizes.DEFAULT_SIZE,
    ) -> None:
        self.memory = memory
        self.architecture = architecture or chosen()
        own = "guest" if self.architecture.native else f"guest-{self.architecture.name}"
        self.folder = folder or places.cache() / own
        self.image = Image(self.folder / "image", self.architecture)

    def _name(self, clock: str) -> str:
        return clock if self.memory == sizes.DEFAULT_SIZE else f"{clock}-{self.memory}"

    def file(self, clock: str) -> Path:
        """Return the path of the snapshot for `clock`."""
        return self.folder / f"{self._name(clock)}.snapshot"

    def _manifest_file(self, clock: str) -> Path:
        return self.folder / f"{self._name(clock)}.json"

    def mode(self, clock: str, kvm: bool = False, exact: bool = False) -> Mode:
        """Return the machine's options for this memory size."""
        return Mode(clock, kvm, exact, self.memory)

    def composition(self, clock: str, kvm: bool = False) -> dict[str, str]:
        """Return the parts of the lab here, named as in `run.lab_parts`. Raises LabUnavailable without a lab."""
        mode = self.mode(clock, kvm, exact=True)
        return {**self.image.composition(), **machine_parts(self.architecture, mode)}

    def _key(self, clock: str, kvm: bool) -> str:
        return lab_parts.fingerprint(self.composition(clock, kvm))

    def version(self) -> str:
        """Return a hash of everything but the experiment that determines a virtual-clock run. Raises LabUnavailable.

        It covers the system, our code and QEMU.
        """
        self.image.check()
        return self._key("virtual", kvm=False)

    def manifest(self, clock: str, *, thorough: bool = False) -> Manifest:
        """Return the manifest of the snapshot for `clock` after checking the file; `thorough` checks every byte.

        Raises ImageDamaged when the snapshot is missing, damaged or out of date.
        """
        self.image.check(thorough=thorough)
        again = "run `tcptutor setup` to rebuild it"
        damaged = ImageDamaged(f"the snapshot for the {clock} clock is damaged: {again}")
        missing = ImageDamaged(f"there is no snapshot for the {clock} clock: run `tcptutor setup`")
        if not os.path.lexists(self._manifest_file(clock)):
            raise missing
        try:
            with files.open_bounded(self._manifest_file(clock), cached_files.KIND) as text:
                manifest = decoding.decode_json(text, Manifest)
        except TutorError:
            raise damaged from None
        if manifest.key != self._key(clock, manifest.kvm):
            raise ImageDamaged(f"the snapshot for the {clock} clock is of another version: {again}")
        try:
            if not manifest.file.matches(self.file(clock), thorough=thorough):
                raise damaged
        except FileNotFoundError:
            raise missing from None
        return manifest

    def size(self, clock: str) -> int:
        """Return the size on disk, bytes."""
        return self.file(clock).stat().st_size

    async def build(self, clock: str, progress: Progress) -> Manifest:
        """Boot the image, wait for the agent, and write the snapshot atomically. Raises SetupError.

        The result of a concurrent build is used as it is. The real clock uses hardware virtualization where that
        works.
        """

        def waiting() -> None:
            progress(0.0, WAITING)

        async with AsyncExitStack() as stack:
            try:
                lock = cached_files.hold_async(self.folder / f"{self._name(clock)}.lock", waiting)
                waited = await stack.enter_async_context(lock)
                # The image must not be replaced while it boots.
                await stack.enter_async_context(
                    cached_files.hold_async(self.image.lock, waiting, shared=True)
                )
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
        self.image.check(thorough=True)
        cached_files.remove_leftovers(self.folder)
        if clock == "real" and self.architecture.native and os.access("/dev/kvm", os.R_OK | os.W_OK):
            progress(0.0, "trying hardware virtualization")
            with contextlib.suppress(SetupError):
                return await self._build(self.mode(clock, kvm=True), progress, _KVM_TIMEOUT)
        if clock == "virtual":
            for _ in range(_EXACT_BOOTS):
                try:
                    return await self._build(self.mode(clock, exact=True), progress, _BOOT_TIMEOUT)
                except SetupError as error:
                    # Not every QEMU supports exact boots. A disk error would recur in any mode.
                    if isinstance(error.__cause__, OSError):
                        raise
        return await self._build(self.mode(clock), progress, _BOOT_TIMEOUT)

    async def _build(self, mode: Mode, progress: Progress, timeout: float) -> Manifest:
        clock, kvm = mode.clock, mode.kvm
        part = self.folder / f".snapshot.{clock}.{os.getpid()}"
        machine = Machine(self.architecture)
        try:
            progress(0.05, "booting the guest")
            await machine.boot(mode, self.image)
            environment = await _ready(machine, timeout)
            progress(0.9, "writing the snapshot")
            try:
                await machine.save(part)
            except AgentDied as error:
                reason = machine.last_words() or "without a message"
                raise SetupError(
                    f"QEMU ended while it wrote the snapshot ({reason}): run `tcptutor setup` again"
                ) from error
            except LabError as error:
                if mode.exact and os.strerror(errno.ENOSPC) not in str(error):
                    raise SetupError(str(error)) from error
                refusal = OSError(str(error))
                raise self._unwritable(refusal) from refusal
            await machine.kill()  # frees memory for the trial
            exact = await self._try(part, mode, timeout)
            parts = self.composition(clock, kvm)
            environment = msgspec.structs.replace(environment, lab=parts)
            manifest = Manifest(
                lab_parts.fingerprint(parts), FileDigest.of(part), kvm, environment, exact, mode.exact
            )
            for path in (self._manifest_file(clock), self.file(clock)):
                cached_files.clear(path)
            part.replace(self.file(clock))
            self._manifest_file(clock).write_bytes(msgspec.json.encode(manifest))
            progress(1.0, _BUILT)
            return manifest
        except OSError as error:
            raise self._unwritable(error) from error
        except LabError as error:
            raise SetupError(f"the guest does not start: {error}") from error
        finally:
            await machine.kill()
            part.unlink(missing_ok=True)

    async def _try(self, snapshot: Path, mode: Mode, timeout: float) -> bool:
        """Return whether runs from `snapshot` are exact. Raises LabError when they do not finish at all."""
        if mode.clock == "virtual" and await self._runs(snapshot, mode._replace(exact=True), _EXACT_TIMEOUT):
            return True
        # A state saved in record mode can only be loaded in record mode.
        if not mode.exact and await self._runs(snapshot, mode, timeout):
            return False
        raise LabError("it does not resume from its snapshot: run `tcptutor setup` again")

    async def _runs(self, snapshot: Path, mode: Mode, timeout: float) -> bool:
        """Check that a trial run from `snapshot` finishes in time; an older QEMU may abort in exact mode."""
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


_FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin")
"""Firmware of QEMU's PC board that the guest executes before and next to its kernel."""
_FOLDERS = ("share/qemu", "share/seabios", "share/qemu-firmware")


def machine_parts(architecture: Architecture, mode: Mode) -> dict[str, str]:
    """Return the parts of the lab besides the image: QEMU, firmware, machine and our own code.

    Raises LabUnavailable without QEMU.
    """
    qemu = qemu_process.find_qemu(architecture.qemu)
    return {
        "agent": recipe.layer_key(),
        "qemu": qemu.version,
        "machine": machine_command(architecture, mode),
        "kernel command": kernel_command(architecture),
        **_firmware(Path(qemu.path), architecture.board),
    }


def machine_command(architecture: Architecture, mode: Mode) -> str:
    return " ".join(command(architecture, mode, 0, 0, 0))


@cache
def _firmware(qemu: Path, board: str) -> dict[str, str]:
    if board != "pc":
        return {}
    return {f"firmware {name}": _firmware_digest(qemu.resolve().parents[1], name) for name in _FIRMWARE}


def _firmware_digest(prefix: Path, name: str) -> str:
    for folder in _FOLDERS:
        try:
            return hashlib.sha256((prefix / folder / name).read_bytes()).hexdigest()
        except OSError:
            continue
    return "not found"

"""Doctor's checks of the guest: QEMU, hardware virtualization, the image and its snapshots, the disk.

/dev/kvm may exist and still not work; only a trial boot shows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
from pathlib import Path

from tcptutor.backends import programs
from tcptutor.backends.guest import qemu_process
from tcptutor.backends.guest.architecture import VARIABLE, Architecture
from tcptutor.backends.guest.machine import Machine, Mode
from tcptutor.backends.guest.snapshots import Manifest, Snapshots
from tcptutor.base import places
from tcptutor.base.errors import ImageDamaged, LabError, LabUnavailable, MissingTool
from tcptutor.install import guest_parts, packages
from tcptutor.install.findings import MEGABYTE, Finding, megabytes, ok, warn

_SETUP = "run `tcptutor setup`"


def check(snapshots: Snapshots | None) -> tuple[list[Finding], bool]:
    """Return the findings about the guest, and whether it can run; `snapshots` is None on a machine without a guest."""
    if snapshots is None:
        return [
            warn(
                "qemu",
                f"there is no guest for {platform.machine()} machines",
                "the lab runs only on this machine's own kernel",
            )
        ], False
    findings, runnable = check_parts(snapshots)
    qemu, virtualization = check_qemu(snapshots.architecture), check_virtualization(snapshots)
    return [qemu, virtualization, *findings, check_disk(snapshots)], runnable


def check_qemu(architecture: Architecture) -> Finding:
    """Check that QEMU for `architecture` is installed and starts."""
    package = architecture.qemu_package
    try:
        qemu = qemu_process.find_qemu(architecture.qemu)
    except MissingTool as error:
        program = str(error).partition(" ")[0]
        return warn(
            "qemu",
            f"{program} is missing: there is no guest ({architecture.name})",
            f"{_SETUP} (Debian package {programs.PACKAGES[program]})",
        )
    except LabUnavailable as error:
        return warn("qemu", str(error).partition(": ")[0], f"install the package {package} again")
    text = f"{qemu.version}, {architecture.name} guest ({package})"
    if not qemu.sandboxed:
        return warn("qemu", f"{text}: not sandboxed", "install a QEMU built with seccomp")
    return ok("qemu", f"{text}, sandboxed{', as nobody' if qemu.as_nobody else ''}")


def check_virtualization(snapshots: Snapshots) -> Finding:
    """Check hardware virtualization; without it the guest is slower but as accurate, on the virtual clock."""
    name, slower = "virtualization", "the guest is emulated: accurate but slower"
    if not snapshots.architecture.native:
        return warn(
            name,
            f"the guest is {snapshots.architecture.name}, this machine is not: {slower}",
            f"unset {VARIABLE} for a guest of this machine's architecture",
        )
    if not KVM_DEVICE.exists():
        remedy = "nothing to do; in a virtual machine, nested virtualization would make the guest faster"
        return warn(name, f"no {KVM_DEVICE}: {slower}", remedy)
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK):
        return warn(
            name,
            f"{KVM_DEVICE} is closed to this user: {slower}",
            "sudo adduser $USER kvm, log in again, `tcptutor setup --again`",
        )
    works = kvm_works(snapshots)
    if works is None:
        return warn(name, f"{KVM_DEVICE} exists but is untested", f"{_SETUP}, which tests it")
    if not works:
        return warn(name, f"{KVM_DEVICE} exists but does not work: {slower}", "nothing to do")
    return ok(name, f"{KVM_DEVICE} works")


def check_parts(snapshots: Snapshots) -> tuple[list[Finding], bool]:
    """Check the image and its snapshots; also return whether the guest can run.

    A missing snapshot does not count: it is built on demand.
    """
    findings = [_part(snapshots, part) for part in guest_parts.TITLES]
    runnable = not packages.missing_for_guest(building=False)
    return findings, runnable and findings[0].status == "ok"


def _part(snapshots: Snapshots, part: str) -> Finding:
    name = part if part == guest_parts.IMAGE else f"snapshot {part}"
    note = ""
    try:
        if part == guest_parts.IMAGE:
            snapshots.image.check(thorough=True)
        else:
            note = _repeatability(snapshots.manifest(part, thorough=True))
    except ImageDamaged as error:
        text, _, remedy = str(error).partition(": ")
        return warn(name, text, remedy or _SETUP)
    except LabUnavailable as error:
        return warn(name, "cannot be checked", str(error))
    return ok(
        name, f"{megabytes(guest_parts.size(snapshots, part))} in {guest_parts.file(snapshots, part)}{note}"
    )


def _repeatability(manifest: Manifest) -> str:
    if manifest.environment.clock != "virtual":
        return ""
    if not manifest.exact:
        return "; with this QEMU equal runs may differ by microseconds"
    if not manifest.repeats:
        return "; with this QEMU a rebuilt snapshot gives different runs"
    return f"; lab {manifest.id}"


def check_disk(snapshots: Snapshots) -> Finding:
    """Check that the cache can be written and has room for the missing parts and for runs."""
    if why := guest_parts.unwritable(snapshots.folder):
        remedy = "set XDG_CACHE_HOME to a folder that can be written"
        return warn("disk", f"{snapshots.folder} cannot be written: {why}", remedy)
    free = guest_parts.free(snapshots.folder)
    needed = guest_parts.room_needed(guest_parts.missing(snapshots, thorough=False)) + 100 * MEGABYTE
    text = f"{megabytes(free)} free for {snapshots.folder}"
    if free < needed:
        return warn("disk", f"{text}, {megabytes(needed)} needed", guest_parts.NO_ROOM)
    return ok("disk", text)


KVM_DEVICE = Path("/dev/kvm")
KVM_BOOT_LIMIT = 12.0
"""Longest trial boot, seconds. A guest boots in a few with a working KVM, and hangs with a broken KVM."""


def kvm_works(snapshots: Snapshots, limit: float = KVM_BOOT_LIMIT) -> bool | None:
    """Return whether the guest boots with KVM; None when it was never tried and has no image to try.

    The real clock's snapshot records it; otherwise a trial is made once per boot of this machine.
    """
    with contextlib.suppress(LabUnavailable):
        return snapshots.manifest("real").kvm
    if (known := places.recall_since_boot("kvm.json", bool)) is not None:
        return known
    try:
        snapshots.image.check()
        answer = asyncio.run(_boots_with_kvm(snapshots, limit))
    except (LabUnavailable, OSError):
        return None
    places.remember_until_boot("kvm.json", answer)
    return answer


async def _boots_with_kvm(snapshots: Snapshots, limit: float) -> bool:
    machine = Machine(snapshots.architecture)
    try:
        async with asyncio.timeout(limit):
            await machine.boot(Mode("real", kvm=True), snapshots.image)
            return bool(await machine.readline())
    except (LabError, TimeoutError):
        return False
    finally:
        await machine.kill()

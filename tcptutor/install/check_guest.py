"""What the doctor sees of the guest: QEMU, hardware virtualisation, the image and its snapshots, the disk."""

from __future__ import annotations

import os
import platform

from tcptutor.backends import tools
from tcptutor.backends.guest import confined
from tcptutor.backends.guest.architecture import VARIABLE, Architecture
from tcptutor.backends.guest.snapshots import Manifest, Snapshots
from tcptutor.base.errors import ImageDamaged, LabUnavailable, MissingTool
from tcptutor.install import kvm, packages, parts
from tcptutor.install.report import MEGABYTE, Finding, megabytes, ok, warn

_SETUP = "run `tcptutor setup`"


def check(snapshots: Snapshots | None) -> tuple[list[Finding], bool]:
    """The lines about the guest, and whether it can run; None for `snapshots` where there is none to have."""
    if snapshots is None:
        return [
            warn(
                "qemu",
                f"there is no guest for {platform.machine()} machines",
                "the lab runs on this machine's own kernel only",
            )
        ], False
    findings, runnable = check_parts(snapshots)
    qemu, virtualisation = check_qemu(snapshots.architecture), check_virtualisation(snapshots)
    return [qemu, virtualisation, *findings, check_disk(snapshots)], runnable


def check_qemu(architecture: Architecture) -> Finding:
    """QEMU for `architecture` and its version."""
    package = architecture.qemu_package
    try:
        qemu = confined.find_qemu(architecture.qemu)
    except MissingTool as error:
        program = str(error).partition(" ")[0]
        return warn(
            "qemu",
            f"{program} is missing: there is no guest ({architecture.name})",
            f"{_SETUP} (Debian package {tools.PACKAGES[program]})",
        )
    except LabUnavailable as error:
        return warn("qemu", str(error).partition(": ")[0], f"install the package {package} again")
    text = f"{qemu.version}, {architecture.name} guest ({package})"
    if not qemu.sandboxed:
        return warn("qemu", f"{text}: without its filter of system calls", "a QEMU built with seccomp has it")
    return ok("qemu", f"{text}, sandboxed{', as nobody' if qemu.as_nobody else ''}")


def check_virtualisation(snapshots: Snapshots) -> Finding:
    """Whether the guest is as fast as the machine; without it, experiments take the virtual clock and are as true."""
    name, slower = "virtualisation", "the guest is emulated: right, and slower"
    if not snapshots.architecture.native:
        return warn(
            name,
            f"the guest is {snapshots.architecture.name}, this machine is not: {slower}",
            f"unset {VARIABLE} for a guest of this machine's architecture",
        )
    if not kvm.DEVICE.exists():
        remedy = (
            "nothing has to be done; in a virtual machine, nested virtualisation would make the guest faster"
        )
        return warn(name, f"no {kvm.DEVICE}: {slower}", remedy)
    if not os.access(kvm.DEVICE, os.R_OK | os.W_OK):
        return warn(
            name,
            f"{kvm.DEVICE} is closed to this user: {slower}",
            "sudo adduser $USER kvm, log in again, `tcptutor setup --again`",
        )
    works = kvm.works(snapshots)
    if works is None:
        return warn(name, f"{kvm.DEVICE} is there, not tried yet", f"{_SETUP}: it tries it")
    if not works:
        return warn(name, f"{kvm.DEVICE} is there and does not work: {slower}", "nothing has to be done")
    return ok(name, f"{kvm.DEVICE} works")


def check_parts(snapshots: Snapshots) -> tuple[list[Finding], bool]:
    """The image and its snapshots, and whether the guest can run: a missing snapshot is built when it is needed."""
    findings = [_part(snapshots, part) for part in parts.TITLES]
    runnable = not packages.missing_for_guest(building=False)
    return findings, runnable and findings[0].status == "ok"


def _part(snapshots: Snapshots, part: str) -> Finding:
    name = part if part == parts.IMAGE else f"snapshot {part}"
    note = ""
    try:
        if part == parts.IMAGE:
            snapshots.image.check(whole=True)
        else:
            note = _of_snapshot(snapshots.manifest(part, whole=True))
    except ImageDamaged as error:
        text, _, remedy = str(error).partition(": ")
        return warn(name, text, remedy or _SETUP)
    except LabUnavailable as error:
        return warn(name, "cannot be checked", str(error))
    return ok(name, f"{megabytes(parts.size(snapshots, part))} in {parts.file(snapshots, part)}{note}")


def _of_snapshot(manifest: Manifest) -> str:
    """What its runs have in common, where they have their own clock."""
    if manifest.environment.clock != "virtual":
        return ""
    if not manifest.exact:
        return "; with this QEMU equal runs may differ by microseconds"
    if not manifest.repeats:
        return "; with this QEMU the next one that is built gives other runs"
    return f"; lab {manifest.id}"


def check_disk(snapshots: Snapshots) -> Finding:
    """Room for what setup still has to build, and for runs."""
    if why := parts.unwritable(snapshots.folder):
        remedy = "set XDG_CACHE_HOME to a folder that can be written"
        return warn("disk", f"{snapshots.folder} cannot be written: {why}", remedy)
    free = parts.free(snapshots.folder)
    needed = parts.room_needed(parts.missing(snapshots, whole=False)) + 100 * MEGABYTE
    text = f"{megabytes(free)} free for {snapshots.folder}"
    if free < needed:
        return warn(
            "disk",
            f"{text}, {megabytes(needed)} needed",
            parts.NO_ROOM,
        )
    return ok("disk", text)

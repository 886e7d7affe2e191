"""Processor architectures that have a guest, as data: names, packages, and QEMU's machine for each.

A guest has this machine's architecture. TCPTUTOR_GUEST_ARCH selects a different one for a trial: it is always
emulated, and its image and snapshots have a folder of their own.
"""

from __future__ import annotations

import os
import platform

import msgspec

from tcptutor.backends import programs
from tcptutor.base.errors import LabUnavailable

VARIABLE = "TCPTUTOR_GUEST_ARCH"


class Architecture(msgspec.Struct, frozen=True):
    """A processor architecture, and the QEMU machine of its guest."""

    name: str
    """Debian's name, used for packages and in TCPTUTOR_GUEST_ARCH."""
    machine: str
    """Name reported by `uname -m`."""
    triplet: str
    """Debian's library folder of this architecture below usr/lib."""
    qemu: str
    """QEMU program for this architecture."""
    board: str
    """QEMU's machine type."""
    cpu: str
    """Emulated processor: an older model with few extensions, which is cheap to emulate."""
    console: str
    """Kernel name of the board's first serial port."""
    kernel_words: tuple[str, ...] = ()
    """Kernel command-line words specific to this architecture."""

    @property
    def kernel_package(self) -> str:
        """Debian's kernel for virtual machines; virtio, PCI and the console are built in."""
        return f"linux-image-cloud-{self.name}"

    @property
    def qemu_package(self) -> str:
        """Debian package of `qemu`."""
        return programs.PACKAGES[self.qemu]

    @property
    def native(self) -> bool:
        """Whether this machine has the architecture, so that hardware virtualization is possible."""
        return self.machine == platform.machine()


AMD64 = Architecture(
    name="amd64",
    machine="x86_64",
    triplet="x86_64-linux-gnu",
    qemu="qemu-system-x86_64",
    board="pc",
    cpu="Nehalem",
    console="ttyS0",
    # Keeps the kernel's clocksource watchdog from rejecting an emulated TSC.
    kernel_words=("tsc=reliable",),
)
ARM64 = Architecture(
    name="arm64",
    machine="aarch64",
    triplet="aarch64-linux-gnu",
    qemu="qemu-system-aarch64",
    board="virt",
    # A model without pointer authentication, which Debian's kernel would use and QEMU computes in software.
    cpu="cortex-a57",
    console="ttyAMA0",
)
ALL = (AMD64, ARM64)


def native() -> Architecture | None:
    """Return this machine's architecture, or None when it has no guest."""
    return next((architecture for architecture in ALL if architecture.native), None)


def possible() -> bool:
    """Check whether this machine has a guest, or TCPTUTOR_GUEST_ARCH names an architecture."""
    return bool(os.environ.get(VARIABLE)) or native() is not None


def chosen() -> Architecture:
    """Return the guest's architecture. Raises LabUnavailable for an unsupported machine or an unknown name."""
    if wanted := os.environ.get(VARIABLE):
        for architecture in ALL:
            if architecture.name == wanted:
                return architecture
        raise LabUnavailable(
            f"{VARIABLE} is {wanted!r}: use {' or '.join(known.name for known in ALL)}, or unset it"
        )
    here = native()
    if here is None:
        raise LabUnavailable(
            f"there is no guest for {platform.machine()} machines: use --backend host, which needs no guest"
        )
    return here

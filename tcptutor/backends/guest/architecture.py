"""The architectures that there is a guest for, as data: names, packages, and the machine that QEMU makes of each.

A guest has this machine's architecture. TCPTUTOR_GUEST_ARCH takes another one, to try it: it is always emulated, and
its image and snapshots have a folder of their own.
"""

from __future__ import annotations

import os
import platform

import msgspec

from tcptutor.backends import tools
from tcptutor.base.errors import LabUnavailable

VARIABLE = "TCPTUTOR_GUEST_ARCH"


class Architecture(msgspec.Struct, frozen=True):
    """One processor architecture, and the QEMU machine of its guest."""

    name: str
    """Debian's name, which packages and the variable take."""
    machine: str
    """The name that `uname -m` gives."""
    triplet: str
    """Debian's folder for this architecture's libraries, below usr/lib."""
    qemu: str
    """The program that runs such a guest."""
    board: str
    """QEMU's machine type."""
    cpu: str
    """The emulated processor: an older model, whose few extensions cost the emulation little."""
    console: str
    """The kernel's name for the board's first serial port."""
    kernel_words: tuple[str, ...] = ()
    """What only this architecture's kernel is told on its command line."""

    @property
    def kernel_package(self) -> str:
        """Debian's kernel for virtual machines: virtio, PCI and the console built in; `-kernel` takes it as it is."""
        return f"linux-image-cloud-{self.name}"

    @property
    def qemu_package(self) -> str:
        """The Debian package of `qemu`."""
        return tools.PACKAGES[self.qemu]

    @property
    def native(self) -> bool:
        """Whether this machine has it: only then can its guest be more than emulated."""
        return self.machine == platform.machine()


AMD64 = Architecture(
    name="amd64",
    machine="x86_64",
    triplet="x86_64-linux-gnu",
    qemu="qemu-system-x86_64",
    board="pc",
    cpu="Nehalem",
    console="ttyS0",
    # The kernel's watchdog must not doubt an emulated TSC.
    kernel_words=("tsc=reliable",),
)
ARM64 = Architecture(
    name="arm64",
    machine="aarch64",
    triplet="aarch64-linux-gnu",
    qemu="qemu-system-aarch64",
    board="virt",
    # Without pointer authentication, which Debian's kernel uses where it is and QEMU computes in software.
    cpu="cortex-a57",
    console="ttyAMA0",
)
ALL = (AMD64, ARM64)


def native() -> Architecture | None:
    """This machine's, or None when there is no guest for it."""
    return next((one for one in ALL if one.native), None)


def possible() -> bool:
    """Whether there is a guest for this machine, or one is asked for by name."""
    return bool(os.environ.get(VARIABLE)) or native() is not None


def chosen() -> Architecture:
    """The guest's architecture. Raises LabUnavailable when there is none, or none of the name asked for."""
    if wanted := os.environ.get(VARIABLE):
        for one in ALL:
            if one.name == wanted:
                return one
        raise LabUnavailable(
            f"{VARIABLE} is {wanted!r}: take {' or '.join(one.name for one in ALL)}, or unset it"
        )
    found = native()
    if found is None:
        raise LabUnavailable(
            f"there is no guest for {platform.machine()} machines: use --backend host, which needs no guest"
        )
    return found

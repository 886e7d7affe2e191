"""The parts of the guest's lab on this machine, named as in `run.lab_parts`."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tcptutor.backends.guest import confined, initramfs
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.machine import Mode, command, kernel_command

_FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin")
"""Firmware of QEMU's PC board that the guest executes before and next to its kernel."""
_FOLDERS = ("share/qemu", "share/seabios", "share/qemu-firmware")


def machine_parts(architecture: Architecture, mode: Mode) -> dict[str, str]:
    """Return the parts of the lab besides the image: QEMU, firmware, machine and our own code.

    Raises LabUnavailable without QEMU.
    """
    qemu = confined.find_qemu(architecture.qemu)
    return {
        "agent": initramfs.layer_key(),
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
    return {f"firmware {name}": _digest(qemu.resolve().parents[1], name) for name in _FIRMWARE}


def _digest(prefix: Path, name: str) -> str:
    for folder in _FOLDERS:
        try:
            return hashlib.sha256((prefix / folder / name).read_bytes()).hexdigest()
        except OSError:
            continue
    return "not found"

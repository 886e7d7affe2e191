"""What the guest's lab is made of here, as `run.lab` has it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tcptutor.backends.guest import confined, initramfs
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.machine import Mode, command, kernel_command

_FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin")
"""Of QEMU's board for a PC: what the guest executes before and beside its kernel."""
_FOLDERS = ("share/qemu", "share/seabios", "share/qemu-firmware")


def of_machine(architecture: Architecture, mode: Mode) -> dict[str, str]:
    """All but the image: QEMU, its firmware and the machine, and our own code. Raises LabUnavailable without QEMU."""
    qemu = confined.program(architecture.qemu)
    return {
        "agent": initramfs.layer_key(),
        "qemu": qemu.version,
        "machine": machine(architecture, mode),
        "kernel command": kernel_command(architecture),
        **_firmware(Path(qemu.path), architecture.board),
    }


def machine(architecture: Architecture, mode: Mode) -> str:
    """QEMU's words for it."""
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

"""Devices of QEMU's that the guest drives by itself, through their memory."""

from __future__ import annotations

import mmap
import os
from pathlib import Path


def find(vendor: str, device: str) -> Path | None:
    """The folder of the first such device, which is enabled; None where the machine has none.

    vendor, device: as /sys prints them, "0x1af4".
    """
    for found in sorted(Path("/sys/bus/pci/devices").glob("*")):
        if (_text(found / "vendor"), _text(found / "device")) == (vendor, device):
            (found / "enable").write_text("1")
            return found
    return None


def mapped(device: Path, resource: int, size: int) -> mmap.mmap:
    """The first `size` bytes of that memory of a device. Raises OSError."""
    handle = os.open(device / f"resource{resource}", os.O_RDWR)
    try:
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)


def _text(path: Path) -> str:
    return path.read_text().strip()

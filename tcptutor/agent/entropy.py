"""The random numbers of a guest's kernel, begun anew from a seed: those of iptables' statistic and of hashed queues."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_RESEED = 0x5207
"""RNDRESEEDCRNG, linux/random.h."""
_POOL = Path("/dev/urandom")


def reseed(seed: int) -> None:
    """From here on they follow from what the kernel has drawn so far and `seed`. Needs root; meant for a guest alone:
    its kernel is nobody else's.
    """
    pool = os.open(_POOL, os.O_WRONLY)
    try:
        os.write(pool, seed.to_bytes(16, "little", signed=True))
        fcntl.ioctl(pool, _RESEED)
    finally:
        os.close(pool)
